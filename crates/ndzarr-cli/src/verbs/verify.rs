//! `ndzarr verify`: names each broken key, and what is wrong with it.

use std::path::{Path, PathBuf};

use clap::Args;
use ndzarr::{AnyArray, AnyNode, ConsolidatedUse, ErrorKind};
use serde_json::json;

use crate::arguments::{Global, is_remote};
use crate::consolidated::State;
use crate::contents::Contents;
use crate::damage::{Checked, Depth, Finding, Kind, check as check_array};
use crate::failure::{Failure, chain};
use crate::outcome::Outcome;
use crate::output::{Output, Paint};
use crate::progress::Bar;
use crate::sizes::plural;
use crate::{checksum, describe};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array, or of a group, which is checked with everything below it.
    path: PathBuf,
    /// Look at documents, sizes and the indices of shards alone.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Decode every stored chunk. This is the default.
    #[arg(long)]
    full: bool,
    /// Name keys that belong to no array or group as well.
    #[arg(long)]
    orphans: bool,
    /// Name chunks that are not stored as well, which read as the fill value; any gives the exit status 1.
    #[arg(long)]
    expect_all: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> Result<Outcome, Failure> {
    let depth = if arguments.quick { Depth::Quick } else { Depth::Full };
    let nodes = Nodes::open(&arguments.path, global)?;
    let mut found = nodes.findings.clone();
    let mut n_units = 0;
    let mut unprotected = Vec::new();
    let total = nodes.arrays.iter().filter_map(describe::byte_len).fold(0, u64::saturating_add);
    for finding in &nodes.findings {
        print(finding, output)?;
    }
    for array in &nodes.arrays {
        let bar = Bar::new(global, describe::byte_len(array).unwrap_or(total));
        let mut checked = check_array(array, depth, global.workers(&[&arguments.path]), bar.hear())?;
        bar.finish();
        if arguments.expect_all {
            checked.findings.extend(missing(array)?);
            checked.findings.sort();
        }
        n_units += checked.n_units;
        if checked.n_units > 0 && !checksum::is_protected(array.spec()) {
            unprotected.push(array.path().to_owned());
        }
        checked.findings.iter().try_for_each(|finding| print(finding, output))?;
        output.flush()?;
        found.extend(checked.findings);
    }
    if arguments.orphans
        && let Some(root) = &nodes.root
    {
        let contents = Contents::of(root, &global.open_options())?;
        for key in contents.orphans.iter().chain(&contents.of_copies) {
            let finding = Finding::new(key, Kind::Orphan, "it belongs to no array or group");
            print(&finding, output)?;
            found.push(finding);
        }
    }
    let n_arrays = nodes.arrays.len() as u64;
    if output.json() {
        output.value(&json!({"done": {
            "arrays": n_arrays,
            "units": n_units,
            "found": found.len(),
            "without_checksum": unprotected,
        }}))?;
    } else if !global.quiet {
        let how = if depth == Depth::Quick { "looked at" } else { "decoded" };
        output.line(format!(
            "{how} {} of {}: {}",
            plural(n_units, "stored value", "stored values"),
            plural(n_arrays, "array", "arrays"),
            if found.is_empty() { "nothing wrong".to_owned() } else { format!("{} wrong", found.len()) },
        ))?;
        if !unprotected.is_empty() {
            let names = names(&unprotected);
            output.line(format!("without a checksum, so that changed bytes may go unnoticed: {names}"))?;
        }
    }
    Ok(if found.is_empty() { Outcome::Good } else { Outcome::Found })
}

/// Some of the paths.
fn names(paths: &[String]) -> String {
    let shown = |path: &String| if path.is_empty() { "the array".to_owned() } else { path.clone() };
    let first: Vec<String> = paths.iter().take(5).map(shown).collect();
    match paths.len() {
        n @ 6.. => format!("{} and {} more", first.join(", "), n - 5),
        _ => first.join(", "),
    }
}

