//! All outcomes, each judged by the known limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::limits::{self, Limit};
use super::outcome::{Direction, Outcome, Verdict};

/// How many lines of one kind are shown; the rest are counted.
const SHOWN: usize = 40;

/// The judgement of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Both results are equal.
    Agrees,
    /// A known limit of the peer, by its place in the table.
    Limit(usize),
    /// None of these.
    Disagrees,
}

/// Outcomes with their judgement.
#[derive(Debug)]
pub(super) struct Tally {
    judged: Vec<(Outcome, Judgement)>,
    /// Agreements that a limit rules out: the limit and the outcome.
    learned: Vec<(usize, usize)>,
    met: BTreeSet<usize>,
}

impl Tally {
    pub(super) fn of(mut outcomes: Vec<Outcome>) -> Self {
        // Processes finish in any order.
        outcomes.sort_by(|a, b| key(a).cmp(&key(b)));
        let (mut judged, mut learned, mut met) = (Vec::new(), Vec::new(), BTreeSet::new());
        for outcome in outcomes {
            let covering = || limits::TABLE.iter().enumerate().filter(|(_, limit)| limit.covers(&outcome));
            let judgement = if outcome.result == Verdict::Agrees {
                learned.extend(covering().filter(|(_, limit)| limit.always).map(|(i, _)| (i, judged.len())));
                Judgement::Agrees
            } else {
                let explaining: Vec<usize> =
                    covering().filter(|(_, limit)| limit.result == outcome.result).map(|(i, _)| i).collect();
                met.extend(&explaining);
                explaining.first().map_or(Judgement::Disagrees, |&i| Judgement::Limit(i))
            };
            judged.push((outcome, judgement));
        }
        Self { judged, learned, met }
    }

    pub(super) fn count(&self) -> usize {
        self.judged.len()
    }

    pub(super) fn judged(&self) -> impl Iterator<Item = (&Outcome, Judgement)> + Clone {
        self.judged.iter().map(|(outcome, judgement)| (outcome, *judgement))
    }

    pub(super) fn disagreements(&self) -> usize {
        self.judged().filter(|(_, judgement)| *judgement == Judgement::Disagrees).count()
    }

    /// Limits that explain no outcome.
    pub(super) fn unused_limits(&self) -> impl Iterator<Item = &'static Limit> {
        let met = &self.met;
        limits::TABLE.iter().enumerate().filter(move |(i, _)| !met.contains(i)).map(|(_, limit)| limit)
    }

    /// Disagreements, and limits that no longer hold.
    pub(super) fn findings(&self) -> Vec<String> {
        let disagreements = self
            .judged()
            .filter(|(_, judgement)| *judgement == Judgement::Disagrees)
            .map(|(outcome, _)| outcome);
        let mut lines: Vec<String> =
            disagreements.clone().take(SHOWN).map(|outcome| format!("DISAGREES {outcome}")).collect();
        if let Some(more) = disagreements.count().checked_sub(SHOWN).filter(|&more| more > 0) {
            lines.push(format!("… and {more} disagreements more"));
        }
        let mut by_limit: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &(limit, outcome) in &self.learned {
            by_limit.entry(limit).or_default().push(outcome);
        }
        for (limit, outcomes) in by_limit {
            let example = &self.judged[outcomes[0]].0;
            let limit = &limits::TABLE[limit];
            lines.push(format!("agrees against a known limit, {} times: {limit}; {example}", outcomes.len()));
        }
        lines
    }

    /// Counts by format, peer and direction.
    pub(super) fn table(&self) -> String {
        let mut counts: BTreeMap<(&str, &str, Direction), [usize; 3]> = BTreeMap::new();
        for (outcome, judgement) in self.judged() {
            let row = counts.entry((&outcome.format, &outcome.peer, outcome.direction)).or_default();
            row[match judgement {
                Judgement::Agrees => 0,
                Judgement::Limit(_) => 1,
                Judgement::Disagrees => 2,
            }] += 1;
        }
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{:14} {:20} {:24} {:>8} {:>12} {:>9}",
            "format", "peer", "direction", "agrees", "known limit", "DISAGREES"
        );
        for ((format, peer, direction), [agrees, limits, disagrees]) in counts {
            let direction = match direction {
                Direction::PeerWrites => "it writes, ndzarr reads",
                Direction::PeerReads => "ndzarr writes, it reads",
            };
            let _ = writeln!(
                text,
                "{format:14} {peer:20} {direction:24} {agrees:>8} {limits:>12} {disagrees:>9}"
            );
        }
        text
    }
}

fn key(outcome: &Outcome) -> (&str, &str, &str, &str, &str, Direction) {
    let Outcome { format, data_type, codec, layout, peer, direction, .. } = outcome;
    (format, peer, data_type, codec, layout, *direction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(data_type: &str, peer: &str, direction: &str, result: &str) -> Outcome {
        let line =
            serde_json::json!(["zarr3", data_type, "none", "default, slash", peer, direction, result, "why"]);
        Outcome::parse(&line.to_string()).expect("an outcome")
    }

    #[test]
    fn limits_explain_their_own_cells_only() {
        let tally = Tally::of(vec![
            outcome("uint16", "z5 3.0.2", "reads", "agrees"),
            outcome("bool", "z5 3.0.2", "reads", "peer refuses"),
            // A result other than the limit's, another peer, and our own refusal are not limits.
            outcome("bool", "z5 3.0.2", "writes", "differs"),
            outcome("bool", "tensorstore 0.1.86", "reads", "peer refuses"),
            outcome("bool", "z5 3.0.2", "writes", "ndzarr refuses"),
        ]);
        assert_eq!((tally.count(), tally.disagreements()), (5, 3));
        assert_eq!(tally.findings().len(), 3);
    }

    #[test]
    fn a_limit_that_holds_no_longer_is_reported() {
        let tally = Tally::of(vec![outcome("bool", "z5 3.0.2", "reads", "agrees")]);
        assert_eq!(tally.disagreements(), 0);
        assert!(tally.findings()[0].starts_with("agrees against a known limit"), "{:?}", tally.findings());
        // Two versions of zarr-python are two peers.
        for (peer, n) in [("zarr-python 2.18.7", 1), ("zarr-python 3.1.6", 0)] {
            let tally = Tally::of(vec![outcome("bfloat16", peer, "reads", "peer refuses")]);
            assert_eq!(tally.disagreements(), n, "{peer}");
        }
    }

    #[test]
    fn other_lines_are_an_error() {
        for line in ["", "[]", "{\"a\": 1}", r#"["f","t","c","l","p","eats","agrees",""]"#] {
            assert!(Outcome::parse(line).is_err(), "{line}");
        }
    }
}
