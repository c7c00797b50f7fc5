//! Tests levels, contexts, and decoding of the start of a frame.

use super::*;
use crate::codecs::tests::image;

/// The largest block.
const BLOCK_BYTES: usize = 128 << 10;

/// A thread that once had no memory for its contexts asks for them again.
#[test]
fn a_context_that_could_not_be_made_is_made_later() {
    let mut workspace = Workspace::default();
    assert!(workspace.context(|| None::<Compressor>).is_none());
    assert!(workspace.context(|| None::<Decompressor>).is_none());
    let mut encoded = Vec::new();
    let mut decoded = [0; 5];
    LEVEL_1
        .encode(b"hello", &mut encoded, &mut workspace)
        .expect("a frame");
    LEVEL_1
        .decode(&encoded, Dst::Exact(&mut decoded), &mut workspace)
        .expect("its content");
    assert_eq!(&decoded, b"hello");
}

#[test]
fn a_lack_of_memory_is_no_corruption() {
    let code = (ZSTD_ErrorCode::ZSTD_error_memory_allocation as usize).wrapping_neg();
    assert!(!corrupt(code).is_corrupt());
}

const LEVEL_1: Zstd = Zstd {
    level: 1,
    checksum: false,
};

fn encoded(codec: &Zstd, src: &[u8], workspace: &mut Workspace) -> Vec<u8> {
    let mut frame = Vec::new();
    codec
        .encode(src, &mut frame, workspace)
        .expect("it encodes");
    let mut out = vec![0; src.len()];
    codec
        .decode(&frame, Dst::Exact(&mut out), workspace)
        .expect("it decodes");
    assert!(out == src);
    frame
}

/// The library's own result.
fn library(src: &[u8], level: i32) -> Vec<u8> {
    ::zstd::bulk::compress(src, level).expect("it compresses")
}

/// The requested level is the level that is used, whatever the data.
#[test]
fn every_level_is_the_librarys() {
    let mut workspace = Workspace::new();
    let noise = image(1 << 19, 100.0);
    for (what, src) in [
        ("image", image(1 << 20, 8.0)),
        ("noise", noise.clone()),
        ("lines", noise[..1 << 12].repeat(1 << 8)),
        (
            "labels",
            (0..1_u32 << 18)
                .flat_map(|i| (i / 50).to_le_bytes())
                .collect(),
        ),
        ("small", noise[..100_000].to_vec()),
    ] {
        for level in [1, 3, -1, 2] {
            let codec = Zstd {
                level,
                checksum: false,
            };
            let frame = encoded(&codec, &src, &mut workspace);
            assert!(frame == library(&src, level), "{what}, level {level}");
        }
    }
}

#[test]
fn a_frame_is_decoded_as_far_as_is_wanted() {
    let mut workspace = Workspace::new();
    let src = [
        image(1 << 20, 8.0),
        vec![7; 1 << 20],
        b"and more ".repeat(50_000),
    ]
    .concat();
    for level in [1, 3] {
        let frame = library(&src, level);
        for n in [
            0,
            1,
            300_000,
            1 << 20,
            1 << 21,
            (1 << 21) + 1,
            src.len() - MIN_LEFT_OUT_BYTES,
        ] {
            let mut out = vec![0xa5; src.len()];
            let done = LEVEL_1.decode_start(&frame, n, &mut out, &mut workspace);
            assert!(done.expect("it decodes"), "{n}");
            assert!(out[..n] == src[..n], "{n}");
            if n < 1 << 20 {
                assert!(
                    out[n + (3 * STEP_BYTES).max(BLOCK_BYTES) * 2..]
                        .iter()
                        .all(|&byte| byte == 0xa5)
                );
            }
            // The same context decodes another frame, and another context decodes all of it.
            LEVEL_1
                .decode(&frame, Dst::Exact(&mut out), &mut workspace)
                .expect("it decodes");
            assert!(out == src);
        }
    }
}

