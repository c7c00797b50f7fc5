//! Tiles and sources of single elements anywhere in a box.

use std::borrow::Cow;
use std::sync::Arc;

use ndzarr_codec::{Elements, Layout, Swap, VlenBuffer};
use ndzarr_engine::{Coverage, EngineCause, Picked, Source, Tile};
use ndzarr_grid::Region;

use crate::tiles::cells::{ToBytes, content, into_bytes};
use crate::tiles::picked_parts::outside;

/// The places of points in a box.
#[derive(Clone)]
struct Places {
    /// Point by point.
    coordinates: Arc<[usize]>,
    /// The first element of the box there, and its length along each axis.
    start: Vec<usize>,
    len: Vec<usize>,
}

impl Places {
    /// A point, relative to the box.
    fn of(&self, number: usize) -> impl Iterator<Item = usize> {
        self.point(number).iter().zip(&self.start).map(|(at, start)| at - start)
    }

    fn point(&self, number: usize) -> &[usize] {
        let n = self.start.len();
        &self.coordinates[number * n..(number + 1) * n]
    }

    /// Whether this many points in C order are the whole box.
    fn are_all(&self, n_points: usize) -> bool {
        let n_elements = self.len.iter().try_fold(1_usize, |n, &len| n.checked_mul(len));
        let is_new = |&number: &usize| number == 0 || self.point(number) != self.point(number - 1);
        n_elements.is_some_and(|n| n <= n_points && (0..n_points).filter(is_new).count() == n)
    }

    /// The place of a point of a smaller box in a slice; `None` if it is outside.
    fn within(
        &self,
        number: usize,
        start: &[usize],
        len: &[usize],
        offset: usize,
        strides: &[isize],
    ) -> Option<usize> {
        let mut place = offset;
        for (axis, at) in self.of(number).enumerate() {
            let at = at.checked_sub(start[axis]).filter(|&at| at < len[axis])?;
            place = place.checked_add_signed(strides[axis].checked_mul(at.cast_signed())?)?;
        }
        Some(place)
    }

    fn split_at(&self, axis: usize, at: usize) -> (Self, Self) {
        let (mut front, mut back) = (self.clone(), self.clone());
        front.len[axis] = at;
        back.start[axis] += at;
        back.len[axis] -= at;
        (front, back)
    }
}

/// Puts the content of an element, which is in the given byte order, where it belongs.
pub(crate) type PutPoint<'p, P> = Arc<dyn Fn(&mut P, &[u8], &Swap) -> Result<(), String> + Send + Sync + 'p>;

/// Single elements that are read: each goes to its place in the result.
pub(crate) struct PointTile<'p, P> {
    places: Places,
    /// The number of each point, and where it goes.
    points: Vec<(usize, P)>,
    put: PutPoint<'p, P>,
}

impl<'p, P> PointTile<'p, P> {
    /// A tile for a box of this shape; the coordinates are relative to it.
    pub(crate) fn new(
        shape: Vec<usize>,
        coordinates: Arc<[usize]>,
        points: Vec<P>,
        put: PutPoint<'p, P>,
    ) -> Self {
        let places = Places { coordinates, start: vec![0; shape.len()], len: shape };
        Self { places, points: points.into_iter().enumerate().collect(), put }
    }
}

impl<P: Send> Tile for PointTile<'_, P> {
    fn shape(&self) -> Vec<usize> {
        self.places.len.clone()
    }

    fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    fn picked(&self) -> Picked {
        let element = |(number, _): &(usize, _)| {
            let at = self.places.of(*number);
            (Region::new(at.map(|at| at as u64..at as u64 + 1)), Vec::new())
        };
        Picked::Boxes(self.points.iter().map(element).collect())
    }

    fn put(&mut self, elements: Elements<'_>, part: &Layout, at: &[usize]) -> Result<(), EngineCause> {
        for (number, to) in &mut self.points {
            let place = self.places.within(*number, at, &part.extent, part.offset, &part.strides);
            let Some(place) = place else { continue };
            let content = content(elements, place).ok_or_else(outside)?;
            (self.put)(to, content, &part.swap).map_err(EngineCause::Element)?;
        }
        Ok(())
    }

    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
        let mut points = self.points.iter_mut();
        points.try_for_each(|(_, to)| (self.put)(to, fill, &Swap::None)).map_err(EngineCause::Element)
    }

    fn contiguous(&mut self) -> Option<&mut [u8]> {
        None
    }

    fn split_at<'s>(self: Box<Self>, axis: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's,
    {
        let Self { places, points, put } = *self;
        let is_front = |number: usize| places.of(number).nth(axis).is_some_and(|place| place < at);
        let (front, back): (Vec<_>, Vec<_>) = points.into_iter().partition(|(number, _)| is_front(*number));
        let (before, behind) = places.split_at(axis, at);
        (
            Box::new(PointTile { places: before, points: front, put: Arc::clone(&put) }),
            Box::new(PointTile { places: behind, points: back, put }),
        )
    }
}

