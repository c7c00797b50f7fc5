//! Encodes the new value of a chunk from its old value and the written elements.

mod boxes;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::strided::{self, Strided};
use ndzarr_codec::{
    Access, CodecChain, CodecError, Elements, Layout, VlenBuffer, Workspace, c_strides,
};
use ndzarr_grid::Region;
use ndzarr_model::ElemKind;

use self::boxes::for_each_box;
use crate::chunked::Outside;
use crate::{EngineCause, FillChunks, Source};

/// In how many places a chunk is compared with the fill value before all of it is, and how many
/// bytes in each.
const SAMPLES: usize = 8;
const SAMPLE_BYTES: usize = 1 << 10;

/// The new value of a chunk or inner chunk, to be made from the stored and the written elements.
#[derive(Clone, Debug)]
pub(crate) struct EncodeJob {
    pub(crate) chain: Arc<CodecChain>,
    /// Shape of the chunk.
    pub(crate) shape: Vec<u64>,
    /// Its extent inside the array, from 0 along each axis.
    pub(crate) bounds: Vec<u64>,
    /// The written part, within the bounds.
    pub(crate) region: Region,
    /// Where the region begins in the source, along the job's own axes.
    pub(crate) source_start: Vec<usize>,
    /// Axis `i` of the job is axis `axes[i]` of the source.
    pub(crate) axes: Vec<usize>,
    /// The stored value, if elements of it remain.
    pub(crate) old: Option<Bytes>,
    /// How to treat its elements outside the bounds.
    pub(crate) outside: Outside,
    pub(crate) fill_chunks: FillChunks,
    /// Which inner chunk it is, as in [`Broken`](crate::Broken).
    pub(crate) inner_chunk: Vec<Vec<u64>>,
}

impl EncodeJob {
    /// Encodes the new value; `None` if it is all fill value and must not be stored.
    pub(crate) fn run(
        &self,
        source: &dyn Source,
        workspace: &mut Workspace,
    ) -> Result<Option<Vec<u8>>, EngineCause> {
        self.encoded(source, workspace)
            .map_err(|cause| cause.within(&self.inner_chunk))
    }

    fn encoded(
        &self,
        source: &dyn Source,
        workspace: &mut Workspace,
    ) -> Result<Option<Vec<u8>>, EngineCause> {
        let chain = &self.chain;
        let keep = if self.outside == Outside::Fill {
            &self.bounds
        } else {
            &self.shape
        };
        let truncated;
        let shape = match &self.old {
            _ if !chain.truncates() => &self.shape,
            // A block that another process made larger than this array keeps its size.
            Some(old) if keep != &self.bounds => {
                truncated = self.larger(old, workspace)?;
                &truncated
            }
            _ => &self.bounds,
        };
        if chain.elem_kind() == ElemKind::Vlen {
            return self.run_vlen(source, shape, keep, workspace);
        }
        let stored_shape = chain.stored(shape);
        let byte_len = extent(&stored_shape)?
            .iter()
            .try_fold(chain.elem_size(), |len, &n| len.checked_mul(n))
            .ok_or_else(|| {
                CodecError::encode("chain", format!("a chunk of shape {shape:?} is too large"))
            })?;
        let no_memory = |_| CodecError::OutOfMemory { byte_len };
        let fill = chain.fill();
        let skip = self.fill_chunks == FillChunks::Erase && fill.is_defined();
        if let Access::Raw { swap } = chain.access() {
            // The combined value is the result.
            chain.check_writable()?;
            let mut value = workspace.take_filled(byte_len).map_err(no_memory)?;
            self.gather(source, shape, keep, &mut value, workspace)?;
            if skip && strided::is_all(&value, fill.bytes()) {
                workspace.give_bytes(value);
                return Ok(None);
            }
            swap.apply(&mut value);
            return Ok(Some(value));
        }
        if let Some(encoded) = self.run_by_blocks(source, shape, skip, workspace)? {
            return Ok(Some(encoded));
        }
        let mut buffer = workspace.take(byte_len).map_err(no_memory)?;
        self.gather(source, shape, keep, buffer.bytes_mut(), workspace)?;
        let encoded = if skip && strided::is_all(buffer.bytes(), fill.bytes()) {
            Ok(None)
        } else {
            let mut out = workspace.take_bytes();
            chain
                .encode_stored(buffer.bytes_mut(), &stored_shape, workspace, &mut out)
                .map(|()| Some(out))
        };
        workspace.give(buffer);
        Ok(encoded?)
    }

