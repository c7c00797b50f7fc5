//! Elements anywhere in a sharded volume: random points, rows and columns by lists, a mask, a plane
//! by the name of its axis, and what writing to such a selection changes.
//!
//! ```sh
//! cargo run --release -p examples --features all points
//! ```
#![allow(clippy::print_stdout)]

use ndarray::{Array3, ArrayD};
use ndzarr::{Array, MemoryStore, Points, Result, Selection, codec, s};

/// Runs the example.
///
/// # Errors
/// The store never fails, so there is none.
pub fn main() -> Result<()> {
    let volume = volume([96, 80, 64])?;
    let found = pick(&volume)?;
    println!("sums: {found:?}");
    println!("elements that were set to 0: {}", blank(&volume)?);
    Ok(())
}

/// A volume in which each element is the sum of its coordinates.
///
/// # Errors
/// The shape is too large for the memory.
pub fn volume(shape: [usize; 3]) -> Result<Array<u32>> {
    let builder = Array::<u32>::builder(&shape[..])
        .chunks([16, 16, 16])
        .shards([64, 64, 64])
        .codecs([codec::zstd(1)])
        .dimension_names(["z", "y", "x"]);
    let volume = builder.create((MemoryStore::new(), "volume"))?;
    volume.write(
        ..,
        &Array3::from_shape_fn(shape, |(z, y, x)| (z + y + x) as u32),
    )?;
    Ok(volume)
}

/// 1000 points of a spiral.
pub fn spiral() -> Vec<[usize; 3]> {
    (0..1000)
        .map(|n| [n * 7 % 96, n * 11 % 80, n * 13 % 64])
        .collect()
}

/// The sums of what several selections give. Each decodes a chunk once, whatever the order.
///
/// # Errors
/// The volume is smaller than the selections.
pub fn pick(volume: &Array<u32>) -> Result<[u32; 5]> {
    let points = volume.read(Points::new(spiral()))?;
    let rows = volume.read((vec![90, 3, 3], [-1, 0], ..))?;
    let mask = ArrayD::from_shape_fn(vec![96, 80, 64], |at| at[0] == at[1] && at[1] == at[2]);
    let diagonal = volume.read(&mask)?;
    let plane = volume.read(volume.by_name().axis("y", 40).axis("x", [10, 20]))?;
    // Every other element of every other plane from the end, then one of these planes.
    let view = s![..;-2, ..;2, ..;2]
        .resolve(volume.shape())?
        .view((5, .., ..))?;
    let thinned = volume.read(&view)?;
    Ok([
        points.sum(),
        rows.sum(),
        diagonal.sum(),
        plane.sum(),
        thinned.sum(),
    ])
}

/// Sets the points to 0, and counts what is 0 then.
///
/// # Errors
/// The volume is smaller than the selections.
pub fn blank(volume: &Array<u32>) -> Result<usize> {
    volume.fill(Points::new(spiral()), 0)?;
    Ok(volume
        .read(..)?
        .iter()
        .filter(|&&element| element == 0)
        .count())
}
