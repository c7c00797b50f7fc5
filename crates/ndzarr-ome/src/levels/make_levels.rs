//! Makes the elements of the coarser levels, each level from the one before, in bounded memory.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use ndzarr::ndarray::{ArrayD, SliceInfoElem};
use ndzarr::{AnyArray, Array, DataType, Region, RunOptions, for_each_type, par_write};

use crate::error::{Error, Result};
use crate::levels::downsample::{Downsample, Sample, advance, reduce};
use crate::levels::level::Level;

/// The most elements of a level that make one of the next: sums of that many are exact.
pub(crate) const MAX_PER_ELEMENT: u64 = 1 << 20;

/// Makes all levels of the image at `path` except for the finest.
pub(crate) fn make_levels(
    path: &str,
    levels: &[Level],
    arrays: &[AnyArray],
    method: Downsample,
    options: &RunOptions,
) -> Result<()> {
    // All levels are checked before the first is made.
    let mut steps = Vec::new();
    for (levels, arrays) in levels.windows(2).zip(arrays.windows(2)) {
        let wrong = |what| {
            Error::metadata(
                path,
                format!("has the level {:?}, which {what}", levels[1].path),
            )
        };
        let factors = factors(&levels[0], &levels[1], method).map_err(wrong)?;
        let expected = arrays[0]
            .shape()
            .iter()
            .zip(&factors)
            .map(|(len, factor)| len.div_ceil(*factor));
        let expected: Vec<u64> = expected.collect();
        if arrays[1].shape() != expected {
            let what = format!("has the shape {:?}, not {expected:?}", arrays[1].shape());
            return Err(wrong(what));
        }
        if arrays[0].data_type() != arrays[1].data_type() {
            let what = format!(
                "has elements of another type than {}",
                arrays[0].data_type()
            );
            return Err(wrong(what));
        }
        steps.push((&arrays[0], &arrays[1], factors));
    }
    if let Some((fine, ..)) = steps.first() {
        check_type(fine.data_type(), method)?;
    }
    for (fine, coarse, factors) in steps {
        make_level(fine, coarse, &factors, method, options)?;
    }
    Ok(())
}

