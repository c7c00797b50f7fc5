//! Reads and writes of random regions of random arrays, compared with an array in memory.

use ndarray::{ArrayD, IxDyn, SliceInfo, SliceInfoElem};
use ndzarr::{
    Array, ArrayBuilder, Cache, EdgeBlocks, Endian, Format, MemoryStore, N5Axes, Order,
    PlainElement, RunOptions, Storage, asynchronous, codec,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency};
use num_complex::Complex;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// Storage layout of an array. Parts that a format cannot express are left out.
#[derive(Clone, Debug)]
struct Layout {
    format: Format,
    shape: Vec<u64>,
    chunks: Vec<u64>,
    /// Inner chunks per shard along each axis.
    shards: Option<Vec<u64>>,
    order: Order,
    endian: Endian,
    separator: char,
    compression: Compression,
    transpose: Vec<usize>,
    axes: N5Axes,
    edges: EdgeBlocks,
    asynchronous: bool,
    /// Bytes of a cache of chunks, if there is one.
    cache: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Compression {
    None,
    Zstd,
    Gzip,
    Blosc,
    Crc32c,
    Bz2,
}

/// One axis of a selection, as fractions of the length of the axis.
#[derive(Clone, Copy, Debug)]
enum Pick {
    Index(u8),
    Slice(u8, u8, i8),
    NewAxisThenAll,
    All,
}

fn layouts() -> impl Strategy<Value = Layout> {
    let axes = prop::collection::vec((0u64..9, 1u64..5, 1u64..3), 0..4);
    let formats = prop::sample::select(vec![
        Format::Zarr3,
        Format::Zarr2,
        Format::N5,
        Format::DraftA,
        Format::DraftB,
    ]);
    let compressions = prop::sample::select(vec![
        Compression::None,
        Compression::Zstd,
        Compression::Gzip,
        Compression::Blosc,
        Compression::Crc32c,
        Compression::Bz2,
    ]);
    (
        axes,
        formats,
        compressions,
        any::<[bool; 7]>(),
        any::<u64>(),
    )
        .prop_map(|(axes, format, compression, flags, seed)| {
            let [sharded, f_order, big, dot, reversed, padded, asynchronous] = flags;
            let n = axes.len();
            let mut transpose: Vec<usize> = (0..n).collect();
            if n > 0 {
                transpose.rotate_left(seed as usize % n);
            }
            // N5 has no arrays of 0 dimensions that its own library could read.
            let format = if n == 0 && format == Format::N5 {
                Format::Zarr2
            } else {
                format
            };
            Layout {
                format,
                shape: axes.iter().map(|axis| axis.0).collect(),
                chunks: axes.iter().map(|axis| axis.1).collect(),
                shards: sharded.then(|| axes.iter().map(|axis| axis.2).collect()),
                order: if f_order { Order::F } else { Order::C },
                endian: if big { Endian::Big } else { Endian::Little },
                separator: if dot { '.' } else { '/' },
                compression,
                transpose,
                axes: if reversed {
                    N5Axes::Reversed
                } else {
                    N5Axes::Native
                },
                edges: if padded {
                    EdgeBlocks::Padded
                } else {
                    EdgeBlocks::Truncated
                },
                asynchronous,
                cache: [None, Some(300), Some(2000), Some(1 << 20)][(seed >> 32) as usize % 4],
            }
        })
}

fn picks() -> impl Strategy<Value = Vec<Pick>> {
    let pick = prop_oneof![
        any::<u8>().prop_map(Pick::Index),
        (any::<u8>(), any::<u8>(), -3i8..4).prop_map(|(a, b, step)| Pick::Slice(
            a,
            b,
            if step == 0 { 1 } else { step }
        )),
        Just(Pick::All),
        Just(Pick::NewAxisThenAll),
    ];
    prop::collection::vec(pick, 4)
}

fn elems(picks: &[Pick], shape: &[u64]) -> Vec<SliceInfoElem> {
    let mut elems = Vec::new();
    for (pick, &len) in picks.iter().zip(shape) {
        let all = SliceInfoElem::Slice {
            start: 0,
            end: None,
            step: 1,
        };
        let at = |part: u8| (u64::from(part) * (len + 1) / 256) as isize;
        match *pick {
            Pick::Index(part) if len > 0 => {
                elems.push(SliceInfoElem::Index((u64::from(part) * len / 256) as isize))
            }
            Pick::Slice(a, b, step) => elems.push(SliceInfoElem::Slice {
                start: at(a.min(b)),
                end: Some(at(a.max(b))),
                step: step.into(),
            }),
            Pick::NewAxisThenAll => elems.extend([SliceInfoElem::NewAxis, all]),
            Pick::Index(_) | Pick::All => elems.push(all),
        }
    }
    elems
}

fn create<T: PlainElement>(layout: &Layout, fill: T) -> Array<T> {
    let storage: Storage = if layout.asynchronous {
        Storage::asynchronous(AsyncMemoryStore::new(Latency::default()))
    } else {
        MemoryStore::new().into()
    };
    let storage = match layout.cache {
        Some(bytes) => storage.cached(&Cache::new(bytes)),
        None => storage,
    };
    let format = layout.format;
    let mut builder: ArrayBuilder<T> = Array::<T>::builder(&layout.shape)
        .chunks(&layout.chunks)
        .format(format)
        .n5_axes(layout.axes)
        .edge_blocks(layout.edges);
    if format != Format::N5 {
        builder = builder
            .order(layout.order)
            .endian(layout.endian)
            .separator(layout.separator)
            .fill_value(fill);
    }
    if let Some(per_shard) = &layout.shards
        && !matches!(format, Format::Zarr2 | Format::N5)
    {
        builder = builder.shards(
            layout
                .chunks
                .iter()
                .zip(per_shard)
                .map(|(a, b)| a * b)
                .collect::<Vec<_>>(),
        );
    }
    let mut codecs = Vec::new();
    if format == Format::Zarr3 && layout.order == Order::C {
        codecs.push(codec::transpose(layout.transpose.clone()));
    }
    match (layout.compression, format) {
        (Compression::None, _) => {}
        (Compression::Zstd, Format::DraftA) | (Compression::Gzip, _) => codecs.push(codec::gzip(1)),
        (Compression::Zstd, _) => codecs.push(codec::zstd(1)),
        (Compression::Blosc, _) => codecs.push(codec::blosc(
            codec::BloscCname::Lz4,
            5,
            codec::BloscShuffle::Byte,
        )),
        (Compression::Crc32c, Format::Zarr3) => codecs.push(codec::crc32c()),
        (Compression::Bz2, Format::Zarr2 | Format::N5 | Format::DraftB) => {
            codecs.push(codec::CodecConfig::Bz2 { level: 9 }.into())
        }
        (Compression::Crc32c | Compression::Bz2, _) => {}
    }
    builder
        .codecs(codecs)
        .create((&storage, "a"))
        .expect("the layout can be expressed")
}

/// Writes and reads in random places, and the same in an ndarray; both must agree at every step.
fn agree<T: PlainElement + Default + PartialEq + std::fmt::Debug>(
    layout: &Layout,
    steps: &[(Vec<Pick>, Vec<Pick>)],
    value: impl Fn(usize) -> T,
    fill: T,
) -> TestCaseResult {
    let fill = if layout.format == Format::N5 {
        T::default()
    } else {
        fill
    };
    let array = create(layout, fill);
    let shape: Vec<usize> = layout.shape.iter().map(|&n| n as usize).collect();
    let mut model = ArrayD::from_elem(IxDyn(&shape), fill);
    let mut next = 1;
    for (written, read) in steps {
        let written = elems(written, &layout.shape);
        let slice: SliceInfo<_, IxDyn, IxDyn> =
            SliceInfo::try_from(written.clone()).expect("any list of elements");
        let mut target = model.slice_mut(slice);
        target.mapv_inplace(|_| {
            next += 1;
            value(next)
        });
        let data = target.to_owned();
        array
            .write(&written[..], &data)
            .map_err(|error| TestCaseError::fail(format!("write {error:?}")))?;

        let whole = array
            .read(..)
            .map_err(|error| TestCaseError::fail(format!("read {error:?}")))?;
        prop_assert_eq!(&whole, &model);

        let read = elems(read, &layout.shape);
        let slice: SliceInfo<_, IxDyn, IxDyn> =
            SliceInfo::try_from(read.clone()).expect("any list of elements");
        let expected = model.slice(slice).to_owned();
        let part = array
            .read(&read[..])
            .map_err(|error| TestCaseError::fail(format!("read {error:?}")))?;
        prop_assert_eq!(&part, &expected);
        prop_assert!(part.is_standard_layout());

        // Several at once: within one chunk, across several, and empty.
        let selections = [
            &read[..],
            &written,
            &read,
            &elems(&[Pick::Index(0); 4], &layout.shape),
        ];
        let many = array
            .read_many(selections)
            .map_err(|error| TestCaseError::fail(format!("read_many {error:?}")))?;
        prop_assert_eq!(many.len(), selections.len());
        for (part, selection) in many.iter().zip(selections) {
            let slice: SliceInfo<_, IxDyn, IxDyn> =
                SliceInfo::try_from(selection.to_vec()).expect("any list of elements");
            prop_assert_eq!(part, &model.slice(slice));
            prop_assert!(part.is_standard_layout());
        }

        // The same into memory with reversed axes.
        let mut reversed = expected.clone().reversed_axes();
        reversed.fill(fill);
        let mut view = reversed.view_mut().reversed_axes();
        array
            .read_into(&read[..], &mut view)
            .map_err(|error| TestCaseError::fail(format!("read_into {error:?}")))?;
        prop_assert_eq!(&view, &expected);

        let again =
            ndzarr_store::block_on(asynchronous::Array::from(array.clone()).read(&read[..]));
        prop_assert_eq!(
            &again.map_err(|error| TestCaseError::fail(format!("read_async {error:?}")))?,
            &expected
        );
    }
    Ok(())
}

fn one_thread() -> RunOptions {
    RunOptions::default().threads(std::num::NonZeroUsize::new(1))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn u16_regions_agree(layout in layouts(), steps in prop::collection::vec((picks(), picks()), 1..4)) {
        agree(&layout, &steps, |i| i as u16, 513)?;
    }

    #[test]
    fn f64_regions_agree(layout in layouts(), steps in prop::collection::vec((picks(), picks()), 1..4)) {
        agree(&layout, &steps, |i| i as f64 * 0.5, -1.5)?;
    }

    #[test]
    fn i8_regions_agree(layout in layouts(), steps in prop::collection::vec((picks(), picks()), 1..4)) {
        agree(&layout, &steps, |i| i as i8, 0)?;
    }

    #[test]
    fn split_writes_equal_one_write(layout in layouts(), cut in any::<u8>(), axis in any::<u8>()) {
        let one = create::<u32>(&layout, 0);
        let two = create::<u32>(&layout, 0).with_options(one_thread());
        let shape: Vec<usize> = layout.shape.iter().map(|&n| n as usize).collect();
        let mut n = 0;
        let data = ArrayD::from_shape_simple_fn(IxDyn(&shape), || { n += 1; n });
        one.write(.., &data).expect("a write to memory");
        if !shape.is_empty() {
            let axis = ndarray::Axis(usize::from(axis) % shape.len());
            let at = usize::from(cut) * (shape[axis.0] + 1) / 256;
            let (head, tail) = data.view().split_at(axis, at);
            let mut ranges: Vec<_> = two.shape().iter().map(|&n| 0..n).collect();
            ranges[axis.0] = at as u64..shape[axis.0] as u64;
            two.write(&ranges, &tail).expect("a write to memory");
            ranges[axis.0] = 0..at as u64;
            two.write(&ranges, &head).expect("a write to memory");
        } else {
            two.write(.., &data).expect("a write to memory");
        }
        prop_assert_eq!(one.read(..).expect("a read"), two.read(..).expect("a read"));
        for chunk in one.units() {
            prop_assert_eq!(one.units().encoded(&chunk.index).expect("a fetch"), two.units().encoded(&chunk.index).expect("a fetch"));
        }
    }

    #[test]
    fn chunks_and_units_cover_the_array(layout in layouts()) {
        let array = create::<u32>(&layout, 0);
        let shape: Vec<usize> = layout.shape.iter().map(|&n| n as usize).collect();
        let mut n = 0;
        let data = ArrayD::from_shape_simple_fn(IxDyn(&shape), || { n += 1; n });
        array.write(.., &data).expect("a write to memory");
        let mut by_chunk = ArrayD::zeros(IxDyn(&shape));
        let mut by_unit = ArrayD::zeros(IxDyn(&shape));
        let slices = |ranges: &[std::ops::Range<u64>]| -> Vec<SliceInfoElem> {
            ranges.iter().map(|r| SliceInfoElem::Slice { start: r.start as isize, end: Some(r.end as isize), step: 1 }).collect()
        };
        for chunk in array.chunks() {
            let part = array.read_chunk(&chunk.index).expect("a read");
            by_chunk.slice_mut(&slices(&chunk.ranges)[..]).assign(&part);
        }
        for chunk in array.units() {
            let part = array.read(&chunk).expect("a read");
            by_unit.slice_mut(&slices(&chunk.ranges)[..]).assign(&part);
        }
        prop_assert_eq!(&by_chunk, &data);
        prop_assert_eq!(&by_unit, &data);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn complex_regions_agree(mut layout in layouts(), steps in prop::collection::vec((picks(), picks()), 1..3)) {
        if layout.format == Format::N5 {
            layout.format = Format::Zarr2;
        }
        agree(&layout, &steps, |i| Complex::new(i as f32, -(i as f32)), Complex::new(0.5, 0.25))?;
    }

    #[test]
    fn bool_regions_agree(mut layout in layouts(), steps in prop::collection::vec((picks(), picks()), 1..3)) {
        if layout.format == Format::N5 {
            layout.format = Format::Zarr3;
        }
        agree(&layout, &steps, |i| i % 3 == 0, true)?;
    }
}
