//! Converts numbers on the way from one array to another.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use ndarray::{ArrayView, ArrayViewMut, Axis, IxDyn};
use ndzarr_engine::in_parallel;
use ndzarr_grid::{Region, next_index};
use ndzarr_model::{DataType, FillValue};

use crate::element_types::number::{Cast, Number, Wide};
use crate::element_types::plain_element::PlainElement;
use crate::error::{Error, ErrorKind, Result};
use crate::for_each_type;

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbers {
    /// `None`: that of the source.
    pub(crate) data_type: Option<DataType>,
    pub(crate) scale: f64,
    pub(crate) offset: f64,
    pub(crate) cast: Cast,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            data_type: None,
            scale: 1.0,
            offset: 0.0,
            cast: Cast::Checked,
        }
    }
}

impl Numbers {
    /// How elements of this type become others; `None` if they stay as they are.
    ///
    /// # Errors
    /// One of the types is not of real numbers.
    pub(crate) fn of(&self, stored: &DataType) -> Result<Option<Conversion>> {
        let to = self.data_type.as_ref().unwrap_or(stored);
        let scales = self.scale != 1.0 || self.offset != 0.0;
        if to == stored && !scales {
            return Ok(None);
        }
        let is_real = |data_type: &&DataType| {
            let data_type = *data_type;
            for_each_type!(data_type, T: Number => T::data_type() == *data_type, _ => false)
        };
        // A bool becomes 0 or 1; nothing becomes a bool.
        let from = Some(stored).filter(|stored| **stored != DataType::Bool);
        if let Some(other) = from
            .into_iter()
            .chain([to])
            .find(|data_type| !is_real(data_type))
        {
            let what =
                format!("elements of {stored} as {to}: {other} is not a type of real numbers");
            return Err(Error::new(ErrorKind::WrongType, what));
        }
        let (scale, offset, cast) = (self.scale, self.offset, self.cast);
        Ok(Some(Conversion {
            from: stored.clone(),
            to: to.clone(),
            scale,
            offset,
            scales,
            cast,
        }))
    }
}

/// How numbers of one type become those of another.
#[derive(Clone, Debug)]
pub(crate) struct Conversion {
    from: DataType,
    pub(crate) to: DataType,
    scale: f64,
    offset: f64,
    scales: bool,
    cast: Cast,
}

/// Elements, and the memory for what they become.
type ViewPair<'p> = (ArrayView<'p, u8, IxDyn>, ArrayViewMut<'p, u8, IxDyn>);

/// How many numbers are converted at a time, so that they stay in a cache of the core.
const AT_ONCE: usize = 512;

/// Bytes that one thread converts at a time.
const PART: usize = 1 << 18;

impl Conversion {
    /// The fill value, as a number of the new type.
    ///
    /// # Errors
    /// It is out of range.
    pub(crate) fn fill(&self, fill: &FillValue) -> Result<FillValue> {
        let mut bytes = vec![0; self.to.elem_size().unwrap_or(0)];
        let mut wide = Vec::new();
        self.widen(fill.bytes(), &mut wide);
        if let Some(number) = self.narrow(&wide, &mut bytes) {
            let what = format!(
                "the fill value {} becomes {}, which is out of range of {}; a saturating cast takes the nearest number",
                self.shown(fill.bytes()),
                show(number),
                self.to
            );
            return Err(Error::new(ErrorKind::WrongType, what));
        }
        Ok(FillValue::defined(bytes))
    }

    /// Converts the packed elements of a region into the part of memory that is for them.
    ///
    /// # Errors
    /// The first number found that is out of range, and its index in the array.
    pub(crate) fn convert(
        &self,
        region: &Region,
        from: &[u8],
        mut to: ArrayViewMut<'_, u8, IxDyn>,
        threads: Option<NonZeroUsize>,
    ) -> Result<()> {
        if region.is_empty() {
            return Ok(());
        }
        let mut shape: Vec<usize> = region.shape().iter().map(|&n| n as usize).collect();
        shape.extend(self.from.elem_size());
        let from = ArrayView::from_shape(IxDyn(&shape), from)
            .map_err(|error| Error::new(ErrorKind::WrongShape, error))?;
        // Parts along the longest axis.
        let axis = (0..region.ndim()).max_by_key(|&axis| shape[axis]);
        let Some(axis) = axis.map(Axis) else {
            return self.part(region, from, to);
        };
        let len = shape[axis.0];
        let rows = len.div_ceil((from.len() / PART).max(1)).max(1);
        let parts = from
            .axis_chunks_iter(axis, rows)
            .zip(to.axis_chunks_iter_mut(axis, rows));
        let part = |(number, part)| {
            let (from, to): ViewPair<'_> = part;
            let mut ranges = region.ranges().to_vec();
            let start = ranges[axis.0].start + (number * rows) as u64;
            ranges[axis.0] = start..start + from.len_of(axis) as u64;
            self.part(&Region::new(ranges), from, to)
        };
        in_parallel(parts.enumerate().collect(), threads, part)
            .into_iter()
            .collect()
    }

