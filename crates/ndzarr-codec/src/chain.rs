//! `CodecChain`: decodes and encodes chunks with a list of codecs.

mod bind;
mod n5_block;
mod pieces;
mod two;

use std::ops::Range;
use std::sync::Arc;

use ndzarr_model::{ElemKind, FillValue};

pub use two::Ahead;

use crate::chain::n5_block::N5Block;
use crate::elements::window::Window;
use crate::memory::{bounded, sink};
use crate::pipe::{self, Pipe};
use crate::sharding::Sharding;
use crate::stage::{Payload, Stage, Value};
use crate::strided::{self, Strided};
use crate::traits::link::Link;
use crate::{Buffer, CodecError, Dst, Elements, Layout, Swap, VlenSlot, Workspace, c_strides};

/// An executable chain of codecs for arrays of one element type, fill value and number of
/// dimensions.
///
/// The shape is given in each call, because it varies between chunks. The axes of the caller's
/// array are called logical; the *stored* axes are those after the chain's transposes.
#[derive(Debug)]
pub struct CodecChain {
    kind: ElemKind,
    /// An estimate for elements of variable size.
    elem_size: usize,
    /// The most bytes that a chunk of elements of variable size may decompress to.
    vlen_limit: usize,
    fill: FillValue,
    /// Stored axis `j` is logical axis `order[j]`.
    order: Vec<usize>,
    stage: Box<dyn Stage>,
    stage_kind: StageKind,
    bytes_to_bytes: Vec<Link>,
    /// Why nothing can be encoded.
    unwritable: Option<CodecError>,
}

/// A stage with additional capabilities.
#[derive(Debug)]
enum StageKind {
    /// Elements as they are, except for byte order.
    Raw,
    Sharding(Arc<Sharding>),
    N5Block(Arc<N5Block>),
    Other,
}

/// How parts of an encoded value can be read.
#[derive(Clone, Debug)]
pub enum Access<'c> {
    /// Only as a whole.
    Whole,
    /// The position of an element follows from its index.
    Raw {
        /// The swap that converts elements to native form.
        swap: Swap,
    },
    /// An index locates the inner chunks.
    Indexed(&'c Arc<Sharding>),
}

impl CodecChain {
    /// Checks that arrays of this shape can be encoded: inner chunks divide the shape, and sizes do
    /// not overflow.
    ///
    /// # Errors
    /// The shape does not fit; the error says why.
    pub fn check(&self, shape: &[u64]) -> Result<(), CodecError> {
        self.check_rank(shape)?;
        bounded::byte_len(shape, self.elem_size).ok_or_else(|| {
            CodecError::config("chain", format!("a chunk of shape {shape:?} is too large for this machine"))
        })?;
        self.stage.check(&self.stored(shape))
    }

