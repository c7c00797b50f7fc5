//! The output of a run: `docs/internals/records/<date>.{json,md,svg}`, and the picture of the latest.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::chart;
use super::table::{self, Done};
use crate::python::repository;

/// Writes the record of a run.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write(rows: &[Done], markdown: &str) -> Result<(), String> {
    let date = today();
    let folder = repository().join("docs/internals/records");
    let machine = machine();
    let json = json!({ "date": date, "machine": machine, "rows": rows });
    let what: String = rows.iter().map(|row| format!("- {}: {}\n", row.title, row.what)).collect();
    let text = format!(
        "# Bench of {date}\n\nCommit {}. {machine}\n\nTimes are medians of undisturbed rounds; ratios are medians of pairs of one round. Engines wrote to memory where a \
         row is not called synced.\n\n{markdown}\n## Every engine\n\n{}\n{}\n## Rows\n\n{what}",
        commit(),
        table::engines(rows),
        table::frames(rows)
    );
    let pretty = serde_json::to_string_pretty(&json).map_err(|e| e.to_string())? + "\n";
    let svg = chart::svg(rows, &date);
    for (name, content) in [
        (format!("{date}.json"), &pretty),
        (format!("{date}.md"), &text),
        (format!("{date}.svg"), &svg),
        ("latest.svg".to_owned(), &svg),
    ] {
        let path = folder.join(name);
        fs::write(&path, content).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// The date, the commit and the machine.
pub(super) fn about() -> String {
    format!("Of {}, commit {}. {}", today(), commit(), machine())
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
