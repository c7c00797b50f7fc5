//! The N5 block: a header with the size, then the compressed elements.

use std::sync::Arc;

use ndzarr_model::{DataType, EdgeBlocks, Endian};

use crate::memory::{bounded, sink};
use crate::pipe::Pipe;
use crate::stage::{Payload, Plain, Put, Stage, Value};
use crate::vlen::n_slots;
use crate::{CodecError, Dst, Elements, Swap, VlenSlot, Workspace};

const NAME: &str = "n5_block";

/// The most bytes that a decoded block may have.
const MAX_BYTES: u64 = 1 << 31;

/// An N5 block: a big-endian header and the payload, compressed
/// ([N5 specification](https://github.com/saalfeldlab/n5#file-system-specification)).
///
/// The header lists the fastest varying dimension first, which is the reverse of the stored axes.
#[derive(Debug)]
pub(crate) struct N5Block {
    content: Content,
    elem_size: usize,
    swap: Swap,
    edge_blocks: EdgeBlocks,
    /// The most bytes that the payload of a block of strings or an object may have.
    limit: usize,
}

/// The payload of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Numbers,
    /// Each string is followed by a NUL.
    Strings,
    /// Bytes that only their writer can interpret.
    Object,
}

struct Header<'a> {
    /// Over the stored axes.
    extent: Vec<u64>,
    /// The product of the extent, except in varlength blocks.
    n_elements: u64,
    payload: &'a [u8],
}

impl N5Block {
    pub(crate) fn bind(
        edge_blocks: EdgeBlocks,
        data_type: &DataType,
        ndim: usize,
        limit: usize,
    ) -> Result<Self, CodecError> {
        let content = match data_type {
            DataType::String => Content::Strings,
            DataType::Object => Content::Object,
            other if other.elem_size().is_some() => Content::Numbers,
            other => {
                return Err(CodecError::config(
                    NAME,
                    format!("does not take elements of {other}"),
                ));
            }
        };
        // For strings and objects the header counts bytes.
        let elem_size = data_type.elem_size().unwrap_or(1);
        if i16::try_from(ndim).is_err() {
            return Err(CodecError::config(
                NAME,
                format!("{ndim} dimensions are too many"),
            ));
        }
        let swap = match data_type.swap_width() {
            1 => Swap::None,
            width if Endian::NATIVE == Endian::Little => Swap::Every(width),
            _ => Swap::None,
        };
        Ok(Self {
            content,
            elem_size,
            swap,
            edge_blocks,
            limit,
        })
    }

    pub(crate) fn truncates(&self) -> bool {
        self.edge_blocks == EdgeBlocks::Truncated
    }

    /// Decodes a block of strings: passes on as many strings as its size implies, and the size.
    /// Strings missing at the end are empty, as Java reads them.
    fn decode_strings(
        &self,
        Value {
            bytes, shape, pipe, ..
        }: Value<'_>,
        workspace: &mut Workspace,
        put: &mut Put<'_>,
    ) -> Result<(), CodecError> {
        if self.content != Content::Strings {
            let what = "the blocks of this type have no elements: each is a single value";
            return Err(CodecError::config(NAME, what));
        }
        let Header {
            extent,
            n_elements,
            payload,
        } = self.header(bytes, shape)?;
        let n = n_slots(&extent, self.limit)?;
        // The size in the header is only an upper bound, no reason to allocate memory.
        let max = usize::try_from(n_elements)
            .unwrap_or(self.limit)
            .min(self.limit);
        pipe.lend(payload, max, workspace, |strings, _| {
            if strings.len() as u64 != n_elements {
                let what = format!(
                    "{} bytes of text, but the header states {n_elements}",
                    strings.len()
                );
                return Err(CodecError::corrupt(NAME, what));
            }
            let mut slots = Vec::new();
            sink::reserve_items(&mut slots, n)?;
            let mut start = 0;
            for string in strings.split_inclusive(|&byte| byte == 0) {
                let len = string.len() - usize::from(string.ends_with(&[0]));
                if slots.len() == n {
                    return Err(CodecError::corrupt(NAME, format!("more than {n} strings")));
                }
                slots.push(VlenSlot { start, len });
                start += string.len();
            }
            slots.resize(n, VlenSlot::default());
            put(
                Elements::Vlen {
                    slots: &slots,
                    bytes: strings,
                },
                &extent,
            );
            Ok(())
        })
    }

    /// The payload of a block of strings.
    fn strings_payload(&self, slots: &[VlenSlot], bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
        if self.content != Content::Strings {
            return Err(CodecError::encode(
                NAME,
                "the blocks of this type have no elements",
            ));
        }
        let mut payload = Vec::new();
        for slot in slots {
            let string = slot.of(bytes);
            if string.contains(&0) {
                return Err(CodecError::encode(
                    NAME,
                    "N5 cannot store a string that contains NUL",
                ));
            }
            sink::reserve(&mut payload, string.len() + 1)?;
            payload.extend_from_slice(string);
            payload.push(0);
        }
        Ok(payload)
    }

