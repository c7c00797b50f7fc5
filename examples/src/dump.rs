//! Lists every array below a place, of any format and type: what it is, and the least, greatest and
//! mean of its numbers, or its first element.
//!
//! ```sh
//! cargo run --release -p examples --features all dump some.zarr
//! ```
#![allow(clippy::print_stdout)]

use std::fmt::Write;

use ndzarr::{AnyArray, AnyNode, Cast, MemberKind, OpenOptions, Place, Result, for_each_type};

/// Runs the example.
///
/// # Errors
/// No place is given, or nothing can be read there.
pub fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let place = std::env::args()
        .nth(2)
        .ok_or("name a folder, an archive or a URL")?;
    print!("{}", dump(place)?);
    Ok(())
}

/// A line for each array.
///
/// # Errors
/// The place has no node, or the store fails. What is wrong with one array is in its line.
pub fn dump(place: impl Into<Place>) -> Result<String> {
    let mut out = String::new();
    match OpenOptions::new().read_only().open_node(place)? {
        AnyNode::Array(array) => add(&mut out, "", Ok(array)),
        AnyNode::Group(group) => {
            for child in group.walk()? {
                if child.kind() == Some(MemberKind::Array) {
                    add(&mut out, &child.path(), child.array());
                }
            }
        }
    }
    Ok(out)
}

fn add(out: &mut String, path: &str, array: Result<AnyArray>) {
    let line = array.and_then(|array| {
        let shape = array.shape();
        let chunks = array.chunk_shape();
        Ok(format!(
            "{} {} {shape:?} in {chunks:?}: {}",
            array.format(),
            array.data_type(),
            content(&array)?
        ))
    });
    let line = line.unwrap_or_else(|error| format!("cannot be read: {error}"));
    let _ = if path.is_empty() {
        writeln!(out, "{line}")
    } else {
        writeln!(out, "{path}: {line}")
    };
}

/// Chunk by chunk, so that no more than one is in memory.
fn content(array: &AnyArray) -> Result<String> {
    let mut least = f64::INFINITY;
    let mut most = f64::NEG_INFINITY;
    let mut sum = 0.0;
    let mut n = 0_u64;
    for chunk in array.chunks() {
        let elements = array.read(&chunk)?;
        let Ok(numbers) = elements.cast::<f64>(Cast::Saturating) else {
            return Ok(for_each_type!(&elements, |array| format!(
                "{:?} …",
                array.first()
            )));
        };
        for number in numbers.into_iter().filter(|number| !number.is_nan()) {
            least = least.min(number);
            most = most.max(number);
            sum += number;
            n += 1;
        }
    }
    Ok(format!("{least} to {most}, mean {}", sum / n as f64))
}
