//! An image of several resolutions from one array: OME-Zarr 0.5, which viewers open.
//!
//! ```sh
//! cargo run --release -p examples --features all pyramid
//! ```
#![allow(clippy::print_stdout)]

use std::path::Path;

use ndzarr::ndarray::Array3;
use ndzarr::{Array, DataType, Format, RunOptions, codec, par_map};
use ndzarr_ome::{Axis, Downsample, Error, Multiscale, NewMultiscale, Result};

/// Runs the example.
///
/// # Errors
/// A folder cannot be written or read.
pub fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("volume.zarr");
    let volume = Array::<u16>::builder([64, 256, 256])
        .chunks([32, 64, 64])
        .create(&source)?;
    volume.write(
        ..,
        &Array3::from_shape_fn((64, 256, 256), |(z, y, x)| (z * 100 + y + x) as u16),
    )?;
    let image = pyramid(&source, &folder.path().join("image.ome.zarr"))?;
    for (at, level) in image.levels.iter().enumerate() {
        println!(
            "{}: {:?} elements of {:?} µm",
            level.path,
            image.array(at)?.shape(),
            level.scale
        );
    }
    Ok(())
}

/// Makes an image of an array of three axes, with elements of 1 x 0.25 x 0.25 micrometers.
///
/// # Errors
/// The array cannot be read, or the target has a node already.
pub fn pyramid(source: &Path, target: &Path) -> Result<Multiscale> {
    let volume = Array::<u16>::open(source)?;
    let &[z, y, x] = volume.shape() else {
        return Err(Error::Argument("a volume has three axes".to_owned()));
    };
    let axes = [("z", z), ("y", y), ("x", x)]
        .map(|(name, len)| (Axis::new(name).with_unit("micrometer"), len));
    let new = NewMultiscale::new(DataType::UInt { bits: 16 }, axes)
        .scale([1.0, 0.25, 0.25])
        .levels(3);
    let image = Multiscale::create(target, Format::Zarr3, &new, |layout| {
        layout
            .chunks([32, 64, 64])
            .shards([64, 128, 128])
            .codecs([codec::zstd(3)])
    })?;
    par_map(&volume, &image.array(0)?.typed::<u16>()?, |_, elements| {
        elements
    })?;
    image.make_levels(Downsample::Mean, &RunOptions::default())?;
    Ok(image)
}
