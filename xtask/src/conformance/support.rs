//! `docs/internals/support.md`: what agreed, and what did not because of a peer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use super::beyond::{self, Beyond};
use super::limits::{self, Limit};
use super::outcome::{Direction, Outcome};
use super::services;
use super::systems;
use super::tally::{Judgement, Tally};
use crate::python;

const TITLES: &[(&str, &str)] = &[
    ("zarr2", "Zarr v2"),
    ("zarr3", "Zarr v3"),
    ("zarr3-draft-b", "The draft of Zarr v3 of May 2022, dialect B"),
    ("n5", "N5"),
];

/// One of the ways in which cells differ.
struct Axis {
    title: &'static str,
    of: fn(&Outcome) -> &str,
    /// Whether a limit is about this axis: it holds for some of its values only.
    narrows: fn(&Limit) -> bool,
}

const AXES: &[Axis] = &[
    Axis { title: "Data type", of: |o| &o.data_type, narrows: |l| l.data_type != "*" },
    Axis { title: "Codec", of: |o| &o.codec, narrows: |l| l.codec != "*" },
    Axis { title: "Layout", of: |o| &o.layout, narrows: |l| l.layout != "*" },
];

fn path() -> PathBuf {
    python::repository().join("docs/internals/support.md")
}

/// The page as it was written last.
///
/// # Errors
///
/// It cannot be read.
pub(super) fn written() -> Result<String, String> {
    fs::read_to_string(path()).map_err(|e| format!("{}: {e}", path().display()))
}

/// Writes the page.
///
/// # Errors
///
/// It cannot be written.
pub(super) fn write(page: &str) -> Result<(), String> {
    fs::write(path(), page).map_err(|e| format!("{}: {e}", path().display()))?;
    eprintln!("wrote {}", path().display());
    Ok(())
}

/// The page, with the section on clients, which another run makes.
pub(super) fn page(tally: &Tally, clients: &str) -> String {
    let peers: BTreeSet<&str> = tally.judged().map(|(outcome, _)| &*outcome.peer).collect();
    let peers: Vec<&str> = peers.into_iter().collect();
    let mut text = format!(
        "# What is supported, beside other implementations\n\n\
         `cargo xtask conformance` writes this page; do not edit it. Every plain data type runs with every codec and every\n\
         layout of a format, every other type with every codec and some layouts, in both directions: the peer writes and\n\
         ndzarr reads, ndzarr writes and the peer reads. Elements are compared bit by bit with the NumPy array that was\n\
         written, and all metadata too. In the layout *consolidated* all other documents are removed before reading. Peers:\n\
         {} (zarrs runs the cells of plain types where it adds something).\n\n\
         **ndzarr**: R = has read what a peer wrote, W = a peer has read what ndzarr wrote. For each peer, whether ndzarr\n\
         reads what it writes, then the reverse; one word holds for both. *yes* = all cells agree, except for limits of the\n\
         peer about other rows; *partly* = some agree; *no* = none, without a number because the peer does not have it;\n\
         numbers are [known limits](#known-limits); a dash = not shown here. Rows with the same outcome are one; `…` stands\n\
         for all others of a kind: each compressor and shuffle of blosc, each unit of time.\n\
         {} comparisons show a difference that is not a known limit of the peer.\n",
        peers.join(", "),
        match tally.disagreements() {
            0 => "No".to_owned(),
            n => n.to_string(),
        },
    );
    let mut numbers = Numbers::default();
    for (format, title) in TITLES {
        let of_format: Vec<_> = tally.judged().filter(|(outcome, _)| outcome.format == *format).collect();
        if !of_format.is_empty() {
            section(&mut text, title, &of_format, &mut numbers);
        }
    }
    numbers.list(&mut text);
    text.push_str(clients);
    text.push_str(systems::SECTION);
    text.push_str(services::SECTION);
    text.push_str(
        "\n## What no program here has\n\n\
         Features that are not compared above, and their tests. Stores by other writers are in `testdata/` too.\n\n\
         | | ndzarr | why | tested by |\n|---|---|---|---|\n",
    );
    for Beyond { what, ndzarr, why, tests } in beyond::TABLE {
        let tests: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
        let _ = writeln!(text, "| {what} | {ndzarr} | {why} | {} |", tests.join(", "));
    }
    text
}

