//! The contract of the public suite zarr-conformance-tests.

use std::io::{BufWriter, Write};
use std::path::Path;

use ndzarr::{AnyArray, FillValue};
use ndzarr_metadata::fill_value_json;

use crate::failure::Failure;
use crate::read::rows_of_chunks;

/// Prints the elements of an array in C order, each a line of JSON.
pub(crate) fn print(path: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let array = AnyArray::open(path)?;
    let data_type = array.data_type();
    let region: Vec<_> = array.shape().iter().map(|&length| 0..length).collect();
    let mut out = BufWriter::new(out);
    for part in rows_of_chunks(&array, &region) {
        let mut print = |element: &[u8]| {
            let value = fill_value_json(data_type, &FillValue::defined(element));
            writeln!(out, "{value}")
        };
        match data_type.elem_size() {
            Some(size) => array
                .read_bytes(&part)?
                .chunks_exact(size)
                .try_for_each(print)?,
            None => array
                .read_vlen(&part)?
                .iter()
                .try_for_each(|element| print(element))?,
        }
    }
    Ok(out.flush()?)
}
