//! `Tile`: a part of the output, which receives decoded elements. `Source`: the elements of a
//! write.

use ndzarr_codec::{Elements, Layout, VlenBuffer};
use ndzarr_grid::{Overlap, Picks, Region};

use crate::EngineCause;
use crate::threads::for_each::begin_of;

/// A part of the output, disjoint from all others. Nothing else below the typed API knows the
/// element type.
///
/// Its axes are those of the array.
pub trait Tile: Send {
    /// Its length along each axis, in elements.
    fn shape(&self) -> Vec<usize>;

    /// True if none of it is wanted, so that its chunk need not be read.
    fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Which of its elements are wanted.
    fn picked(&self) -> Picked {
        Picked::All
    }

    /// Takes a box of decoded elements, whose first one goes to the index `at`.
    ///
    /// # Errors
    /// The type does not allow the elements.
    fn put(
        &mut self,
        elements: Elements<'_>,
        part: &Layout,
        at: &[usize],
    ) -> Result<(), EngineCause>;

    /// Sets every element to the fill value, which is one element in native byte order, or the
    /// content of one of variable size.
    ///
    /// # Errors
    /// The type does not allow the fill value.
    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause>;

    /// True if its memory consists of zero bytes that were never touched.
    fn is_blank(&self) -> bool {
        false
    }

    /// Its memory, if that is one slice in C order in which any bytes are valid.
    fn contiguous(&mut self) -> Option<&mut [u8]>;

    /// The part before `at` along an axis, and the part from there on.
    fn split_at<'s>(
        self: Box<Self>,
        axis: usize,
        at: usize,
    ) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's;
}

/// Which elements of a tile's box are wanted. Of a shard, only the inner chunks that have any are
/// read.
#[derive(Clone, Debug, Default)]
pub enum Picked {
    /// Every element.
    #[default]
    All,
    /// Those whose index along each axis is picked.
    Along(Vec<Picks>),
    /// Those in any of these boxes.
    Boxes(Vec<PickedBox>),
}

/// A box, and the picks along each of its axes; an empty list picks all of it.
pub type PickedBox = (Region, Vec<Picks>);

/// Makes a tile when it is needed.
pub type MakeTile<'t> = Box<dyn FnOnce() -> Result<Box<dyn Tile + 't>, EngineCause> + Send + 't>;

/// The part of a region that lies in one chunk; within a shard, in one inner chunk.
pub(crate) struct Piece<'t> {
    pub(crate) overlap: Overlap,
    pub(crate) output: Output<'t>,
}

/// The destination of a piece's elements.
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

/// The elements of a region before the element `at` of an axis, and those from there on.
pub(crate) fn sides(region: &Region, axis: usize, at: u64) -> [Region; 2] {
    let range = &region.ranges()[axis];
    [range.start..at, at..range.end].map(|side| {
        let mut ranges = region.ranges().to_vec();
        ranges[axis] = side;
        Region::new(ranges)
    })
}

/// Puts elements into a tile, as [`Tile::put`] does, but begins anywhere along the first axis: see
/// [`begin_of`].
pub(crate) fn put_from_anywhere(
    tile: &mut dyn Tile,
    elements: Elements<'_>,
    part: &Layout,
    at: &[usize],
) -> Result<(), EngineCause> {
    /// Smaller copies are done before another thread could help.
    const SMALL: usize = 1 << 14;
    let axis = part.extent.iter().position(|&n| n > 1).unwrap_or(0);
    let begin = match part.extent.iter().product::<usize>() {
        SMALL.. => begin_of(part.extent[axis]),
        _ => 0,
    };
    if begin == 0 {
        return tile.put(elements, part, at);
    }
    let mut early = part.clone();
    early.cut(axis, 0, begin);
    let mut late = part.clone();
    late.cut(axis, begin, part.extent[axis] - begin);
    let mut late_at = at.to_vec();
    late_at[axis] += begin;
    tile.put(elements, &late, &late_at)?;
    tile.put(elements, &early, at)
}

/// How much of a box a source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// No element.
    None,
    /// Some elements.
    Part,
    /// Every element.
    All,
}

/// Elements to be written, in axes of the array.
pub trait Source: Send + Sync {
    /// Copies out a box of elements in native byte order: the element `i` of the box goes to
    /// `out[(offset + sum of i[k] * strides[k]) * elem_size ..]`.
    ///
    /// A source that is not dense leaves the places of missing elements unchanged.
    fn gather(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut [u8],
        offset: usize,
        strides: &[isize],
    );

