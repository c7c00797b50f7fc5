//! Regions of blosc chunks, whose blocks are decoded one by one.

use std::num::NonZeroUsize;
use std::ops::Range;

use ndzarr::codec::CodecConfig;
use ndzarr::codec::{BloscCname, BloscShuffle, CodecSpec};
use ndzarr::ndarray::{ArrayD, IxDyn, Slice};
use ndzarr::{
    Array, Endian, Format, MemoryStore, N5Axes, OpenOptions, Order, PlainElement, RunOptions,
    Storage, asynchronous, codec,
};
use ndzarr_model::BloscConfig;
use ndzarr_store::block_on;
use ndzarr_testkit::{AsyncMemoryStore, Latency};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

pub(crate) const COMPRESSORS: [BloscCname; 5] = [
    BloscCname::BloscLz,
    BloscCname::Lz4,
    BloscCname::Lz4hc,
    BloscCname::Zlib,
    BloscCname::Zstd,
];

/// Storage layouts of the array; some of them support different axes.
pub(crate) const LAYOUTS: [&str; 8] = [
    "v3",
    "v3 transposed",
    "v3 sharded",
    "v2",
    "v2 F big",
    "N5",
    "N5 reversed",
    "v3 with crc32c",
];

/// Where the values repeat themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    Everywhere,
    Nowhere,
    FirstHalf,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) layout: &'static str,
    pub(crate) shape: Vec<u64>,
    pub(crate) chunks: Vec<u64>,
    pub(crate) blosc: BloscConfig,
    pub(crate) content: Content,
    pub(crate) regions: Vec<Vec<Range<u64>>>,
}

fn cases() -> impl Strategy<Value = Case> {
    let axes = prop::collection::vec((1u64..30, 1u64..24, any::<[(u8, u8); 3]>()), 1..4);
    let blosc = (
        prop::sample::select(COMPRESSORS.to_vec()),
        prop::sample::select(vec![
            BloscShuffle::None,
            BloscShuffle::Byte,
            BloscShuffle::Bit,
        ]),
        prop::sample::select(vec![0usize, 128, 200, 1000, 5000]),
        prop::sample::select(vec![0u8, 1, 5, 9]),
    );
    let content = prop::sample::select(vec![
        Content::Everywhere,
        Content::Nowhere,
        Content::FirstHalf,
    ]);
    (axes, blosc, content, prop::sample::select(LAYOUTS.to_vec())).prop_map(
        |(mut axes, (cname, shuffle, blocksize, clevel), content, layout)| {
            // One axis is long, so that chunks have up to some hundred KiB: c-blosc makes blocks of
            // 64 KiB and more of those that it splits.
            let factor = [1000, 30, 4][axes.len() - 1];
            axes[0].0 *= factor;
            axes[0].1 *= factor;
            let region = |i: usize| {
                axes.iter()
                    .map(|(n, _, picks)| {
                        let a = u64::from(picks[i].0) * n / 256;
                        let b = u64::from(picks[i].1) * n / 256;
                        a.min(b)..a.max(b) + 1
                    })
                    .collect()
            };
            Case {
                layout,
                shape: axes.iter().map(|axis| axis.0).collect(),
                chunks: axes.iter().map(|axis| axis.1).collect(),
                blosc: BloscConfig {
                    cname,
                    clevel,
                    shuffle,
                    typesize: None,
                    blocksize,
                },
                content,
                regions: (0..3).map(region).collect(),
            }
        },
    )
}

pub(crate) fn create<T: PlainElement>(storage: &Storage, case: &Case) -> Array<T> {
    let Case {
        layout,
        shape,
        chunks,
        blosc,
        ..
    } = case;
    let blosc = CodecSpec::from(CodecConfig::Blosc(*blosc));
    let mut builder = Array::<T>::builder(shape).chunks(chunks);
    let mut codecs = vec![blosc];
    match *layout {
        "v3 transposed" => codecs.insert(
            0,
            codec::transpose((0..shape.len()).rev().collect::<Vec<_>>()),
        ),
        "v3 with crc32c" => codecs.push(codec::crc32c()),
        "v3 sharded" => builder = builder.shards(chunks.iter().map(|n| 2 * n).collect::<Vec<_>>()),
        "v2 big" => builder = builder.format(Format::Zarr2).endian(Endian::Big),
        "v2" => builder = builder.format(Format::Zarr2),
        "v2 F big" => {
            builder = builder
                .format(Format::Zarr2)
                .order(Order::F)
                .endian(Endian::Big)
        }
        "N5" => builder = builder.format(Format::N5),
        "N5 reversed" => builder = builder.format(Format::N5).n5_axes(N5Axes::Reversed),
        _ => {}
    }
    builder
        .codecs(codecs)
        .create((storage, "a"))
        .expect("the layout can be expressed")
}

pub(crate) fn open<T: PlainElement>(layout: &str, storage: Storage) -> Array<T> {
    let n5_axes = if layout == "N5 reversed" {
        N5Axes::Reversed
    } else {
        N5Axes::default()
    };
    let options = OpenOptions::new().n5_axes(n5_axes);
    options
        .open_array::<_>((storage, "a"))
        .expect("it was made")
}

