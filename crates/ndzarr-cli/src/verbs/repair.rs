//! `ndzarr repair`: removes what killed writers have left, puts damaged chunks aside, renews
//! consolidated metadata.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Args;
use ndzarr::{AnyArray, AnyNode, Chunk};
use ndzarr_store_fs::{FsStore, Leftover};
use serde_json::{Value, json};

use crate::arguments::{Global, has_document, is_remote, local_folder};
use crate::contents::{Contents, below};
use crate::damage::{Depth, Finding, Kind, check, is_broken};
use crate::describe;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::Bar;
use crate::sizes::plural;
use crate::verbs::verify::{Nodes, print};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array, or of a group, which is repaired with everything below it.
    path: PathBuf,
    /// Do it. Otherwise it is only said.
    #[arg(short, long)]
    yes: bool,
    /// Look at sizes and the indices of shards alone, instead of decoding every chunk.
    #[arg(long)]
    quick: bool,
    /// Folder for damaged chunks, as they are stored. By default beside the hierarchy that the array or
    /// group is in, with `.quarantine` behind its name.
    #[arg(long, value_name = "FOLDER")]
    quarantine: Option<PathBuf>,
}

/// Something to be done.
enum Action {
    /// Remove a lock file or temporary of a killed writer.
    Leftover(Leftover),
    /// Remove what a copy has left beside an array that is complete.
    OfCopy { key: String },
    /// Put a chunk, or an inner chunk, aside.
    Chunk { array: Box<AnyArray>, finding: Finding },
    /// Write the consolidated metadata of a group again.
    Consolidate { path: String, why: String },
}

pub(crate) fn run(arguments: &Arguments, global: &Global, output: &mut Output) -> Result<Outcome, Failure> {
    let nodes = Nodes::open(&arguments.path, global)?;
    let (actions, others) = plan(arguments, &nodes, global)?;
    // What is wrong and cannot be repaired.
    others.iter().try_for_each(|finding| print(finding, output))?;
    let mut quarantine = Quarantine::of(arguments);
    let (mut n_done, mut n_left) = (0, 0);
    for action in &actions {
        let done = match arguments.yes {
            false => None,
            true => Some(act(action, arguments, &nodes, &mut quarantine, global)?),
        };
        match done {
            Some(None) => n_done += 1,
            _ => n_left += 1,
        }
        say(action, done, output)?;
    }
    if output.json() {
        output
            .value(&json!({"done": {"repaired": n_done, "left": n_left, "beyond_repair": others.len()}}))?;
    } else if !global.quiet {
        let n = plural(actions.len() as u64, "repair", "repairs");
        let beyond = match others.len() {
            0 => String::new(),
            n => format!("; {n} beyond repair"),
        };
        output.line(match (arguments.yes, actions.is_empty()) {
            (_, true) => format!("nothing to repair{beyond}"),
            (false, false) => format!("{n} to be made with --yes{beyond}"),
            (true, false) => format!("{n_done} of {n} made{beyond}"),
        })?;
    }
    Ok(if n_left == 0 && others.is_empty() { Outcome::Good } else { Outcome::Found })
}

