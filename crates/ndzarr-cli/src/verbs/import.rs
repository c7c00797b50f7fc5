//! `ndzarr import`: makes an array of a `.npy` file or of bytes.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use clap::Args;
use ndzarr::codec::CodecSpec;
use ndzarr::ndarray::{ArrayView, IxDyn};
use ndzarr::{AnyArray, AnyNode, CopyLevel, CopyOptions, DataType, Endian, Format, copy};

use crate::arguments::selection::Selected;
use crate::arguments::sizes;
use crate::arguments::{Global, local_folder, parse_shape};
use crate::arguments::{codecs, formats};
use crate::failure::Failure;
use crate::files::npy::{self, Header};
use crate::files::staging::Staging;
use crate::output::Output;
use crate::output::describe;
use crate::places::shown;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// A .npy file, or with `--dtype` and `--shape` a file of packed elements; `-` is standard
    /// input.
    file: PathBuf,
    /// Where the array will be. Until it is complete, it is next to that, with `.importing` after
    /// its name, or if the target is remote in a new folder for temporary files.
    target: PathBuf,
    /// Shape of an array of packed elements.
    #[arg(long, value_parser = parse_shape, value_name = "SHAPE", requires = "dtype")]
    shape: Option<::std::vec::Vec<u64>>,
    /// Type of packed elements, in C order: by its name in Zarr v3, in native byte order, or as
    /// NumPy spells it: float32, >i2.
    #[arg(long, value_parser = parse_type, value_name = "TYPE", requires = "shape")]
    dtype: Option<(DataType, Endian)>,
    /// Format of the array.
    #[arg(long, value_parser = formats::written(), default_value = "zarr3")]
    format: Format,
    /// Shape of a chunk, or of an inner chunk of a shard.
    #[arg(long, value_parser = parse_shape, value_name = "SHAPE")]
    chunks: Option<::std::vec::Vec<u64>>,
    /// Shape of a shard, a multiple of the chunks.
    #[arg(long, value_parser = parse_shape, value_name = "SHAPE")]
    shards: Option<::std::vec::Vec<u64>>,
    /// Compression, as of `ndzarr cp`.
    #[arg(long, value_parser = codecs::parse, value_name = "CODEC", default_value = "zstd:3")]
    codec: ::std::vec::Vec<CodecSpec>,
}

fn parse_type(text: &str) -> Result<(DataType, Endian), String> {
    if let Some(data_type) = DataType::from_name(text) {
        return Ok((data_type, Endian::NATIVE));
    }
    let parsed = npy::parse_descr(text)
        .map(|(data_type, endian)| (data_type, endian.unwrap_or(Endian::NATIVE)));
    parsed.ok_or_else(|| format!("{text:?} is not a type; float32, int16 or >f4 are"))
}

/// The bytes of elements that are in memory at a time.
const BYTES_IN_MEMORY: u64 = 128 << 20;

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    global.check_inside(None, &arguments.target)?;
    let is_stdin = arguments.file.as_os_str() == "-";
    let mut from: Box<dyn Read> = if is_stdin {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(&arguments.file)
            .map_err(|error| Failure::of_file(&arguments.file, &error))?;
        Box::new(BufReader::new(file))
    };
    let header = match (&arguments.dtype, &arguments.shape) {
        (Some((data_type, endian)), Some(shape)) => Header {
            data_type: data_type.clone(),
            endian: *endian,
            fortran: false,
            shape: shape.clone(),
        },
        _ => npy::read(&mut from)?,
    };
    if header.endian != Endian::NATIVE && matches!(header.data_type, DataType::Struct(_)) {
        return Err(Failure::new(
            "structures of another byte order are not supported",
        ));
    }
    if header.data_type.elem_size().is_none() {
        return Err(Failure::usage(format_args!(
            "{} has no fixed size",
            header.data_type
        )));
    }
    let mut builder = AnyArray::builder(header.shape.clone())
        .data_type(header.data_type.clone())
        .format(arguments.format)
        .n5_axes(global.n5_axes())
        .codecs(arguments.codec.iter().cloned());
    if let Some(chunks) = &arguments.chunks {
        builder = builder.chunks(chunks.clone());
    }
    if let Some(shards) = &arguments.shards {
        builder = builder.shards(shards.clone());
    }
    // Half an array must not look like a whole one, so the array appears when it is complete.
    let staging = Staging::for_target(&arguments.target)?;
    let part = &staging.place;
    let folder = local_folder(part);
    let array = builder.create(part).inspect_err(|_| {
        // The folder was made for this array.
        let _ = folder.as_ref().map(std::fs::remove_dir);
    })?;
    let array = array.with_options(global.run_options());
    // Chunks are copied as they are.
    let options = CopyOptions::new()
        .open(global.open_options())
        .n5_axes(global.n5_axes());
    let options = options
        .at_most(CopyLevel::Rekeyed)
        .run(global.run_options());
    // The dry run fails before any work if the target is not empty.
    let made = copy(part, &arguments.target, &options.clone().dry_run())
        .map_err(Failure::from)
        .and_then(|_| fill(&array, &header, &mut from))
        .and_then(|()| Ok(copy(part, &arguments.target, &options)?));
    let bytes = describe::byte_len(&array).unwrap_or(0);
    let data_type = array.data_type().to_string();
    let node = AnyNode::Array(array);
    let is_gone = node.erase_self().is_ok();
    if let Some(folder) = folder.filter(|_| is_gone) {
        let _ = std::fs::remove_dir(folder);
    }
    match made {
        Err(failure) if is_gone => return Err(failure),
        Err(failure) => {
            return Err(failure.with_hint(&format!("{} should be removed", shown(part))));
        }
        Ok(_) if !is_gone => {
            return Err(Failure::new(format_args!(
                "{} is complete; {} could not be removed",
                shown(&arguments.target),
                shown(part)
            )));
        }
        Ok(_) => {}
    }
    if global.verbose && !output.json() {
        let bytes = sizes::shown(bytes);
        output.line(format!(
            "{}: {data_type} of {bytes}",
            shown(&arguments.target)
        ))?;
    }
    Ok(())
}

