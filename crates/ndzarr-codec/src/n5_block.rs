//! The N5 block: a header with the size, then the compressed elements.

use std::ops::Range;
use std::sync::Arc;

use ndzarr_model::{DataType, EdgeBlocks, Endian, N5BlockConfig, StoredType};

use crate::bounded::{self, Pipe};
use crate::chain_vlen::n_slots;
use crate::window::Window;
use crate::workspace::Buffer;
use crate::{BytesToBytes, CodecError, CodecRegistry, Dst, Elements, Slot, Swap, Workspace, sink};

const NAME: &str = "n5_block";

/// The most that a block may have when it is decoded, in bytes.
const MAX_BYTES: u64 = 1 << 31;

/// An N5 block: a big-endian header and the payload, compressed
/// ([N5 specification](https://github.com/saalfeldlab/n5#file-system-specification)).
///
/// The header lists sizes with the fastest varying dimension first, so against the stored axes.
#[derive(Debug)]
pub(crate) struct N5Block {
    content: Content,
    elem_size: usize,
    swap: Swap,
    compression: Vec<Arc<dyn BytesToBytes>>,
    edge_blocks: EdgeBlocks,
    /// Why nothing can be encoded.
    unwritable: Option<CodecError>,
}

/// What the payload of a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Numbers,
    /// Each text with a NUL behind it.
    Texts,
    /// Bytes that only their writer understands.
    Object,
}

struct Header<'a> {
    /// Over the stored axes.
    extent: Vec<u64>,
    /// As many as the product of the extent, but in varlength blocks.
    n_elements: u64,
    payload: &'a [u8],
}

impl N5Block {
    pub(crate) fn bind(
        config: &N5BlockConfig,
        data_type: &DataType,
        ndim: usize,
        registry: &CodecRegistry,
    ) -> Result<Self, CodecError> {
        let content = match data_type {
            DataType::String => Content::Texts,
            DataType::Object => Content::Object,
            other if other.elem_size().is_some() => Content::Numbers,
            other => return Err(CodecError::config(NAME, format!("does not take elements of {other}"))),
        };
        // Of the others the header counts bytes.
        let elem_size = data_type.elem_size().unwrap_or(1);
        if i16::try_from(ndim).is_err() {
            return Err(CodecError::config(NAME, format!("{ndim} dimensions are too many")));
        }
        let (mut compression, mut unwritable) = (Vec::new(), None);
        if let Some(spec) = &config.compression {
            let reaching = StoredType { data_type: data_type.clone(), endian: Endian::Big };
            let (codec, _) = registry.bytes_to_bytes(&spec.config, Some(&reaching))?;
            unwritable = spec.unwritable.as_ref().map(|reason| CodecError::encode(codec.name(), reason));
            compression.push(codec);
        }
        let swap = match data_type.swap_width() {
            1 => Swap::None,
            width if Endian::NATIVE == Endian::Little => Swap::Every(width),
            _ => Swap::None,
        };
        Ok(Self { content, elem_size, swap, compression, edge_blocks: config.edge_blocks, unwritable })
    }

    pub(crate) fn swap(&self) -> Swap {
        self.swap.clone()
    }