    /// The bytes of a block of type `object` (mode 2).
    pub(crate) fn decode_object(
        &self,
        encoded: &[u8],
        pipe: Pipe<'_>,
        workspace: &mut Workspace,
    ) -> Result<Vec<u8>, CodecError> {
        let mut rest = encoded;
        let mode = u16::from_be_bytes(take(&mut rest)?);
        if mode != 2 {
            return Err(CodecError::corrupt(
                NAME,
                format!("mode {mode} in a dataset of objects"),
            ));
        }
        let n = u64::from(u32::from_be_bytes(take(&mut rest)?));
        let max = usize::try_from(n).unwrap_or(self.limit).min(self.limit);
        let mut object = Vec::new();
        pipe.decode(
            rest,
            max,
            Dst::Grow {
                buf: &mut object,
                max,
            },
            workspace,
        )?;
        if object.len() as u64 != n {
            let what = format!("{} bytes, but the header states {n}", object.len());
            return Err(CodecError::corrupt(NAME, what));
        }
        Ok(object)
    }

    /// Encodes the bytes of a block of type `object`.
    pub(crate) fn encode_object(
        &self,
        object: &[u8],
        pipe: Pipe<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let n = i32::try_from(object.len()).map_err(|_| too_many_bytes(object.len()))?;
        let mut payload = workspace.take_bytes();
        pipe.encode(object, &mut payload, workspace)?;
        out.clear();
        out.extend_from_slice(&2u16.to_be_bytes());
        out.extend_from_slice(&n.to_be_bytes());
        out.extend_from_slice(&payload);
        workspace.give_bytes(payload);
        Ok(())
    }

    pub(crate) fn holds_objects(&self) -> bool {
        self.content == Content::Object
    }

    /// Decodes a block with whatever number of elements it has; they need not fill its size.
    /// Returns the size over the stored axes and the elements in native byte order.
    pub(crate) fn decode_any(
        &self,
        value: &[u8],
        shape: &[u64],
        pipe: Pipe<'_>,
        workspace: &mut Workspace,
    ) -> Result<(Vec<u64>, Vec<u8>), CodecError> {
        let Header {
            extent,
            n_elements,
            payload,
        } = self.header(value, shape)?;
        let byte_len = self.byte_len(n_elements)?;
        let mut elements = Vec::new();
        // The metadata backs memory for the size of a block, but not for more elements that a block
        // with a count claims.
        let declared = bounded::byte_len(shape, self.elem_size).unwrap_or(usize::MAX);
        let mut kept = Ok(());
        let keep = |bytes: &[u8]| {
            kept = sink::reserve(&mut elements, bytes.len());
            if kept.is_ok() {
                elements.extend_from_slice(bytes);
            }
        };
        pipe.trusting(declared)
            .decode_chunk(payload, byte_len, workspace, keep)?;
        kept?;
        self.swap.apply(&mut elements);
        Ok((extent, elements))
    }

    /// Size of this many elements in bytes, checked against the limit for a block.
    fn byte_len(&self, n_elements: u64) -> Result<usize, CodecError> {
        usize::try_from(n_elements)
            .ok()
            .and_then(|n| n.checked_mul(self.elem_size))
            .filter(|&len| len as u64 <= MAX_BYTES)
            .ok_or_else(|| CodecError::corrupt(NAME, format!("{n_elements} elements are too many")))
    }

    /// Encodes a block with any number of elements; they need not fill its size. Converts them to
    /// the stored byte order in place.
    pub(crate) fn encode_any(
        &self,
        elements: &mut [u8],
        shape: &[u64],
        pipe: Pipe<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let places = bounded::byte_len(shape, self.elem_size);
        let mode = if places == Some(elements.len()) {
            Mode::Plain
        } else {
            Mode::Counted
        };
        self.swap.apply(elements);
        self.encode_payload(elements, shape, mode, pipe, workspace, out)
    }

    /// Encodes a block whose payload, before compression, is `elements`.
    fn encode_payload(
        &self,
        elements: &[u8],
        stored_shape: &[u64],
        mode: Mode,
        pipe: Pipe<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        if i32::try_from(elements.len()).is_err() {
            return Err(too_many_bytes(elements.len()));
        }
        let mut payload = workspace.take_bytes();
        pipe.encode(elements, &mut payload, workspace)?;
        out.clear();
        out.extend_from_slice(&(mode as u16).to_be_bytes());
        // Binding the chain checked the number of dimensions.
        out.extend_from_slice(&(stored_shape.len() as u16).to_be_bytes());
        for &n in stored_shape.iter().rev() {
            // Java reads the sizes as signed.
            let n = i32::try_from(n).map_err(|_| {
                CodecError::encode(NAME, format!("a block cannot be {n} elements long"))
            })?;
            out.extend_from_slice(&n.to_be_bytes());
        }
        if mode == Mode::Counted {
            // At most the number of bytes, which was checked.
            out.extend_from_slice(&((elements.len() / self.elem_size) as u32).to_be_bytes());
        }
        out.extend_from_slice(&payload);
        workspace.give_bytes(payload);
        if i32::try_from(out.len()).is_err() {
            return Err(too_many_bytes(out.len()));
        }
        Ok(())
    }