/// Single elements that are written. Their coordinates are in C order.
pub(crate) struct PointSource<'a, T: Clone> {
    places: Places,
    values: Vec<(usize, Cow<'a, T>)>,
    /// Whether they are the whole box.
    is_dense: bool,
    convert: ToBytes<T>,
}

impl<'a, T: Clone> PointSource<'a, T> {
    /// A source for a box of this shape; the coordinates are relative to it.
    pub(crate) fn new(
        shape: Vec<usize>,
        coordinates: Arc<[usize]>,
        values: impl Iterator<Item = &'a T>,
        convert: ToBytes<T>,
    ) -> Self {
        let places = Places { coordinates, start: vec![0; shape.len()], len: shape };
        let values: Vec<_> = values.map(Cow::Borrowed).enumerate().collect();
        Self { is_dense: places.are_all(values.len()), places, values, convert }
    }

    /// The values that may lie in a box: those within its range of the first axis.
    fn near(&self, start: &[usize], len: &[usize]) -> &[(usize, Cow<'a, T>)] {
        let (Some(&start), Some(&len)) = (start.first(), len.first()) else { return &self.values };
        let below = |end: usize| {
            self.values
                .partition_point(|(number, _)| self.places.of(*number).next().is_some_and(|at| at < end))
        };
        &self.values[below(start)..below(start + len)]
    }

    /// Passes on the content of each element of a box, and where it goes.
    fn each(
        &self,
        start: &[usize],
        len: &[usize],
        offset: usize,
        strides: &[isize],
        mut put: impl FnMut(usize, &[u8]),
    ) {
        let mut content = Vec::new();
        for (number, value) in self.near(start, len) {
            if let Some(place) = self.places.within(*number, start, len, offset, strides) {
                content.clear();
                (self.convert)(value, &mut content);
                put(place, &content);
            }
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Source for PointSource<'_, T> {
    fn gather(&self, start: &[usize], len: &[usize], out: &mut [u8], offset: usize, strides: &[isize]) {
        self.each(start, len, offset, strides, into_bytes(out));
    }

    fn gather_vlen(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut VlenBuffer,
        offset: usize,
        strides: &[isize],
    ) -> Result<(), EngineCause> {
        self.each(start, len, offset, strides, |at, content| out.set(at, content));
        Ok(())
    }

    fn is_dense(&self) -> bool {
        self.is_dense
    }

    fn coverage(&self, start: &[usize], len: &[usize]) -> Coverage {
        let (near, none) = (self.near(start, len), vec![0; start.len()]);
        let inside =
            near.iter().filter(|(number, _)| self.places.within(*number, start, len, 0, &none).is_some());
        let n_elements = len.iter().try_fold(1_usize, |n, &len| n.checked_mul(len));
        if n_elements.is_none_or(|n| n > near.len()) {
            return if inside.take(1).count() == 0 { Coverage::None } else { Coverage::Part };
        }
        let mut points: Vec<&[usize]> = inside.map(|(number, _)| self.places.point(*number)).collect();
        // Those at one place follow each other.
        points.dedup();
        match points.len() {
            0 => Coverage::None,
            n if Some(n) == n_elements => Coverage::All,
            _ => Coverage::Part,
        }
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let none = vec![0; start.len()];
        let inside = |number: usize| self.places.within(number, start, len, 0, &none).is_some();
        let values = self.near(start, len).iter().filter(|(number, _)| inside(*number));
        let places = Places {
            coordinates: Arc::clone(&self.places.coordinates),
            start: self.places.start.iter().zip(start).map(|(at, start)| at + start).collect(),
            len: len.to_vec(),
        };
        Box::new(PointSource {
            places,
            values: values.map(|(number, value)| (*number, Cow::Owned(value.clone().into_owned()))).collect(),
            is_dense: self.is_dense,
            convert: Arc::clone(&self.convert),
        })
    }
}
