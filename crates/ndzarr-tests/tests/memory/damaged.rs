//! Damaged files: every prefix and every single flipped bit of the stored files of `testdata/` ends
//! in an error or in values, without a panic, a hang, or memory beyond what the array declares.
//!
//! All of them for one case of each writer, chain of codecs and layout, and for one document of
//! each kind; a seeded sample of the others. Two things are more than that: the beginning of a
//! chunk is never read as a whole one, and where a checksum covers a bit, flipping it is an error.

mod checksums;
mod damage;
mod intact_prefixes;
mod probe;
mod select;

use std::fmt::Write;

use damage::Damage;
use ndzarr_testkit::{Random, in_own_process};
use probe::Probe;
use select::Target;

/// Files up to this size are damaged everywhere, larger ones in a sample.
const EVERYWHERE: usize = 2048;

#[test]
fn every_codec_and_document_is_damaged() {
    assert_eq!(select::left_out(), [""; 0]);
}

#[test]
fn every_prefix_of_chunks_made_by_hand() {
    in_own_process!();
    run(select::chunks_by_hand, |_, len| {
        (0..len.min(EVERYWHERE)).map(Damage::Prefix).collect()
    });
}

#[test]
fn one_document_of_each_kind() {
    in_own_process!();
    run(select::documents, Damage::everywhere);
}

#[test]
fn a_sample_of_all_files() {
    in_own_process!();
    run(select::all, |target, len| {
        Damage::sample(&mut Random::seeded(&target.to_string()), len, 2)
    });
}

fn run(select: fn() -> Vec<Target>, damages: impl Fn(&Target, usize) -> Vec<Damage>) {
    let targets = select();
    assert!(!targets.is_empty(), "nothing to damage");
    let mut n_reads = 0;
    let mut failures = Vec::new();
    let mut n_more_failures = 0;
    for target in &targets {
        let probe = Probe::new(target);
        let damages = damages(target, probe.len());
        n_reads += damages.len();
        let mut of_target = damages.into_iter().filter_map(|damage| {
            let error = probe.check(damage).err()?;
            Some(format!("{target}: {damage}: {error}"))
        });
        // Some failures of each file tell more than all of the first.
        failures.extend(of_target.by_ref().take(3));
        n_more_failures += of_target.count();
    }
    let mut shown = String::new();
    for failure in failures.iter().take(60) {
        writeln!(shown, "{failure}").expect("a text grows");
    }
    assert!(
        failures.is_empty(),
        "{} of {n_reads} reads of {} files:\n{shown}",
        failures.len() + n_more_failures,
        targets.len()
    );
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn one_chunk_of_each_kind() {
        in_own_process!();
        run(select::chunks, Damage::everywhere);
    }
}
