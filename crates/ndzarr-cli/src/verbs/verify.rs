//! `ndzarr verify`: reports each broken key, and its fault.

use std::mem;
use std::path::{Path, PathBuf};

use clap::Args;
use ndzarr::{AnyArray, AnyNode, ErrorKind};
use serde_json::json;

use crate::arguments::sizes::plural;
use crate::arguments::{Global, is_remote};
use crate::checks::checksum;
use crate::checks::consolidated::State;
use crate::checks::damage::{Checked, Depth, Undecoded, check as check_array, of_document};
use crate::checks::finding::{Finding, Kind};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::copies::storage;
use crate::output::describe;
use crate::output::progress::Bar;
use crate::output::{Output, Paint};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array, or of a group, which is checked with everything below it.
    path: PathBuf,
    /// Look only at documents, sizes and the indices of shards.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Decode every stored chunk. This is the default.
    #[arg(long)]
    full: bool,
    /// Name keys that belong to no array or group as well, and names that no key can have.
    #[arg(long)]
    orphans: bool,
    /// Name chunks that are not stored as well, which read as the fill value; any gives the exit
    /// status 1.
    #[arg(long)]
    expect_all: bool,
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let depth = if arguments.quick {
        Depth::Quick
    } else {
        Depth::Full
    };
    let nodes = Nodes::open(&arguments.path, global)?;
    let mut n_found = nodes.findings.len() as u64;
    let mut n_units = 0;
    let mut n_undecoded = 0;
    let mut unprotected = Vec::new();
    let total = nodes
        .arrays
        .iter()
        .filter_map(describe::byte_len)
        .fold(0, u64::saturating_add);
    for finding in &nodes.findings {
        print(finding, output)?;
    }
    for (path, what) in &nodes.warnings {
        print_note(path, Kind::Warning, what, global, output)?;
    }
    for array in &nodes.arrays {
        let bar = Bar::new(global, describe::byte_len(array).unwrap_or(total));
        let checked = check_array(
            array,
            depth,
            global.workers(&[&arguments.path]),
            bar.callback(),
        )?;
        bar.finish();
        n_units += checked.n_units;
        n_found += checked.findings.len() as u64;
        if checked.n_units > 0 && !checksum::is_protected(array.spec()) {
            unprotected.push(array.path().to_owned());
        }
        for finding in &checked.findings {
            print(finding, output)?;
        }
        if arguments.expect_all {
            n_found = n_found.saturating_add(print_missing(array, output)?);
        }
        n_undecoded += checked.undecoded.n;
        print_undecoded(array, &checked.undecoded, global, output)?;
        if let Some(what) = checked.unlisted {
            print_note(array.path(), Kind::Unlisted, &what, global, output)?;
        }
        output.flush()?;
    }
    if arguments.orphans
        && let Some(root) = &nodes.root
    {
        let contents = root.contents()?;
        for key in contents.orphans.iter().chain(&contents.of_copies) {
            let finding = Finding::new(key, Kind::Orphan, "it belongs to no array or group");
            print(&finding, output)?;
            n_found += 1;
        }
        for name in &contents.unlisted {
            let quoted = format!("{name:?}");
            let mut warnings = storage(root).warnings().iter();
            if warnings.any(|what| what.contains(&quoted)) {
                continue;
            }
            let finding = Finding::new(name, Kind::Orphan, "no key can have this name");
            print(&finding, output)?;
            n_found += 1;
        }
    }
    let n_arrays = nodes.arrays.len() as u64;
    if output.json() {
        output.value(&json!({"done": {
            "arrays": n_arrays,
            "units": n_units,
            "found": n_found,
            "undecoded": n_undecoded,
            "without_checksum": unprotected,
        }}))?;
    } else if !global.quiet {
        let how = if depth == Depth::Quick {
            "looked at"
        } else {
            "decoded"
        };
        output.line(format!(
            "{how} {} of {}: {}",
            plural(
                n_units - n_undecoded.min(n_units),
                "stored value",
                "stored values"
            ),
            plural(n_arrays, "array", "arrays"),
            if n_found == 0 {
                "nothing wrong".to_owned()
            } else {
                format!("{n_found} wrong")
            },
        ))?;
        if !unprotected.is_empty() {
            let names = names(&unprotected);
            output.line(format!(
                "without a checksum, so that changed bytes may go unnoticed: {names}"
            ))?;
        }
    }
    Ok(if n_found == 0 {
        Outcome::Good
    } else {
        Outcome::Found
    })
}

/// Some of the paths.
fn names(paths: &[String]) -> String {
    let shown = |path: &String| {
        if path.is_empty() {
            "the array".to_owned()
        } else {
            path.clone()
        }
    };
    let first: Vec<String> = paths.iter().take(5).map(shown).collect();
    match paths.len() {
        n @ 6.. => format!("{} and {} more", first.join(", "), n - 5),
        _ => first.join(", "),
    }
}

/// The arrays of a place that can be opened, and findings about the documents of others.
pub(crate) struct Nodes {
    pub(crate) root: Option<AnyNode>,
    pub(crate) arrays: Vec<AnyArray>,
    pub(crate) findings: Vec<Finding>,
    /// The oddities of documents that could be read, each with the path of its node.
    warnings: Vec<(String, String)>,
}

