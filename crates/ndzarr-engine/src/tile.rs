//! The trait `Tile`: a piece of the output that decoded elements are put into.

use ndzarr_codec::{Elements, Layout, VlenBuffer};

use crate::EngineCause;
use crate::for_each::begin_of;

/// A piece of the output, disjoint from all others: the only thing below the typed API that knows
/// the element type.
///
/// Its axes are those of the array.
pub trait Tile: Send {
    /// Its length along each axis, in elements.
    fn shape(&self) -> Vec<usize>;

    /// Whether nothing of it is wanted, so that its chunk need not be read.
    fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Takes decoded elements: those from `at.src` on go to `at.dst` on, `at.len` along each axis.
    ///
    /// # Errors
    /// Elements that the type does not allow.
    fn put(&mut self, elements: Elements<'_>, layout: &Layout, at: &Place) -> Result<(), EngineCause>;

    /// Makes every element the fill value, one element in this machine's byte order, or what one of
    /// variable size holds.
    ///
    /// # Errors
    /// A fill value that the type does not allow.
    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause>;

    /// Whether its memory is all zero bytes that were never touched.
    fn is_blank(&self) -> bool {
        false
    }

    /// Its memory, if that is one slice in C order in which any bytes are allowed.
    fn contiguous(&mut self) -> Option<&mut [u8]>;

    /// The part before `at` along an axis, and the part from there on.
    fn split_at<'s>(self: Box<Self>, axis: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's;
}

/// Makes a tile when it is needed.
pub type MakeTile<'t> = Box<dyn FnOnce() -> Result<Box<dyn Tile + 't>, EngineCause> + Send + 't>;

/// Where the elements of a piece go.
pub(crate) enum Output<'t> {
    Tile(Box<dyn Tile + 't>),
    /// A tile that is made just before it is needed.
    Later(MakeTile<'t>),
}

impl<'t> Output<'t> {
    pub(crate) fn tile(self) -> Result<Box<dyn Tile + 't>, EngineCause> {
        match self {
            Self::Tile(tile) => Ok(tile),
            Self::Later(make) => make(),
        }
    }
}

/// What goes where: a box within decoded elements, and its place within a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// First element, within the decoded ones.
    pub src: Vec<usize>,
    /// First element, within the tile.
    pub dst: Vec<usize>,
    /// Length along each axis, in elements.
    pub len: Vec<usize>,
}

/// As [`Tile::put`], beginning anywhere along the first axis: see [`begin_of`].
pub(crate) fn put_from_anywhere(
    tile: &mut dyn Tile,
    elements: Elements<'_>,
    layout: &Layout,
    at: &Place,
) -> Result<(), EngineCause> {
    /// Below, it is done before anybody comes.
    const SMALL: usize = 1 << 14;
    let axis = at.len.iter().position(|&n| n > 1).unwrap_or(0);
    let begin = match at.len.iter().product::<usize>() {
        SMALL.. => begin_of(at.len[axis]),
        _ => 0,
    };
    if begin == 0 {
        return tile.put(elements, layout, at);
    }
    let (mut early, mut late) = (at.clone(), at.clone());
    early.len[axis] = begin;
    late.len[axis] -= begin;
    late.src[axis] += begin;
    late.dst[axis] += begin;
    tile.put(elements, layout, &late)?;
    tile.put(elements, layout, &early)
}

/// Elements to be written, in axes of the array.
pub trait Source: Send + Sync {
    /// Copies a box of elements out, in this machine's byte order: the element `i` of the box goes
    /// to `out[(offset + sum of i[k] * strides[k]) * elem_size ..]`.
    ///
    /// A source that is not dense leaves the places of elements that it does not have.
    fn gather(&self, start: &[usize], len: &[usize], out: &mut [u8], offset: usize, strides: &[isize]);

    /// As [`gather`](Self::gather), of elements of variable size: the element `i` of the box goes
    /// to `out.set(offset + sum of i[k] * strides[k], …)`.
    fn gather_vlen(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut VlenBuffer,
        offset: usize,
        strides: &[isize],
    ) {
        let _ = (start, len, out, offset, strides);
    }

    /// Whether it has every element of its box; if not, what it lacks stays as it is stored.
    fn is_dense(&self) -> bool {
        true
    }

    /// Whether its elements lie in memory in C order, with gaps perhaps: then few of them are
    /// copied just as fast as many.
    fn is_c_order(&self) -> bool {
        false
    }

    /// Whether it has any element of a box.
    fn touches(&self, start: &[usize], len: &[usize]) -> bool {
        let _ = (start, len);
        true
    }

    /// A box of it, in memory of its own.
    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send>;
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use ndzarr_codec::Swap;

    use super::*;
    use crate::for_each::for_each;

    /// A tile that takes note of what is put into it.
    struct Noted(Vec<Place>);

    impl Tile for Noted {
        fn shape(&self) -> Vec<usize> {
            vec![1, 40, 1000]
        }

        fn put(&mut self, _: Elements<'_>, _: &Layout, at: &Place) -> Result<(), EngineCause> {
            self.0.push(at.clone());
            Ok(())
        }

        fn fill(&mut self, _: &[u8]) -> Result<(), EngineCause> {
            Ok(())
        }

        fn contiguous(&mut self) -> Option<&mut [u8]> {
            None
        }

        fn split_at<'s>(self: Box<Self>, _: usize, _: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
        where
            Self: 's,
        {
            (self, Box::new(Self(Vec::new())))
        }
    }

    #[test]
    fn what_is_put_from_anywhere_is_put_once() {
        let whole = Place { src: vec![3, 5, 7], dst: vec![0, 2, 0], len: vec![1, 37, 1000] };
        let small = Place { len: vec![1, 5, 1000], ..whole.clone() };
        let puts: Mutex<Vec<(usize, Vec<Place>)>> = Mutex::default();
        // Two threads that wait for each other, so that both have a turn.
        let barrier = std::sync::Barrier::new(2);
        let all = for_each(0..2, 2, |own| {
            barrier.wait();
            for place in [&whole, &small] {
                let mut tile = Noted(Vec::new());
                let elements = Elements::Fixed { bytes: &[], size: 1 };
                let layout =
                    Layout { extent: vec![9, 50, 1007], strides: vec![50_350, 1007, 1], swap: Swap::None };
                put_from_anywhere(&mut tile, elements, &layout, place)?;
                puts.lock().expect("no panic").push((own, tile.0));
            }
            Ok::<_, EngineCause>(())
        });
        all.expect("nothing fails");
        let mut puts = puts.into_inner().expect("no panic");
        puts.sort_by_key(|(own, _)| *own);
        let late = Place { src: vec![3, 23, 7], dst: vec![0, 20, 0], len: vec![1, 19, 1000] };
        let early = Place { len: vec![1, 18, 1000], ..whole.clone() };
        let first = [(0, vec![whole]), (0, vec![small.clone()])];
        assert_eq!(puts, [&first[..], &[(1, vec![late, early]), (1, vec![small])]].concat());
    }
}
