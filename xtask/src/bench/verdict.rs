//! The statistics of a row's samples: medians, and ratios pair by pair.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::turn::{Frames, Report};

/// This many rounds in which both of a pair were undisturbed decide.
pub(super) const ENOUGH: usize = 5;

/// Samples by engine; one place for each round, none where the engine failed or was not asked.
pub(super) type Samples = BTreeMap<String, Vec<Option<Report>>>;

/// The time that a ratio is of.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Time {
    #[default]
    Wall,
    Processor,
}

/// The greatest allowed ratio of ndzarr's time to another's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) ratio: f64,
    pub(super) time: Time,
}

/// The target of each row against another commit.
pub(super) const AGAINST_COMMIT: Target = Target {
    ratio: 1.03,
    time: Time::Processor,
};

/// A ratio of ndzarr's time to another's, round by round.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Ratio {
    pub(super) to: String,
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    /// Rounds in which neither was disturbed; the ratio is over those, if there is one, else over
    /// all.
    pub(super) clean_rounds: usize,
    /// The same ratio of processor time, which load disturbs less.
    pub(super) cpu: f64,
    /// Of each of these rounds.
    pub(super) pairs: Vec<f64>,
}

impl Ratio {
    /// True if four fifths of the rounds are on one side of a target, so that the median is
    /// hardly due to chance.
    pub(super) fn is_clear_of(&self, target: f64) -> bool {
        let met = self.pairs.iter().filter(|&&ratio| ratio <= target).count();
        5 * met.min(self.pairs.len() - met) <= self.pairs.len()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Met {
    Yes,
    No,
    /// Too few undisturbed rounds.
    Undecided,
}

/// Medians of an engine.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Medians {
    pub(super) wall_ms: f64,
    pub(super) cpu_ms: f64,
    pub(super) peak_mib: f64,
    pub(super) page_faults: u64,
    pub(super) stored_bytes: u64,
    /// Of an append: medians of the turns.
    pub(super) frames: Option<Frames>,
    pub(super) disturbed: usize,
    pub(super) rounds: usize,
}

impl Medians {
    /// The time that counts.
    pub(super) fn time_ms(&self, time: Time) -> f64 {
        match time {
            Time::Processor => self.cpu_ms,
            Time::Wall => self
                .frames
                .map_or(self.wall_ms, |frames| frames.p99_ns as f64 / 1e6),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Verdict {
    pub(super) engines: BTreeMap<String, Medians>,
    pub(super) best_peer: Option<Ratio>,
    pub(super) floor: Option<Ratio>,
    pub(super) met: Met,
    pub(super) memory_met: Option<bool>,
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// The undisturbed samples; all of them, if there is none.
fn clean(samples: &[Option<Report>]) -> Vec<Report> {
    let all: Vec<Report> = samples.iter().flatten().copied().collect();
    let clean: Vec<Report> = all
        .iter()
        .filter(|report| !report.is_disturbed())
        .copied()
        .collect();
    if clean.is_empty() { all } else { clean }
}

pub(super) fn medians(samples: &[Option<Report>]) -> Option<Medians> {
    let used = clean(samples);
    if used.is_empty() {
        return None;
    }
    let of = |value: &dyn Fn(&Report) -> f64| median(used.iter().map(value).collect());
    let of_frames = |value: &dyn Fn(Frames) -> u64| {
        median(
            used.iter()
                .filter_map(|report| report.frames)
                .map(|frames| value(frames) as f64)
                .collect(),
        ) as u64
    };
    let frames = used[0].frames.map(|_| Frames {
        p50_ns: of_frames(&|frames| frames.p50_ns),
        p99_ns: of_frames(&|frames| frames.p99_ns),
        worst_ns: of_frames(&|frames| frames.worst_ns),
        written_bytes: of_frames(&|frames| frames.written_bytes),
    });
    Some(Medians {
        wall_ms: of(&|report| report.wall_ns as f64 / 1e6),
        cpu_ms: of(&|report| report.cpu_ns as f64 / 1e6),
        peak_mib: of(&|report| report.peak_bytes as f64 / f64::from(1 << 20)),
        page_faults: of(&|report| report.page_faults as f64) as u64,
        stored_bytes: of(&|report| report.stored_bytes as f64) as u64,
        frames,
        disturbed: samples
            .iter()
            .flatten()
            .filter(|report| report.is_disturbed())
            .count(),
        rounds: samples.iter().flatten().count(),
    })
}

pub(super) fn ratio(samples: &Samples, to: &str, time: Time) -> Option<Ratio> {
    let pairs: Vec<(Report, Report)> = samples
        .get("ndzarr")?
        .iter()
        .zip(samples.get(to)?)
        .filter_map(|(ours, theirs)| Some(((*ours)?, (*theirs)?)))
        .collect();
    let calm: Vec<_> = pairs
        .iter()
        .filter(|(a, b)| !a.is_disturbed() && !b.is_disturbed())
        .copied()
        .collect();
    let clean_rounds = calm.len();
    let used = if calm.is_empty() { pairs } else { calm };
    if used.is_empty() {
        return None;
    }
    let processor = |(a, b): &(Report, Report)| a.cpu_ns as f64 / b.cpu_ns.max(1) as f64;
    let ratio = |pair: &(Report, Report)| match time {
        Time::Wall => pair.0.time_ns() as f64 / pair.1.time_ns() as f64,
        Time::Processor => processor(pair),
    };
    let ratios: Vec<f64> = used.iter().map(ratio).collect();
    Some(Ratio {
        to: to.to_owned(),
        median: median(ratios.clone()),
        least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        most: ratios.iter().copied().fold(0.0, f64::max),
        clean_rounds,
        cpu: median(used.iter().map(processor).collect()),
        pairs: ratios,
    })
}

/// What an engine must do as well as ndzarr to be compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Reads,
    /// It may store 1 % less.
    Writes,
    /// It may store 1 % less, and use no more than the memory of the row.
    Copies,
}

/// The verdict on the row.
pub(super) fn judge(samples: &Samples, target: Target, memory: Option<u64>, job: Job) -> Verdict {
    let engines: BTreeMap<String, Medians> = samples
        .iter()
        .filter_map(|(engine, samples)| medians(samples).map(|medians| (engine.clone(), medians)))
        .collect();
    let ours = engines.get("ndzarr").copied();
    let keeps = |medians: &Medians, most: u64| medians.peak_mib * f64::from(1 << 20) <= most as f64;
    let comparable = |medians: &Medians| {
        let as_large =
            ours.is_some_and(|ours| ours.stored_bytes as f64 <= medians.stored_bytes as f64 * 1.01);
        let within = job != Job::Copies || memory.is_none_or(|most| keeps(medians, most));
        (job == Job::Reads || as_large) && within
    };
    let best = engines
        .iter()
        .filter(|(engine, medians)| {
            !["ndzarr", "floor"].contains(&engine.as_str()) && comparable(medians)
        })
        .min_by(|a, b| {
            a.1.time_ms(target.time)
                .total_cmp(&b.1.time_ms(target.time))
        });
    let best_peer = best.and_then(|(engine, _)| ratio(samples, engine, target.time));
    let memory_met = memory.and_then(|most| ours.map(|ours| keeps(&ours, most)));
    let met = match &best_peer {
        None => Met::Undecided,
        Some(ratio) if ratio.clean_rounds < ENOUGH => Met::Undecided,
        Some(ratio) if ratio.median <= target.ratio => Met::Yes,
        Some(_) => Met::No,
    };
    Verdict {
        engines,
        best_peer,
        floor: ratio(samples, "floor", target.time),
        met,
        memory_met,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It waited for the processor time that others used.
    fn sample(wall_ms: u64, waited_ms: u64) -> Option<Report> {
        Some(Report {
            wall_ns: wall_ms * 1_000_000,
            cpu_ns: wall_ms * 1_000_000,
            peak_bytes: 1 << 20,
            page_faults: 1,
            other_cpu_ns: waited_ms * 1_000_000,
            waited_ns: waited_ms * 1_000_000,
            checksum: None,
            stored_bytes: 100,
            frames: None,
        })
    }

    fn wall(ratio: f64) -> Target {
        Target {
            ratio,
            time: Time::Wall,
        }
    }

    #[test]
    fn beside_another_commit_processor_time_counts() {
        let of = |cpu_ms: u64| {
            sample(10, 0).map(|report| Report {
                cpu_ns: cpu_ms * 1_000_000,
                ..report
            })
        };
        let met = |ours| {
            let mut samples = Samples::new();
            samples.insert("ndzarr".into(), vec![of(ours); 5]);
            samples.insert("ndzarr-before".into(), vec![of(100); 5]);
            judge(&samples, AGAINST_COMMIT, None, Job::Reads).met
        };
        assert_eq!((met(103), met(104)), (Met::Yes, Met::No));
    }

    #[test]
    fn ratios_are_of_pairs_and_of_undisturbed_rounds() {
        let mut samples = Samples::new();
        let ours = vec![
            sample(50, 0),
            sample(60, 0),
            sample(500, 400),
            sample(70, 0),
            sample(80, 0),
            sample(90, 0),
        ];
        samples.insert("ndzarr".into(), ours);
        samples.insert("zarrs".into(), vec![sample(100, 0); 6]);
        samples.insert("tensorstore".into(), vec![sample(200, 0); 6]);
        samples.insert("floor".into(), vec![sample(35, 0); 6]);
        let verdict = judge(&samples, wall(0.7), Some(1 << 20), Job::Reads);
        let best = verdict.best_peer.expect("two peers");
        assert_eq!((best.to.as_str(), best.clean_rounds), ("zarrs", 5));
        assert!((best.median - 0.7).abs() < 1e-9);
        assert_eq!((best.least, best.most), (0.5, 0.9));
        assert_eq!(verdict.met, Met::Yes);
        assert_eq!(verdict.memory_met, Some(true));
        assert!((verdict.floor.expect("a floor").median - 2.0).abs() < 1e-9);
        assert_eq!(judge(&samples, wall(0.69), None, Job::Reads).met, Met::No);
    }

    #[test]
    fn a_target_among_the_ratios_is_not_clear() {
        let of = |walls: &[u64]| {
            let mut samples = Samples::new();
            samples.insert(
                "ndzarr".into(),
                walls.iter().map(|&wall| sample(wall, 0)).collect(),
            );
            samples.insert("zarrs".into(), vec![sample(100, 0); walls.len()]);
            ratio(&samples, "zarrs", Time::Wall)
                .expect("rounds")
                .is_clear_of(0.8)
        };
        assert!(of(&[70, 70, 70, 70, 70, 70, 90]));
        assert!(of(&[90, 90, 90, 90, 70]));
        assert!(!of(&[70, 70, 70, 70, 70, 90, 90]));
        assert!(!of(&[90, 90, 70, 90, 70, 90, 90]));
        // As close as possible, and still met.
        assert!(of(&[80, 80, 80, 80, 80]));
    }

    #[test]
    fn of_appends_the_slowest_frames_count() {
        let of = |wall_ms: u64, p99_ms: u64| {
            let ns = |ms| ms * 1_000_000;
            let frames = Frames {
                p50_ns: 1,
                p99_ns: ns(p99_ms),
                worst_ns: ns(p99_ms),
                written_bytes: 7,
            };
            sample(wall_ms, 0).map(|report| Report {
                frames: Some(frames),
                ..report
            })
        };
        let mut samples = Samples::new();
        samples.insert("ndzarr".into(), vec![of(50, 4); 5]);
        samples.insert("tensorstore".into(), vec![of(40, 8); 5]);
        samples.insert("zarr-python".into(), vec![of(90, 5); 5]);
        let verdict = judge(&samples, wall(1.0), None, Job::Writes);
        let best = verdict.best_peer.expect("two peers");
        assert_eq!((best.to.as_str(), verdict.met), ("zarr-python", Met::Yes));
        assert!((best.median - 0.8).abs() < 1e-9);
        assert_eq!(
            verdict.engines["ndzarr"]
                .frames
                .map(|frames| frames.written_bytes),
            Some(7)
        );
    }

    #[test]
    fn four_rounds_decide_nothing() {
        let mut samples = Samples::new();
        samples.insert("ndzarr".into(), vec![sample(1, 0); 4]);
        samples.insert("zarrs".into(), vec![sample(10, 0); 4]);
        assert_eq!(
            judge(&samples, wall(0.7), None, Job::Reads).met,
            Met::Undecided
        );
    }

    #[test]
    fn a_peer_that_stores_less_is_no_measure() {
        let small = |stored_bytes| {
            sample(10, 0).map(|report| Report {
                stored_bytes,
                ..report
            })
        };
        let mut samples = Samples::new();
        samples.insert("ndzarr".into(), vec![small(103); 5]);
        samples.insert("zarrs".into(), vec![small(101); 5]);
        assert!(
            judge(&samples, wall(1.0), None, Job::Writes)
                .best_peer
                .is_none()
        );
        assert!(
            judge(&samples, wall(1.0), None, Job::Reads)
                .best_peer
                .is_some()
        );
    }

    #[test]
    fn a_copy_in_more_memory_is_no_measure() {
        let mut samples = Samples::new();
        samples.insert("ndzarr".into(), vec![sample(8, 0); 5]);
        let large = sample(7, 0).map(|report| Report {
            peak_bytes: (1 << 20) + 1,
            ..report
        });
        samples.insert("tensorstore".into(), vec![large; 5]);
        samples.insert("zarr-python".into(), vec![sample(10, 0); 5]);
        let to = |job| {
            judge(&samples, wall(0.8), Some(1 << 20), job)
                .best_peer
                .expect("a peer")
                .to
        };
        assert_eq!(
            (to(Job::Copies), to(Job::Writes)),
            ("zarr-python".into(), "tensorstore".into())
        );
    }
}
