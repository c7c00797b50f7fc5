//! The figures of a run as a table.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::turn::writes_in_place;
use super::verdict::{Met, Ratio, Verdict};

/// A row that was run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Done {
    pub(super) title: String,
    pub(super) what: String,
    pub(super) target: f64,
    pub(super) memory_bytes: Option<u64>,
    pub(super) writes: bool,
    pub(super) verdict: Verdict,
    /// Beside another commit: why it may be slower.
    pub(super) gives_up: Option<String>,
    /// Whether the other commit has no such row, and cannot run it.
    pub(super) is_new: bool,
    pub(super) failures: Vec<String>,
}

impl Done {
    /// Its distance from the target.
    pub(super) fn status(&self) -> &'static str {
        match (self.verdict.met, self.verdict.memory_met) {
            _ if self.is_new => "not in the old one",
            (Met::No, _) if self.gives_up.is_some() => "given up on purpose",
            (Met::Yes, Some(false)) => "memory missed",
            (Met::Yes, _) => "met",
            (Met::No, _) => "MISSED",
            (Met::Undecided, _) => "undecided",
        }
    }
}

fn ratio(ratio: Option<&Ratio>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |r| format!("{:.2} [{:.2}–{:.2}]", r.median, r.least, r.most))
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// As Markdown.
pub(super) fn markdown(rows: &[Done]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "| row | ndzarr ms (CPU) | best peer | its ms (CPU) | ratio [least–most] | target | | of CPU | to the floor | MiB written (its) | peak MiB | page faults | clean rounds |"
    );
    let _ = writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for row in rows {
        let verdict = &row.verdict;
        let ours = verdict.engines.get("ndzarr");
        let best = verdict.best_peer.as_ref();
        let theirs = best.and_then(|best| verdict.engines.get(&best.to));
        let times = |medians: Option<&super::verdict::Medians>| {
            medians.map_or_else(|| "–".to_owned(), |m| format!("{:.0} ({:.0})", m.wall_ms, m.cpu_ms))
        };
        let name = best.map_or("–".to_owned(), |best| {
            let note = if row.writes && writes_in_place(&best.to) { ", in place" } else { "" };
            format!("{}{note}", best.to)
        });
        let _ = writeln!(
            out,
            "| {} | {} | {name} | {} | {} | {:.2} | {} | {} | {} | {} | {} | {} | {} |",
            row.title,
            times(ours),
            times(theirs),
            ratio(best),
            row.target,
            row.status(),
            best.map_or("–".to_owned(), |best| format!("{:.2}", best.cpu)),
            ratio(verdict.floor.as_ref()),
            match (ours, theirs) {
                (Some(ours), Some(theirs)) if row.writes => {
                    format!("{:.1} ({:.1})", mib(ours.stored_bytes), mib(theirs.stored_bytes))
                }
                _ => "–".to_owned(),
            },
            ours.map_or("–".to_owned(), |m| match row.memory_bytes {
                Some(most) => format!("{:.0} (of {:.0})", m.peak_mib, most as f64 / f64::from(1 << 20)),
                None => format!("{:.0}", m.peak_mib),
            }),
            ours.map_or("–".to_owned(), |m| m.page_faults.to_string()),
            best.map_or("–".to_owned(), |best| best.clean_rounds.to_string()),
        );
    }
    out
}

/// The frames of every engine of the rows that append; empty without such rows.
pub(super) fn frames(rows: &[Done]) -> String {
    let mut out = String::new();
    for row in rows {
        for (engine, medians) in &row.verdict.engines {
            let Some(frames) = medians.frames else { continue };
            if out.is_empty() {
                out.push_str("| row | engine | p50 ms | p99 ms | worst ms | MiB written per frame |\n");
                out.push_str("|---|---|---|---|---|---|\n");
            }
            let ms = |ns: u64| ns as f64 / 1e6;
            let _ = writeln!(
                out,
                "| {} | {engine} | {:.2} | {:.2} | {:.2} | {:.2} |",
                row.title,
                ms(frames.p50_ns),
                ms(frames.p99_ns),
                ms(frames.worst_ns),
                mib(frames.written_bytes)
            );
        }
    }
    out
}

/// Every engine of every row.
pub(super) fn engines(rows: &[Done]) -> String {
    let mut out =
        String::from("| row | engine | ms | CPU ms | peak MiB | page faults | stored MiB | disturbed | |\n");
    out.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for row in rows {
        for (engine, medians) in &row.verdict.engines {
            let stored = if row.writes { format!("{:.1}", mib(medians.stored_bytes)) } else { String::new() };
            let note = if row.writes && writes_in_place(engine) { "writes in place" } else { "" };
            let _ = writeln!(
                out,
                "| {} | {engine} | {:.1} | {:.1} | {:.0} | {} | {stored} | {} of {} | {note} |",
                row.title,
                medians.wall_ms,
                medians.cpu_ms,
                medians.peak_mib,
                medians.page_faults,
                medians.disturbed,
                medians.rounds
            );
        }
    }
    out
}

/// The same table for a terminal: columns of equal width.
pub(super) fn aligned(markdown: &str) -> String {
    let rows: Vec<Vec<&str>> = markdown
        .lines()
        .filter(|line| !line.starts_with("|---"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let n = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..n).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}", width = *width)).collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    out
}
