//! The page of the records, and the README's picture.

use super::picture;
use super::record::{self, REMOTE, Record};
use super::remote::{self, Measured};
use super::table::{self, Done};

/// Draws the picture and the page from the records.
///
/// # Errors
/// A record cannot be read, or lacks a row of the picture.
pub(super) fn draw() -> Result<(), String> {
    record::put("picture.svg", &picture()?)?;
    record::put("README.md", &page()?)
}

/// The picture of the latest records.
pub(super) fn picture() -> Result<String, String> {
    picture::svg(&record::read(&record::latest()?)?, &record::read(REMOTE)?)
}

/// The page of the latest records.
fn page() -> Result<String, String> {
    let name = record::latest()?;
    let run: Record<Done> = record::read(&name)?;
    let in_buckets: Record<Measured> = record::read(REMOTE)?;
    let what: String = run.rows.iter().map(|row| format!("- {}: {}\n", row.title, row.what)).collect();
    let about = |date: &str, commit: &str, machine: &str| format!("Of {date}, commit {commit}. {machine}");
    Ok(format!(
        "# Records\n\n\
         Each run of `cargo xtask bench --record` leaves its figures here as JSON, earlier ones too. `cargo xtask bench\n\
         --draw` makes this page and [the picture](picture.svg) of the latest. [Performance](../../performance.md) says\n\
         what they mean.\n\n\
         ## [{name}]({name})\n\n{}\n\nTimes are medians of undisturbed rounds; ratios are medians of pairs of one round. \
         Engines wrote to memory where a\nrow is not called synced.\n\n{}\n### Frames\n\n{}\n### Rows\n\n{what}\n\
         ## [{REMOTE}]({REMOTE})\n\n{}\n\n{}\n## Every engine of {name}\n\n{}",
        about(&run.date, &run.commit, &run.machine),
        table::markdown(&run.rows),
        table::frames(&run.rows),
        about(&in_buckets.date, &in_buckets.commit, &in_buckets.machine),
        remote::markdown(&in_buckets.rows),
        table::engines(&run.rows),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::record;

    /// GitHub shows it as wide as its page; taller than this, it would hide the first program.
    #[test]
    fn the_committed_picture_is_that_of_the_record() {
        let svg = super::picture().expect("the records are there");
        let committed = std::fs::read_to_string(record::folder().join("picture.svg")).expect("the picture");
        assert!(svg == committed, "draw it: cargo xtask bench --draw");
        let height = svg.split("height=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert!(height.and_then(|text| text.parse::<f64>().ok()).is_some_and(|height| height <= 500.0));
        assert!(svg.contains("prefers-color-scheme:dark"));
    }
}