    fn part(
        &self,
        region: &Region,
        from: ArrayView<'_, u8, IxDyn>,
        mut to: ArrayViewMut<'_, u8, IxDyn>,
    ) -> Result<()> {
        let ndim = region.ndim();
        // Rows of the last axis: their elements are contiguous on both sides.
        let last = if ndim == 0 { 0 } else { ndim - 1 };
        let rows = Region::whole(&region.shape()[..last]);
        let (mut wide, mut bytes) = (Vec::new(), Vec::new());
        let mut index = rows.start();
        loop {
            let (mut source, mut target) = (from.view(), to.view_mut());
            for &at in &index {
                source = source.index_axis_move(Axis(0), at as usize);
                target = target.index_axis_move(Axis(0), at as usize);
            }
            let row = source
                .as_slice()
                .map_or_else(|| source.iter().copied().collect(), Cow::Borrowed);
            let size = self.from.elem_size().unwrap_or(1);
            let out_size = self.to.elem_size().unwrap_or(1);
            bytes.resize(row.len() / size * out_size, 0);
            for (part, (from, to)) in row
                .chunks(AT_ONCE * size)
                .zip(bytes.chunks_mut(AT_ONCE * out_size))
                .enumerate()
            {
                wide.clear();
                self.widen(from, &mut wide);
                if self.narrow(&wide, to).is_some() {
                    return Err(self.out_of_range(region, &index, part * AT_ONCE, from, &wide));
                }
            }
            match target.as_slice_mut() {
                Some(slice) => slice.copy_from_slice(&bytes),
                None => target
                    .iter_mut()
                    .zip(&bytes)
                    .for_each(|(to, from)| *to = *from),
            }
            if !next_index(&mut index, &rows) {
                return Ok(());
            }
        }
    }

    fn out_of_range(
        &self,
        region: &Region,
        row: &[u64],
        at: usize,
        from: &[u8],
        wide: &[Wide],
    ) -> Error {
        let size = self.to.elem_size().unwrap_or(1);
        let mut one = vec![0; size];
        let wrong = wide
            .iter()
            .position(|&number| self.narrow(&[number], &mut one).is_some())
            .unwrap_or(0);
        let mut index: Vec<u64> = region.start();
        row.iter()
            .zip(&mut index)
            .for_each(|(row, index)| *index += row);
        if let Some(last) = index.last_mut() {
            *last += (at + wrong) as u64;
        }
        let size = self.from.elem_size().unwrap_or(1);
        let stored = self.shown(
            from.get(wrong * size..(wrong + 1) * size)
                .unwrap_or_default(),
        );
        let what = if self.scales {
            format!(
                "{stored} at {index:?} becomes {}, which is out of range of {}",
                show(wide[wrong]),
                self.to
            )
        } else {
            format!("{stored} at {index:?} is out of range of {}", self.to)
        };
        Error::new(ErrorKind::WrongType, what)
    }

    fn shown(&self, bytes: &[u8]) -> String {
        for_each_type!(&self.from, T: Number => {
            bytemuck::try_pod_read_unaligned::<<T as PlainElement>::Repr>(bytes)
                .map(|repr| format!("{:?}", T::from_repr(repr)))
                .unwrap_or_default()
        }, _ => format!("{bytes:?}"))
    }

    /// The numbers, scaled.
    fn widen(&self, from: &[u8], wide: &mut Vec<Wide>) {
        if self.from == DataType::Bool {
            wide.extend(from.iter().map(|&byte| Wide::UInt(u64::from(byte != 0))));
        } else {
            for_each_type!(&self.from, T: Number => widen_all::<T>(from, wide), _ => {});
        }
        if self.scales {
            let (scale, offset) = (self.scale, self.offset);
            wide.iter_mut()
                .for_each(|number| *number = Wide::Float(float(*number) * scale + offset));
        }
    }

    /// The numbers of the new type. Returns the first that is out of range, unless they saturate.
    fn narrow(&self, wide: &[Wide], to: &mut [u8]) -> Option<Wide> {
        let checked = self.cast == Cast::Checked;
        for_each_type!(&self.to, T: Number => narrow_all::<T>(wide, to, checked), _ => wide.first().copied())
    }
}

fn widen_all<T: Number>(from: &[u8], wide: &mut Vec<Wide>) {
    let elements = from.chunks_exact(size_of::<T::Repr>());
    wide.extend(elements.map(|bytes| T::from_repr(bytemuck::pod_read_unaligned(bytes)).widen()));
}

fn narrow_all<T: Number>(wide: &[Wide], to: &mut [u8], checked: bool) -> Option<Wide> {
    let mut all_fit = true;
    for (&number, place) in wide.iter().zip(to.chunks_exact_mut(size_of::<T::Repr>())) {
        let (number, fits) = T::narrow(number);
        all_fit &= fits;
        place.copy_from_slice(bytemuck::bytes_of(&number.to_repr()));
    }
    if all_fit || !checked {
        return None;
    }
    wide.iter().copied().find(|&number| !T::narrow(number).1)
}

fn float(number: Wide) -> f64 {
    match number {
        Wide::Int(int) => int as f64,
        Wide::UInt(int) => int as f64,
        Wide::Float(float) => float,
    }
}

fn show(number: Wide) -> String {
    match number {
        Wide::Int(int) => int.to_string(),
        Wide::UInt(int) => int.to_string(),
        Wide::Float(float) => format!("{float:?}"),
    }
}
