//! Makes the elements of the coarser levels, each level from the one before, in bounded memory.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use ndzarr::ndarray::{ArrayD, SliceInfoElem};
use ndzarr::{AnyArray, Array, DataType, Region, RunOptions, for_each_type, par_write};

use crate::error::{Error, Result};
use crate::levels::downsample::{Downsample, Sample, advance, reduce};
use crate::levels::level::Level;

/// The most elements of a level that one of the next stands for: sums of them are exact.
pub(crate) const MOST_IN_ONE: u64 = 1 << 20;

/// Makes all levels of the image at `path` but the finest.
pub(crate) fn make_levels(
    path: &str,
    levels: &[Level],
    arrays: &[AnyArray],
    method: Downsample,
    options: &RunOptions,
) -> Result<()> {
    // Everything is checked before anything is made.
    let mut steps = Vec::new();
    for (levels, arrays) in levels.windows(2).zip(arrays.windows(2)) {
        let wrong = |what| Error::metadata(path, format!("has the level {:?}, which {what}", levels[1].path));
        let factors = factors(&levels[0], &levels[1], method).map_err(wrong)?;
        let needed = arrays[0].shape().iter().zip(&factors).map(|(len, factor)| len.div_ceil(*factor));
        let needed: Vec<u64> = needed.collect();
        if arrays[1].shape() != needed {
            let what = format!("has the shape {:?}, not {needed:?}", arrays[1].shape());
            return Err(wrong(what));
        }
        if arrays[0].data_type() != arrays[1].data_type() {
            let what = format!("has elements of another type than {}", arrays[0].data_type());
            return Err(wrong(what));
        }
        steps.push((&arrays[0], &arrays[1], factors));
    }
    if let Some((fine, ..)) = steps.first() {
        can_make(fine.data_type(), method)?;
    }
    steps.iter().try_for_each(|(fine, coarse, factors)| step_of_any(fine, coarse, factors, method, options))
}

/// Whether levels can be made of elements of this type.
pub(crate) fn can_make(data_type: &DataType, method: Downsample) -> Result<()> {
    match data_type {
        DataType::Bool if method == Downsample::Mean => {
            let what = "bools have no mean: levels of them are made by the mode or by a stride";
            Err(Error::Argument(what.to_owned()))
        }
        DataType::Bool => Ok(()),
        data_type => for_each_type!(data_type, _T: Number => Ok(()), other => {
            Err(Error::Argument(format!("elements of the type {other} are not numbers")))
        }),
    }
}

/// Copies the elements of an array to one of the same shape and type, in bounded memory.
pub(crate) fn copy_elements(source: &AnyArray, target: &AnyArray, options: &RunOptions) -> Result<()> {
    step_of_any(source, target, &vec![1; source.shape().len()], Downsample::Stride, options)
}

fn step_of_any(
    fine: &AnyArray,
    coarse: &AnyArray,
    factors: &[u64],
    method: Downsample,
    options: &RunOptions,
) -> Result<()> {
    let (fine, coarse) = (fine.clone(), coarse.clone());
    match fine.data_type() {
        DataType::Bool => step::<bool>(fine, coarse, factors, method, options),
        data_type => {
            for_each_type!(data_type, T: Number => step::<T>(fine, coarse, factors, method, options), _ => {
                can_make(coarse.data_type(), method)
            })
        }
    }
}

/// How many elements of a level make one of the next along each axis.
fn factors(fine: &Level, coarse: &Level, method: Downsample) -> Result<Vec<u64>, String> {
    let mut factors = Vec::with_capacity(fine.scale.len());
    for (at, (&from, &to)) in fine.scale.iter().zip(&coarse.scale).enumerate() {
        let factor = (to / from).round();
        // Sums of as many elements are exact.
        if !((to / from - factor).abs() <= 1e-6 * factor && (1.0..=1024.0).contains(&factor)) {
            return Err(format!(
                "has the scale {to} along axis {at}, not a multiple of {from} by up to 1024"
            ));
        }
        let factor = factor as u64;
        let expected = fine.translation[at] + from * method.offset(factor);
        if (coarse.translation[at] - expected).abs() > 1e-3 * from.abs() {
            return Err(format!(
                "has the translation {} along axis {at}; of a {} it is {expected}",
                coarse.translation[at],
                method.name()
            ));
        }
        factors.push(factor);
    }
    match in_one(&factors) {
        Some(_) => Ok(factors),
        None => Err(format!("has elements that stand for more than {MOST_IN_ONE} of the level before")),
    }
}

