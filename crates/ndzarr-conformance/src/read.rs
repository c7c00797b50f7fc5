//! Elements out of arrays.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;

use ndzarr::{AnyArray, AnyNode, DataType, Endian};

use crate::arguments::{ReadArguments, Region};
use crate::failure::Failure;
use crate::info;

/// Writes the elements to a file and prints the line of `info`.
pub(crate) fn run(arguments: &ReadArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let array = match arguments.node.open()? {
        AnyNode::Array(array) => array,
        AnyNode::Group(_) => {
            return Err(Failure::new(format_args!(
                "{:?} is a group, and no array",
                arguments.node.node
            )));
        }
    };
    let region = match &arguments.region {
        Some(Region(ranges)) => ranges.clone(),
        None => array.shape().iter().map(|&length| 0..length).collect(),
    };
    let in_file = |error: std::io::Error| Failure::of_file(&arguments.out, &error);
    let mut file = BufWriter::new(File::create(&arguments.out).map_err(in_file)?);
    for part in rows_of_chunks(&array, &region) {
        if array.data_type().elem_size().is_none() {
            for element in array.read_vlen(&part)? {
                file.write_all(&u32::try_from(element.len())?.to_le_bytes())
                    .map_err(in_file)?;
                file.write_all(&element).map_err(in_file)?;
            }
            continue;
        }
        let mut bytes = array.read_bytes(&part)?;
        swap_to_little_endian(&mut bytes, array.data_type());
        file.write_all(&bytes).map_err(in_file)?;
    }
    file.flush().map_err(in_file)?;
    Ok(writeln!(out, "{}", info::of_array(&array))?)
}

/// Parts a region along its first axis at the borders of stored chunks, so that one row of these at
/// a time is in memory.
pub(crate) fn rows_of_chunks(array: &AnyArray, region: &[Range<u64>]) -> Vec<Vec<Range<u64>>> {
    let Some((first, others)) = region.split_first() else {
        return vec![Vec::new()];
    };
    let step = array.spec().unit_shape.first().copied().unwrap_or(1).max(1);
    // The array refuses what does not fit.
    let fits = array
        .shape()
        .first()
        .is_some_and(|&length| first.end <= length);
    if !fits || first.start >= first.end {
        return vec![region.to_vec()];
    }
    let mut parts = Vec::new();
    let mut start = first.start;
    while start < first.end {
        let stop = (start / step + 1).saturating_mul(step).min(first.end);
        parts.push(
            std::iter::once(start..stop)
                .chain(others.iter().cloned())
                .collect(),
        );
        start = stop;
    }
    parts
}

/// Turns elements of this machine's byte order into little-endian ones, or back.
pub(crate) fn swap_to_little_endian(bytes: &mut [u8], data_type: &DataType) {
    if Endian::NATIVE == Endian::Big {
        let leaves = data_type.leaves();
        for element in bytes.chunks_exact_mut(data_type.elem_size().unwrap_or(1)) {
            for leaf in &leaves {
                let units = &mut element[leaf.offset..leaf.offset + leaf.unit * leaf.count];
                units.chunks_exact_mut(leaf.unit).for_each(<[u8]>::reverse);
            }
        }
    }
}