fn plan(
    arguments: &Arguments,
    nodes: &Nodes,
    global: &Global,
) -> Result<(Vec<Action>, Vec<Finding>), Failure> {
    let mut actions = Vec::new();
    let mut others: Vec<Finding> =
        nodes.findings.iter().filter(|finding| finding.kind != Kind::Stale).cloned().collect();
    if let Some(folder) = local_folder(&arguments.path) {
        let left = FsStore::new(&folder).leftovers(&ndzarr::store::Prefix::root()).map_err(Failure::new)?;
        actions.extend(left.into_iter().map(Action::Leftover));
        if let Some(root) = &nodes.root {
            let contents = Contents::of(root, &global.open_options())?;
            // Only where the document is there the copy has ended. Beside a group the note stays until
            // all arrays are copied, so that a copy that was killed can be resumed.
            let is_complete = |key: &String| {
                nodes.arrays.iter().any(|array| {
                    key.strip_prefix(&array.spec().keys.prefix)
                        .is_some_and(|name| name.starts_with(".ndzarr-"))
                })
            };
            let keys = contents.of_copies.into_iter().filter(is_complete);
            actions.extend(keys.map(|key| Action::OfCopy { key }));
        }
    }
    let depth = if arguments.quick { Depth::Quick } else { Depth::Full };
    for array in &nodes.arrays {
        let bar = Bar::new(global, describe::byte_len(array).unwrap_or(0));
        let checked = check(array, depth, global.workers(&[&arguments.path]), bar.hear())?;
        bar.finish();
        for finding in checked.findings {
            match finding.kind {
                Kind::Damaged if finding.chunk.is_some() => {
                    actions.push(Action::Chunk { array: Box::new(array.clone()), finding });
                }
                _ => others.push(finding),
            }
        }
    }
    for finding in nodes.findings.iter().filter(|finding| finding.kind == Kind::Stale) {
        let path = if finding.key == "." { String::new() } else { finding.key.clone() };
        actions.push(Action::Consolidate { path, why: finding.what.clone() });
    }
    Ok((actions, others))
}

/// Does it; the answer is why it was not done.
fn act(
    action: &Action,
    arguments: &Arguments,
    nodes: &Nodes,
    quarantine: &mut Quarantine,
    global: &Global,
) -> Result<Option<String>, Failure> {
    match action {
        Action::Leftover(leftover) => {
            let Some(folder) = local_folder(&arguments.path) else { return Ok(Some("not local".to_owned())) };
            let removed = FsStore::new(folder).remove_leftover(leftover).map_err(Failure::new)?;
            Ok((!removed).then(|| "a writer holds it".to_owned()))
        }
        Action::OfCopy { key } => {
            let Some(path) = local_path(arguments, nodes, key) else {
                return Ok(Some("not local".to_owned()));
            };
            fs::remove_file(&path).map_err(|error| Failure::of_file(&path, &error))?;
            // A folder that is not empty stays.
            let folders = path.ancestors().skip(1);
            let is_temporary = |folder: &&Path| {
                folder.ancestors().any(|it| {
                    it.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".ndzarr-temporary"))
                })
            };
            for folder in folders.take_while(is_temporary) {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
            Ok(None)
        }
        Action::Chunk { array, finding } => put_aside(array, finding, arguments, nodes, quarantine),
        Action::Consolidate { path, .. } => {
            let Some(AnyNode::Group(root)) = &nodes.root else {
                return Ok(Some("it is not a group".to_owned()));
            };
            let mut group = global.open_options().open_group((root.storage(), &**path))?;
            group.consolidate()?;
            Ok(None)
        }
    }
}

/// Copies a damaged chunk into the quarantine, and takes it out of the array: its elements become the
/// fill value. Of a shard only the damaged inner chunk goes.
fn put_aside(
    array: &AnyArray,
    finding: &Finding,
    arguments: &Arguments,
    nodes: &Nodes,
    quarantine: &mut Quarantine,
) -> Result<Option<String>, Failure> {
    let Some(chunk) = &finding.chunk else { return Ok(Some("its place is not known".to_owned())) };
    let Some(unit) = unit_at(array, chunk) else {
        return Ok(Some("it is outside of the array".to_owned()));
    };
    let part = inner_part(array, &unit.ranges, &finding.inner_chunk);
    let mut looked_at = unit.clone();
    if let Some(part) = &part {
        (looked_at.ranges, looked_at.overlap) = (part.clone(), part.clone());
    }
    if !is_broken(array, &looked_at, &finding.inner_chunk)? {
        return Ok(Some("it has been written again meanwhile".to_owned()));
    }
    // A shard is kept as it was before its first inner chunk was taken out.
    if !quarantine.kept.contains(&finding.key) {
        if let Some(why) = quarantine.keep(array, &finding.key, chunk, arguments, nodes)? {
            return Ok(Some(why));
        }
        quarantine.kept.insert(finding.key.clone());
    }
    match part {
        // All of its elements are written, so that nothing of it is decoded.
        Some(ranges) => array.fill(&ranges[..], array.fill_value())?,
        None => array.units().erase(chunk)?,
    }
    Ok(None)
}

