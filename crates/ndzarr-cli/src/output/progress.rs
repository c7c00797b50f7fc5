//! Progress of a long call on standard error: bytes, chunks, rate and time left.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ndzarr::Progress;

use crate::arguments::Global;

/// A bar, shown only on a terminal, and not with `--quiet`.
pub(crate) struct Bar {
    bar: ProgressBar,
    bytes: u64,
}

impl Bar {
    /// For elements of this many bytes in memory. Nothing is shown before half a second.
    pub(crate) fn new(global: &Global, bytes: u64) -> Self {
        let hidden = global.quiet || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let bar = if hidden { ProgressBar::hidden() } else { ProgressBar::new(bytes) };
        let style = "{wide_bar} {bytes}/{total_bytes}  {msg}  {bytes_per_sec}  {eta} left";
        bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, bytes }
    }

    /// A function that hears of chunks. The library counts them; the bytes are the same part of all.
    pub(crate) fn hear(&self) -> impl Fn(Progress) + Send + Sync + 'static + use<> {
        let (bar, bytes) = (self.bar.clone(), self.bytes);
        move |progress| {
            if bar.is_hidden() || bar.elapsed() < Duration::from_millis(500) {
                return;
            }
            let part = u128::from(bytes) * u128::from(progress.done) / u128::from(progress.total.max(1));
            // Drawn with the position.
            bar.set_message(format!("{}/{} chunks", progress.done, progress.total));
            bar.set_position(part as u64);
        }
    }

    /// Removes it.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// So that an error is not printed into a bar.
impl Drop for Bar {
    fn drop(&mut self) {
        // Clones are in callbacks of calls that have ended.
        self.bar.finish_and_clear();
    }
}
