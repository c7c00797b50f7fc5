//! `docs/support.md`: what agreed, and what did not because of a peer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::beyond::{self, Beyond};
use super::limits::{self, Limit};
use super::outcome::{Direction, Outcome};
use super::systems;
use super::tally::{Judgement, Tally};

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

/// The page.
pub(super) fn page(tally: &Tally) -> String {
    let peers: BTreeSet<&str> = tally.judged().map(|(outcome, _)| &*outcome.peer).collect();
    let peers: Vec<&str> = peers.into_iter().collect();
    let mut text = format!(
        "# What is supported, beside other implementations\n\n\
         `cargo xtask conformance` writes this page; do not edit it. It combines every plain data type with every codec and\n\
         every layout of a format, and every other data type with every codec and some layouts. Each of these cells runs in\n\
         both directions: the peer writes an array and ndzarr reads it, then ndzarr writes it and the peer reads it. Elements\n\
         are compared bit by bit with the NumPy array that was given to the writer; shape, chunk shape, data type, fill value,\n\
         attributes and dimension names are compared as well. In the layout *consolidated* all other documents are removed\n\
         before reading. Peers: {} (zarrs runs the cells of plain types where it adds something).\n\n\
         Rows with the same outcome are one. **ndzarr**: R = ndzarr has read what a peer wrote, W = a peer has read what ndzarr\n\
         wrote. For each peer, the first word says whether ndzarr reads what the peer writes, the second the reverse; one word\n\
         holds for both. *yes* = all cells agree, except for limits of the peer that concern other rows; *partly*, *no* =\n\
         limits of the peer, with their numbers in the list below; a dash = not shown here.\n\
         {} comparisons show a difference that is not a known limit of the peer.\n\n\
         The last table has what no program here supports, with its tests. Stores by other writers are in the cases of\n\
         `testdata/`; [formats.md](formats.md) says what is read and written.\n",
        peers.join(", "),
        match tally.disagreements() {
            0 => "No".to_owned(),
            n => n.to_string(),
        },
    );
    for (format, title) in TITLES {
        let of_format: Vec<_> = tally.judged().filter(|(outcome, _)| outcome.format == *format).collect();
        if !of_format.is_empty() {
            section(&mut text, title, &of_format);
        }
    }
    text.push_str(systems::SECTION);
    text.push_str(
        "\n## What no program here has\n\n\
         These are not compared above; `cargo xtask tidy` checks that the named tests exist.\n\n\
         | | ndzarr | why | tested by |\n|---|---|---|---|\n",
    );
    for Beyond { what, ndzarr, why, tests } in beyond::TABLE {
        let tests: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
        let _ = writeln!(text, "| {what} | {ndzarr} | {why} | {} |", tests.join(", "));
    }
    text
}

fn section(text: &mut String, title: &str, of_format: &[(&Outcome, Judgement)]) {
    let count = |wanted: fn(&Judgement) -> bool| of_format.iter().filter(|(_, j)| wanted(j)).count();
    let cells: BTreeSet<_> = of_format.iter().map(|(o, _)| (&o.data_type, &o.codec, &o.layout)).collect();
    let _ = write!(
        text,
        "\n## {title}\n\n{} cells, {} comparisons: {} agree, {} meet a known limit of the peer.\n",
        cells.len(),
        of_format.len(),
        count(|j| matches!(j, Judgement::Agrees)),
        count(|j| matches!(j, Judgement::Limit(_))),
    );
    let mut numbers = Numbers::default();
    for axis in AXES {
        table(text, axis, of_format, &mut numbers);
    }
    if numbers.by_text.is_empty() {
        return;
    }
    text.push_str("\nKnown limits:\n\n");
    let mut listed: Vec<_> = numbers.by_text.iter().map(|(limit, number)| (number, limit)).collect();
    listed.sort();
    for (number, limit) in listed {
        let _ = writeln!(text, "{number}. {limit}");
    }
}

/// The numbers of limits in a section, in the order in which they are first met. Equal texts share
/// one.
#[derive(Default)]
struct Numbers {
    by_text: BTreeMap<String, usize>,
}

impl Numbers {
    fn of(&mut self, limit: usize) -> usize {
        let next = self.by_text.len() + 1;
        *self.by_text.entry(limits::TABLE[limit].to_string()).or_insert(next)
    }
}

fn table(text: &mut String, axis: &Axis, of_format: &[(&Outcome, Judgement)], numbers: &mut Numbers) {
    let peers: BTreeSet<&str> = of_format.iter().map(|(outcome, _)| &*outcome.peer).collect();
    let rows: BTreeSet<&str> = of_format.iter().map(|(outcome, _)| (axis.of)(outcome)).collect();
    let _ = write!(text, "\n| {} | ndzarr |", axis.title);
    for peer in &peers {
        let _ = write!(text, " {peer} |");
    }
    let _ = write!(text, "\n|---|---|{}\n", "---|".repeat(peers.len()));
    // Rows of the same outcome are one, where the first of them is.
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for row in rows {
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
            let of_peer = of_row.iter().filter(|(outcome, _)| outcome.peer == peer);
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
    for (line, rows) in lines {
        let _ = writeln!(text, "| {} | {line}", rows.join("; "));
    }
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
    let list: BTreeSet<usize> = limits.iter().map(|&i| numbers.of(i)).collect();
    let list = list.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    match (agrees, limits.is_empty()) {
        (true, true) => "yes".to_owned(),
        (true, false) => format!("partly [{list}]"),
        (false, false) => format!("no [{list}]"),
        (false, true) => "–".to_owned(),
    }
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
        let page = page(&tally);
        let types: Vec<&str> =
            page.lines().filter(|line| line.contains("int8") || line.contains("bool")).collect();
        assert_eq!(types, ["| bool | – | –, **differs** |", "| int8; uint8 | W | –, yes |"]);
    }
}
