//! Converts an N5 array or a container with all below it to Zarr v3: shards of 256³ with chunks of
//! 64³, in zstd. It shows its progress, Enter stops it, and the same command goes on with what is
//! missing.
//!
//! ```sh
//! cargo run --release -p examples --features all converter volume.n5 volume.zarr
//! ```
#![allow(clippy::print_stdout)]

use std::path::Path;

use ndzarr::{Cancel, CopyOptions, Format, Result, RunOptions, codec, copy};

/// Runs the example.
///
/// # Errors
/// The paths are not given, or the copy fails.
pub fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args().skip(2);
    let (Some(source), Some(target)) = (paths.next(), paths.next()) else {
        return Err("name the source and the target".into());
    };
    let cancel = Cancel::new();
    let stop = cancel.clone();
    std::thread::spawn(move || {
        std::io::stdin()
            .read_line(&mut String::new())
            .map(|_| stop.cancel())
    });
    Ok(convert(Path::new(&source), Path::new(&target), &cancel)?)
}

/// Converts from one folder into another.
///
/// # Errors
/// The source does not exist or is damaged; the target is another array; it was cancelled.
pub fn convert(source: &Path, target: &Path, cancel: &Cancel) -> Result<()> {
    let run = RunOptions::default()
        .cancel(cancel.clone())
        .progress(|progress| print!("\r{} of {} chunks", progress.done, progress.total));
    let options = CopyOptions::new()
        .format(Format::Zarr3)
        .chunks([64, 64, 64])
        .shards([256, 256, 256])
        .codecs([codec::zstd(3)])
        .memory(512 << 20)
        .resume()
        .run(run);
    for node in copy(source, target, &options)?.nodes {
        println!("\n{}: {:?} {:?}", node.target, node.level, node.notes);
    }
    Ok(())
}