/// The arrays of a place that can be opened, and what is wrong with the documents of others.
pub(crate) struct Nodes {
    pub(crate) root: Option<AnyNode>,
    pub(crate) arrays: Vec<AnyArray>,
    pub(crate) findings: Vec<Finding>,
}

impl Nodes {
    /// By the documents of the nodes, whatever consolidated metadata say about them.
    pub(crate) fn open(place: &Path, global: &Global) -> Result<Self, Failure> {
        let mut nodes = Self { root: None, arrays: Vec::new(), findings: Vec::new() };
        let options = global.open_options().consolidated(ConsolidatedUse::Ignore);
        let root = match options.open_node(place) {
            Ok(root) => root,
            Err(error) if error.kind() == ErrorKind::InvalidMetadata => {
                nodes.findings.push(of_document(&error, ""));
                return Ok(nodes);
            }
            Err(error) => return Err(error.into()),
        };
        match &root {
            AnyNode::Array(array) => nodes.arrays.push(array.clone()),
            AnyNode::Group(group) => {
                let below = match group.walk() {
                    // A web server does not list, but there may be consolidated metadata.
                    Err(error) if error.kind() == ErrorKind::Unsupported => {
                        global.open_options().open_group(place)?.walk()?
                    }
                    below => below?,
                };
                let mut groups = vec![group.clone()];
                for child in below {
                    let path = child.path();
                    match child.open() {
                        Ok(AnyNode::Array(array)) => nodes.arrays.push(array),
                        Ok(AnyNode::Group(group)) => groups.push(group),
                        Err(error) => nodes.findings.push(of_document(&error, &path)),
                    }
                }
                // Each asks for one more document.
                groups.truncate(if is_remote(place) { 1 } else { usize::MAX });
                let is_broken = !nodes.findings.is_empty();
                for group in groups {
                    let state = match State::of(&group, &global.open_options()) {
                        Err(_) if is_broken || is_remote(place) => State::Absent,
                        state => state?,
                    };
                    let (kind, what) = match state {
                        State::Absent | State::Fresh => continue,
                        State::Stale(what) => (Kind::Stale, what),
                        // Written again, they would lose it.
                        State::Ahead(what) => (Kind::Document, what),
                    };
                    let name = if group.path().is_empty() { "." } else { group.path() };
                    let what = format!("its consolidated metadata: {what}");
                    nodes.findings.push(Finding::new(name, kind, what));
                }
            }
        }
        nodes.arrays = nodes.arrays.into_iter().map(|array| array.with_options(global.run())).collect();
        nodes.root = Some(root);
        Ok(nodes)
    }
}

fn of_document(error: &ndzarr::Error, path: &str) -> Finding {
    Finding::new(error.key().unwrap_or(path), Kind::Document, chain(error))
}

/// Decodes an array and prints what is wrong.
pub(crate) fn check(
    array: &AnyArray,
    places: &[&Path],
    global: &Global,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let bar = Bar::new(global, describe::byte_len(array).unwrap_or(0));
    let Checked { findings, .. } = check_array(array, Depth::Full, global.workers(places), bar.hear())?;
    bar.finish();
    findings.iter().try_for_each(|finding| print(finding, output))?;
    Ok(if findings.is_empty() { Outcome::Good } else { Outcome::Found })
}

fn missing(array: &AnyArray) -> Result<Vec<Finding>, Failure> {
    let units = array.units();
    let mut stored = units.stored()?.peekable();
    let mut findings = Vec::new();
    for unit in &units {
        if stored.next_if(|there| there.index == unit.index).is_none() {
            let finding = Finding::new(units.key(&unit.index), Kind::Missing, "it is not stored");
            findings.push(Finding { chunk: Some(unit.index), ..finding });
        }
    }
    Ok(findings)
}

pub(crate) fn print(finding: &Finding, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        return output.value(&finding.json());
    }
    output.painted(Paint::Bad, &finding.line())?;
    output.line("")
}