/// The unit with this index.
fn unit_at(array: &AnyArray, index: &[u64]) -> Option<Chunk> {
    // As far as one step reaches: with 32 bits, not to the end of every grid.
    const STEP: usize = usize::MAX / 2;
    let mut units = array.units().iter();
    let lengths = units.grid_shape();
    let mut number = index
        .iter()
        .zip(&lengths)
        .try_fold(0_u64, |number, (at, n)| number.checked_mul(*n)?.checked_add(*at))?;
    while number > STEP as u64 {
        units.nth(STEP - 1)?;
        number -= STEP as u64;
    }
    units.get(usize::try_from(number).ok()?).filter(|unit| unit.index == index)
}

/// Where damaged chunks are kept.
struct Quarantine {
    folder: Option<PathBuf>,
    /// The keys whose values are in it.
    kept: BTreeSet<String>,
}

impl Quarantine {
    fn of(arguments: &Arguments) -> Self {
        let beside = || local_folder(&arguments.path).map(|folder| beside(&folder));
        Self { folder: arguments.quarantine.clone().or_else(beside), kept: BTreeSet::new() }
    }

    /// Copies the value of a key; the answer is why it was not done.
    fn keep(
        &self,
        array: &AnyArray,
        key: &str,
        chunk: &[u64],
        arguments: &Arguments,
        nodes: &Nodes,
    ) -> Result<Option<String>, Failure> {
        let Some(folder) = &self.folder else {
            return Err(Failure::usage(
                "--quarantine says where damaged chunks are kept; it is a local folder",
            ));
        };
        // Of the draft, whose chunks are not below the folder of the array, the whole key.
        let name = below_root(nodes, key).unwrap_or(key);
        if !is_below(name) {
            return Ok(Some("its key leads out of the folder".to_owned()));
        }
        let (mut file, path) = new_file(folder, name)?;
        let failed = |error: std::io::Error| Failure::of_file(&path, &error);
        match local_path(arguments, nodes, key).filter(|from| from.is_file()) {
            Some(from) => {
                let mut value = fs::File::open(&from).map_err(|error| Failure::of_file(&from, &error))?;
                std::io::copy(&mut value, &mut file).map_err(failed)?;
            }
            None => match array.units().encoded(chunk)? {
                Some(value) => file.write_all(&value).map_err(failed)?,
                None => return Ok(Some("it is not stored any more".to_owned())),
            },
        }
        // Before the value is removed its copy is on the disk.
        file.sync_all().map_err(failed)?;
        Ok(None)
    }
}

/// The part of the array that an inner chunk is; `None` for the whole value.
fn inner_part(array: &AnyArray, shard: &[Range<u64>], inner_chunk: &[Vec<u64>]) -> Option<Vec<Range<u64>>> {
    let levels = array.spec().inner_chunks();
    let mut ranges = shard.to_vec();
    let mut found = false;
    for (index, (shape, _)) in inner_chunk.iter().zip(&levels) {
        for ((range, at), n) in ranges.iter_mut().zip(index).zip(shape) {
            let start = range.start + at * n;
            *range = start..(start + n).min(range.end);
        }
        found = true;
    }
    found.then_some(ranges)
}

