//! Checks that apply to every regular grid, whichever document states it.

use ndzarr_model::DataType;

use crate::MetadataError;

/// Checks a chunk shape against the array's shape and addressable memory. The shape of the array is
/// never multiplied out.
pub(crate) fn check(
    key: &str,
    shape: &[u64],
    chunk_shape: &[u64],
    data_type: &DataType,
) -> Result<(), MetadataError> {
    if shape.len() != chunk_shape.len() {
        let what = format_args!(
            "chunk shape {chunk_shape:?} and shape {shape:?} differ in the number of dimensions"
        );
        return Err(MetadataError::invalid(key, what));
    }
    if shape
        .iter()
        .zip(chunk_shape)
        .any(|(&length, &chunk)| chunk == 0 && length != 0)
    {
        let what =
            format_args!("chunk shape {chunk_shape:?} has a 0, but shape {shape:?} does not");
        return Err(MetadataError::invalid(key, what));
    }
    check_byte_len(key, chunk_shape, data_type.elem_size().unwrap_or(1))
}

/// Checks that the size in bytes of an array of this shape fits in memory.
pub(crate) fn check_byte_len(
    key: &str,
    shape: &[u64],
    elem_size: usize,
) -> Result<(), MetadataError> {
    let byte_len = shape
        .iter()
        .map(|&length| length.max(1))
        .chain([elem_size.max(1) as u64])
        .try_fold(1u64, u64::checked_mul)
        .and_then(|byte_len| isize::try_from(byte_len).ok());
    match byte_len {
        Some(_) => Ok(()),
        None => Err(MetadataError::invalid(
            key,
            format_args!(
                "a chunk of shape {shape:?} and {elem_size} bytes per element is too large for this machine"
            ),
        )),
    }
}
