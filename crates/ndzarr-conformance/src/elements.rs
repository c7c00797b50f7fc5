//! The contract of the public suite zarr-conformance-tests.

use std::io::{BufWriter, Write};
use std::path::Path;

use ndzarr::ndzarr_metadata::fill_value_json;
use ndzarr::{AnyArray, FillValue};

use crate::failure::Failure;
use crate::read::rows_of_chunks;

/// Prints the elements of an array in C order, each a line of JSON.
pub(crate) fn print(path: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let array = AnyArray::open(path)?;
    let data_type = array.data_type();
    let size = data_type
        .elem_size()
        .ok_or_else(|| Failure::new(format_args!("elements of {data_type} have no fixed size")))?;
    let region: Vec<_> = array.shape().iter().map(|&length| 0..length).collect();
    let mut out = BufWriter::new(out);
    for part in rows_of_chunks(&array, &region) {
        for element in array.read_bytes(&part)?.chunks_exact(size) {
            writeln!(out, "{}", fill_value_json(data_type, &FillValue::defined(element)))?;
        }
    }
    Ok(out.flush()?)
}