/// The folder beside a folder, or beside the hierarchy that it is in: N5 would take a folder inside for
/// a group.
fn beside(folder: &Path) -> PathBuf {
    // Without links and `..`.
    let real = folder.canonicalize().or_else(|_| std::path::absolute(folder));
    let real = real.unwrap_or_else(|_| folder.to_owned());
    let above = real.ancestors().filter(|above| above.file_name().is_some() && has_document(above));
    let root = above.last().unwrap_or(&real);
    let mut name = root.file_name().unwrap_or_default().to_owned();
    name.push(".quarantine");
    root.with_file_name(name).join(real.strip_prefix(root).unwrap_or(Path::new("")))
}

/// A file that is not there yet.
fn new_file(folder: &Path, name: &str) -> Result<(fs::File, PathBuf), Failure> {
    let path = folder.join(name);
    let above = path.parent().unwrap_or(folder);
    fs::create_dir_all(above).map_err(|error| Failure::of_file(above, &error))?;
    for number in 0..10_000 {
        let path = match number {
            0 => path.clone(),
            number => PathBuf::from(format!("{}.{number}", path.display())),
        };
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::of_file(&path, &error)),
        }
    }
    Err(Failure::new(format_args!("{} has too many versions", path.display())))
}

/// A key from the folder of the node.
fn below_root<'k>(nodes: &Nodes, key: &'k str) -> Option<&'k str> {
    let prefix = below(nodes.root.as_ref()?.path());
    key.strip_prefix(&prefix).filter(|rest| is_below(rest))
}

/// Whether a key leads to a file below a folder.
fn is_below(key: &str) -> bool {
    !key.split('/').any(|name| matches!(name, "" | "." | ".."))
}

/// The file of a key, where the place is a folder.
fn local_path(arguments: &Arguments, nodes: &Nodes, key: &str) -> Option<PathBuf> {
    if is_remote(&arguments.path) {
        return None;
    }
    Some(local_folder(&arguments.path)?.join(below_root(nodes, key)?))
}

fn say(action: &Action, done: Option<Option<String>>, output: &mut Output) -> Result<(), Failure> {
    let (name, key, what) = match action {
        Action::Leftover(leftover) => {
            ("remove", leftover.path.clone(), "left by a writer that was killed".to_owned())
        }
        Action::OfCopy { key } => ("remove", key.clone(), "left by a copy that has ended".to_owned()),
        Action::Chunk { finding, .. } => ("quarantine", finding.key.clone(), finding.line()),
        Action::Consolidate { path, why } => ("consolidate", path.clone(), why.clone()),
    };
    if output.json() {
        let (status, why) = match done {
            None => ("planned", Value::Null),
            Some(None) => ("done", Value::Null),
            Some(Some(why)) => ("left", why.into()),
        };
        return output
            .value(&json!({"action": name, "key": key, "what": what, "status": status, "why": why}));
    }
    let key = if key.is_empty() { "." } else { &key };
    let what = what.strip_prefix(&format!("{key}: ")).unwrap_or(&what);
    output.line(match done {
        None => format!("would {name} {key}: {what}"),
        Some(None) => format!("{name} {key}: {what}"),
        Some(Some(why)) => format!("left {key}: {why}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quarantine_is_beside_the_hierarchy() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        let setup = root.join("c.n5/setup0/timepoint0");
        fs::create_dir_all(&setup).expect("a folder");
        assert_eq!(beside(&setup), root.join("c.n5/setup0/timepoint0.quarantine"));
        fs::write(root.join("c.n5/attributes.json"), "{}").expect("a file");
        // The folder between has no document, but N5 takes it for a group.
        let inside = root.join("c.n5.quarantine/setup0/timepoint0");
        assert_eq!(beside(&setup), inside);
        assert_eq!(beside(&setup.join("../timepoint0")), inside);
        assert_eq!(beside(&root.join("c.n5/setup0/..")), root.join("c.n5.quarantine"));
        assert_eq!(beside(Path::new("/data/a.zarr/")), Path::new("/data/a.zarr.quarantine"));
    }
}