fn section(text: &mut String, title: &str, of_format: &[(&Outcome, Judgement)], numbers: &mut Numbers) {
    let count = |wanted: fn(&Judgement) -> bool| of_format.iter().filter(|(_, j)| wanted(j)).count();
    let cells: BTreeSet<_> = of_format.iter().map(|(o, _)| (&o.data_type, &o.codec, &o.layout)).collect();
    let _ = write!(
        text,
        "\n## {title}\n\n{} cells, {} comparisons: {} agree, {} meet a known limit.\n",
        cells.len(),
        of_format.len(),
        count(|j| matches!(j, Judgement::Agrees)),
        count(|j| matches!(j, Judgement::Limit(_))),
    );
    for axis in AXES {
        table(text, axis, of_format, numbers);
    }
}

/// The numbers of limits, in the order in which they are first met. Limits of one reason share one if
/// they are about the same axes.
#[derive(Default)]
struct Numbers {
    by_reason: BTreeMap<String, usize>,
}

impl Numbers {
    fn of(&mut self, limit: usize) -> usize {
        let next = self.by_reason.len() + 1;
        *self.by_reason.entry(reason(&limits::TABLE[limit])).or_insert(next)
    }

    fn list(&self, text: &mut String) {
        text.push_str(
            "\n## Known limits\n\nOf the peers. One in several tables of a format, named in brackets, is about cells of all these rows.\n\n",
        );
        let mut listed: Vec<_> = self.by_reason.iter().map(|(reason, number)| (number, reason)).collect();
        listed.sort();
        for (number, reason) in listed {
            let _ = writeln!(text, "{number}. {reason}");
        }
    }
}

/// Whether a row says by itself what the peer does not have.
fn is_absence(limit: &Limit) -> bool {
    limit.why.starts_with("has no ") && AXES.iter().filter(|axis| (axis.narrows)(limit)).count() == 1
}

/// The peer and what it cannot do, and the axes if they are several.
fn reason(limit: &Limit) -> String {
    let axes: Vec<String> =
        AXES.iter().filter(|axis| (axis.narrows)(limit)).map(|axis| axis.title.to_lowercase()).collect();
    match axes.len() {
        0 | 1 => format!("{} {}", limit.peer, limit.why),
        _ => format!("{} {} ({})", limit.peer, limit.why, axes.join(", ")),
    }
}

fn table(text: &mut String, axis: &Axis, of_format: &[(&Outcome, Judgement)], numbers: &mut Numbers) {
    let peers: BTreeSet<&str> = of_format.iter().map(|(outcome, _)| outcome.peer_name()).collect();
    let rows: BTreeSet<&str> = of_format.iter().map(|(outcome, _)| (axis.of)(outcome)).collect();
    let _ = write!(text, "\n| {} | ndzarr |", axis.title);
    for peer in &peers {
        let _ = write!(text, " {peer} |");
    }
    let _ = write!(text, "\n|---|---|{}\n", "---|".repeat(peers.len()));
    // Rows of the same outcome are one, where the first of them is.
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for &row in &rows {
        let of_row: Vec<_> = of_format.iter().filter(|(outcome, _)| (axis.of)(outcome) == row).collect();
        let agrees = |direction| {
            of_row
                .iter()
                .any(|(outcome, judgement)| outcome.direction == direction && *judgement == Judgement::Agrees)
        };
        let ndzarr: String = [(Direction::PeerWrites, 'R'), (Direction::PeerReads, 'W')]
            .into_iter()
            .filter(|&(direction, _)| agrees(direction))
            .map(|(_, letter)| letter)
            .collect();
        let shown = if ndzarr.is_empty() { "–" } else { &ndzarr };
        let mut line = format!("{shown} |");
        for &peer in &peers {
            let of_peer = of_row.iter().filter(|(outcome, _)| outcome.peer_name() == peer);
            let word = |direction, numbers: &mut Numbers| {
                let here = of_peer.clone().filter(|(outcome, _)| outcome.direction == direction);
                word(axis, here.copied(), numbers)
            };
            let (theirs, ours) = (word(Direction::PeerWrites, numbers), word(Direction::PeerReads, numbers));
            let _ = match theirs == ours {
                true => write!(line, " {ours} |"),
                false => write!(line, " {theirs}, {ours} |"),
            };
        }
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, rows)) => rows.push(row),
            None => lines.push((line, vec![row])),
        }
    }
    for (line, names) in lines {
        let _ = writeln!(text, "| {} | {line}", joined(&names, &rows));
    }
}

