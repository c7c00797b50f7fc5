//! Creates the array of a conformance case and writes its elements.

use std::fs::{self, File};
use std::io::Read;

use ndzarr::ArrayRequest;
use ndzarr_metadata::parse_json;

use crate::arguments::{WriteArguments, place};
use crate::failure::Failure;
use crate::read::{rows_of_chunks, swap_to_little_endian};
use crate::spec::Spec;

/// Creates an array and writes its elements from a file.
pub(crate) fn run(arguments: &WriteArguments) -> Result<(), Failure> {
    let in_spec = |error: &dyn std::fmt::Display| {
        Failure::new(format_args!("{}: {error}", arguments.spec.display()))
    };
    let text = fs::read_to_string(&arguments.spec).map_err(|error| in_spec(&error))?;
    // Not as text: serde_json does not always choose the nearest float.
    let spec = parse_json(text.as_bytes()).map_err(|error| in_spec(&error))?;
    let spec: Spec = serde_json::from_value(spec).map_err(|error| in_spec(&error))?;
    let request = spec.request().map_err(|error| in_spec(&error))?;
    let Some(size) = request.data_type.elem_size() else {
        return write_vlen(arguments, &spec, request);
    };
    let byte_len = request
        .shape
        .iter()
        .try_fold(size as u64, |len, &n| len.checked_mul(n));

    let in_file = |error: std::io::Error| Failure::of_file(&arguments.input, &error);
    let mut file = File::open(&arguments.input).map_err(in_file)?;
    // Nothing is created if the elements are missing.
    let given = file.metadata().map_err(in_file)?.len();
    if byte_len != Some(given) {
        return Err(Failure::new(format_args!(
            "{} has {given} bytes, not those of {:?} elements of {size} bytes",
            arguments.input.display(),
            request.shape
        )));
    }

    let array = spec
        .builder(request)
        .create(place(&arguments.store, &arguments.node))?;
    let whole: Vec<_> = array.shape().iter().map(|&length| 0..length).collect();
    for part in rows_of_chunks(&array, &whole) {
        let len = part
            .iter()
            .map(|range| range.end - range.start)
            .product::<u64>();
        let mut bytes = vec![0; usize::try_from(len)? * size];
        file.read_exact(&mut bytes).map_err(in_file)?;
        swap_to_little_endian(&mut bytes, array.data_type());
        array.write_bytes(&part, &bytes)?;
    }
    Ok(())
}

/// Creates an array of elements of variable size, each of which has its length before it in the
/// file, as u32, and writes them.
fn write_vlen(
    arguments: &WriteArguments,
    spec: &Spec,
    request: ArrayRequest,
) -> Result<(), Failure> {
    let bytes =
        fs::read(&arguments.input).map_err(|error| Failure::of_file(&arguments.input, &error))?;
    let mut elements = Vec::new();
    let mut rest = &bytes[..];
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let len = u32::from_le_bytes(*len) as usize;
        let (element, tail) = tail.split_at_checked(len).ok_or_else(|| {
            Failure::new(format_args!(
                "{} ends within an element",
                arguments.input.display()
            ))
        })?;
        elements.push(element.to_vec());
        rest = tail;
    }
    if request.shape.iter().product::<u64>() != elements.len() as u64 {
        return Err(Failure::new(format_args!(
            "{} has {} elements, not those of {:?}",
            arguments.input.display(),
            elements.len(),
            request.shape
        )));
    }
    let array = spec
        .builder(request)
        .create(place(&arguments.store, &arguments.node))?;
    let whole: Vec<_> = array.shape().iter().map(|&length| 0..length).collect();
    Ok(array.write_vlen(&whole, &elements)?)
}