/// Checks that levels can be made of elements of this type.
pub(crate) fn check_type(data_type: &DataType, method: Downsample) -> Result<()> {
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
pub(crate) fn copy_elements(
    source: &AnyArray,
    target: &AnyArray,
    options: &RunOptions,
) -> Result<()> {
    make_level(
        source,
        target,
        &vec![1; source.shape().len()],
        Downsample::Stride,
        options,
    )
}

/// Makes one level from the one before, of any type of elements.
fn make_level(
    fine: &AnyArray,
    coarse: &AnyArray,
    factors: &[u64],
    method: Downsample,
    options: &RunOptions,
) -> Result<()> {
    match fine.data_type() {
        DataType::Bool => make_level_of::<bool>(fine, coarse, factors, method, options),
        data_type => for_each_type!(
            data_type,
            T: Number => make_level_of::<T>(fine, coarse, factors, method, options),
            _ => check_type(coarse.data_type(), method)
        ),
    }
}

/// The number of elements of a level that make one of the next along each axis.
fn factors(fine: &Level, coarse: &Level, method: Downsample) -> Result<Vec<u64>, String> {
    let mut factors = Vec::with_capacity(fine.scale.len());
    for (at, (&from, &to)) in fine.scale.iter().zip(&coarse.scale).enumerate() {
        let factor = (to / from).round();
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
    match n_per_element(&factors) {
        Some(_) => Ok(factors),
        None => Err(format!(
            "has elements that stand for more than {MAX_PER_ELEMENT} of the level before"
        )),
    }
}

/// The number of elements that make one, unless it is too large.
pub(crate) fn n_per_element(factors: &[u64]) -> Option<u64> {
    let n = factors
        .iter()
        .try_fold(1_u64, |n, factor| n.checked_mul(*factor));
    n.filter(|n| *n <= MAX_PER_ELEMENT)
}

fn make_level_of<T: Sample>(
    fine: &AnyArray,
    coarse: &AnyArray,
    factors: &[u64],
    method: Downsample,
    options: &RunOptions,
) -> Result<()> {
    let threads = options
        .threads
        .or_else(|| available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    // A quarter is for the blocks of the coarser level, which are in memory as elements and
    // encoded; the rest is for the elements that they are made from.
    let share = (options.bytes_in_flight / 4).max(1);
    let parts = Parts::new::<T>(fine, coarse, factors, share / threads as u64);
    let mut read_options = options.clone().threads(NonZeroUsize::MIN);
    read_options.progress = None;
    let fine: Array<T> = fine.clone().typed::<T>()?.with_options(read_options);
    let write_options = options.clone().bytes_in_flight(share);
    let coarse: Array<T> = coarse.clone().typed::<T>()?.with_options(write_options);
    par_write(&coarse, |region| {
        let shape: Vec<usize> = region.shape().iter().map(|&len| len as usize).collect();
        let mut block = ArrayD::from_elem(shape, T::default());
        parts.for_each(region, |part| {
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
    /// Parts that read whole chunks of the finer level, if these are at most `bytes`.
    fn new<T: Sample>(fine: &AnyArray, coarse: &AnyArray, factors: &[u64], bytes: u64) -> Self {
        let chunks = fine.chunk_shape().into_iter().zip(coarse.chunk_shape());
        let shape = chunks
            .zip(factors)
            .map(|((fine, coarse), factor)| coarse.max(fine.div_ceil(*factor)).max(1));
        let mut shape: Vec<u64> = shape.collect();
        // Twice, since decoded chunks are copied.
        let bytes_per_element = 2 * size_of::<T>() as u64;
        let bytes_to_read = |shape: &[u64]| {
            let lens = shape
                .iter()
                .zip(factors)
                .map(|(len, factor)| len.saturating_mul(*factor));
            lens.fold(bytes_per_element, u64::saturating_mul)
        };
        while bytes_to_read(&shape) > bytes {
            let Some(longest) = shape.iter_mut().find(|len| **len > 1) else {
                break;
            };
            *longest = longest.div_ceil(2);
        }
        Self {
            shape,
            factors: factors.to_vec(),
            fine_shape: fine.shape().to_vec(),
        }
    }

    /// Calls with each part of a block, in C order.
    fn for_each(
        &self,
        block: &Region,
        mut call: impl FnMut(&Region) -> ndzarr::Result<()>,
    ) -> ndzarr::Result<()> {
        let counts: Vec<usize> = (block.shape().iter().zip(&self.shape))
            .map(|(len, part)| usize::try_from(len.div_ceil(*part)).unwrap_or(usize::MAX))
            .collect();
        let mut index = vec![0; counts.len()];
        for _ in 0..counts.iter().product::<usize>() {
            let ranges =
                block
                    .ranges()
                    .iter()
                    .zip(&index)
                    .zip(&self.shape)
                    .map(|((range, &at), len)| {
                        let start = range.start + at as u64 * len;
                        start..(start + len).min(range.end)
                    });
            call(&Region::new(ranges))?;
            advance(&mut index, &counts);
        }
        Ok(())
    }

    /// The elements of the finer level that a part is made from.
    fn needed_for(&self, part: &Region, method: Downsample) -> Vec<SliceInfoElem> {
        let along = part
            .ranges()
            .iter()
            .zip(&self.factors)
            .zip(&self.fine_shape);
        along
            .map(|((range, factor), len)| SliceInfoElem::Slice {
                start: range.start.saturating_mul(*factor) as isize,
                end: Some(range.end.saturating_mul(*factor).min(*len) as isize),
                step: if method == Downsample::Stride {
                    *factor as isize
                } else {
                    1
                },
            })
            .collect()
    }
}
