//! Runs the named example: `cargo run --profile tour -p examples tour`.
#![forbid(unsafe_code)]

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("tour") => examples::tour::main(),
        name => examples::run(name.unwrap_or_default()),
    }
}