    /// Copies out a box of elements of variable size: the element `i` of the box goes to
    /// `out.set(offset + sum of i[k] * strides[k], …)`.
    ///
    /// # Errors
    /// It has no elements of variable size, as by default.
    fn gather_vlen(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut VlenBuffer,
        offset: usize,
        strides: &[isize],
    ) -> Result<(), EngineCause> {
        let _ = (start, len, out, offset, strides);
        Err(EngineCause::Element(
            "elements of a fixed size from the source".to_owned(),
        ))
    }

    /// True if it has every element of its box; if not, missing ones keep their stored values.
    fn is_dense(&self) -> bool {
        true
    }

    /// True if its elements are in memory in C order, possibly with gaps, so that copying a few at
    /// a time is as fast as copying many.
    fn is_c_order(&self) -> bool {
        false
    }

    /// Which elements of its box it has, if those along each axis do not depend on the other axes:
    /// chunks between them are not even examined.
    fn picked(&self) -> Picked {
        Picked::All
    }

    /// How much of a box it has. [`Part`](Coverage::Part), of one that is not dense, is never
    /// wrong; of [`All`](Coverage::All) the stored values are not read.
    fn coverage(&self, start: &[usize], len: &[usize]) -> Coverage {
        let _ = (start, len);
        if self.is_dense() {
            Coverage::All
        } else {
            Coverage::Part
        }
    }

    /// A source with a copy of a box of its elements.
    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send>;
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use ndzarr_codec::Swap;

    use super::*;
    use crate::threads::for_each::for_each;

    /// A tile that records what is put into it.
    struct Noted(Vec<(usize, Vec<usize>, Vec<usize>)>);

    impl Tile for Noted {
        fn shape(&self) -> Vec<usize> {
            vec![1, 40, 1000]
        }

        fn put(&mut self, _: Elements<'_>, part: &Layout, at: &[usize]) -> Result<(), EngineCause> {
            self.0.push((part.offset, part.extent.clone(), at.to_vec()));
            Ok(())
        }

        fn fill(&mut self, _: &[u8]) -> Result<(), EngineCause> {
            Ok(())
        }

        fn contiguous(&mut self) -> Option<&mut [u8]> {
            None
        }

        fn split_at<'s>(
            self: Box<Self>,
            _: usize,
            _: usize,
        ) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
        where
            Self: 's,
        {
            (self, Box::new(Self(Vec::new())))
        }
    }

    #[test]
    fn what_is_put_from_anywhere_is_put_once() {
        let strides = vec![50_350, 1007, 1];
        let whole = Layout {
            offset: 100,
            extent: vec![1, 37, 1000],
            strides,
            swap: Swap::None,
        };
        let small = Layout {
            extent: vec![1, 5, 1000],
            ..whole.clone()
        };
        let puts = Mutex::new(Vec::new());
        // Two threads that wait for each other, so that both take part.
        let barrier = std::sync::Barrier::new(2);
        let all = for_each(0..2, 2, |own| {
            barrier.wait();
            for part in [&whole, &small] {
                let mut tile = Noted(Vec::new());
                let elements = Elements::Fixed {
                    bytes: &[],
                    size: 1,
                };
                put_from_anywhere(&mut tile, elements, part, &[0, 2, 0])?;
                puts.lock().expect("no panic").push((own, tile.0));
            }
            Ok::<_, EngineCause>(())
        });
        all.expect("nothing fails");
        let mut puts = puts.into_inner().expect("no panic");
        puts.sort_by_key(|(own, _)| *own);
        let at = |offset, n, first| (offset, vec![1, n, 1000], vec![0, first, 0]);
        let (late, early) = (at(100 + 18 * 1007, 19, 20), at(100, 18, 2));
        let small = || at(100, 5, 2);
        let expected = [
            (0, vec![at(100, 37, 2)]),
            (0, vec![small()]),
            (1, vec![late, early]),
            (1, vec![small()]),
        ];
        assert_eq!(puts, expected);
    }

    /// A user's own source of numbers.
    struct Numbers;

    impl Source for Numbers {
        fn gather(&self, _: &[usize], _: &[usize], out: &mut [u8], _: usize, _: &[isize]) {
            out.fill(1);
        }

        fn piece(&self, _: &[usize], _: &[usize]) -> Box<dyn Source + Send> {
            Box::new(Self)
        }
    }

    #[test]
    fn a_source_of_numbers_writes_no_empty_texts() {
        let mut buffer = VlenBuffer::filled(1, b"").expect("enough memory");
        let gathered = Numbers.gather_vlen(&[0], &[1], &mut buffer, 0, &[1]);
        assert!(
            matches!(gathered, Err(EngineCause::Element(_))),
            "{gathered:?}"
        );
    }
}