/// A frame made by hand (RFC 8878): the size of the content, a window of `2^window_log` bytes,
/// raw blocks of 128 KiB.
fn raw_frame(window_log: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 2 << 6, (window_log - 10) << 3];
    frame.extend((content.len() as u32).to_le_bytes());
    let n_blocks = content.len().div_ceil(BLOCK_BYTES);
    for (i, block) in content.chunks(BLOCK_BYTES).enumerate() {
        let header = (block.len() as u32) << 3 | u32::from(i + 1 == n_blocks);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}

#[test]
fn the_start_of_a_frame_is_decoded_whatever_its_window() {
    let src = image(1 << 19, 8.0);
    let mut out = vec![0; src.len()];
    for window_log in [17, 20, 27, 28, 30, 31] {
        if u32::from(window_log) > MAX_WINDOW_LOG {
            let done = LEVEL_1.decode(
                &raw_frame(window_log, &src),
                Dst::Exact(&mut out),
                &mut Workspace::new(),
            );
            assert!(
                matches!(done, Err(CodecError::OutOfMemory { .. })),
                "window log {window_log}"
            );
            continue;
        }
        let frame = raw_frame(window_log, &src);
        let mut workspace = Workspace::new();
        LEVEL_1
            .decode(&frame, Dst::Exact(&mut out), &mut workspace)
            .expect("it decodes");
        assert!(out == src, "window log {window_log}");
        out.fill(0xa5);
        let done = LEVEL_1.decode_start(&frame, 300_000, &mut out, &mut workspace);
        assert!(done.expect("it decodes"), "window log {window_log}");
        assert!(out[..300_000] == src[..300_000], "window log {window_log}");
        // No memory is allocated for the window.
        let taken = decompressor(&mut workspace).expect("a context").sizeof();
        assert!(taken < 1 << 20, "window log {window_log}: {taken} bytes");
    }
    // A larger one is an error either way.
    let frame = raw_frame(32, &src);
    LEVEL_1
        .decode(&frame, Dst::Exact(&mut out), &mut Workspace::new())
        .expect_err("too large a window");
    let done = LEVEL_1.decode_start(&frame, 300_000, &mut out, &mut Workspace::new());
    assert!(!done.expect("left to the whole"));
}

#[test]
fn what_is_not_a_frame_is_named_by_its_first_bytes() {
    let mut out = [0; 4];
    let error = LEVEL_1.decode(b"garbage", Dst::Exact(&mut out), &mut Workspace::new());
    // "garb" as the format reads its magic number, little endian.
    assert_eq!(
        error.expect_err("not a frame").to_string(),
        "zstd: not a zstd frame (magic number 0x62726167)"
    );
}

#[test]
fn a_frame_is_decoded_whole_where_that_is_needed() {
    let mut workspace = Workspace::new();
    let src = image(1 << 20, 8.0);
    let mut out = vec![0; src.len()];
    let mut start = |frame: &[u8], n: usize, out: &mut [u8]| {
        LEVEL_1
            .decode_start(frame, n, out, &mut workspace)
            .map_err(|error| error.to_string())
    };
    let frame = library(&src, 1);
    assert_eq!(
        start(&frame, src.len() - MIN_LEFT_OUT_BYTES + 1, &mut out),
        Ok(false)
    );
    let halves = [library(&src[..1 << 20], 1), library(&src[1 << 20..], 1)].concat();
    assert_eq!(start(&halves, 100, &mut out), Ok(false));
    let with_checksum = encoded(
        &Zstd {
            level: 1,
            checksum: true,
        },
        &src,
        &mut Workspace::new(),
    );
    assert_eq!(start(&with_checksum, 100, &mut out), Ok(false));
    assert!(start(&frame[..frame.len() - 1], 100, &mut out).is_err());
    // Damage before the end of the wanted part.
    let mut broken = frame.clone();
    broken[12..200].fill(0xff);
    assert!(start(&broken, 100_000, &mut out).is_err());
    // The context is still usable.
    LEVEL_1
        .decode(&frame, Dst::Exact(&mut out), &mut workspace)
        .expect("it decodes");
    assert!(out == src);
}