/// Writes the elements that follow the header, in runs of the file that contain whole chunks as far
/// as these fit into memory.
fn fill(array: &AnyArray, header: &Header, from: &mut dyn Read) -> Result<(), Failure> {
    let size = header.data_type.elem_size().unwrap_or(1);
    let mut units = array
        .shard_shape()
        .map_or_else(|| array.chunk_shape(), <[u64]>::to_vec);
    // The axes are in the order of the file, in which the last varies fastest.
    let mut shape = header.shape.clone();
    if header.fortran {
        shape.reverse();
        units.reverse();
    }
    let mut n_read = 0;
    for mut ranges in
        Selected::whole(&shape).runs(&units, (BYTES_IN_MEMORY / size.max(1) as u64).max(1))
    {
        let n = ranges.iter().try_fold(size, |all, range| {
            usize::try_from(range.end - range.start)
                .ok()
                .and_then(|n| all.checked_mul(n))
        });
        let len = n.ok_or_else(|| Failure::new("too large for this machine"))?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(len)
            .map_err(|_| Failure::new(format_args!("no memory for {len} bytes")))?;
        Read::take(&mut *from, len as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::new(format_args!("reading: {error}")))?;
        n_read += bytes.len() as u64;
        if bytes.len() < len {
            let all = shape
                .iter()
                .fold(size as u64, |all, &n| all.saturating_mul(n));
            return Err(Failure::new(format_args!(
                "the elements end after {n_read} of {all} bytes"
            )));
        }
        if header.endian != Endian::NATIVE {
            let width = header.data_type.swap_width().max(1);
            bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        if header.fortran {
            ranges.reverse();
            bytes = transposed(&bytes, &ranges, size)?;
        }
        array.write_bytes(&ranges[..], &bytes)?;
    }
    let mut more = [0];
    match from.read(&mut more) {
        Ok(0) => Ok(()),
        Ok(_) => Err(Failure::new("there are more bytes than the array has")),
        Err(error) => Err(Failure::new(format_args!("reading: {error}"))),
    }
}

/// Elements in Fortran order, rearranged to C order.
fn transposed(
    bytes: &[u8],
    ranges: &[std::ops::Range<u64>],
    size: usize,
) -> Result<Vec<u8>, Failure> {
    let mut shape: Vec<usize> = ranges
        .iter()
        .rev()
        .map(|range| (range.end - range.start) as usize)
        .collect();
    shape.push(size);
    let view = ArrayView::from_shape(IxDyn(&shape), bytes).map_err(Failure::new)?;
    let ndim = ranges.len();
    let axes: Vec<usize> = (0..ndim).rev().chain([ndim]).collect();
    Ok(view.permuted_axes(IxDyn(&axes)).iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_becomes_c_order() {
        // [[1, 2, 3], [4, 5, 6]] by columns, of two bytes each.
        let bytes = [1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0];
        let in_c_order = transposed(&bytes, &[0..2, 5..8], 2).expect("it is valid");
        assert_eq!(in_c_order, [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    }
}
