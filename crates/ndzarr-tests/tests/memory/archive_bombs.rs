//! ZIP archives that decompress to far more than is wanted, or say that they do: memory stays
//! within what is wanted and a constant.

use std::error::Error;
use std::io::Write;

use flate2::Crc;
use flate2::write::DeflateEncoder;
use ndzarr::store::{Fetch, Fetched, Key, Of, StoreError, Want};
use ndzarr::{MemoryStore, Store};
use ndzarr_store_zip::ZipStore;
use ndzarr_testkit::in_own_process;

use crate::{ALLOCATOR, with_peak};

/// What an entry decompresses to, in bytes.
const INSIDE: usize = 1 << 30;

/// Buffers and decoders, in bytes.
const CONSTANT: usize = 4 << 20;

/// An archive of one entry, by the format's description.
fn archive(method: u16, crc: u32, size: u32, stored: &[u8]) -> Vec<u8> {
    let shorts = |values: &[u16]| {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let longs = |values: &[u32]| {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let sizes = longs(&[crc, stored.len() as u32, size]);
    let header = [
        &b"PK\x03\x04"[..],
        &shorts(&[20, 0, method, 0, 33]),
        &sizes,
        &shorts(&[1, 0]),
        b"a",
    ]
    .concat();
    let entry = [
        &b"PK\x01\x02"[..],
        &shorts(&[20, 20, 0, method, 0, 33]),
        &sizes,
        &shorts(&[1, 0, 0, 0, 0]),
        &longs(&[0, 0]),
        b"a",
    ]
    .concat();
    let start = (header.len() + stored.len()) as u32;
    let end = [
        &b"PK\x05\x06"[..],
        &shorts(&[0, 0, 1, 1]),
        &longs(&[47, start]),
        &shorts(&[0]),
    ]
    .concat();
    [&header[..], stored, &entry, &end].concat()
}

/// Zeros of which only the checksum and the encoded form are ever in memory.
fn deflated() -> (u32, Vec<u8>) {
    let zeros = vec![0; 1 << 20];
    let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
    let mut crc = Crc::new();
    for _ in 0..INSIDE / zeros.len() {
        encoder.write_all(&zeros).expect("it writes to memory");
        crc.update(&zeros);
    }
    (crc.sum(), encoder.finish().expect("it writes to memory"))
}

/// What a request gives, and the most memory that it took, in bytes.
fn explode(archive: Vec<u8>, want: Want) -> (Result<Fetched, StoreError>, usize) {
    let memory = MemoryStore::new();
    memory.set("a.zip", archive).expect("a key");
    let store = ZipStore::open(memory, Key::new("a.zip").expect("a key")).expect("it opens");
    let fetch = Fetch {
        key: Key::new("a").expect("a key"),
        of: Of::Any,
        want,
    };
    with_peak(|| store.fetch(&fetch))
}

#[test]
fn rs_42_bombs_take_no_more_than_is_wanted() {
    in_own_process!();
    let (crc, stored) = deflated();
    // It says how large it is: a limit refuses it, and parts of it can be read.
    let honest = || archive(8, crc, INSIDE as u32, &stored);
    let (fetched, taken) = explode(honest(), Want::Whole { limit: 1 << 20 });
    assert!(
        matches!(fetched, Err(StoreError::TooLarge { .. })) && taken < CONSTANT,
        "{taken}"
    );
    let parts = vec![
        5..10,
        INSIDE as u64 - 5..INSIDE as u64,
        1 << 29..(1 << 29) + (1 << 20),
    ];
    let (fetched, taken) = explode(honest(), Want::Ranges(parts));
    let Ok(Fetched::Parts { parts, .. }) = fetched else {
        panic!("{fetched:?}")
    };
    assert_eq!(
        parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
        [5, 5, 1 << 20]
    );
    assert!(taken < CONSTANT + (1 << 20), "{taken}");
    // It says that it is smaller, or larger than all memory.
    for size in [100, INSIDE as u32 - 1, INSIDE as u32 + 1, 0xffff_fffe] {
        for want in [Want::Tail(10), Want::Ranges(vec![0..50])] {
            let (fetched, taken) = explode(archive(8, crc, size, &stored), want);
            let error = fetched.expect_err("it states a wrong size");
            let text = error
                .source()
                .map_or_else(|| error.to_string(), ToString::to_string);
            assert!(text.contains("archive states"), "{size}: {error:?}");
            assert!(taken < CONSTANT, "{size}: {taken}");
        }
    }
    let (fetched, taken) = explode(
        archive(8, 0, 0xffff_fffe, &[3, 0]),
        Want::Whole { limit: u64::MAX },
    );
    assert!(fetched.is_err() && taken < CONSTANT, "{taken}");
    let (fetched, taken) = explode(
        archive(0, 0, 0xffff_fffe, b"short"),
        Want::Whole { limit: u64::MAX },
    );
    assert!(fetched.is_err() && taken < CONSTANT, "{taken}");
}

#[test]
fn rs_44_an_entry_takes_little_memory() {
    in_own_process!();
    const N: usize = 100_000;
    let memory = MemoryStore::new();
    let mut directory = Vec::new();
    for i in 0..N as u32 {
        directory.extend_from_slice(
            b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\x0a\0",
        );
        directory.extend_from_slice(&[0; 12]);
        directory.extend_from_slice(&(40 * i).to_le_bytes());
        directory.extend_from_slice(format!("c/{i:08}").as_bytes());
    }
    let start = vec![0; 40 * N];
    let mut end = b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0".to_vec();
    for value in [N, N, directory.len(), start.len()] {
        end.extend_from_slice(&(value as u64).to_le_bytes());
    }
    end.extend_from_slice(b"PK\x06\x07\0\0\0\0");
    end.extend_from_slice(&((start.len() + directory.len()) as u64).to_le_bytes());
    end.extend_from_slice(
        b"\x01\0\0\0PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0",
    );
    memory
        .set("a.zip", [start, directory, end].concat())
        .expect("a key");
    let before = ALLOCATOR.current_usage();
    let store = ZipStore::open(memory, Key::new("a.zip").expect("a key")).expect("it opens");
    assert_eq!(store.n_values(), N);
    let taken = ALLOCATOR.current_usage() - before;
    assert!(taken <= 64 * N, "{} bytes an entry", taken / N);
}