    /// Encodes a chunk of this shape block by block, if the chain can do so and the chunk comes
    /// entirely from the source, in the source's order. Otherwise, or if it may be all fill value
    /// and `skip_fill` is set, it returns `None` without having done anything.
    fn run_by_blocks(
        &self,
        source: &dyn Source,
        shape: &[u64],
        skip_fill: bool,
        workspace: &mut Workspace,
    ) -> Result<Option<Vec<u8>>, EngineCause> {
        let chain = &self.chain;
        let is_copy = self.old.is_none()
            && source.is_dense()
            && source.is_c_order()
            && self.axes.is_sorted()
            && self.region.contains(&Region::whole(shape));
        let Some(block_len) = chain.piece_len(shape).filter(|_| is_copy) else {
            return Ok(None);
        };
        let size = chain.elem_size();
        let extent = extent(shape)?;
        let strides = c_strides(&extent);
        let mut make = |range: Range<usize>, out: &mut [u8]| {
            let elements = range.start / size..range.end / size;
            for_each_box(&extent, elements.clone(), |at, start, len| {
                let from: Vec<usize> = start
                    .iter()
                    .zip(&self.source_start)
                    .map(|(a, b)| a + b)
                    .collect();
                source.gather(&from, len, out, at - elements.start, &strides);
            });
        };
        if skip_fill {
            let n: usize = extent.iter().product();
            let sample_len = (SAMPLE_BYTES / size).clamp(1, block_len.get() / size);
            let byte_len = sample_len * size;
            let mut sample = workspace
                .take(byte_len)
                .map_err(|_| CodecError::OutOfMemory { byte_len })?;
            let may_be_fill = (0..SAMPLES).all(|i| {
                let first = (n / SAMPLES * i).min(n - sample_len);
                make(
                    first * size..(first + sample_len) * size,
                    sample.bytes_mut(),
                );
                strided::is_all(sample.bytes(), chain.fill().bytes())
            });
            workspace.give(sample);
            if may_be_fill {
                return Ok(None);
            }
        }
        let mut out = workspace.take_bytes();
        chain.encode_pieces(shape, &mut make, workspace, &mut out)?;
        Ok(Some(out))
    }

