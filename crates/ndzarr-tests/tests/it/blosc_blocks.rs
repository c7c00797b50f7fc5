//! Regions of blosc chunks: only the blocks with a part of the region are decoded.

use std::num::NonZeroUsize;
use std::ops::Range;

use ndzarr::codec::CodecConfig;
use ndzarr::codec::{BloscCname, BloscShuffle, CodecSpec};
use ndzarr::ndarray::{ArrayD, IxDyn, Slice};
use ndzarr::{
    Array, DamageReport, Endian, ErrorKind, Format, MemoryStore, N5Axes, OpenOptions, Order, PlainElement,
    RunOptions, Storage, asynchronous, codec,
};
use ndzarr_model::BloscConfig;
use ndzarr_store::block_on;
use ndzarr_testkit::{AsyncMemoryStore, Latency};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

const COMPRESSORS: [BloscCname; 5] =
    [BloscCname::BloscLz, BloscCname::Lz4, BloscCname::Lz4hc, BloscCname::Zlib, BloscCname::Zstd];

/// Storage layouts of the array; some of them support different axes.
const LAYOUTS: [&str; 8] =
    ["v3", "v3 transposed", "v3 sharded", "v2", "v2 F big", "N5", "N5 reversed", "v3 with crc32c"];

/// Where the values repeat themselves.
#[derive(Clone, Copy, Debug)]
enum Content {
    Everywhere,
    Nowhere,
    Here,
}

#[derive(Clone, Debug)]
struct Case {
    layout: &'static str,
    shape: Vec<u64>,
    chunks: Vec<u64>,
    blosc: BloscConfig,
    content: Content,
    regions: Vec<Vec<Range<u64>>>,
}

fn cases() -> impl Strategy<Value = Case> {
    let axes = prop::collection::vec((1u64..30, 1u64..24, any::<[(u8, u8); 3]>()), 1..4);
    let blosc = (
        prop::sample::select(COMPRESSORS.to_vec()),
        prop::sample::select(vec![BloscShuffle::None, BloscShuffle::Byte, BloscShuffle::Bit]),
        prop::sample::select(vec![0usize, 128, 200, 1000, 5000]),
        prop::sample::select(vec![0u8, 1, 5, 9]),
    );
    let content = prop::sample::select(vec![Content::Everywhere, Content::Nowhere, Content::Here]);
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
                        let (a, b) = (u64::from(picks[i].0) * n / 256, u64::from(picks[i].1) * n / 256);
                        a.min(b)..a.max(b) + 1
                    })
                    .collect()
            };
            Case {
                layout,
                shape: axes.iter().map(|axis| axis.0).collect(),
                chunks: axes.iter().map(|axis| axis.1).collect(),
                blosc: BloscConfig { cname, clevel, shuffle, typesize: None, blocksize },
                content,
                regions: (0..3).map(region).collect(),
            }
        },
    )
}

fn create<T: PlainElement>(storage: &Storage, case: &Case) -> Array<T> {
    let Case { layout, shape, chunks, blosc, .. } = case;
    let blosc = CodecSpec::from(CodecConfig::Blosc(*blosc));
    let mut builder = Array::<T>::builder(shape).chunks(chunks);
    let mut codecs = vec![blosc];
    match *layout {
        "v3 transposed" => codecs.insert(0, codec::transpose((0..shape.len()).rev().collect::<Vec<_>>())),
        "v3 with crc32c" => codecs.push(codec::crc32c()),
        "v3 sharded" => builder = builder.shards(chunks.iter().map(|n| 2 * n).collect::<Vec<_>>()),
        "v2 big" => builder = builder.format(Format::Zarr2).endian(Endian::Big),
        "v2" => builder = builder.format(Format::Zarr2),
        "v2 F big" => builder = builder.format(Format::Zarr2).order(Order::F).endian(Endian::Big),
        "N5" => builder = builder.format(Format::N5),
        "N5 reversed" => builder = builder.format(Format::N5).n5_axes(N5Axes::Reversed),
        _ => {}
    }
    builder.codecs(codecs).create((storage, "a")).expect("the layout can be expressed")
}

fn open<T: PlainElement>(layout: &str, storage: Storage) -> Array<T> {
    let n5_axes = if layout == "N5 reversed" { N5Axes::Reversed } else { N5Axes::default() };
    let options = OpenOptions::new().n5_axes(n5_axes);
    options.open_array::<_>((storage, "a")).expect("it was made")
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
            Content::Here => i % n < n / 2,
        };
        value(if repeats { i / 5 } else { (i + n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7 })
    })
}

