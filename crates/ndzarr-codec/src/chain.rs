//! `CodecChain`: decodes and encodes chunks with a list of codecs.

use std::sync::Arc;

use ndzarr_model::{ElemKind, FillValue};

use crate::array_to_array::Staged;
use crate::bounded::{self, Pipe};
use crate::n5_block::N5Block;
use crate::sharding::Sharding;
use crate::strided::{self, Strided};
use crate::vlen::VlenCodec;
use crate::workspace::Buffer;
use crate::{BytesToBytes, CodecError, Dst, Elements, Layout, Swap, Workspace, c_strides};

/// An executable chain of codecs for arrays of one element type, fill value and number of dimensions.
///
/// The shape comes with each call, since it varies between chunks. The axes of the caller's array are called logical;
/// the *stored* axes are those that the transposes of the chain leave.
#[derive(Debug)]
pub struct CodecChain {
    pub(crate) kind: ElemKind,
    /// Of elements of variable size an estimate.
    pub(crate) elem_size: usize,
    /// The most bytes that a chunk of elements of variable size may decompress to.
    pub(crate) vlen_limit: usize,
    pub(crate) fill: FillValue,
    /// Stored axis `j` is logical axis `order[j]`.
    pub(crate) order: Vec<usize>,
    pub(crate) array_to_bytes: ArrayToBytes,
    pub(crate) bytes_to_bytes: Vec<Arc<dyn BytesToBytes>>,
    /// Why nothing can be encoded.
    pub(crate) unwritable: Option<CodecError>,
}

#[derive(Debug)]
pub(crate) enum ArrayToBytes {
    Bytes(Swap),
    Vlen(Box<dyn VlenCodec>),
    Sharding(Arc<Sharding>),
    N5Block(N5Block),
    Coded(Arc<dyn crate::ArrayToBytes>),
    /// An array→array codec other than a transpose, with what comes behind it: nothing is left for this chain.
    Staged(Box<Staged>),
}

/// How parts of an encoded value can be read.
#[derive(Clone, Debug)]
pub enum Access<'c> {
    /// Not at all: only the whole value decodes.
    Whole,
    /// Elements lie at places that follow from their index.
    Raw {
        /// What remains to be done to come to this machine's byte order.
        swap: Swap,
    },
    /// An index says where the inner chunks are.
    Indexed(&'c Arc<Sharding>),
}

