//! Single blocks of N5 datasets as stored: of fewer or more elements than their size says, or
//! objects.

use std::io::Write;

use ndzarr::{AnyArray, Array, DataType, Format, N5Block, PlainElement};
use serde_json::json;

use crate::arguments::{BlockArguments, place};
use crate::failure::Failure;

/// The size of the only block.
const SIZE: [u64; 2] = [5, 2];

/// Creates a dataset of one block with these elements, or prints those of the existing block.
pub(crate) fn run(arguments: &BlockArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let place = place(&arguments.store, &arguments.node);
    let array = match &arguments.create {
        None => AnyArray::open(place)?,
        Some(name) => {
            let data_type = ndzarr_metadata::parse_data_type_json(&json!(name))
                .map_err(|_| Failure::new(format_args!("unsupported data type {name}")))?;
            AnyArray::builder(SIZE)
                .chunks(SIZE)
                .data_type(data_type)
                .format(Format::N5)
                .codecs([])
                .create(place)?
        }
    };
    match array.data_type() {
        DataType::Object => object(&array, arguments, out),
        DataType::Int { bits: 32 } => numbers::<i32>(&array.typed()?, arguments, out),
        _ => numbers::<u8>(&array.typed()?, arguments, out),
    }
}

fn object(
    array: &AnyArray,
    arguments: &BlockArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let blocks = array.n5_blocks();
    if arguments.create.is_some() {
        let bytes = arguments
            .elements
            .iter()
            .map(|&element| u8::try_from(element));
        return Ok(blocks.write_object(&[0, 0], &bytes.collect::<Result<Vec<_>, _>>()?)?);
    }
    Ok(writeln!(
        out,
        "{}",
        json!({"elements": blocks.read_object(&[0, 0])?})
    )?)
}

fn numbers<T: PlainElement + TryFrom<i64> + Into<i64>>(
    array: &Array<T>,
    arguments: &BlockArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if arguments.create.is_some() {
        let elements = arguments
            .elements
            .iter()
            .map(|&element| T::try_from(element).ok());
        let elements = elements
            .collect::<Option<Vec<T>>>()
            .ok_or_else(|| Failure::new("out of range"))?;
        return Ok(array.n5_blocks().write(
            &[0, 0],
            &N5Block {
                size: SIZE.to_vec(),
                elements,
            },
        )?);
    }
    let block = array
        .n5_blocks()
        .read(&[0, 0])?
        .ok_or_else(|| Failure::new("there is no block"))?;
    let elements: Vec<i64> = block.elements.into_iter().map(Into::into).collect();
    Ok(writeln!(
        out,
        "{}",
        json!({"size": block.size, "elements": elements})
    )?)
}