    /// Reads and checks the header: mode, number of dimensions, sizes, and the count, if the block
    /// has one.
    fn header<'a>(
        &self,
        encoded: &'a [u8],
        stored_shape: &[u64],
    ) -> Result<Header<'a>, CodecError> {
        let mut rest = encoded;
        let mode = u16::from_be_bytes(take(&mut rest)?);
        if mode == 2 {
            return Err(CodecError::corrupt(
                NAME,
                "mode 2 (object) in a dataset of another type",
            ));
        }
        if mode > 2 {
            return Err(CodecError::corrupt(NAME, format!("unknown mode {mode}")));
        }
        let ndim = u16::from_be_bytes(take(&mut rest)?);
        if usize::from(ndim) != stored_shape.len() {
            let what = format!(
                "{ndim} dimensions, but the dataset has {}",
                stored_shape.len()
            );
            return Err(CodecError::corrupt(NAME, what));
        }
        let mut extent = vec![0; stored_shape.len()];
        for (axis, n) in extent.iter_mut().enumerate().rev() {
            *n = u64::from(u32::from_be_bytes(take(&mut rest)?));
            if *n > stored_shape[axis] {
                let what = format!(
                    "a size of {n}, but the block size is {}",
                    stored_shape[axis]
                );
                return Err(CodecError::corrupt(NAME, what));
            }
        }
        let n_places = extent
            .iter()
            .try_fold(1u64, |product, &n| product.checked_mul(n))
            .filter(|n| bounded::byte_len(&[*n], self.elem_size).is_some())
            .ok_or_else(|| CodecError::corrupt(NAME, format!("sizes {extent:?} are too large")))?;
        let n_elements = if mode == 1 {
            u64::from(u32::from_be_bytes(take(&mut rest)?))
        } else {
            n_places
        };
        Ok(Header {
            extent,
            n_elements,
            payload: rest,
        })
    }
}

impl Stage for Arc<N5Block> {
    fn swap(&self) -> &Swap {
        &self.swap
    }

    fn plain(&self) -> Option<&dyn Plain> {
        (self.content == Content::Numbers).then_some(&**self as &dyn Plain)
    }

    fn decode(
        &self,
        value: Value<'_>,
        workspace: &mut Workspace,
        put: &mut Put<'_>,
    ) -> Result<(), CodecError> {
        if self.content != Content::Numbers {
            return self.decode_strings(value, workspace, put);
        }
        let size = self.elem_size;
        let Payload {
            bytes,
            extent,
            byte_len,
        } = self.payload(value.bytes, value.shape)?;
        value
            .pipe
            .decode_chunk(bytes, byte_len, workspace, |bytes| {
                put(Elements::Fixed { bytes, size }, &extent);
            })
    }

    fn encode(
        &self,
        elements: Elements<'_>,
        shape: &[u64],
        pipe: Pipe<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        match elements {
            Elements::Fixed { bytes, .. } => {
                self.encode_payload(bytes, shape, Mode::Plain, pipe, workspace, out)
            }
            Elements::Vlen { slots, bytes } => {
                let strings = self.strings_payload(slots, bytes)?;
                self.encode_payload(&strings, shape, Mode::Counted, pipe, workspace, out)
            }
        }
    }
}

impl Plain for N5Block {
    fn payload<'v>(&self, value: &'v [u8], shape: &'v [u64]) -> Result<Payload<'v>, CodecError> {
        let Header {
            extent,
            n_elements,
            payload,
        } = self.header(value, shape)?;
        let places: u64 = extent.iter().product();
        if n_elements != places {
            let what = format!("a varlength block of {n_elements} elements for {places} places");
            return Err(CodecError::OtherCount { codec: NAME, what });
        }
        Ok(Payload {
            bytes: payload,
            extent: extent.into(),
            byte_len: self.byte_len(n_elements)?,
        })
    }
}

/// The mode of a block that has a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Plain = 0,
    /// With the number of elements; for strings, of bytes.
    Counted = 1,
}

fn too_many_bytes(n: usize) -> CodecError {
    CodecError::encode(NAME, format!("{n} bytes are more than a block can have"))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], CodecError> {
    let (head, tail) = rest
        .split_first_chunk::<N>()
        .ok_or_else(|| CodecError::corrupt(NAME, "the value is shorter than its header"))?;
    *rest = tail;
    Ok(*head)
}