fn elements<T>(case: &Case, value: impl Fn(u64) -> T) -> ArrayD<T> {
    let extent: Vec<usize> = case.shape.iter().map(|&n| n as usize).collect();
    let n = extent.iter().product::<usize>() as u64;
    let mut i = 0u64;
    ArrayD::from_shape_simple_fn(IxDyn(&extent), || {
        i += 1;
        let repeats = match case.content {
            Content::Everywhere => true,
            Content::Nowhere => false,
            Content::FirstHalf => i % n < n / 2,
        };
        value(if repeats {
            i / 5
        } else {
            (i + n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7
        })
    })
}

fn agree<T: PlainElement + PartialEq + std::fmt::Debug>(
    case: &Case,
    value: impl Fn(u64) -> T,
) -> TestCaseResult {
    let data = elements(case, value);
    let memory = MemoryStore::new();
    create::<T>(&Storage::from(&memory), case)
        .write(.., &data)
        .expect("a write");
    let one_thread = RunOptions::default().threads(NonZeroUsize::new(1));
    let open = |storage| open::<T>(case.layout, storage);
    let arrays = [
        open(Storage::from(&memory)),
        open(Storage::from(&memory)).with_options(one_thread),
    ];
    let asynchronous = AsyncMemoryStore::over(memory.clone(), Latency::default());
    let asynchronous = asynchronous::Array::from(open(Storage::asynchronous(asynchronous)));
    for region in &case.regions {
        let expected = data.slice_each_axis(|axis| {
            let range = &region[axis.axis.0];
            Slice::from(range.start as isize..range.end as isize)
        });
        for array in &arrays {
            prop_assert_eq!(&array.read(region).expect("a read"), &expected);
        }
        prop_assert_eq!(
            &block_on(asynchronous.read(region)).expect("a read"),
            &expected
        );
    }
    prop_assert_eq!(&arrays[1].read(..).expect("a read"), &data);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn regions_of_u8_are_what_was_written(case in cases()) {
        agree(&case, |i| i as u8)?;
    }

    #[test]
    fn regions_of_i16_are_what_was_written(case in cases()) {
        agree(&case, |i| i as i16)?;
    }

    #[test]
    fn regions_of_f32_are_what_was_written(case in cases()) {
        agree(&case, |i| i as f32)?;
    }

    #[test]
    fn regions_of_u64_are_what_was_written(case in cases()) {
        agree(&case, |i| i)?;
    }
}

/// Chunks of a few blocks, which begin and end anywhere within rows and planes.
fn large_chunks() -> impl Strategy<Value = Case> {
    let chunks = prop_oneof![
        (100_000..200_000u64).prop_map(|n| vec![n]),
        [200..500u64, 300..500].prop_map(Vec::from),
        [20..90u64, 1..90, 90..100].prop_map(Vec::from),
        [1..3u64, 30..70, 40..70, 20..40].prop_map(Vec::from),
    ];
    let layout = prop::sample::select(vec!["v3", "v2", "v2 big", "v3 sharded"]);
    let shuffle = prop::sample::select(vec![BloscShuffle::None, BloscShuffle::Byte]);
    let content = prop::sample::select(vec![
        Content::Everywhere,
        Content::Nowhere,
        Content::FirstHalf,
    ]);
    (chunks, layout, shuffle, 0..=9u8, 1..40_000usize, content).prop_map(
        |(chunks, layout, shuffle, clevel, blocksize, content)| Case {
            layout,
            // One whole chunk, and the begin of another.
            shape: [&[chunks[0] + 3], &chunks[1..]].concat(),
            blosc: BloscConfig {
                cname: BloscCname::Lz4,
                clevel,
                shuffle,
                typesize: None,
                blocksize,
            },
            chunks,
            content,
            regions: Vec::new(),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Only chunks in C order are assembled piece by piece.
    #[test]
    fn chunks_made_in_pieces_are_as_those_made_at_once(case in large_chunks()) {
        let data = elements(&case, |i| i as u16);
        let other_order = data.t().as_standard_layout().into_owned().reversed_axes();
        let stores = [&data, &other_order].map(|data| {
            let memory = MemoryStore::new();
            create::<u16>(&Storage::from(&memory), &case).write(.., data).expect("a write");
            memory
        });
        prop_assert_eq!(stores[0].keys(), stores[1].keys());
        for key in stores[0].keys() {
            prop_assert!(stores[0].get(&key) == stores[1].get(&key), "{}", key);
        }
        let read = open::<u16>(case.layout, Storage::from(&stores[0])).read(..).expect("a read");
        prop_assert!(read == data);
    }
}

#[test]
fn chunks_of_many_blocks_are_stored_where_one_element_is_no_fill_value() {
    let blosc = BloscConfig {
        cname: BloscCname::Lz4,
        clevel: 5,
        shuffle: BloscShuffle::Byte,
        typesize: None,
        blocksize: 0,
    };
    let shape = vec![40, 130, 128];
    let case = Case {
        layout: "v3",
        shape: shape.clone(),
        chunks: shape,
        blosc,
        content: Content::Everywhere,
        regions: Vec::new(),
    };
    let mut elements = ArrayD::<u16>::zeros(IxDyn(&[40, 130, 128]));
    for (place, stored) in [
        (None, false),
        (Some([0, 0, 0]), true),
        (Some([0, 129, 127]), true),
        (Some([20, 0, 0]), true),
        (Some([39, 129, 127]), true),
    ] {
        elements.fill(0);
        if let Some(place) = place {
            elements[place] = 1;
        }
        let memory = MemoryStore::new();
        let array = create::<u16>(&Storage::from(&memory), &case);
        array.write(.., &elements).expect("a write");
        assert_eq!(
            memory.get(&array.units().key(&[0, 0, 0])).is_some(),
            stored,
            "{place:?}"
        );
        assert_eq!(array.read(..).expect("a read"), elements, "{place:?}");
    }
}