impl CodecChain {
    /// Checks that arrays of this shape can be encoded: that inner chunks divide it, that sizes do not overflow.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, shape: &[u64]) -> Result<(), CodecError> {
        self.check_rank(shape)?;
        bounded::byte_len(shape, self.elem_size).ok_or_else(|| {
            CodecError::config("chain", format!("a chunk of shape {shape:?} is too large for this machine"))
        })?;
        match &self.array_to_bytes {
            ArrayToBytes::Sharding(sharding) => sharding.check(&self.stored_shape(shape)),
            ArrayToBytes::Coded(codec) => codec.check(&self.stored_shape(shape)),
            ArrayToBytes::Staged(staged) => staged.check(&self.stored_shape(shape)),
            ArrayToBytes::Bytes(_) | ArrayToBytes::Vlen(_) | ArrayToBytes::N5Block(_) => Ok(()),
        }
    }

    /// How parts of an encoded value can be read.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        match &self.array_to_bytes {
            ArrayToBytes::Sharding(sharding) if self.bytes_to_bytes.is_empty() => Access::Indexed(sharding),
            ArrayToBytes::Bytes(swap) if self.bytes_to_bytes.is_empty() => Access::Raw { swap: swap.clone() },
            _ => Access::Whole,
        }
    }

    /// How the elements lie in memory.
    #[must_use]
    pub fn elem_kind(&self) -> ElemKind {
        self.kind
    }

    /// Size of an element in bytes; of elements of variable size an estimate.
    #[must_use]
    pub fn elem_size(&self) -> usize {
        self.elem_size
    }

    /// The fill value that the chain was bound with.
    #[must_use]
    pub fn fill(&self) -> &FillValue {
        &self.fill
    }

    /// Stored axis `j` is logical axis `order()[j]`.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// A value per logical axis, in the order of the stored axes.
    ///
    /// # Panics
    /// Where there are fewer values than axes.
    #[must_use]
    pub fn stored<T: Copy>(&self, logical: &[T]) -> Vec<T> {
        self.order.iter().map(|&axis| logical[axis]).collect()
    }

    pub(crate) fn stored_shape(&self, shape: &[u64]) -> Vec<u64> {
        self.stored(shape)
    }

    /// Whether values at the end of the array are encoded with just the elements inside it (N5, truncated).
    #[must_use]
    pub fn truncates(&self) -> bool {
        matches!(&self.array_to_bytes, ArrayToBytes::N5Block(block) if block.truncates())
    }

    /// The most bytes that a value of this shape can sensibly have.
    #[must_use]
    pub fn encoded_limit(&self, shape: &[u64]) -> u64 {
        let decoded = bounded::byte_len(shape, self.elem_size).unwrap_or(usize::MAX >> 2) as u64;
        let decoded = match self.kind {
            ElemKind::Fixed { .. } => decoded,
            ElemKind::Vlen => decoded.max(self.vlen_limit as u64),
        };
        let index = match &self.array_to_bytes {
            ArrayToBytes::Sharding(sharding) => sharding.overhead(&self.stored_shape(shape)),
            ArrayToBytes::Staged(staged) => staged.encoded_limit(&self.stored_shape(shape)),
            _ => 0,
        };
        decoded.saturating_mul(2).saturating_add(index).saturating_add(1 << 20)
    }

    /// The encoded size of an array of this shape, where it does not depend on the elements.
    #[must_use]
    pub fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        let mut len = match &self.array_to_bytes {
            ArrayToBytes::Bytes(_) => bounded::byte_len(shape, self.elem_size)?,
            ArrayToBytes::Coded(codec) => codec.encoded_len(&self.stored_shape(shape))?,
            ArrayToBytes::Staged(staged) => staged.encoded_len(&self.stored_shape(shape))?,
            ArrayToBytes::Vlen(_) | ArrayToBytes::Sharding(_) | ArrayToBytes::N5Block(_) => return None,
        };
        for codec in &self.bytes_to_bytes {
            len = codec.encoded_len(len)?;
        }
        Some(len)
    }

    /// Decodes a value and hands the elements to `put`, once, with how they lie: their extent may be below `shape` for an
    /// N5 block alone.
    ///
    /// # Errors
    /// A value that is not right and whole; and what `put` says.
    pub fn decode<E: From<CodecError>>(
        &self,
        encoded: &[u8],
        shape: &[u64],
        workspace: &mut Workspace,
        put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), E>,
    ) -> Result<(), E> {
        let size = self.elem_size;
        self.check_rank(shape)?;
        if self.kind == ElemKind::Vlen {
            return self.decode_vlen(encoded, shape, workspace, put);
        }
        let stored_shape = self.stored_shape(shape);
        let byte_len = bounded::byte_len(shape, size)
            .ok_or_else(|| CodecError::config("chain", format!("a chunk of shape {shape:?} is too large")))?;
        match &self.array_to_bytes {
            ArrayToBytes::Vlen(_) => Err(CodecError::config("chain", "elements of a fixed size").into()),
            ArrayToBytes::Bytes(swap) => {
                let layout = self.layout(&stored_shape, swap.clone());
                Pipe::new(&self.bytes_to_bytes).decode_chunk(encoded, byte_len, workspace, |bytes| {
                    put(Elements::Fixed { bytes, size }, &layout)
                })
            }
            ArrayToBytes::Sharding(sharding) => {
                let layout = self.layout(&stored_shape, Swap::None);
                let max = usize::try_from(self.encoded_limit(shape)).unwrap_or(usize::MAX);
                let decode =
                    |shard: &[u8], workspace: &mut _| sharding.decode_whole(shard, &stored_shape, workspace);
                let decoded = Pipe::new(&self.bytes_to_bytes).lend(encoded, max, workspace, decode)?;
                let result = put(Elements::Fixed { bytes: decoded.bytes(), size }, &layout);
                workspace.give(decoded);
                result
            }
            ArrayToBytes::N5Block(block) => {
                block.decode(encoded, &stored_shape, workspace, |bytes, extent| {
                    let layout = self.layout(extent, block.swap());
                    put(Elements::Fixed { bytes, size }, &layout)
                })
            }
            ArrayToBytes::Coded(codec) => {
                let layout = self.layout(&stored_shape, Swap::None);
                let out = self.decode_coded(&**codec, encoded, &stored_shape, byte_len, workspace)?;
                let result = put(Elements::Fixed { bytes: out.bytes(), size }, &layout);
                workspace.give(out);
                result
            }
            ArrayToBytes::Staged(staged) => {
                let layout = self.layout(&stored_shape, Swap::None);
                let out = staged.decode(encoded, &stored_shape, byte_len, workspace)?;
                let result = put(Elements::Fixed { bytes: out.bytes(), size }, &layout);
                workspace.give(out);
                result
            }
        }
    }

    fn decode_coded(
        &self,
        codec: &dyn crate::ArrayToBytes,
        encoded: &[u8],
        stored_shape: &[u64],
        byte_len: usize,
        workspace: &mut Workspace,
    ) -> Result<Buffer, CodecError> {
        let max = byte_len.saturating_mul(2).saturating_add(64 << 10);
        Pipe::new(&self.bytes_to_bytes).lend(encoded, max, workspace, |value, workspace| {
            if let Some(len) = codec.encoded_len(stored_shape) {
                bounded::expect_len(codec.name(), value.len(), len)?;
            }
            let mut out = bounded::take(workspace, byte_len)?;
            codec.decode(value, stored_shape, out.bytes_mut(), workspace)?;
            Ok(out)
        })
    }

    /// Decodes a value into memory that has just the place for its elements in C order, if no copy is needed for that.
    /// Returns whether it did; if not, nothing has happened.
    ///
    /// # Errors
    /// A value that is not right and whole.
    pub fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<bool, CodecError> {
        let ArrayToBytes::Bytes(swap) = &self.array_to_bytes else { return Ok(false) };
        if !self.is_c_order() || bounded::byte_len(shape, self.elem_size) != Some(out.len()) {
            return Ok(false);
        }
        let len = out.len();
        Pipe::new(&self.bytes_to_bytes).decode(encoded, len, Dst::Exact(out), workspace)?;
        swap.apply(out);
        Ok(true)
    }

    /// Encodes an array. `elements` are in C order over `shape` and in this machine's byte order.
    ///
    /// # Errors
    /// Input that a codec of the chain cannot take.
    pub fn encode(
        &self,
        elements: &[u8],
        shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.expect_elements(elements, shape)?;
        self.check_writable()?;
        let is_c_order = self.is_c_order();
        let as_it_is = match &self.array_to_bytes {
            ArrayToBytes::Bytes(swap) => *swap == Swap::None,
            ArrayToBytes::N5Block(_) => false,
            _ => true,
        };
        if is_c_order && as_it_is {
            return self.encode_as_it_is(elements, shape, workspace, out);
        }
        let mut buffer = bounded::take(workspace, elements.len())?;
        if is_c_order {
            buffer.bytes_mut().copy_from_slice(elements);
        } else {
            let extent = bounded::extent(shape);
            let stored_extent = self.stored(&extent);
            let to = c_strides(&stored_extent);
            let from = self.stored(&c_strides(&extent));
            strided::copy(
                &stored_extent,
                self.elem_size,
                elements,
                Strided { offset: 0, strides: &from },
                buffer.bytes_mut(),
                Strided { offset: 0, strides: &to },
            );
        }
        let result = self.encode_stored(buffer.bytes_mut(), &self.stored_shape(shape), workspace, out);
        workspace.give(buffer);
        result
    }

    /// Encodes an array whose elements are in C order over the *stored* axes already. Their byte order may be changed in
    /// place.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_stored(
        &self,
        elements: &mut [u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.check_writable()?;
        self.expect_elements(elements, stored_shape)?;
        match &self.array_to_bytes {
            ArrayToBytes::Bytes(swap) => swap.apply(elements),
            ArrayToBytes::N5Block(block) => return block.encode(elements, stored_shape, workspace, out),
            _ => {}
        }
        self.encode_as_it_is(elements, stored_shape, workspace, out)
    }

    /// Encodes elements in C order over the stored axes, of which nothing has to be changed before.
    fn encode_as_it_is(
        &self,
        elements: &[u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let pipe = Pipe::new(&self.bytes_to_bytes);
        match &self.array_to_bytes {
            ArrayToBytes::Bytes(_) => pipe.encode(elements, out, workspace),
            ArrayToBytes::Sharding(sharding) => pipe.encode_made(out, workspace, |shard, workspace| {
                sharding.encode_whole(elements, stored_shape, workspace, shard)
            }),
            ArrayToBytes::Coded(codec) => pipe.encode_made(out, workspace, |value, workspace| {
                codec.encode(elements, stored_shape, value, workspace)
            }),
            ArrayToBytes::Staged(staged) => staged.encode(elements, stored_shape, workspace, out),
            ArrayToBytes::N5Block(_) | ArrayToBytes::Vlen(_) => {
                Err(CodecError::encode("chain", "elements of a fixed size"))
            }
        }
    }

    pub(crate) fn check_rank(&self, shape: &[u64]) -> Result<(), CodecError> {
        if shape.len() == self.order.len() {
            return Ok(());
        }
        let what = format!("{} axes where the array has {}", shape.len(), self.order.len());
        Err(CodecError::config("chain", what))
    }

    fn expect_elements(&self, elements: &[u8], shape: &[u64]) -> Result<(), CodecError> {
        if self.kind == ElemKind::Vlen {
            return Err(CodecError::encode("chain", "the elements have sizes of their own"));
        }
        if shape.len() == self.order.len() && bounded::byte_len(shape, self.elem_size) == Some(elements.len())
        {
            return Ok(());
        }
        Err(CodecError::encode("chain", format!("{} bytes for the shape {shape:?}", elements.len())))
    }

    /// Whether values can be encoded: the document may state parameters of encoding that nothing here understands.
    ///
    /// # Errors
    /// Which codec cannot, and why.
    pub fn check_writable(&self) -> Result<(), CodecError> {
        if let Some(error) = &self.unwritable {
            return Err(error.clone());
        }
        match &self.array_to_bytes {
            ArrayToBytes::Bytes(_) | ArrayToBytes::Vlen(_) | ArrayToBytes::Coded(_) => Ok(()),
            ArrayToBytes::Sharding(sharding) => sharding.check_writable(),
            ArrayToBytes::Staged(staged) => staged.then.check_writable(),
            ArrayToBytes::N5Block(block) => block.check_writable(),
        }
    }

    /// Decodes an N5 block with as many elements as it has, which in a varlength block (mode 1) need not fill its size.
    /// Gives the size over the logical axes, and the elements as they are stored, in this machine's byte order.
    ///
    /// # Errors
    /// The chain is no N5 block's; a value that is not right and whole.
    pub fn decode_n5_block(
        &self,
        encoded: &[u8],
        shape: &[u64],
        workspace: &mut Workspace,
    ) -> Result<(Vec<u64>, Vec<u8>), CodecError> {
        let block = self.n5_block()?;
        self.check_rank(shape)?;
        if block.holds_objects() {
            let object = block.decode_object(encoded, self.vlen_limit, workspace)?;
            return Ok((shape.to_vec(), object));
        }
        let (extent, elements) = block.decode_any(encoded, &self.stored_shape(shape), workspace)?;
        let mut size = vec![0; extent.len()];
        for (&axis, &n) in self.order.iter().zip(&extent) {
            size[axis] = n;
        }
        Ok((size, elements))
    }

    /// Encodes an N5 block of any number of elements: as a varlength block (mode 1), where they do not just fill its
    /// size. `elements` are in this machine's byte order and stored as they come; `size` is over the logical axes.
    ///
    /// # Errors
    /// The chain is no N5 block's; input that it cannot take.
    pub fn encode_n5_block(
        &self,
        elements: &[u8],
        size: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let block = self.n5_block()?;
        block.check_writable()?;
        if block.holds_objects() {
            return block.encode_object(elements, workspace, out);
        }
        let whole = self.kind == ElemKind::Vlen || elements.len().is_multiple_of(self.elem_size);
        if size.len() != self.order.len() || !whole {
            let what = format!("{} bytes for a block of size {size:?}", elements.len());
            return Err(CodecError::encode("chain", what));
        }
        block.encode(&mut elements.to_vec(), &self.stored_shape(size), workspace, out)
    }

    fn n5_block(&self) -> Result<&N5Block, CodecError> {
        match &self.array_to_bytes {
            ArrayToBytes::N5Block(block) if self.bytes_to_bytes.is_empty() => Ok(block),
            _ => Err(CodecError::config("chain", "the chunks of this array are not N5 blocks")),
        }
    }

    /// Whether the stored axes are the logical ones.
    #[must_use]
    pub fn is_c_order(&self) -> bool {
        self.order.iter().enumerate().all(|(i, &axis)| i == axis)
    }

    /// Where elements of this stored extent lie, by logical axis.
    pub(crate) fn layout(&self, stored_extent: &[u64], swap: Swap) -> Layout {
        let extent = bounded::extent(stored_extent);
        Layout::c_order(&extent, swap).permuted(&self.order)
    }
}
