//! How long commands take, on request: `cargo test --release -p ndzarr-cli --test it -- --ignored
//! times --nocapture`, on a quiet machine.

use std::time::{Duration, Instant};

use ndzarr::{Array, Format, Group, codec};

use super::Folder;

/// `info` within 15 ms; `stats`, and `diff` of two arrays, within 1.2 of `verify` of the same ones,
/// which decodes each chunk.
#[test]
#[ignore = "a busy machine takes longer"]
#[expect(clippy::print_stderr, reason = "the figures are what it is for")]
fn commands_are_as_quick_as_promised() {
    let folder = Folder::new();
    let group = Group::create(folder.path("g"), Format::Zarr3).expect("it is new");
    // 256 MiB of waves and noise each.
    let shape = [512, 512, 512];
    let noise = |at: usize| ((at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as u16;
    let wave = |x: usize, y: usize| {
        ((x as f64 / 20.0).sin() * 500.0 + (y as f64 / 30.0).cos() * 500.0) as u16
    };
    for name in ["a", "b"] {
        let builder = Array::<u16>::builder(shape)
            .chunks([128, 128, 128])
            .codecs([codec::zstd(1)]);
        let array = group.create_array(name, builder).expect("it is new");
        for z in (0..512).step_by(128) {
            let slab = ndzarr::ndarray::Array3::from_shape_fn([128, 512, 512], |(i, y, x)| {
                wave(x, y) + noise(((z + i) * 512 + y) * 512 + x)
            });
            array
                .write([z as u64..z as u64 + 128, 0..512, 0..512], &slab)
                .expect("it is written");
        }
    }
    let times = |arguments: &[&str]| {
        let mut times: Vec<Duration> = (0..9)
            .map(|_| {
                let start = Instant::now();
                folder.good(arguments);
                start.elapsed()
            })
            .collect();
        times.sort();
        eprintln!(
            "{arguments:?}: {:?}, {:?} to {:?}",
            times[4], times[0], times[8]
        );
        times[4]
    };
    let one = times(&["verify", "g/a"]);
    let two = times(&["verify", "g"]);
    let stats = times(&["stats", "g/a"]);
    let diff = times(&["diff", "g/a", "g/b"]);
    let info = times(&["info", "g/a"]);
    assert!(stats <= one.mul_f64(1.2), "{stats:?} {one:?}");
    assert!(diff <= two.mul_f64(1.2), "{diff:?} {two:?}");
    assert!(info <= Duration::from_millis(15), "{info:?}");
}
