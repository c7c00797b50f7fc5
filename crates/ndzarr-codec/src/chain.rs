//! `CodecChain`: decodes and encodes chunks with a list of codecs.

mod any_n5_block;
mod bind;
mod encode;
mod n5_block;
mod pieces;
mod two;

use std::ops::Range;
use std::sync::Arc;

use ndzarr_model::{ElemKind, FillValue};

pub use two::Ahead;

use crate::chain::n5_block::N5Block;
use crate::elements::window::Window;
use crate::memory::bounded;
use crate::pipe::{self, Pipe};
use crate::sharding::Sharding;
use crate::stage::{Payload, Stage, Value};
use crate::traits::link::Link;
use crate::{Buffer, CodecError, Dst, Elements, Layout, Swap, Workspace};

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
            CodecError::config(
                "chain",
                format!("a chunk of shape {shape:?} is too large for this machine"),
            )
        })?;
        self.stage.check(&self.stored(shape))
    }

    /// How parts of an encoded value can be read.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        match &self.stage_kind {
            _ if !self.bytes_to_bytes.is_empty() => Access::Whole,
            StageKind::Raw => Access::Raw {
                swap: self.stage.swap().clone(),
            },
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
        self.stage
            .overhead(&self.stored(shape))
            .saturating_add((added as u64).saturating_mul(2))
    }

    /// The encoded size of an array of this shape, if it does not depend on the elements.
    #[must_use]
    pub fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        let len = self.stage.encoded_len(&self.stored(shape))?;
        self.bytes_to_bytes
            .iter()
            .try_fold(len, |len, codec| codec.encoded_len(len))
    }

    /// Checks that values can be encoded: the metadata may have encoding parameters that are
    /// unknown here.
    ///
    /// # Errors
    /// A codec cannot encode; the error names it and says why.
    pub fn check_writable(&self) -> Result<(), CodecError> {
        self.unwritable
            .as_ref()
            .map_or(Ok(()), |error| Err(error.clone()))
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
        let value = Value {
            bytes: encoded,
            shape: &stored_shape,
            byte_len,
            pipe: self.pipe(),
        };
        let mut put = Some(put);
        let mut result = Ok(());
        self.stage
            .decode(value, workspace, &mut |elements, extent| {
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
    /// As for [`decode`](Self::decode).
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
        let Some((buffer, extent)) = self.try_decode_window(encoded, shape, wanted, workspace)?
        else {
            return self.decode(encoded, shape, workspace, put);
        };
        let elements = Elements::Fixed {
            bytes: buffer.bytes(),
            size: self.elem_size,
        };
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
        let Some(plain) = self.stage.plain() else {
            return Ok(None);
        };
        if shape.len() != self.order.len() || wanted.len() != self.order.len() {
            return Ok(None);
        }
        let wanted: Vec<Range<usize>> = self
            .order
            .iter()
            .map(|&axis| wanted[axis].clone())
            .collect();
        let stored_shape = self.stored(shape);
        let Payload {
            bytes,
            extent,
            byte_len,
        } = plain.payload(encoded, &stored_shape)?;
        let window = Window::new(&bounded::extent(&extent), self.elem_size, &wanted);
        let buffer = self
            .pipe()
            .decode_window(bytes, byte_len, &window, workspace)?;
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
        let Some(plain) = self.stage.plain().filter(|_| self.is_c_order()) else {
            return Ok(false);
        };
        let Payload {
            bytes,
            extent,
            byte_len,
        } = plain.payload(encoded, shape)?;
        if byte_len != out.len() || *extent != *shape {
            return Ok(false);
        }
        self.pipe()
            .decode(bytes, byte_len, Dst::Exact(out), workspace)?;
        self.stage.swap().apply(out);
        Ok(true)
    }

    fn check_rank(&self, shape: &[u64]) -> Result<(), CodecError> {
        if shape.len() == self.order.len() {
            return Ok(());
        }
        let what = format!(
            "{} axes, but the array has {}",
            shape.len(),
            self.order.len()
        );
        Err(CodecError::config("chain", what))
    }

    fn pipe(&self) -> Pipe<'_> {
        Pipe::new(&self.bytes_to_bytes)
    }

    /// The layout of decoded elements of this stored extent, by logical axis.
    fn layout(&self, stored_extent: &[u64]) -> Layout {
        let extent = bounded::extent(stored_extent);
        let layout = Layout::c_order(&extent, self.stage.swap().clone());
        if self.is_c_order() {
            layout
        } else {
            layout.permuted(&self.order)
        }
    }
}
