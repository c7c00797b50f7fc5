//! Selections as data, and which elements NumPy would take, one by one.

use ndarray::{ArrayD, Dimension, IxDyn, Slice, SliceInfoElem};
use ndzarr::{Error, Resolved, Selection};
use ndzarr_array::Named;

/// The names of the dimensions of the arrays here.
pub(super) const NAMES: [&str; 3] = ["t", "y", "x"];

/// What is selected along an axis.
#[derive(Clone, Debug)]
pub(super) enum Pick {
    Index(i64),
    /// From a start to before an end; with a negative step from the last of them back.
    Range(i64, Option<i64>, isize),
    List(Vec<i64>),
    Mask(Vec<bool>),
}

/// A selection of any kind.
#[derive(Clone, Debug)]
pub(super) enum Chosen {
    Lists(Vec<Vec<i64>>),
    Masks(Vec<Vec<bool>>),
    Ranges(Vec<(i64, Option<i64>, isize)>),
    /// An index or a range along each axis.
    Slices(Vec<SliceInfoElem>),
    /// One kind along each of three axes.
    Tuple(Vec<i64>, std::ops::Range<i64>, Vec<bool>),
    Axes(Vec<Pick>),
    Names(Vec<(&'static str, Pick)>),
    Points(Vec<Vec<i64>>),
    ByAxis(Vec<Vec<i64>>),
    Mask(ArrayD<bool>),
    /// First and last chunk along each axis, the last one not included.
    Blocks(Vec<(i64, i64)>),
}

/// The elements of a selection, in C order of its result.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) shape: Vec<usize>,
    pub(super) places: Vec<Vec<usize>>,
}

fn from_end(at: i64, len: usize) -> usize {
    if at < 0 {
        (at + len as i64) as usize
    } else {
        at as usize
    }
}

impl Pick {
    pub(super) fn indices(&self, len: usize) -> Vec<usize> {
        match self {
            Self::Index(at) => vec![from_end(*at, len)],
            Self::Range(start, end, step) => {
                let mut all: Vec<usize> =
                    (from_end(*start, len)..end.map_or(len, |end| from_end(end, len))).collect();
                if *step < 0 {
                    all.reverse();
                }
                all.into_iter().step_by(step.unsigned_abs()).collect()
            }
            Self::List(list) => list.iter().map(|&at| from_end(at, len)).collect(),
            Self::Mask(mask) => (0..len).filter(|&at| mask[at]).collect(),
        }
    }

    pub(super) fn slice((start, end, step): (i64, Option<i64>, isize)) -> Slice {
        Slice::new(start as isize, end.map(|end| end as isize), step)
    }

    /// Adds it to a selection by names.
    pub(super) fn along(&self, named: Named, name: &str) -> Named {
        match self.clone() {
            Self::Index(at) => named.axis(name, at),
            Self::Range(start, end, step) => named.axis(name, Self::slice((start, end, step))),
            Self::List(list) => named.axis(name, list),
            Self::Mask(mask) => named.axis(name, mask),
        }
    }
}

/// A selection for each axis of itself.
pub(super) struct Outer<'p>(pub(super) &'p [Pick]);

impl Selection for Outer<'_> {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved, Error> {
        let parts = self.0.iter().zip(shape).map(|(pick, &len)| match pick {
            Pick::Index(at) => (*at,).resolve(&[len]),
            Pick::Range(start, end, step) => (Pick::slice((*start, *end, *step)),).resolve(&[len]),
            Pick::List(list) => (list,).resolve(&[len]),
            Pick::Mask(mask) => (mask,).resolve(&[len]),
        });
        Resolved::outer(parts.collect::<Result<Vec<_>, _>>()?)
    }
}