/// How many elements make one, unless they are too many.
pub(crate) fn in_one(factors: &[u64]) -> Option<u64> {
    let n = factors.iter().try_fold(1_u64, |n, factor| n.checked_mul(*factor));
    n.filter(|n| *n <= MOST_IN_ONE)
}

/// Makes one level from the one before.
fn step<T: Sample>(
    fine: AnyArray,
    coarse: AnyArray,
    factors: &[u64],
    method: Downsample,
    options: &RunOptions,
) -> Result<()> {
    let threads = options.threads.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    // A quarter for the blocks of the coarser level, which are there as elements and encoded; the rest
    // for what they are made from.
    let share = (options.bytes_in_flight / 4).max(1);
    let parts = Parts::new::<T>(&fine, &coarse, factors, share / threads as u64);
    let mut one = options.clone().threads(NonZeroUsize::MIN);
    one.progress = None;
    let fine: Array<T> = fine.typed::<T>()?.with_options(one);
    let coarse: Array<T> = coarse.typed::<T>()?.with_options(options.clone().bytes_in_flight(share));
    par_write(&coarse, |region| {
        let shape: Vec<usize> = region.shape().iter().map(|&len| len as usize).collect();
        let mut block = ArrayD::from_elem(shape, T::default());
        parts.each(region, |part| {
            let elements = fine.read(&parts.needed_for(part, method)[..])?;
            let within = part.relative_to(&region.start());
            let bounds = within.ranges().iter().map(|range| SliceInfoElem::Slice {
                start: range.start as isize,
                end: Some(range.end as isize),
                step: 1,
            });
            let out = block.slice_mut(&bounds.collect::<Vec<_>>()[..]);
            let factors = match method {
                Downsample::Stride => vec![1; factors.len()],
                _ => factors.iter().map(|&factor| factor as usize).collect(),
            };
            reduce(method, &elements, &factors, out);
            Ok(())
        })?;
        Ok(block)
    })
}

/// The parts that a block of the coarser level is made in.
struct Parts {
    /// Their shape, in elements of the coarser level.
    shape: Vec<u64>,
    factors: Vec<u64>,
    fine_shape: Vec<u64>,
}

impl Parts {
    /// Parts that read whole chunks of the finer level, if `bytes` allow it.
    fn new<T: Sample>(fine: &AnyArray, coarse: &AnyArray, factors: &[u64], bytes: u64) -> Self {
        let chunks = fine.chunk_shape().into_iter().zip(coarse.chunk_shape());
        let shape =
            chunks.zip(factors).map(|((fine, coarse), factor)| coarse.max(fine.div_ceil(*factor)).max(1));
        let mut shape: Vec<u64> = shape.collect();
        let elem = size_of::<T>() as u64;
        // Decoded chunks are copied.
        let needed = |shape: &[u64]| {
            let elements = shape.iter().zip(factors).map(|(len, factor)| len.saturating_mul(*factor));
            elements.fold(2 * elem, u64::saturating_mul)
        };
        while needed(&shape) > bytes {
            let Some(longest) = shape.iter_mut().find(|len| **len > 1) else { break };
            *longest = longest.div_ceil(2);
        }
        Self { shape, factors: factors.to_vec(), fine_shape: fine.shape().to_vec() }
    }

    /// Calls with each part of a block.
    fn each(
        &self,
        block: &Region,
        mut part: impl FnMut(&Region) -> ndzarr::Result<()>,
    ) -> ndzarr::Result<()> {
        let counts: Vec<usize> = (block.shape().iter().zip(&self.shape))
            .map(|(len, part)| usize::try_from(len.div_ceil(*part)).unwrap_or(usize::MAX))
            .collect();
        let mut index = vec![0; counts.len()];
        for _ in 0..counts.iter().product::<usize>() {
            let ranges = block.ranges().iter().zip(&index).zip(&self.shape).map(|((range, &at), len)| {
                let start = range.start + at as u64 * len;
                start..(start + len).min(range.end)
            });
            part(&Region::new(ranges))?;
            advance(&mut index, &counts);
        }
        Ok(())
    }

    /// What is read of the finer level for a part.
    fn needed_for(&self, part: &Region, method: Downsample) -> Vec<SliceInfoElem> {
        let along = part.ranges().iter().zip(&self.factors).zip(&self.fine_shape);
        along
            .map(|((range, factor), len)| SliceInfoElem::Slice {
                start: range.start.saturating_mul(*factor) as isize,
                end: Some(range.end.saturating_mul(*factor).min(*len) as isize),
                step: if method == Downsample::Stride { *factor as isize } else { 1 },
            })
            .collect()
    }
}
