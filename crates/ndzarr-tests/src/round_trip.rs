//! Random arrays, written and read in random regions, against an array in memory.

use std::fmt::Debug;
use std::ops::Range;

use arbitrary::{Result, Unstructured};
use ndzarr::codec::{BloscCname, BloscShuffle, CodecSpec};
use ndzarr::ndarray::{ArrayD, IxDyn, Slice};
use ndzarr::{
    Array, ArrayBuilder, EdgeBlocks, Element, Endian, Format, MemoryStore, N5Axes, OpenOptions,
    Order, codec,
};

/// Memory limit for an input.
pub const MAX_BYTES: usize = 64 << 20;

/// Runs an input.
pub fn check(data: &[u8]) {
    let mut choices = Unstructured::new(data);
    // An input that is too short describes no array.
    let _ = (|| match choices.int_in_range(0..=4)? {
        0 => run::<u8>(&mut choices),
        1 => run::<i16>(&mut choices),
        2 => run::<u32>(&mut choices),
        3 => run::<i64>(&mut choices),
        _ => run::<f32>(&mut choices),
    })();
}

/// A small number as an element.
trait Small: Element + PartialEq + Debug {
    fn small(n: u8) -> Self;
}

impl Small for u8 {
    fn small(n: u8) -> Self {
        n
    }
}

impl Small for i16 {
    fn small(n: u8) -> Self {
        Self::from(n) * 127
    }
}

impl Small for u32 {
    fn small(n: u8) -> Self {
        Self::from(n) * 0x0101_0001
    }
}

impl Small for i64 {
    fn small(n: u8) -> Self {
        -(Self::from(n) << 33)
    }
}

impl Small for f32 {
    fn small(n: u8) -> Self {
        Self::from(n) / 3.0
    }
}

fn run<T: Small>(choices: &mut Unstructured<'_>) -> Result<()> {
    let ndim = choices.int_in_range(0..=3)?;
    let shape = (0..ndim)
        .map(|_| choices.int_in_range(0..=9))
        .collect::<Result<Vec<u64>>>()?;
    let chunks = (0..ndim)
        .map(|_| choices.int_in_range(1..=5))
        .collect::<Result<Vec<u64>>>()?;
    let fill = T::small(choices.int_in_range(0..=2)?);
    let mut builder = Array::<T>::builder(&shape).chunks(&chunks);
    let n5_axes = if choices.arbitrary()? {
        N5Axes::Native
    } else {
        N5Axes::Reversed
    };
    builder = in_a_format(builder.n5_axes(n5_axes), &chunks, fill, choices)?;
    let open = |store: &MemoryStore| {
        let options = OpenOptions::new().n5_axes(n5_axes);
        options.open_array::<T>((store, "a"))
    };
    let store = MemoryStore::new();
    // Not every format can express every combination.
    let Ok(array) = builder.create((&store, "a")) else {
        return Ok(());
    };
    let array = if choices.arbitrary()? {
        open(&store).expect("what was created can be opened")
    } else {
        array
    };
    let lengths: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
    let fill = array.fill_value();
    let mut expected = ArrayD::from_elem(IxDyn(&lengths), fill);
    for _ in 0..choices.int_in_range(1..=6)? {
        let region = region(&shape, choices)?;
        let part =
            |axis: usize| Slice::from(region[axis].start as usize..region[axis].end as usize);
        if choices.ratio(2, 3)? {
            let mut data = expected.clone();
            data.slice_each_axis_inplace(|axis| part(axis.axis.index()));
            let mut data = data.as_standard_layout().into_owned();
            let n: u8 = choices.arbitrary()?;
            for (i, element) in data.iter_mut().enumerate() {
                *element = T::small(n.wrapping_mul((i % 7) as u8));
            }
            array
                .write(&region[..], &data)
                .expect("a region can be written");
            expected
                .slice_each_axis_mut(|axis| part(axis.axis.index()))
                .assign(&data);
        }
        let read = array.read(&region[..]).expect("a region can be read");
        assert_eq!(
            read,
            expected.slice_each_axis(|axis| part(axis.axis.index()))
        );
    }
    let again = open(&store).expect("what was written can be opened");
    assert_eq!(again.read(..).expect("all can be read"), expected);
    Ok(())
}

fn region(shape: &[u64], choices: &mut Unstructured<'_>) -> Result<Vec<Range<u64>>> {
    shape
        .iter()
        .map(|&n| {
            let (a, b) = (choices.int_in_range(0..=n)?, choices.int_in_range(0..=n)?);
            Ok(a.min(b)..a.max(b))
        })
        .collect()
}

fn in_a_format<T: Small>(
    mut builder: ArrayBuilder<T>,
    chunks: &[u64],
    fill: T,
    choices: &mut Unstructured<'_>,
) -> Result<ArrayBuilder<T>> {
    let format = *choices.choose(&[
        Format::Zarr3,
        Format::Zarr2,
        Format::N5,
        Format::DraftA,
        Format::DraftB,
    ])?;
    builder = builder.format(format);
    if format != Format::N5 {
        builder = builder.fill_value(fill);
    }
    if choices.arbitrary()? {
        builder = builder.endian(if choices.arbitrary()? {
            Endian::Big
        } else {
            Endian::Little
        });
    }
    if choices.ratio(1, 3)? {
        builder = builder.order(Order::F);
    }
    if choices.ratio(1, 3)? {
        builder = builder.separator(if choices.arbitrary()? { '.' } else { '/' });
    }
    if format == Format::N5 {
        builder = builder.edge_blocks(if choices.arbitrary()? {
            EdgeBlocks::Truncated
        } else {
            EdgeBlocks::Padded
        });
    } else if choices.ratio(1, 3)? {
        let shards = chunks
            .iter()
            .map(|&n| Ok(n * choices.int_in_range(1..=3)?))
            .collect::<Result<Vec<u64>>>()?;
        builder = builder.shards(shards);
    }
    let n_codecs = choices.int_in_range(0..=2)?;
    let codecs = (0..n_codecs)
        .map(|_| one_codec(chunks.len(), choices))
        .collect::<Result<Vec<_>>>()?;
    Ok(builder.codecs(codecs))
}

fn one_codec(ndim: usize, choices: &mut Unstructured<'_>) -> Result<CodecSpec> {
    Ok(match choices.int_in_range(0..=8)? {
        0 => codec::zstd(1),
        1 => codec::gzip(1),
        2 => codec::zlib(1),
        3 => codec::blosc(BloscCname::Lz4, 1, BloscShuffle::Byte),
        4 => codec::lz4(),
        5 => codec::CodecConfig::Bz2 { level: 1 }.into(),
        6 => codec::xz(0),
        7 => codec::crc32c(),
        _ => codec::transpose((0..ndim).rev().collect::<Vec<_>>()),
    })
}
