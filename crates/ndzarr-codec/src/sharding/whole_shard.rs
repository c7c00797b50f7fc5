//! Decodes and encodes complete shards in memory.

use std::ops::Range;

use bytes::Bytes;

use super::shard_index::ShardIndex;
use super::shard_layout::ShardBuilder;
use super::{NAME, Sharding, no_index};
use crate::memory::{bounded, sink};
use crate::strided::{self, Strided, Walk};
use crate::vlen::{n_slots, put_vlen, slots_of_box, strides_of};
use crate::workspace::Buffer;
use crate::{CodecError, Elements, VlenBuffer, VlenSlot, Workspace, c_strides};

impl Sharding {
    /// Decodes a complete shard, into C order and native byte order.
    pub(crate) fn decode_whole(
        &self,
        shard: &[u8],
        shard_shape: &[u64],
        workspace: &mut Workspace,
    ) -> Result<Buffer, CodecError> {
        let size = self.chunks.elem_size();
        let index = self.decode_index_of(shard, shard_shape, workspace)?;
        let byte_len = bounded::byte_len(shard_shape, size).unwrap_or(usize::MAX);
        let mut out = bounded::take(workspace, byte_len)?;
        let strides = c_strides(&bounded::extent(shard_shape));
        let extent = bounded::extent(&self.chunk_shape);
        let result = self.for_each_chunk(shard_shape, &strides, |linear, offset| {
            let to = Strided {
                offset,
                strides: &strides,
            };
            match index.entry(linear)? {
                None => strided::fill(&extent, self.chunks.fill().bytes(), out.bytes_mut(), to),
                Some(range) => {
                    let encoded = &shard[to_usize(range)];
                    self.chunks.decode(
                        encoded,
                        &self.chunk_shape,
                        workspace,
                        |elements, layout| {
                            if let Elements::Fixed { bytes, size } = elements {
                                layout.copy_native(bytes, size, out.bytes_mut(), to);
                            }
                            Ok::<_, CodecError>(())
                        },
                    )?;
                }
            }
            Ok(())
        });
        match result {
            Ok(()) => Ok(out),
            Err(error) => {
                workspace.give(out);
                Err(error)
            }
        }
    }

    /// The index of a complete shard.
    fn decode_index_of(
        &self,
        shard: &[u8],
        shard_shape: &[u64],
        workspace: &mut Workspace,
    ) -> Result<ShardIndex, CodecError> {
        let layout = self.layout(shard_shape);
        let shard_len = shard.len() as u64;
        let range = layout
            .index_of(0..shard_len)
            .ok_or_else(|| no_index(shard_len, &layout))?;
        let encoded = Bytes::copy_from_slice(&shard[to_usize(range)]);
        self.decode_index(&encoded, shard_shape, shard_len, workspace)
    }

    /// Decodes a complete shard of elements of variable size, which may have at most `limit` bytes
    /// together.
    pub(crate) fn decode_whole_vlen(
        &self,
        shard: &[u8],
        shard_shape: &[u64],
        limit: usize,
        workspace: &mut Workspace,
    ) -> Result<VlenBuffer, CodecError> {
        let index = self.decode_index_of(shard, shard_shape, workspace)?;
        let mut out = VlenBuffer::filled(n_slots(shard_shape, limit)?, self.chunks.fill().bytes())?;
        let strides = strides_of(shard_shape);
        self.for_each_chunk(shard_shape, &strides, |linear, offset| {
            let Some(range) = index.entry(linear)? else {
                return Ok(());
            };
            let encoded = &shard[to_usize(range)];
            self.chunks
                .decode(encoded, &self.chunk_shape, workspace, |elements, layout| {
                    let to = Strided {
                        offset,
                        strides: &strides,
                    };
                    put_vlen(NAME, elements, layout, &mut out, limit, to)
                })
        })?;
        Ok(out)
    }

    /// Encodes a complete shard from elements of variable size, whose slots are in C order.
    pub(crate) fn encode_whole_vlen(
        &self,
        slots: &[VlenSlot],
        bytes: &[u8],
        shard_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let strides = strides_of(shard_shape);
        let stored_shape = self.chunks.stored(&self.chunk_shape);
        let extent = bounded::extent(&stored_shape);
        let from = self.chunks.stored(&strides);
        self.encode_chunks(
            shard_shape,
            &strides,
            workspace,
            out,
            |offset, encoded, workspace| {
                let slots = slots_of_box(
                    &extent,
                    slots,
                    Strided {
                        offset,
                        strides: &from,
                    },
                );
                let fill = self.chunks.fill();
                if fill.is_defined() && slots.iter().all(|slot| slot.of(bytes) == fill.bytes()) {
                    return Ok(false);
                }
                self.chunks
                    .encode_vlen(&slots, bytes, &stored_shape, workspace, encoded)?;
                Ok(true)
            },
        )
    }

