//! Reads arrays by URL in a browser: this module opens and reads, the page fetches and draws.
//!
//! ```sh
//! cargo build --profile browser --target wasm32-unknown-unknown -p browser
//! node examples/browser/serve.mjs target/wasm32-unknown-unknown/browser examples/browser/page testdata
//! ```
//!
//! Then open <http://127.0.0.1:8000/?url=/zarr3/zp3-gzip-5/store>. `wasm-opt -Oz` makes the
//! module smaller.
//!
//! Nothing but WebAssembly and `fetch` is needed: no threads, no workers, no generated JavaScript.
//! `page/ndzarr.js` has the other half of what `exports.rs` has. To read in a page of your own,
//! take `store.rs`, `request.rs` and `task.rs` as they are.
#![deny(unsafe_code)]

mod array;
pub mod exports;
mod request;
mod store;
mod task;