/// All combinations of the indices along the axes.
pub(super) fn outer(shape: &[usize], picks: &[Pick]) -> Taken {
    let along: Vec<Vec<usize>> = picks
        .iter()
        .zip(shape)
        .map(|(pick, &len)| pick.indices(len))
        .collect();
    let kept = along
        .iter()
        .zip(picks)
        .filter(|(_, pick)| !matches!(pick, Pick::Index(_)));
    let shape = kept.map(|(indices, _)| indices.len()).collect();
    let mut places = vec![Vec::new()];
    for indices in &along {
        places = places
            .iter()
            .flat_map(|head: &Vec<usize>| {
                indices.iter().map(move |&at| [&head[..], &[at]].concat())
            })
            .collect();
    }
    Taken { shape, places }
}

impl Chosen {
    /// What it takes of an array with chunks of this shape.
    pub(super) fn taken(&self, shape: &[usize], chunk: &[usize]) -> Taken {
        let all = |places: Vec<Vec<usize>>| Taken {
            shape: vec![places.len()],
            places,
        };
        let inside = |point: &[i64]| {
            point
                .iter()
                .zip(shape)
                .map(|(&at, &len)| from_end(at, len))
                .collect()
        };
        let picks = match self {
            Self::Lists(lists) => lists.iter().cloned().map(Pick::List).collect(),
            Self::Masks(masks) => masks.iter().cloned().map(Pick::Mask).collect(),
            Self::Ranges(ranges) => ranges
                .iter()
                .map(|&(a, b, step)| Pick::Range(a, b, step))
                .collect(),
            Self::Slices(slices) => slices
                .iter()
                .map(|along| match *along {
                    SliceInfoElem::Index(at) => Pick::Index(at as i64),
                    SliceInfoElem::Slice { start, end, step } => {
                        Pick::Range(start as i64, end.map(|end| end as i64), step)
                    }
                    SliceInfoElem::NewAxis => panic!("none of these has a new axis"),
                })
                .collect(),
            Self::Tuple(list, range, mask) => vec![
                Pick::List(list.clone()),
                Pick::Range(range.start, Some(range.end), 1),
                Pick::Mask(mask.clone()),
            ],
            Self::Axes(picks) => picks.clone(),
            Self::Names(names) => {
                let pick = |name| {
                    names
                        .iter()
                        .find(|(given, _)| *given == name)
                        .map(|(_, pick)| pick.clone())
                };
                NAMES
                    .map(|name| pick(name).unwrap_or(Pick::Range(0, None, 1)))
                    .to_vec()
            }
            Self::Blocks(blocks) => {
                let range = |((&(first, end), &len), &n): ((&(i64, i64), &usize), &usize)| {
                    let n = n as i64;
                    Pick::Range(first * n, Some((end * n).min(len as i64)), 1)
                };
                blocks.iter().zip(shape).zip(chunk).map(range).collect()
            }
            Self::Points(points) => return all(points.iter().map(|point| inside(point)).collect()),
            Self::ByAxis(axes) => {
                let point = |at: usize| axes.iter().map(|along| along[at]).collect::<Vec<_>>();
                return all((0..axes[0].len()).map(|at| inside(&point(at))).collect());
            }
            Self::Mask(mask) => {
                let selected = mask.indexed_iter().filter(|(_, selected)| **selected);
                return all(selected
                    .map(|(at, _)| at.as_array_view().to_vec())
                    .collect());
            }
        };
        outer(shape, &picks)
    }
}

impl Taken {
    pub(super) fn of(&self, all: &ArrayD<i32>) -> ArrayD<i32> {
        let elements = self.places.iter().map(|at| all[&at[..]]).collect();
        ArrayD::from_shape_vec(IxDyn(&self.shape), elements).expect("as many elements")
    }

    /// One value after the other, so the last one of a place stays.
    pub(super) fn put<'v>(&self, all: &mut ArrayD<i32>, values: impl IntoIterator<Item = &'v i32>) {
        self.places
            .iter()
            .zip(values)
            .for_each(|(at, &value)| all[&at[..]] = value);
    }
}