fn agree<T: PlainElement + PartialEq + std::fmt::Debug>(
    case: &Case,
    value: impl Fn(u64) -> T,
) -> TestCaseResult {
    let data = elements(case, value);
    let memory = MemoryStore::new();
    create::<T>(&Storage::from(&memory), case).write(.., &data).expect("a write");
    let at_once = RunOptions::default().threads(NonZeroUsize::new(1));
    let open = |storage| open::<T>(case.layout, storage);
    let arrays = [open(Storage::from(&memory)), open(Storage::from(&memory)).with_options(at_once)];
    let later = open(Storage::asynchronous(AsyncMemoryStore::over(memory.clone(), Latency::default())));
    for region in &case.regions {
        let expected = data.slice_each_axis(|axis| {
            let range = &region[axis.axis.0];
            Slice::from(range.start as isize..range.end as isize)
        });
        for array in &arrays {
            prop_assert_eq!(&array.read(region).expect("a read"), &expected);
        }
        prop_assert_eq!(
            &block_on(asynchronous::Array::from(later.clone()).read(region)).expect("a read"),
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
    let content = prop::sample::select(vec![Content::Everywhere, Content::Nowhere, Content::Here]);
    (chunks, layout, shuffle, 0..=9u8, 1..40_000usize, content).prop_map(
        |(chunks, layout, shuffle, clevel, blocksize, content)| Case {
            layout,
            // One whole chunk, and the begin of another.
            shape: [&[chunks[0] + 3], &chunks[1..]].concat(),
            blosc: BloscConfig { cname: BloscCname::Lz4, clevel, shuffle, typesize: None, blocksize },
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

/// Rows of 8 KiB, so that each block has several, however c-blosc changes the requested size. They
/// are along the slowest axis of the stored chunk.
const ROWS: usize = 30;
const ROW_LEN: usize = 4096;

/// An array of one chunk.
struct OneChunk {
    memory: MemoryStore,
    layout: &'static str,
    elements: ArrayD<u16>,
    key: String,
    /// The position of the blosc chunk.
    start: usize,
    rows_per_block: usize,
    n_blocks: usize,
}

impl OneChunk {
    fn new(layout: &'static str, cname: BloscCname) -> Self {
        let memory = MemoryStore::new();
        let (shuffle, blocksize) = (BloscShuffle::Byte, 32 << 10);
        let blosc = BloscConfig { cname, clevel: 5, shuffle, typesize: None, blocksize };
        let extent = if by_columns(layout) { [ROW_LEN, ROWS] } else { [ROWS, ROW_LEN] };
        let (content, regions) = (Content::Everywhere, Vec::new());
        let chunks = extent.map(|n| n as u64).to_vec();
        let case = Case { layout, shape: chunks.clone(), chunks, blosc, content, regions };
        let array = create::<u16>(&Storage::from(&memory), &case);
        let elements = ArrayD::from_shape_fn(IxDyn(&extent), |at| (7 + 64 * at[0] + at[1]) as u16);
        array.write(.., &elements).expect("a write");
        let key = array.units().key(&[0, 0]);
        // N5 has its own header: mode, number of dimensions, two sizes.
        let start = if layout.starts_with("N5") { 4 + 2 * 4 } else { 0 };
        let value = memory.get(&key).expect("it is stored");
        assert_eq!(value[start + 2] & 2, 0, "it is compressed");
        assert_eq!(int(&value, start + 4), 2 * ROWS * ROW_LEN);
        let rows_per_block = int(&value, start + 8) / (2 * ROW_LEN);
        let n_blocks = ROWS.div_ceil(rows_per_block);
        assert!(n_blocks >= 4 && !ROWS.is_multiple_of(rows_per_block), "{rows_per_block}");
        Self { memory, layout, elements, key, start, rows_per_block, n_blocks }
    }

    fn change(&self, change: impl FnOnce(&mut [u8])) {
        let mut value = self.memory.get(&self.key).expect("it is stored").to_vec();
        change(&mut value[self.start..]);
        self.memory.set(&self.key, value).expect("the key is valid");
    }

    /// Gives a stream of a block a negative length.
    fn damage(&self, block: usize) {
        self.change(|chunk| {
            let at = int(chunk, 16 + 4 * block);
            chunk[at..at + 4].copy_from_slice(&[0xff; 4]);
        });
    }

    fn open(&self) -> Array<u16> {
        open(self.layout, Storage::from(&self.memory))
    }

    /// A part of some rows.
    fn rows(&self, range: Range<usize>) -> Vec<Range<u64>> {
        let rows = range.start as u64..range.end as u64;
        if by_columns(self.layout) { vec![30..500, rows] } else { vec![rows, 30..500] }
    }

    /// The elements of a region.
    fn expected(&self, region: &[Range<u64>]) -> ArrayD<u16> {
        let slice = |range: &Range<u64>| Slice::from(range.start as isize..range.end as isize);
        self.elements.slice_each_axis(|axis| slice(&region[axis.axis.0])).to_owned()
    }
}

fn by_columns(layout: &str) -> bool {
    matches!(layout, "v3 transposed" | "v2 F big" | "N5")
}

fn int(chunk: &[u8], at: usize) -> usize {
    u32::from_le_bytes([chunk[at], chunk[at + 1], chunk[at + 2], chunk[at + 3]]) as usize
}

/// The elements, if nothing is found to be broken.
fn intact(result: Result<ArrayD<u16>, ndzarr::Error>) -> Option<ArrayD<u16>> {
    match result {
        Ok(elements) => Some(elements),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
            assert_eq!(error.codec(), Some("blosc"), "{error:?}");
            None
        }
    }
}

#[test]
fn blocks_that_no_row_is_in_are_not_decoded() {
    // A checksum needs the whole chunk anyway.
    for layout in LAYOUTS.into_iter().filter(|&layout| layout != "v3 with crc32c") {
        for cname in COMPRESSORS {
            let n_blocks = OneChunk::new(layout, cname).n_blocks;
            for damaged in [0, 2, n_blocks - 1] {
                let chunk = OneChunk::new(layout, cname);
                chunk.damage(damaged);
                let array = chunk.open();
                let later = AsyncMemoryStore::over(chunk.memory.clone(), Latency::default());
                let later = open::<u16>(layout, Storage::asynchronous(later));
                for block in [0, 1, 2, n_blocks - 1] {
                    let first = block * chunk.rows_per_block;
                    let region = chunk.rows(first + 1..(first + chunk.rows_per_block).min(ROWS));
                    let expected = (block != damaged).then(|| chunk.expected(&region));
                    let case = format!("{layout}, {cname:?}, block {block} where {damaged} is damaged");
                    assert_eq!(intact(array.read(&region)), expected, "{case}");
                    assert_eq!(
                        intact(block_on(asynchronous::Array::from(later.clone()).read(&region))),
                        expected,
                        "{case}"
                    );
                }
                assert!(intact(array.read(..)).is_none(), "the whole {layout} needs it");
                // The same column of all rows.
                let rows = 0..ROWS as u64;
                let column = if by_columns(layout) { vec![5..6, rows] } else { vec![rows, 5..6] };
                assert!(intact(array.read(&column)).is_none());
            }
        }
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
        assert_eq!(memory.get(&array.units().key(&[0, 0, 0])).is_some(), stored, "{place:?}");
        assert_eq!(array.read(..).expect("a read"), elements, "{place:?}");
    }
}

#[test]
fn what_is_broken_in_wanted_blocks_is_filled_and_reported() {
    let chunk = OneChunk::new("v2", BloscCname::Lz4);
    chunk.damage(2);
    let report = DamageReport::new();
    let options = RunOptions::default().fill_damaged(&report);
    let array = chunk.open().with_options(options);
    let region = chunk.rows(0..2 * chunk.rows_per_block);
    assert_eq!(array.read(&region).expect("its blocks are whole"), chunk.expected(&region));
    assert!(report.take().is_empty());
    let read = array.read(&chunk.rows(1..2 * chunk.rows_per_block + 1)).expect("it is filled");
    assert!(read.iter().all(|&element| element == 0));
    assert_eq!(report.take().len(), 1);
}

#[test]
fn starts_of_all_blocks_are_checked() {
    let chunk = OneChunk::new("v3", BloscCname::Lz4);
    chunk.change(|chunk| chunk[16 + 4 * 2..][..4].copy_from_slice(&3u32.to_le_bytes()));
    let error = chunk.open().read(&chunk.rows(0..2)).expect_err("block 2 begins within the header");
    assert!(error.to_string().contains("block 2"), "{error}");
}
