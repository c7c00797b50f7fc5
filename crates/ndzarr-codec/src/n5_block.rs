use std::sync::Arc;

use ndzarr_model::{DataType, EdgeBlocks, Endian, N5BlockConfig, StoredType};

use crate::bounded::{self, Pipe};
use crate::{BytesToBytes, CodecError, CodecRegistry, Swap, Workspace};

const NAME: &str = "n5_block";

/// The most that a block may have when it is decoded, in bytes.
const MAX_BYTES: u64 = 1 << 31;

/// An N5 block (n5.md section 4): a big-endian header and the payload, compressed.
///
/// The header lists sizes with the fastest varying dimension first, so against the stored axes.
#[derive(Debug)]
pub(crate) struct N5Block {
    elem_size: usize,
    swap: Swap,
    compression: Vec<Arc<dyn BytesToBytes>>,
    edge_blocks: EdgeBlocks,
    /// Why nothing can be encoded.
    unwritable: Option<CodecError>,
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
        Ok(Self { elem_size, swap, compression, edge_blocks: config.edge_blocks, unwritable })
    }

    pub(crate) fn swap(&self) -> Swap {
        self.swap
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
        Pipe::new(&self.compression).decode_chunk(payload, byte_len, workspace, |bytes| {
            elements.extend_from_slice(bytes);
            Ok::<_, CodecError>(())
        })?;
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
        if i32::try_from(elements.len()).is_err() {
            return Err(CodecError::encode(
                NAME,
                format!("{} bytes are more than a block can have", elements.len()),
            ));
        }
        let places = bounded::byte_len(stored_shape, self.elem_size);
        let varlength = places != Some(elements.len());
        self.swap.apply(elements);
        let mut payload = workspace.take_bytes();
        Pipe::new(&self.compression).encode(elements, &mut payload, workspace)?;
        out.clear();
        out.extend_from_slice(&u16::from(varlength).to_be_bytes());
        // The number of dimensions was checked when the chain was bound.
        out.extend_from_slice(&(stored_shape.len() as u16).to_be_bytes());
        for &n in stored_shape.iter().rev() {
            // Java reads the sizes as signed.
            let n = i32::try_from(n)
                .map_err(|_| CodecError::encode(NAME, format!("a block cannot be {n} elements long")))?;
            out.extend_from_slice(&n.to_be_bytes());
        }
        if varlength {
            // At most as many as the bytes, whose number was checked.
            out.extend_from_slice(&((elements.len() / self.elem_size) as u32).to_be_bytes());
        }
        out.extend_from_slice(&payload);
        workspace.give_bytes(payload);
        if i32::try_from(out.len()).is_err() {
            return Err(CodecError::encode(
                NAME,
                format!("{} bytes are more than a block can have", out.len()),
            ));
        }
        Ok(())
    }

    /// Reads and checks the header, in the order that n5.md section 4 asks for.
    fn header<'a>(&self, encoded: &'a [u8], stored_shape: &[u64]) -> Result<Header<'a>, CodecError> {
        let mut rest = encoded;
        let mode = u16::from_be_bytes(take(&mut rest)?);
        if mode == 2 {
            return Err(CodecError::corrupt(NAME, "mode 2 (object) in a dataset of numbers"));
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

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], CodecError> {
    let (head, tail) = rest
        .split_first_chunk::<N>()
        .ok_or_else(|| CodecError::corrupt(NAME, "the value is shorter than its header"))?;
    *rest = tail;
    Ok(*head)
}
