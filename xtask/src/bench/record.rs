//! The records of runs: data in `docs/internals/records/*.json`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::python::repository;

/// What was measured, when and where.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Record<R> {
    pub(super) commit: String,
    pub(super) date: String,
    pub(super) machine: String,
    pub(super) rows: Vec<R>,
}

/// Of the rows in buckets there is one record.
pub(super) const REMOTE: &str = "remote.json";

/// Writes a record.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write<R: Serialize>(name: &str, rows: Vec<R>) -> Result<(), String> {
    let record = Record { commit: commit(), date: today(), machine: machine(), rows };
    let text = serde_json::to_string_pretty(&record).map_err(|e| e.to_string())?;
    put(name, &(text + "\n"))
}

/// The name of the record of a run of today.
pub(super) fn name_of_today() -> String {
    format!("{}.json", today())
}

pub(super) fn folder() -> PathBuf {
    repository().join("docs/internals/records")
}

/// The latest record of a run; their names begin with the date.
pub(super) fn latest() -> Result<String, String> {
    let entries = fs::read_dir(folder()).map_err(|e| format!("{}: {e}", folder().display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let dated = names.filter(|name| name.ends_with(".json") && name != REMOTE);
    dated.max().ok_or_else(|| format!("{} has no record", folder().display()))
}

pub(super) fn read<R: DeserializeOwned>(name: &str) -> Result<Record<R>, String> {
    let path = folder().join(name);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

pub(super) fn put(name: &str, text: &str) -> Result<(), String> {
    let path = folder().join(name);
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

fn commit() -> String {
    let output =
        Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(repository()).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let n = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{n} processors, {}, Linux {}.", model.trim_start_matches([' ', '\t', ':']), kernel.trim())
}

fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    let (year, month, day) = civil(days as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date of a number of days since 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    // Counted in eras of 400 years that begin on a 1st of March.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_are_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_778), (2026, 11, 21));
    }
}
