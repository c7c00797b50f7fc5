use std::sync::Arc;

use ndzarr_model::{DataType, EdgeBlocks, Endian, N5BlockConfig};

use crate::bounded::{self, Pipe};
use crate::{BytesToBytes, CodecError, CodecRegistry, Swap, Workspace};

const NAME: &str = "n5_block";

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
            let codec = registry.bytes_to_bytes(&spec.config, elem_size)?;
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
        let byte_len = usize::try_from(n_elements)
            .ok()
            .and_then(|n| n.checked_mul(self.elem_size))
            .ok_or_else(|| CodecError::corrupt(NAME, format!("{n_elements} elements are too many")))?;
        Pipe::new(&self.compression).decode_chunk(payload, byte_len, workspace, |bytes| put(bytes, &extent))
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
        self.swap.apply(elements);
        let mut payload = workspace.take_bytes();
        Pipe::new(&self.compression).encode(elements, &mut payload, workspace)?;
        out.clear();
        out.extend_from_slice(&0u16.to_be_bytes());
        // The number of dimensions was checked when the chain was bound.
        out.extend_from_slice(&(stored_shape.len() as u16).to_be_bytes());
        for &n in stored_shape.iter().rev() {
            // Java reads the sizes as signed.
            let n = i32::try_from(n)
                .map_err(|_| CodecError::encode(NAME, format!("a block cannot be {n} elements long")))?;
            out.extend_from_slice(&n.to_be_bytes());
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
        if mode == 1 {
            let stated = u32::from_be_bytes(take(&mut rest)?);
            if u64::from(stated) != n_elements {
                let what = format!("varlength block of {stated} elements in a place for {n_elements}");
                return Err(CodecError::corrupt(NAME, what));
            }
        }
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
