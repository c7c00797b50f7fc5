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
    /// A bar for elements of this many bytes in memory. Nothing is shown in the first half second.
    pub(crate) fn new(global: &Global, bytes: u64) -> Self {
        let is_hidden = global.quiet || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let bar = if is_hidden {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(bytes)
        };
        let style = "{wide_bar} {bytes}/{total_bytes}  {msg}  {bytes_per_sec}  {eta} left";
        bar.set_style(
            ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { bar, bytes }
    }

    /// The function that the library calls with its progress. It counts chunks; the bar shows the
    /// same part of the bytes.
    pub(crate) fn callback(&self) -> impl Fn(Progress) + Send + Sync + 'static + use<> {
        let bar = self.bar.clone();
        let bytes = self.bytes;
        move |progress| {
            if bar.is_hidden() || bar.elapsed() < Duration::from_millis(500) {
                return;
            }
            let part =
                u128::from(bytes) * u128::from(progress.done) / u128::from(progress.total.max(1));
            // It is drawn with the position.
            bar.set_message(format!("{}/{} chunks", progress.done, progress.total));
            bar.set_position(part as u64);
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Removes the bar, so that an error is not printed into it.
impl Drop for Bar {
    fn drop(&mut self) {
        // Callbacks of calls that have ended have clones.
        self.bar.finish_and_clear();
    }
}
