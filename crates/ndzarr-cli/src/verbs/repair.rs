//! `ndzarr repair`: removes what killed writers have left, puts damaged chunks aside, renews
//! consolidated metadata.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Args;
use ndzarr::store::{KeyName, Prefix};
use ndzarr::{AnyArray, AnyNode, Chunk, DamageReport, RunOptions};
use ndzarr_store_fs::{FsStore, Leftover};
use serde_json::json;

use crate::arguments::sizes::plural;
use crate::arguments::{Global, is_remote, local_folder};
use crate::checks::damage::{Depth, Finding, Kind, check, is_broken};
use crate::failure::{Failure, with_causes};
use crate::files::quarantine::{Quarantine, Value};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::output::describe;
use crate::output::progress::Bar;
use crate::places::below;
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
    let local = local_folder(&arguments.path);
    let mut quarantine = Quarantine::new(arguments.quarantine.clone(), local.as_deref());
    let is_chunk = |action: &Action| matches!(action, Action::Chunk { .. });
    if arguments.yes && !quarantine.is_somewhere() && actions.iter().any(is_chunk) {
        let what = "--quarantine says where damaged chunks are kept; it is a local folder";
        return Err(Failure::usage(what));
    }
    let (mut n_done, mut n_left) = (0, 0);
    for action in &actions {
        let done = match arguments.yes {
            false => None,
            // One that fails is left, and says why.
            true => Some(
                act(action, arguments, &nodes, &mut quarantine, global)
                    .unwrap_or_else(|failure| Some(failure.message().to_owned())),
            ),
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
        let store = FsStore::new(&folder);
        let left = store.leftovers_but(&Prefix::root(), |error| {
            others.push(Finding::new(".", Kind::Unreadable, with_causes(&error)));
        });
        for leftover in left.map_err(|error| Failure::new(with_causes(&error)))? {
            match leftover.key().filter(|key| may_be_key(key, nodes)) {
                Some(_) => actions.push(Action::Leftover(leftover)),
                None => {
                    let what = "it ends like a lock file, and is not that of a document or chunk";
                    others.push(Finding::new(leftover.path, Kind::Orphan, what));
                }
            }
        }
        if let Some(root) = &nodes.root {
            // Only where the document is there the copy has ended. Beside a group the note stays until
            // all arrays are copied, so that a copy that was killed can be resumed.
            let is_complete = |key: &String| {
                nodes.arrays.iter().any(|array| {
                    key.strip_prefix(&array.spec().keys.prefix)
                        .is_some_and(|name| name.starts_with(".ndzarr-"))
                })
            };
            let keys = root.contents()?.of_copies.into_iter().filter(is_complete);
            actions.extend(keys.map(|key| Action::OfCopy { key }));
        }
    }
    let depth = if arguments.quick { Depth::Quick } else { Depth::Full };
    for array in &nodes.arrays {
        let bar = Bar::new(global, describe::byte_len(array).unwrap_or(0));
        let checked = check(array, depth, global.workers(&[&arguments.path]), bar.hear())?;
        bar.finish();
        for finding in checked.findings {
            // What others may read stays.
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
            let removed = FsStore::new(folder).remove_leftover(leftover);
            let removed = removed.map_err(|error| Failure::new(with_causes(&error)))?;
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
            let group = global.open_options().open_group((root.storage(), &**path))?;
            let mut group = group.with_options(global.run());
            group.consolidate()?;
            Ok(None)
        }
    }
}

/// Copies a damaged chunk into the quarantine, and takes it out of the array: its elements become the
/// fill value. Of a shard only what is damaged goes.
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
    if quarantine.rebuilt.contains(&finding.key) {
        return Ok(None);
    }
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
        // Of the draft, whose chunks are not below the folder of the array, the whole key.
        let name = below_root(nodes, &finding.key).unwrap_or(&finding.key);
        if !is_below(name) {
            return Ok(Some("its key leads out of the folder".to_owned()));
        }
        let local = local_path(arguments, nodes, &finding.key).filter(|from| from.is_file());
        let value = match local {
            Some(path) => Value::File(path),
            None => match array.units().encoded(chunk)? {
                Some(bytes) => Value::Bytes(bytes),
                None => return Ok(Some("it is not stored any more".to_owned())),
            },
        };
        quarantine.keep(name, &value)?;
        quarantine.kept.insert(finding.key.clone());
    }
    let Some(ranges) = part else {
        array.units().erase(chunk)?;
        return Ok(None);
    };
    // All of its elements are written, so that nothing of it is decoded.
    if array.fill(&ranges[..], array.fill_value()).is_ok() {
        return Ok(None);
    }
    // The rest of the shard cannot be kept as it is stored: some of it is damaged as well.
    if let Some(why) = rebuild(array, &unit)? {
        return Ok(Some(why));
    }
    quarantine.rebuilt.insert(finding.key.clone());
    Ok(None)
}

/// Writes a shard again with what can be decoded of it, and removes it if that is nothing; the answer is
/// why it was not done.
fn rebuild(array: &AnyArray, shard: &Chunk) -> Result<Option<String>, Failure> {
    let damage = DamageReport::new();
    let run = RunOptions::default().fill_damaged(&damage);
    let sound = array.clone().with_options(run);
    let is_odd = || damage.take().iter().any(|damaged| damaged.may_be_read);
    let odd = || Some("other programs may read other parts of this shard".to_owned());
    let Ok(writer) = array.shard_writer(&shard.index) else {
        // Behind further codecs a shard is one value.
        let elements = sound.read(shard)?;
        if is_odd() {
            return Ok(odd());
        }
        array.write(shard, &elements)?;
        return Ok(None);
    };
    for chunk in writer.chunks() {
        let elements = sound.read(&chunk)?;
        if is_odd() {
            return Ok(odd());
        }
        writer.write_chunk(&chunk.index, &elements)?;
    }
    writer.finish()?;
    Ok(None)
}

/// Whether a path from the folder of the node may be that of a document or a chunk, also of an array that
/// is gone.
fn may_be_key(path: &str, nodes: &Nodes) -> bool {
    let above = nodes.root.as_ref().map_or_else(String::new, |root| below(root.path()));
    let key = format!("{above}{path}");
    let is_chunk = |array: &AnyArray| {
        let keys = &array.spec().keys;
        let name = key.strip_prefix(&keys.prefix);
        name.is_some_and(|name| keys.encoding.decode(name, array.shape().len()).is_some())
    };
    KeyName::of(&key) != KeyName::Other || nodes.arrays.iter().any(is_chunk)
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
            None => ("planned", None),
            Some(None) => ("done", None),
            Some(Some(why)) => ("left", Some(why)),
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
