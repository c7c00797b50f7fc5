//! Filters of numcodecs: codecs of individual elements, which Zarr v2 applies to stored bytes and
//! Zarr v3 to arrays.

use std::fmt;

use ndzarr_model::{DataType, Endian, FilterTypes, StoredType};

use crate::elements::number::{self, Number, NumberType};
use crate::memory::sink;
use crate::{ArrayToArray, BytesToBytes, CodecError, Dst, Swap, Workspace};

/// A filter. Input and output are in native byte order.
pub(crate) trait Filter: fmt::Debug + Send + Sync {
    const NAME: &'static str;

    /// The type as which the filter views its input elements, and the type of its output elements.
    fn types(&self) -> &FilterTypes;

    /// Encodes elements into the same number of elements.
    fn encode(&self, elements: &[u8], out: &mut [u8]) -> Result<(), CodecError>;

    /// Decodes elements into the same number of elements.
    fn decode(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), CodecError>;
}

/// The numbers of a type, or an error that says that a filter cannot compute with it.
pub(crate) fn numbers(name: &'static str, data_type: &DataType) -> Result<NumberType, CodecError> {
    NumberType::of(data_type).ok_or_else(|| {
        CodecError::config(
            name,
            format!("does not compute with elements of {data_type}"),
        )
    })
}

/// The numbers of the types on both sides of a filter.
pub(crate) fn both_numbers(
    name: &'static str,
    types: &FilterTypes,
) -> Result<(NumberType, NumberType), CodecError> {
    Ok((
        numbers(name, &types.dtype.data_type)?,
        numbers(name, &types.astype.data_type)?,
    ))
}

/// The swap between a stored type and the native form.
pub(crate) fn swap_of(stored: &StoredType) -> Swap {
    match stored.data_type.swap_width() {
        1 => Swap::None,
        _ if stored.endian == Endian::NATIVE => Swap::None,
        width => Swap::Every(width),
    }
}

/// The swap between numbers of this size in native form and as bytes. numcodecs stores them in the
/// byte order of the writing machine, which is taken to be little endian.
#[cfg(any(feature = "pcodec", feature = "zfp"))]
pub(crate) fn swap_of_bytes(width: usize) -> Swap {
    if Endian::NATIVE == Endian::Little || width == 1 {
        Swap::None
    } else {
        Swap::Every(width)
    }
}

/// A filter of stored bytes.
#[derive(Debug)]
pub(crate) struct OnBytes<F>(pub(crate) F);

impl<F: Filter> OnBytes<F> {
    fn n_elements(&self, len: usize, stored: &StoredType) -> Option<usize> {
        let size = stored.elem_size();
        len.is_multiple_of(size).then_some(len / size)
    }

    fn decoded_byte_len(&self, src: &[u8]) -> Result<usize, CodecError> {
        let FilterTypes { dtype, astype } = self.0.types();
        let len = self
            .n_elements(src.len(), astype)
            .and_then(|n| n.checked_mul(dtype.elem_size()));
        len.ok_or_else(|| {
            let what = format!(
                "{} bytes are not whole elements of {}",
                src.len(),
                astype.data_type
            );
            CodecError::corrupt(F::NAME, what)
        })
    }
}

impl<F: Filter> BytesToBytes for OnBytes<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn decode(
        &self,
        src: &[u8],
        mut dst: Dst<'_>,
        workspace: &mut Workspace,
    ) -> Result<usize, CodecError> {
        let FilterTypes { dtype, astype } = self.0.types();
        let len = self.decoded_byte_len(src)?;
        let out = sink::whole_output(F::NAME, &mut dst, len)?;
        in_native_form(src, astype, workspace, |native| self.0.decode(native, out))?;
        swap_of(dtype).apply(out);
        Ok(len)
    }

    fn encode(
        &self,
        src: &[u8],
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        let FilterTypes { dtype, astype } = self.0.types();
        let n = self.n_elements(src.len(), dtype).ok_or_else(|| {
            let what = format!(
                "{} bytes are not whole elements of {}",
                src.len(),
                dtype.data_type
            );
            CodecError::encode(F::NAME, what)
        })?;
        dst.clear();
        let len = n.saturating_mul(astype.elem_size());
        sink::reserve(dst, len)?;
        dst.resize(len, 0);
        in_native_form(src, dtype, workspace, |native| self.0.encode(native, dst))?;
        swap_of(astype).apply(dst);
        Ok(())
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        self.decoded_byte_len(src).map(|len| Some(len as u64))
    }

    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        let FilterTypes { dtype, astype } = self.0.types();
        self.n_elements(decoded, dtype)?
            .checked_mul(astype.elem_size())
    }
}

/// Runs a filter on stored elements in native byte order.
fn in_native_form(
    src: &[u8],
    stored: &StoredType,
    workspace: &mut Workspace,
    run: impl FnOnce(&[u8]) -> Result<(), CodecError>,
) -> Result<(), CodecError> {
    match swap_of(stored) {
        Swap::None => run(src),
        swap => {
            let mut native = workspace.take_bytes();
            native.extend_from_slice(src);
            swap.apply(&mut native);
            run(&native)?;
            workspace.give_bytes(native);
            Ok(())
        }
    }
}

/// A filter of the elements of an array.
#[derive(Debug)]
pub(crate) struct OnElements<F> {
    filter: F,
    /// The type of the array's elements.
    data_type: DataType,
}

impl<F: Filter> OnElements<F> {
    /// `data_type` is the type of the filter's input elements.
    pub(crate) fn new(filter: F, data_type: &DataType) -> Result<Self, CodecError> {
        let viewed = &filter.types().dtype.data_type;
        if viewed.elem_size() != data_type.elem_size() {
            let what = format!("views elements of {data_type} as {viewed}, which has another size");
            return Err(CodecError::config(F::NAME, what));
        }
        Ok(Self {
            filter,
            data_type: data_type.clone(),
        })
    }
}

impl<F: Filter> ArrayToArray for OnElements<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn encoded_type(&self) -> DataType {
        self.filter.types().astype.data_type.clone()
    }

    /// The fill value keeps its number, as in zarr-python, because the result for an element may
    /// depend on other elements.
    fn encoded_fill(&self, fill: &[u8]) -> Result<Vec<u8>, CodecError> {
        let encoded = self.encoded_type();
        let from = NumberType::of(&self.data_type);
        let to = NumberType::of(&encoded);
        let mut out = vec![0; encoded.elem_size().unwrap_or(0)];
        match (from, to) {
            _ if encoded == self.data_type => out.copy_from_slice(fill),
            (Some(from), Some(to)) => {
                number::convert_each((from, fill), (to, &mut out), |number: Number| number)
            }
            _ => {}
        }
        Ok(out)
    }

    fn encode(&self, elements: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        self.filter.encode(elements, out)
    }

    fn decode(&self, encoded: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        self.filter.decode(encoded, out)
    }
}
