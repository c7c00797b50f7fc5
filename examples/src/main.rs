//! Runs the named example: `cargo run --release -p examples tour`.
#![forbid(unsafe_code)]

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("tour") => examples::tour::main(),
        Some("climate") => Ok(examples::climate::main()?),
        Some("converter") => examples::converter::main(),
        Some("dump") => examples::dump::main(),
        Some("points") => Ok(examples::points::main()?),
        Some("async_read") => Ok(examples::async_read::main()?),
        Some("pyramid") => examples::pyramid::main(),
        Some("own_store") => Ok(examples::own_store::main()?),
        _ => Err("name one of the examples: tour, climate, converter, dump, points, pyramid, async_read, \
                  own_store"
            .into()),
    }
}