/// The names of a line; for most of a kind, its name.
fn joined(names: &[&str], all: &BTreeSet<&str>) -> String {
    let mut shown: Vec<String> = Vec::new();
    for &name in names {
        let is_alike = |other: &&&str| kind(other).is_some() && kind(other) == kind(name);
        let (here, everywhere) = (names.iter().filter(is_alike).count(), all.iter().filter(is_alike).count());
        let name =
            kind(name).filter(|_| here > 2 && 2 * here > everywhere).unwrap_or_else(|| name.to_owned());
        if !shown.contains(&name) {
            shown.push(name);
        }
    }
    shown.join("; ")
}

/// Values that differ only in a unit of time, or in the settings of blosc.
fn kind(name: &str) -> Option<String> {
    let unit = name.split_once('[').map(|(kind, _)| format!("{kind}[…]"));
    unit.or_else(|| name.starts_with("blosc ").then(|| "blosc …".to_owned()))
}

/// How the cells of one row, peer and direction came out.
fn word<'o>(
    axis: &Axis,
    cells: impl Iterator<Item = &'o (&'o Outcome, Judgement)> + Clone,
    numbers: &mut Numbers,
) -> String {
    if cells.clone().any(|(_, judgement)| *judgement == Judgement::Disagrees) {
        return "**differs**".to_owned();
    }
    // A cell may have several limits; only those about this axis are shown.
    let limits: BTreeSet<usize> = cells
        .clone()
        .filter(|(_, judgement)| matches!(judgement, Judgement::Limit(_)))
        .flat_map(|(outcome, _)| {
            limits::TABLE.iter().enumerate().filter(|(_, limit)| {
                (axis.narrows)(limit) && limit.covers(outcome) && limit.result == outcome.result
            })
        })
        .map(|(i, _)| i)
        .collect();
    let agrees = cells.clone().any(|(_, judgement)| *judgement == Judgement::Agrees);
    let list: BTreeSet<usize> =
        limits.iter().filter(|&&i| !is_absence(&limits::TABLE[i])).map(|&i| numbers.of(i)).collect();
    let word = match (agrees, limits.is_empty()) {
        (true, true) => "yes",
        (true, false) => "partly",
        (false, false) => "no",
        (false, true) => "–",
    };
    if list.is_empty() {
        return word.to_owned();
    }
    format!("{word} [{}]", list.iter().map(usize::to_string).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_outcome_are_one() {
        let outcome = |data_type: &str, result: &str| {
            let line = ["zarr3", data_type, "none", "default, slash", "z5 3.0.2", "reads", result, "why"];
            Outcome::parse(&serde_json::json!(line).to_string()).expect("an outcome")
        };
        let tally = Tally::of(vec![
            outcome("int8", "agrees"),
            outcome("bool", "differs"),
            outcome("uint8", "agrees"),
        ]);
        let page = page(&tally, "");
        let types: Vec<&str> =
            page.lines().filter(|line| line.contains("int8") || line.contains("bool")).collect();
        assert_eq!(types, ["| bool | – | –, **differs** |", "| int8; uint8 | W | –, yes |"]);
    }

    #[test]
    fn most_of_a_kind_are_one_name() {
        let all = BTreeSet::from(["date[D]", "date[s]", "date[ms]", "date[25s]", "int8"]);
        assert_eq!(joined(&["date[D]", "date[s]", "date[ms]", "int8"], &all), "date[…]; int8");
        assert_eq!(joined(&["date[25s]"], &all), "date[25s]");
    }
}