    /// Encodes a complete shard from elements in C order and native byte order.
    pub(crate) fn encode_whole(
        &self,
        elements: &[u8],
        shard_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let size = self.chunks.elem_size();
        let strides = c_strides(&bounded::extent(shard_shape));
        let stored_shape = self.chunks.stored(&self.chunk_shape);
        let stored_extent = bounded::extent(&stored_shape);
        let from_strides = self.chunks.stored(&strides);
        let to_strides = c_strides(&stored_extent);
        let chunk_len = bounded::byte_len(&self.chunk_shape, size).unwrap_or(usize::MAX);
        let mut buffer = bounded::take(workspace, chunk_len)?;
        let result = self.encode_chunks(
            shard_shape,
            &strides,
            workspace,
            out,
            |offset, encoded, workspace| {
                let from = Strided {
                    offset,
                    strides: &from_strides,
                };
                let to = Strided {
                    offset: 0,
                    strides: &to_strides,
                };
                strided::copy(&stored_extent, size, elements, from, buffer.bytes_mut(), to);
                let fill = self.chunks.fill();
                if fill.is_defined() && strided::is_all(buffer.bytes(), fill.bytes()) {
                    return Ok(false);
                }
                self.chunks
                    .encode_stored(buffer.bytes_mut(), &stored_shape, workspace, encoded)?;
                Ok(true)
            },
        );
        workspace.give(buffer);
        result
    }

    /// Assembles a shard from the inner chunks that `encode` makes. `encode` gets the position of
    /// an inner chunk among the elements, and returns false if the chunk is not to be stored.
    fn encode_chunks(
        &self,
        shard_shape: &[u64],
        strides: &[isize],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
        mut encode: impl FnMut(usize, &mut Vec<u8>, &mut Workspace) -> Result<bool, CodecError>,
    ) -> Result<(), CodecError> {
        let mut shard = ShardBuilder::new(self.layout(shard_shape))?;
        out.clear();
        let mut encoded = workspace.take_bytes();
        self.for_each_chunk(shard_shape, strides, |_, offset| {
            if !encode(offset, &mut encoded, workspace)? {
                shard.skip();
                return Ok(());
            }
            let position = shard.add(encoded.len() as u64)?;
            write_at(out, position, &encoded)
        })?;
        workspace.give_bytes(encoded);
        let (position, index) = self.end(shard, workspace)?;
        write_at(out, position, &index)
    }

    /// Visits the inner chunks of a shard in C order, with their number and their position among
    /// the shard's elements.
    fn for_each_chunk(
        &self,
        shard_shape: &[u64],
        strides: &[isize],
        mut visit: impl FnMut(usize, usize) -> Result<(), CodecError>,
    ) -> Result<(), CodecError> {
        if shard_shape.contains(&0) {
            return Ok(());
        }
        // The elements are in memory, so each of their indices fits.
        let axes: Vec<_> = (shard_shape.iter().zip(&self.chunk_shape).zip(strides))
            .map(|((&shard, &chunk), &stride)| {
                (shard.div_ceil(chunk) as usize, chunk as isize * stride, 0)
            })
            .collect();
        let mut walk = Walk::new(&axes, 0, 0);
        let mut linear = 0;
        while let Some((offset, _)) = walk.next() {
            visit(linear, offset.cast_unsigned())
                .map_err(|error| error.in_part(format_args!("inner chunk number {linear}")))?;
            linear += 1;
        }
        Ok(())
    }
}

/// Writes part of a value that is assembled in memory: over existing bytes, or after its end, with
/// zeros in between.
fn write_at(value: &mut Vec<u8>, position: u64, part: &[u8]) -> Result<(), CodecError> {
    let start = usize::try_from(position).unwrap_or(usize::MAX);
    sink::reserve(
        value,
        start.saturating_add(part.len()).saturating_sub(value.len()),
    )?;
    if start < value.len() {
        value[start..start + part.len()].copy_from_slice(part);
    } else {
        value.resize(start, 0);
        value.extend_from_slice(part);
    }
    Ok(())
}

fn to_usize(range: Range<u64>) -> Range<usize> {
    // The index checked it against the length of a slice.
    range.start as usize..range.end as usize
}