    pub(crate) fn check_writable(&self) -> Result<(), CodecError> {
        self.unwritable.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn truncates(&self) -> bool {
        self.edge_blocks == EdgeBlocks::Truncated
    }

    pub(crate) fn decode<E: From<CodecError>>(
        &self,
        encoded: &[u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        put: impl FnOnce(&[u8], &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Header { extent, n_elements, payload } = self.header(encoded, stored_shape)?;
        let places: u64 = extent.iter().product();
        if n_elements != places {
            let what = format!("varlength block of {n_elements} elements in a place for {places}");
            return Err(CodecError::corrupt(NAME, what).into());
        }
        let byte_len = self.byte_len(n_elements)?;
        Pipe::new(&self.compression).decode_chunk(payload, byte_len, workspace, |bytes| put(bytes, &extent))
    }

    pub(crate) fn decodes_two(&self) -> bool {
        self.content == Content::Numbers && Pipe::new(&self.compression).decodes_two()
    }

    /// Decodes two blocks at once, with their sizes; `None` where that is not faster, or something is wrong with them.
    pub(crate) fn decode_two(
        &self,
        encoded: [&[u8]; 2],
        stored_shapes: [&[u64]; 2],
        workspace: &mut Workspace,
    ) -> Option<[(Buffer, Vec<u64>); 2]> {
        let header = |i: usize| {
            let header = self.header(encoded[i], stored_shapes[i]).ok()?;
            let is_full = header.n_elements == header.extent.iter().product::<u64>();
            let byte_len = self.byte_len(header.n_elements).ok()?;
            is_full.then_some((header, byte_len))
        };
        let ((a, len_a), (b, len_b)) = (header(0)?, header(1)?);
        let payloads = [a.payload, b.payload];
        let [first, second] = Pipe::new(&self.compression).decode_two(payloads, [len_a, len_b], workspace)?;
        Some([(first, a.extent), (second, b.extent)])
    }

    /// As [`decode`](Self::decode), but of what the window meets alone, with the size of the block; `None` where it is to be
    /// decoded as a whole.
    pub(crate) fn decode_window(
        &self,
        encoded: &[u8],
        stored_shape: &[u64],
        wanted: &[Range<usize>],
        workspace: &mut Workspace,
    ) -> Result<Option<(Buffer, Vec<u64>)>, CodecError> {
        let Header { extent, n_elements, payload } = self.header(encoded, stored_shape)?;
        if n_elements != extent.iter().product::<u64>() {
            return Ok(None);
        }
        let window = Window::new(&bounded::extent(&extent), self.elem_size, wanted);
        let byte_len = self.byte_len(n_elements)?;
        let buffer = Pipe::new(&self.compression).decode_window(payload, byte_len, &window, workspace)?;
        Ok(buffer.map(|buffer| (buffer, extent)))
    }

    /// Decodes a block of texts: hands out as many as it has places, and its size. Texts that are left out at the end are
    /// empty, as Java reads them.
    pub(crate) fn decode_texts<E: From<CodecError>>(
        &self,
        encoded: &[u8],
        stored_shape: &[u64],
        limit: usize,
        workspace: &mut Workspace,
        put: impl FnOnce(Elements<'_>, &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.content != Content::Texts {
            let what = "the blocks of this type have no elements: each is a value of its own";
            return Err(CodecError::config(NAME, what).into());
        }
        let Header { extent, n_elements, payload } = self.header(encoded, stored_shape)?;
        let n = n_slots(&extent, limit)?;
        // What the header says is no reason to take memory, but a bound.
        let max = usize::try_from(n_elements).unwrap_or(limit).min(limit);
        Pipe::new(&self.compression).lend(payload, max, workspace, |texts, _| {
            if texts.len() as u64 != n_elements {
                let what = format!("{} bytes of text where the header says {n_elements}", texts.len());
                return Err(CodecError::corrupt(NAME, what).into());
            }
            let mut slots = Vec::new();
            let mut start = 0;
            for part in texts.split_inclusive(|&byte| byte == 0) {
                let len = part.len() - usize::from(part.ends_with(&[0]));
                slots.push(Slot { start, len });
                start += part.len();
                if slots.len() > n {
                    return Err(CodecError::corrupt(NAME, format!("more texts than the {n} places")).into());
                }
            }
            slots.resize(n, Slot::default());
            put(Elements::Vlen { slots: &slots, bytes: texts }, &extent)
        })
    }

    /// Encodes a block of texts.
    pub(crate) fn encode_texts(
        &self,
        slots: &[Slot],
        bytes: &[u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        if self.content != Content::Texts {
            return Err(CodecError::encode(NAME, "the blocks of this type have no elements"));
        }
        let mut texts = Vec::new();
        for slot in slots {
            let text = slot.of(bytes);
            if text.contains(&0) {
                return Err(CodecError::encode(NAME, "N5 cannot hold a text with a NUL in it"));
            }
            sink::reserve(&mut texts, text.len() + 1)?;
            texts.extend_from_slice(text);
            texts.push(0);
        }
        self.encode_payload(&mut texts, stored_shape, Mode::Counted, workspace, out)
    }

    /// The bytes of a block of type `object` (mode 2).
    pub(crate) fn decode_object(
        &self,
        encoded: &[u8],
        limit: usize,
        workspace: &mut Workspace,
    ) -> Result<Vec<u8>, CodecError> {
        let mut rest = encoded;
        let mode = u16::from_be_bytes(take(&mut rest)?);
        if mode != 2 {
            return Err(CodecError::corrupt(NAME, format!("mode {mode} in a dataset of objects")));
        }
        let n = u64::from(u32::from_be_bytes(take(&mut rest)?));
        let max = usize::try_from(n).unwrap_or(limit).min(limit);
        let mut object = Vec::new();
        Pipe::new(&self.compression).decode(rest, max, Dst::Grow { buf: &mut object, max }, workspace)?;
        if object.len() as u64 != n {
            let what = format!("{} bytes where the header says {n}", object.len());
            return Err(CodecError::corrupt(NAME, what));
        }
        Ok(object)
    }

    /// Encodes the bytes of a block of type `object`.
    pub(crate) fn encode_object(
        &self,
        object: &[u8],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.check_writable()?;
        let n = i32::try_from(object.len()).map_err(|_| too_many_bytes(object.len()))?;
        let mut payload = workspace.take_bytes();
        Pipe::new(&self.compression).encode(object, &mut payload, workspace)?;
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

    /// Decodes a block with as many elements as it has, which need not fill its size. Gives the size over the stored axes
    /// and the elements in this machine's byte order.
    pub(crate) fn decode_any(
        &self,
        encoded: &[u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
    ) -> Result<(Vec<u64>, Vec<u8>), CodecError> {
        let Header { extent, n_elements, payload } = self.header(encoded, stored_shape)?;
        let byte_len = self.byte_len(n_elements)?;
        let mut elements = Vec::new();
        // The metadata stand behind the size of a block, not behind what a block with a count says beyond that.
        let declared = bounded::byte_len(stored_shape, self.elem_size).unwrap_or(usize::MAX);
        Pipe::new(&self.compression).trusting(declared).decode_chunk(
            payload,
            byte_len,
            workspace,
            |bytes| {
                elements.extend_from_slice(bytes);
                Ok::<_, CodecError>(())
            },
        )?;
        self.swap.apply(&mut elements);
        Ok((extent, elements))
    }

    /// Size of so many elements in bytes, which must be one that a block can have.
    fn byte_len(&self, n_elements: u64) -> Result<usize, CodecError> {
        usize::try_from(n_elements)
            .ok()
            .and_then(|n| n.checked_mul(self.elem_size))
            .filter(|&len| len as u64 <= MAX_BYTES)
            .ok_or_else(|| CodecError::corrupt(NAME, format!("{n_elements} elements are too many")))
    }

    pub(crate) fn encode(
        &self,
        elements: &mut [u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let places = bounded::byte_len(stored_shape, self.elem_size);
        let mode = if places == Some(elements.len()) { Mode::Plain } else { Mode::Counted };
        self.encode_payload(elements, stored_shape, mode, workspace, out)
    }

    fn encode_payload(
        &self,
        elements: &mut [u8],
        stored_shape: &[u64],
        mode: Mode,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        if i32::try_from(elements.len()).is_err() {
            return Err(too_many_bytes(elements.len()));
        }
        self.swap.apply(elements);
        let mut payload = workspace.take_bytes();
        Pipe::new(&self.compression).encode(elements, &mut payload, workspace)?;
        out.clear();
        out.extend_from_slice(&(mode as u16).to_be_bytes());
        // The number of dimensions was checked when the chain was bound.
        out.extend_from_slice(&(stored_shape.len() as u16).to_be_bytes());
        for &n in stored_shape.iter().rev() {
            // Java reads the sizes as signed.
            let n = i32::try_from(n)
                .map_err(|_| CodecError::encode(NAME, format!("a block cannot be {n} elements long")))?;
            out.extend_from_slice(&n.to_be_bytes());
        }
        if mode == Mode::Counted {
            // At most as many as the bytes, whose number was checked.
            out.extend_from_slice(&((elements.len() / self.elem_size) as u32).to_be_bytes());
        }
        out.extend_from_slice(&payload);
        workspace.give_bytes(payload);
        if i32::try_from(out.len()).is_err() {
            return Err(too_many_bytes(out.len()));
        }
        Ok(())
    }

    /// Reads and checks the header: mode, number of dimensions, sizes, and the count of a block that has one.
    fn header<'a>(&self, encoded: &'a [u8], stored_shape: &[u64]) -> Result<Header<'a>, CodecError> {
        let mut rest = encoded;
        let mode = u16::from_be_bytes(take(&mut rest)?);
        if mode == 2 {
            return Err(CodecError::corrupt(NAME, "mode 2 (object) in a dataset of another type"));
        }
        if mode > 2 {
            return Err(CodecError::corrupt(NAME, format!("unknown mode {mode}")));
        }
        let ndim = u16::from_be_bytes(take(&mut rest)?);
        if usize::from(ndim) != stored_shape.len() {
            let what = format!("{ndim} dimensions where the dataset has {}", stored_shape.len());
            return Err(CodecError::corrupt(NAME, what));
        }
        let mut extent = vec![0; stored_shape.len()];
        for (axis, n) in extent.iter_mut().enumerate().rev() {
            *n = u64::from(u32::from_be_bytes(take(&mut rest)?));
            if *n > stored_shape[axis] {
                let what = format!("a size of {n} where the block size is {}", stored_shape[axis]);
                return Err(CodecError::corrupt(NAME, what));
            }
        }
        let n_elements = extent
            .iter()
            .try_fold(1u64, |product, &n| product.checked_mul(n))
            .filter(|n| bounded::byte_len(&[*n], self.elem_size).is_some())
            .ok_or_else(|| CodecError::corrupt(NAME, format!("sizes {extent:?} are too large")))?;
        let n_elements = if mode == 1 { u64::from(u32::from_be_bytes(take(&mut rest)?)) } else { n_elements };
        Ok(Header { extent, n_elements, payload: rest })
    }
}

/// The mode of a block that has a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Plain = 0,
    /// With the number of elements, of texts that of their bytes.
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