    /// Combines the elements of a new value of this shape, in C order over the stored axes.
    /// Elements of the old value within `keep` remain.
    fn gather(
        &self,
        source: &dyn Source,
        shape: &[u64],
        keep: &[u64],
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<(), EngineCause> {
        let chain = &self.chain;
        let stored_strides = c_strides(&extent(&chain.stored(shape))?);
        // Strides of the buffer by the job's own axes.
        let mut strides = vec![0; shape.len()];
        for (stored, &axis) in chain.order().iter().enumerate() {
            strides[axis] = stored_strides[stored];
        }
        let covers_all = source.is_dense() && self.region.contains(&Region::whole(shape));
        // If all old elements remain, they can be decoded in place.
        let in_place = match &self.old {
            Some(old) if keep == self.shape && shape == self.shape => {
                chain.decode_into(old, shape, out, workspace)?
            }
            Some(_) | None => false,
        };
        if !covers_all && !in_place {
            strided::fill_contiguous(out, chain.fill().bytes());
        }
        if let Some(old) = self.old.as_ref().filter(|_| !in_place) {
            let keep = extent(keep)?;
            chain.decode(old, &self.shape, workspace, |elements, layout| {
                let Elements::Fixed { bytes, size } = elements else {
                    return Err(EngineCause::Element("elements of no fixed size".to_owned()));
                };
                part_within(layout, &keep).copy_native(
                    bytes,
                    size,
                    out,
                    Strided {
                        offset: 0,
                        strides: &strides,
                    },
                );
                Ok(())
            })?;
        }
        let (from, source_len) = self.in_source()?;
        let (offset, to) = self.target(&strides);
        source.gather(&from, &source_len, out, offset, &to);
        Ok(())
    }

    /// The extent of a stored chunk or of the bounds, whichever is larger along an axis.
    fn larger(&self, old: &[u8], workspace: &mut Workspace) -> Result<Vec<u64>, EngineCause> {
        let mut larger = self.bounds.clone();
        self.chain
            .decode(old, &self.shape, workspace, |_, layout| {
                for (n, &stored) in larger.iter_mut().zip(&layout.extent) {
                    *n = (*n).max(stored as u64);
                }
                Ok::<_, EngineCause>(())
            })?;
        Ok(larger)
    }

    /// Encodes a new value with elements of variable size.
    fn run_vlen(
        &self,
        source: &dyn Source,
        shape: &[u64],
        keep: &[u64],
        workspace: &mut Workspace,
    ) -> Result<Option<Vec<u8>>, EngineCause> {
        let chain = &self.chain;
        let stored_shape = chain.stored(shape);
        let stored_extent = extent(&stored_shape)?;
        let n = stored_extent
            .iter()
            .try_fold(1usize, |n, &len| n.checked_mul(len))
            .unwrap_or(usize::MAX);
        let mut strides = vec![0; shape.len()];
        for (stride, &axis) in c_strides(&stored_extent).iter().zip(chain.order()) {
            strides[axis] = *stride;
        }
        let fill = chain.fill();
        let mut buffer = VlenBuffer::filled(n, fill.bytes())?;
        if let Some(old) = &self.old {
            let keep = extent(keep)?;
            chain.decode(old, &self.shape, workspace, |elements, layout| {
                let Elements::Vlen { slots, bytes } = elements else {
                    return Err(EngineCause::Element("elements of a fixed size".to_owned()));
                };
                let part = part_within(layout, &keep);
                let to = Strided {
                    offset: 0,
                    strides: &strides,
                };
                buffer.copy_from(&part.extent, slots, bytes, part.place(), to);
                Ok(())
            })?;
        }
        let (from, source_len) = self.in_source()?;
        let (offset, to) = self.target(&strides);
        source.gather_vlen(&from, &source_len, &mut buffer, offset, &to)?;
        if self.fill_chunks == FillChunks::Erase && fill.is_defined() && buffer.is_all(fill.bytes())
        {
            return Ok(None);
        }
        let mut out = Vec::new();
        chain.encode_vlen(
            buffer.slots(),
            buffer.bytes(),
            &stored_shape,
            workspace,
            &mut out,
        )?;
        Ok(Some(out))
    }

    /// Position of the written elements in the source, by its axes: first index and length.
    pub(crate) fn in_source(&self) -> Result<(Vec<usize>, Vec<usize>), EngineCause> {
        let len = extent(&self.region.shape())?;
        let mut start = vec![0; len.len()];
        let mut source_len = vec![0; len.len()];
        for (i, &axis) in self.axes.iter().enumerate() {
            start[axis] = self.source_start[i];
            source_len[axis] = len[i];
        }
        Ok((start, source_len))
    }

    /// Position of the written elements in a buffer with these strides along the job's axes: the
    /// first one, and the strides by the axes of the source.
    fn target(&self, strides: &[isize]) -> (usize, Vec<isize>) {
        let start = self.region.start();
        let offset = start
            .iter()
            .zip(strides)
            .map(|(&at, &stride)| at as usize * stride as usize)
            .sum();
        let mut to = vec![0; self.axes.len()];
        for (&axis, &stride) in self.axes.iter().zip(strides) {
            to[axis] = stride;
        }
        (offset, to)
    }

    /// This job with its own copy of the written elements, so that it can run elsewhere.
    pub(crate) fn detach(
        &self,
        source: &dyn Source,
    ) -> Result<(Self, Box<dyn Source + Send>), EngineCause> {
        let (start, source_len) = self.in_source()?;
        let elements = source.piece(&start, &source_len);
        Ok((
            Self {
                source_start: vec![0; self.axes.len()],
                ..self.clone()
            },
            elements,
        ))
    }
}

/// The part of old elements that is inside `keep`.
fn part_within(layout: &Layout, keep: &[usize]) -> Layout {
    let mut part = layout.clone();
    part.extent
        .iter_mut()
        .zip(keep)
        .for_each(|(n, &keep)| *n = keep.min(*n));
    part
}

fn extent(shape: &[u64]) -> Result<Vec<usize>, EngineCause> {
    shape
        .iter()
        .map(|&n| usize::try_from(n))
        .collect::<Result<_, _>>()
        .map_err(|_| {
            CodecError::encode("chain", format!("a chunk of shape {shape:?} is too large")).into()
        })
}