impl Nodes {
    /// Opens the documents of the nodes, without consolidated metadata.
    pub(crate) fn open(place: &Path, global: &Global) -> Result<Self, Failure> {
        let mut nodes = Self {
            root: None,
            arrays: Vec::new(),
            findings: Vec::new(),
            warnings: Vec::new(),
        };
        let root = match global.document_options().open_node(place) {
            Ok(root) => root,
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::InvalidMetadata | ErrorKind::Corrupt
                ) =>
            {
                nodes.findings.push(of_document(&error, ""));
                return Ok(nodes);
            }
            Err(error) => return Err(error.into()),
        };
        match &root {
            AnyNode::Array(array) => nodes.arrays.push(array.clone()),
            AnyNode::Group(group) => {
                let mut groups = vec![group.clone()];
                for child in global.nodes_below(group)? {
                    let path = child.path();
                    match child.open() {
                        Ok(AnyNode::Array(array)) => nodes.arrays.push(array),
                        Ok(AnyNode::Group(group)) => groups.push(group),
                        Err(error) => nodes.findings.push(of_document(&error, &path)),
                    }
                }
                for group in &groups {
                    nodes.warn(group.path(), group.warnings());
                }
                // Each takes one more request.
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
                        // Writing them again would lose the only copy of a document.
                        State::Ahead(what) => (Kind::Document, what),
                    };
                    let name = if group.path().is_empty() {
                        "."
                    } else {
                        group.path()
                    };
                    let what = format!("its consolidated metadata: {what}");
                    nodes.findings.push(Finding::new(name, kind, what));
                }
            }
        }
        let storage = storage(&root);
        for array in mem::take(&mut nodes.arrays) {
            nodes.warn(array.path(), array.warnings());
            nodes.arrays.push(array);
        }
        // Warnings of the store become findings.
        nodes
            .warnings
            .retain(|(_, what)| !storage.warnings().contains(what));
        for what in storage.warnings() {
            nodes.findings.push(Finding::new(".", Kind::Orphan, what));
        }
        nodes.arrays = nodes
            .arrays
            .into_iter()
            .map(|array| array.with_options(global.run_options()))
            .collect();
        nodes.root = Some(root);
        Ok(nodes)
    }

    fn warn(&mut self, path: &str, warnings: &[String]) {
        self.warnings
            .extend(warnings.iter().map(|what| (path.to_owned(), what.clone())));
    }
}

/// Decodes an array and prints its faults.
pub(crate) fn check(
    array: &AnyArray,
    places: &[&Path],
    global: &Global,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let bar = Bar::new(global, describe::byte_len(array).unwrap_or(0));
    let checked = check_array(array, Depth::Full, global.workers(places), bar.callback())?;
    bar.finish();
    let Checked {
        findings,
        undecoded,
        ..
    } = checked;
    for finding in &findings {
        print(finding, output)?;
    }
    print_undecoded(array, &undecoded, global, output)?;
    Ok(if findings.is_empty() {
        Outcome::Good
    } else {
        Outcome::Found
    })
}

/// The most missing chunks that are printed; the others are counted.
const MAX_PRINTED: u64 = 100_000;

/// Prints chunks that are not stored. Returns their number, which has no limit.
fn print_missing(array: &AnyArray, output: &mut Output) -> Result<u64, Failure> {
    let units = array.units();
    // A chunk that is not listed may be in a folder that cannot be listed.
    let mut n_unlisted = 0;
    let stored = match units.stored_but(|_| n_unlisted += 1) {
        // `check_array` has reported it.
        Err(error) if error.kind() == ErrorKind::InvalidMetadata => return Ok(0),
        stored => stored?,
    };
    if n_unlisted > 0 {
        return Ok(0);
    }
    let n_all = units
        .iter()
        .grid_shape()
        .iter()
        .fold(1_u64, |n, &len| n.saturating_mul(len));
    let n_missing = n_all.saturating_sub(stored.len() as u64);
    let mut stored = stored.peekable();
    let mut n_printed = 0;
    for unit in &units {
        if n_printed == n_missing.min(MAX_PRINTED) {
            break;
        }
        if stored.next_if(|next| next.index == unit.index).is_none() {
            let finding = Finding::new(units.key(&unit.index), Kind::Missing, "it is not stored");
            print(
                &Finding {
                    chunk: Some(unit.index),
                    ..finding
                },
                output,
            )?;
            n_printed += 1;
        }
    }
    if n_printed < n_missing {
        let what = format!("{} more chunks are not stored", n_missing - n_printed);
        print(&Finding::new(array.path(), Kind::Missing, what), output)?;
    }
    Ok(n_missing)
}

/// Prints a note about the valid values of an array that have no elements to decode.
fn print_undecoded(
    array: &AnyArray,
    undecoded: &Undecoded,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    let Undecoded {
        n,
        what: Some(what),
    } = undecoded
    else {
        return Ok(());
    };
    let what = format!(
        "{} valid, and not decoded: {what}",
        plural(*n, "block is", "blocks are")
    );
    print_note(array.path(), Kind::Undecoded, &what, global, output)
}

/// Prints a note about a node that is not about damage.
fn print_note(
    path: &str,
    kind: Kind,
    what: &str,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    let path = if path.is_empty() { "." } else { path };
    if output.json() {
        return output.value(&Finding::new(path, kind, what).json());
    }
    if global.quiet {
        Ok(())
    } else {
        output.line(format!("{path}: {what}"))
    }
}

pub(crate) fn print(finding: &Finding, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        return output.value(&finding.json());
    }
    output.painted(Paint::Bad, &finding.line())?;
    output.line("")
}
