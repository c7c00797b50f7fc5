//! Examples: programs that use ndzarr like any other.
//! `cargo run --release -p examples --features all <name>` runs one; the tour needs no features,
//! and so compiles less.
#![deny(unsafe_code)]

#[cfg(feature = "all")]
pub mod async_read;
#[cfg(feature = "all")]
pub mod climate;
#[cfg(feature = "all")]
pub mod converter;
#[cfg(feature = "all")]
pub mod dump;
#[cfg(feature = "all")]
pub mod own_store;
#[cfg(feature = "all")]
pub mod points;
#[cfg(feature = "all")]
pub mod pyramid;
pub mod tour;

/// Runs the example with this name, other than the tour.
///
/// # Errors
/// There is no such example, it lacks an argument, or it cannot read or write.
#[cfg(feature = "all")]
pub fn run(name: &str) -> Result<(), Box<dyn std::error::Error>> {
    match name {
        "climate" => Ok(climate::main()?),
        "converter" => converter::main(),
        "dump" => dump::main(),
        "points" => Ok(points::main()?),
        "async_read" => Ok(async_read::main()?),
        "pyramid" => pyramid::main(),
        "own_store" => Ok(own_store::main()?),
        _ => Err("name one of the examples: tour, climate, converter, dump, points, pyramid, async_read, own_store"
            .into()),
    }
}

/// Without the feature `all` there is only the tour.
///
/// # Errors
/// Always.
#[cfg(not(feature = "all"))]
pub fn run(_name: &str) -> Result<(), Box<dyn std::error::Error>> {
    Err("without `--features all` there is only the example tour".into())
}
