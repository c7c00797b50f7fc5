//! Parts of one blosc chunk: only their blocks are decoded, and others may be damaged.

use std::ops::Range;

use ndzarr::codec::{BloscCname, BloscShuffle};
use ndzarr::ndarray::{ArrayD, IxDyn, Slice};
use ndzarr::{Array, DamageReport, ErrorKind, MemoryStore, RunOptions, Storage, asynchronous};
use ndzarr_model::BloscConfig;
use ndzarr_store::block_on;
use ndzarr_testkit::{AsyncMemoryStore, Latency};

use crate::blosc_blocks::{COMPRESSORS, Case, Content, LAYOUTS, create, open};

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
        let blosc = BloscConfig {
            cname,
            clevel: 5,
            shuffle: BloscShuffle::Byte,
            typesize: None,
            blocksize: 32 << 10,
        };
        let extent = if by_columns(layout) {
            [ROW_LEN, ROWS]
        } else {
            [ROWS, ROW_LEN]
        };
        let chunks = extent.map(|n| n as u64).to_vec();
        let case = Case {
            layout,
            shape: chunks.clone(),
            chunks,
            blosc,
            content: Content::Everywhere,
            regions: Vec::new(),
        };
        let array = create::<u16>(&Storage::from(&memory), &case);
        let elements = ArrayD::from_shape_fn(IxDyn(&extent), |at| (7 + 64 * at[0] + at[1]) as u16);
        array.write(.., &elements).expect("a write");
        let key = array.units().key(&[0, 0]);
        // N5 has its own header: mode, number of dimensions, two sizes.
        let start = if layout.starts_with("N5") {
            4 + 2 * 4
        } else {
            0
        };
        let value = memory.get(&key).expect("it is stored");
        assert_eq!(value[start + 2] & 2, 0, "it is compressed");
        assert_eq!(int(&value, start + 4), 2 * ROWS * ROW_LEN);
        let rows_per_block = int(&value, start + 8) / (2 * ROW_LEN);
        let n_blocks = ROWS.div_ceil(rows_per_block);
        assert!(
            n_blocks >= 4 && !ROWS.is_multiple_of(rows_per_block),
            "{rows_per_block}"
        );
        Self {
            memory,
            layout,
            elements,
            key,
            start,
            rows_per_block,
            n_blocks,
        }
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
        if by_columns(self.layout) {
            vec![30..500, rows]
        } else {
            vec![rows, 30..500]
        }
    }

    /// The elements of a region.
    fn expected(&self, region: &[Range<u64>]) -> ArrayD<u16> {
        let slice = |range: &Range<u64>| Slice::from(range.start as isize..range.end as isize);
        self.elements
            .slice_each_axis(|axis| slice(&region[axis.axis.0]))
            .to_owned()
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
fn blocks_outside_the_region_are_not_decoded() {
    // A checksum needs the whole chunk anyway.
    for layout in LAYOUTS
        .into_iter()
        .filter(|&layout| layout != "v3 with crc32c")
    {
        for cname in COMPRESSORS {
            let n_blocks = OneChunk::new(layout, cname).n_blocks;
            for damaged in [0, 2, n_blocks - 1] {
                let chunk = OneChunk::new(layout, cname);
                chunk.damage(damaged);
                let array = chunk.open();
                let store = AsyncMemoryStore::over(chunk.memory.clone(), Latency::default());
                let asynchronous =
                    asynchronous::Array::from(open::<u16>(layout, Storage::asynchronous(store)));
                for block in [0, 1, 2, n_blocks - 1] {
                    let first = block * chunk.rows_per_block;
                    let region = chunk.rows(first + 1..(first + chunk.rows_per_block).min(ROWS));
                    let expected = (block != damaged).then(|| chunk.expected(&region));
                    let case =
                        format!("{layout}, {cname:?}, block {block} where {damaged} is damaged");
                    assert_eq!(intact(array.read(&region)), expected, "{case}");
                    assert_eq!(
                        intact(block_on(asynchronous.read(&region))),
                        expected,
                        "{case}"
                    );
                }
                assert!(
                    intact(array.read(..)).is_none(),
                    "the whole {layout} needs it"
                );
                // The same column of all rows.
                let rows = 0..ROWS as u64;
                let column = if by_columns(layout) {
                    vec![5..6, rows]
                } else {
                    vec![rows, 5..6]
                };
                assert!(intact(array.read(&column)).is_none());
            }
        }
    }
}

#[test]
fn a_chunk_with_a_broken_wanted_block_is_filled_and_reported() {
    let chunk = OneChunk::new("v2", BloscCname::Lz4);
    chunk.damage(2);
    let report = DamageReport::new();
    let options = RunOptions::default().fill_damaged(&report);
    let array = chunk.open().with_options(options);
    let region = chunk.rows(0..2 * chunk.rows_per_block);
    assert_eq!(
        array.read(&region).expect("its blocks are whole"),
        chunk.expected(&region)
    );
    assert!(report.take().is_empty());
    let read = array
        .read(&chunk.rows(1..2 * chunk.rows_per_block + 1))
        .expect("it is filled");
    assert!(read.iter().all(|&element| element == 0));
    assert_eq!(report.take().len(), 1);
}

#[test]
fn starts_of_all_blocks_are_checked() {
    let chunk = OneChunk::new("v3", BloscCname::Lz4);
    chunk.change(|chunk| chunk[16 + 4 * 2..][..4].copy_from_slice(&3u32.to_le_bytes()));
    let error = chunk
        .open()
        .read(&chunk.rows(0..2))
        .expect_err("block 2 begins within the header");
    assert!(error.to_string().contains("block 2"), "{error}");
}