    /// How parts of an encoded value can be read.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        match &self.stage_kind {
            _ if !self.bytes_to_bytes.is_empty() => Access::Whole,
            StageKind::Raw => Access::Raw { swap: self.stage.swap().clone() },
            StageKind::Sharding(sharding) => Access::Indexed(sharding),
            StageKind::N5Block(_) | StageKind::Other => Access::Whole,
        }
    }

    /// The memory layout of the elements.
    #[must_use]
    pub fn elem_kind(&self) -> ElemKind {
        self.kind
    }

    /// Size of an element in bytes; an estimate for elements of variable size.
    #[must_use]
    pub fn elem_size(&self) -> usize {
        self.elem_size
    }

    /// The fill value that the chain was bound to.
    #[must_use]
    pub fn fill(&self) -> &FillValue {
        &self.fill
    }

    /// Stored axis `j` is logical axis `order()[j]`.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Reorders values, one per logical axis, to the order of the stored axes.
    ///
    /// # Panics
    /// There are fewer values than axes.
    #[must_use]
    pub fn stored<T: Copy>(&self, logical: &[T]) -> Vec<T> {
        self.order.iter().map(|&axis| logical[axis]).collect()
    }

    /// True if the stored axes are in the order of the logical ones.
    #[must_use]
    pub fn is_c_order(&self) -> bool {
        self.order.iter().enumerate().all(|(i, &axis)| i == axis)
    }

    /// True if values are blocks of N5.
    #[must_use]
    pub fn is_n5_block(&self) -> bool {
        matches!(&self.stage_kind, StageKind::N5Block(_))
    }

    /// True if values at the end of the array are encoded with only the elements inside it (N5,
    /// truncated).
    #[must_use]
    pub fn truncates(&self) -> bool {
        matches!(&self.stage_kind, StageKind::N5Block(block) if block.truncates())
    }

    /// The most bytes that a chunk of elements of variable size may decompress to.
    pub(crate) fn vlen_limit(&self) -> usize {
        self.vlen_limit
    }

    /// The largest plausible size of a value of this shape.
    #[must_use]
    pub fn encoded_limit(&self, shape: &[u64]) -> u64 {
        let len = self.decoded_limit(shape);
        bounded::value_limit(len, self.overhead(shape))
    }

    /// The most bytes that the elements of a value of this shape may have.
    fn decoded_limit(&self, shape: &[u64]) -> usize {
        let decoded = bounded::byte_len(shape, self.elem_size).unwrap_or(usize::MAX >> 2);
        match self.kind {
            ElemKind::Fixed { .. } => decoded,
            ElemKind::Vlen => decoded.max(self.vlen_limit),
        }
    }

    /// The number of bytes that a value of this shape may have in addition to twice its elements.
    pub(crate) fn overhead(&self, shape: &[u64]) -> u64 {
        let decoded = self.decoded_limit(shape);
        // Filters may widen elements.
        let added = pipe::limit_after(&self.bytes_to_bytes, decoded).saturating_sub(decoded);
        self.stage.overhead(&self.stored(shape)).saturating_add((added as u64).saturating_mul(2))
    }

    /// The encoded size of an array of this shape, if it does not depend on the elements.
    #[must_use]
    pub fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        let len = self.stage.encoded_len(&self.stored(shape))?;
        self.bytes_to_bytes.iter().try_fold(len, |len, codec| codec.encoded_len(len))
    }

    /// Checks that values can be encoded: the metadata may have encoding parameters that are
    /// unknown here.
    ///
    /// # Errors
    /// A codec cannot encode; the error names it and says why.
    pub fn check_writable(&self) -> Result<(), CodecError> {
        self.unwritable.as_ref().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Decodes a value and passes the elements to `put`, once, with their layout. Their extent is
    /// smaller than `shape` only for some N5 blocks.
    ///
    /// # Errors
    /// The value is incomplete or corrupt; `put` fails.
    pub fn decode<E: From<CodecError>>(
        &self,
        encoded: &[u8],
        shape: &[u64],
        workspace: &mut Workspace,
        put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_rank(shape)?;
        let byte_len = match self.kind {
            ElemKind::Fixed { size } => bounded::chunk_len(shape, size)?,
            ElemKind::Vlen => 0,
        };
        let stored_shape = self.stored(shape);
        let value = Value { bytes: encoded, shape: &stored_shape, byte_len, pipe: self.pipe() };
        let mut put = Some(put);
        let mut result = Ok(());
        self.stage.decode(value, workspace, &mut |elements, extent| {
            if let Some(put) = put.take() {
                result = put(elements, &self.layout(extent));
            }
        })?;
        result
    }

    /// Decodes the elements in the box `wanted`, which is over the logical axes, and passes them to
    /// `put` as [`decode`](Self::decode) does. Elements outside the box may have any value, and
    /// damage to them may go undetected.
    ///
    /// # Errors
    /// The same as for [`decode`](Self::decode).
    ///
    /// ```
    /// use ndzarr_codec::{CodecChain, CodecError, CodecRegistry, Elements, Workspace};
    /// use ndzarr_model::{CodecConfig, CodecSpec, DataType, FillValue};
    ///
    /// let bytes = CodecSpec::from(CodecConfig::Bytes { endian: None });
    /// let fill = FillValue::defined([0]);
    /// let chain = CodecChain::bind(&[bytes], &DataType::UInt { bits: 8 }, &fill, 1, &CodecRegistry::new())?;
    /// chain.decode_window(&[5, 6, 7], &[3], &[1..2], &mut Workspace::new(), |elements, layout| {
    ///     let Elements::Fixed { bytes, .. } = elements else { unreachable!("they have a fixed size") };
    ///     assert_eq!((bytes[1], &layout.extent[..]), (6, &[3][..]));
    ///     Ok::<_, CodecError>(())
    /// })?;
    /// # Ok::<_, CodecError>(())
    /// ```
    pub fn decode_window<E: From<CodecError>>(
        &self,
        encoded: &[u8],
        shape: &[u64],
        wanted: &[Range<usize>],
        workspace: &mut Workspace,
        put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some((buffer, extent)) = self.try_decode_window(encoded, shape, wanted, workspace)? else {
            return self.decode(encoded, shape, workspace, put);
        };
        let elements = Elements::Fixed { bytes: buffer.bytes(), size: self.elem_size };
        let result = put(elements, &self.layout(&extent));
        workspace.give(buffer);
        result
    }

    /// A buffer for all elements, of which those in the box `wanted` are decoded, and the extent
    /// over the stored axes; `None` if the value has to be decoded as a whole.
    fn try_decode_window(
        &self,
        encoded: &[u8],
        shape: &[u64],
        wanted: &[Range<usize>],
        workspace: &mut Workspace,
    ) -> Result<Option<(Buffer, Vec<u64>)>, CodecError> {
        let Some(plain) = self.stage.plain() else { return Ok(None) };
        if shape.len() != self.order.len() || wanted.len() != self.order.len() {
            return Ok(None);
        }
        let wanted: Vec<Range<usize>> = self.order.iter().map(|&axis| wanted[axis].clone()).collect();
        let stored_shape = self.stored(shape);
        let Payload { bytes, extent, byte_len } = plain.payload(encoded, &stored_shape)?;
        let window = Window::new(&bounded::extent(&extent), self.elem_size, &wanted);
        let buffer = self.pipe().decode_window(bytes, byte_len, &window, workspace)?;
        Ok(buffer.map(|buffer| (buffer, extent.into_owned())))
    }

    /// Decodes a value directly into memory for its elements in C order, if no copy is needed for
    /// that. Returns true if it did; otherwise `out` is untouched.
    ///
    /// # Errors
    /// The value is incomplete or corrupt.
    pub fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<bool, CodecError> {
        let Some(plain) = self.stage.plain().filter(|_| self.is_c_order()) else { return Ok(false) };
        let Payload { bytes, extent, byte_len } = plain.payload(encoded, shape)?;
        if byte_len != out.len() || *extent != *shape {
            return Ok(false);
        }
        self.pipe().decode(bytes, byte_len, Dst::Exact(out), workspace)?;
        self.stage.swap().apply(out);
        Ok(true)
    }

    /// Encodes an array. `elements` are in C order over `shape` and in native byte order.
    ///
    /// # Errors
    /// A codec of the chain cannot encode the input.
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
        let size = self.elem_size;
        if is_c_order && *self.stage.swap() == Swap::None {
            let elements = Elements::Fixed { bytes: elements, size };
            return self.stage.encode(elements, shape, self.pipe(), workspace, out);
        }
        let mut buffer = bounded::take(workspace, elements.len())?;
        if is_c_order {
            buffer.bytes_mut().copy_from_slice(elements);
        } else {
            let extent = bounded::extent(shape);
            let stored_extent = self.stored(&extent);
            let from = Strided { offset: 0, strides: &self.stored(&c_strides(&extent)) };
            let to = Strided { offset: 0, strides: &c_strides(&stored_extent) };
            strided::copy(&stored_extent, size, elements, from, buffer.bytes_mut(), to);
        }
        let result = self.encode_stored(buffer.bytes_mut(), &self.stored(shape), workspace, out);
        workspace.give(buffer);
        result
    }

    /// Encodes an array whose elements are already in C order over the *stored* axes. May change
    /// their byte order in place.
    ///
    /// # Errors
    /// The same as for [`Self::encode`].
    pub fn encode_stored(
        &self,
        elements: &mut [u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.check_writable()?;
        self.expect_elements(elements, stored_shape)?;
        self.stage.swap().apply(elements);
        let elements = Elements::Fixed { bytes: elements, size: self.elem_size };
        self.stage.encode(elements, stored_shape, self.pipe(), workspace, out)
    }

    /// Encodes an array of elements of variable size: slots of `bytes` in C order over the *stored*
    /// axes.
    ///
    /// # Errors
    /// A codec of the chain cannot encode the input.
    pub fn encode_vlen(
        &self,
        slots: &[VlenSlot],
        bytes: &[u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.check_writable()?;
        self.check_rank(stored_shape)?;
        if bounded::byte_len(stored_shape, 1) != Some(slots.len()) {
            let what = format!("{} elements for the shape {stored_shape:?}", slots.len());
            return Err(CodecError::encode("chain", what));
        }
        self.stage.encode(Elements::Vlen { slots, bytes }, stored_shape, self.pipe(), workspace, out)
    }

    /// Decodes an N5 block with whatever number of elements it has; in a varlength block (mode 1)
    /// they need not fill its size. Returns the size over the logical axes, and the elements as
    /// stored, in native byte order.
    ///
    /// # Errors
    /// The chain is not for N5 blocks; the value is incomplete or corrupt.
    pub fn decode_n5_block(
        &self,
        encoded: &[u8],
        shape: &[u64],
        workspace: &mut Workspace,
    ) -> Result<(Vec<u64>, Vec<u8>), CodecError> {
        let block = self.n5_block()?;
        self.check_rank(shape)?;
        if block.holds_objects() {
            let object = block.decode_object(encoded, self.pipe(), workspace)?;
            return Ok((shape.to_vec(), object));
        }
        let stored_shape = self.stored(shape);
        let (extent, elements) = block.decode_any(encoded, &stored_shape, self.pipe(), workspace)?;
        let mut size = vec![0; extent.len()];
        for (&axis, &n) in self.order.iter().zip(&extent) {
            size[axis] = n;
        }
        Ok((size, elements))
    }

    /// Encodes an N5 block of any number of elements: as a varlength block (mode 1), if they do not
    /// exactly fill its size. `elements` are in native byte order and stored in the given order;
    /// `size` is over the logical axes.
    ///
    /// # Errors
    /// The chain is not for N5 blocks; it cannot encode the input.
    pub fn encode_n5_block(
        &self,
        elements: &[u8],
        size: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let block = self.n5_block()?;
        self.check_writable()?;
        if block.holds_objects() {
            return block.encode_object(elements, self.pipe(), workspace, out);
        }
        let whole = self.kind == ElemKind::Vlen || elements.len().is_multiple_of(self.elem_size);
        if size.len() != self.order.len() || !whole {
            let what = format!("{} bytes for a block of size {size:?}", elements.len());
            return Err(CodecError::encode("chain", what));
        }
        let mut copy = Vec::new();
        sink::reserve(&mut copy, elements.len())?;
        copy.extend_from_slice(elements);
        block.encode_any(&mut copy, &self.stored(size), self.pipe(), workspace, out)
    }

    fn n5_block(&self) -> Result<&N5Block, CodecError> {
        match &self.stage_kind {
            StageKind::N5Block(block) => Ok(block),
            _ => Err(CodecError::config("chain", "the chunks of this array are not N5 blocks")),
        }
    }

    fn check_rank(&self, shape: &[u64]) -> Result<(), CodecError> {
        if shape.len() == self.order.len() {
            return Ok(());
        }
        let what = format!("{} axes, but the array has {}", shape.len(), self.order.len());
        Err(CodecError::config("chain", what))
    }

    fn expect_elements(&self, elements: &[u8], shape: &[u64]) -> Result<(), CodecError> {
        if self.kind == ElemKind::Vlen {
            return Err(CodecError::encode("chain", "the elements vary in size"));
        }
        if shape.len() == self.order.len() && bounded::byte_len(shape, self.elem_size) == Some(elements.len())
        {
            return Ok(());
        }
        Err(CodecError::encode("chain", format!("{} bytes for the shape {shape:?}", elements.len())))
    }

    fn pipe(&self) -> Pipe<'_> {
        Pipe::new(&self.bytes_to_bytes)
    }

    /// The layout of decoded elements of this stored extent, by logical axis.
    fn layout(&self, stored_extent: &[u64]) -> Layout {
        let extent = bounded::extent(stored_extent);
        let layout = Layout::c_order(&extent, self.stage.swap().clone());
        if self.is_c_order() { layout } else { layout.permuted(&self.order) }
    }
}
