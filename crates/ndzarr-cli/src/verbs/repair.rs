//! `ndzarr repair`: removes leftovers of killed writers, moves damaged chunks to a quarantine,
//! renews consolidated metadata.

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
use crate::checks::damage::{Depth, check, is_broken};
use crate::checks::finding::{Finding, Kind};
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
    /// Look only at sizes and the indices of shards, instead of decoding every chunk.
    #[arg(long)]
    quick: bool,
    /// Folder for damaged chunks, as they are stored. By default next to the hierarchy that the
    /// array or group is in, with `.quarantine` after its name.
    #[arg(long, value_name = "FOLDER")]
    quarantine: Option<PathBuf>,
}

/// A repair.
enum Action {
    /// Remove a lock file or temporary of a killed writer.
    Leftover(Leftover),
    /// Remove a file that a copy has left next to a complete array.
    OfCopy { key: String },
    /// Move a chunk, or an inner chunk, to the quarantine.
    Chunk {
        array: Box<AnyArray>,
        finding: Finding,
    },
    /// Write the consolidated metadata of a group again.
    Consolidate { path: String, why: String },
}

/// The state of an action.
enum Status {
    /// It needs `--yes`.
    Planned,
    Done,
    /// It was not done, for this reason.
    Left(String),
}

impl Status {
    fn left(reason: &str) -> Self {
        Self::Left(reason.to_owned())
    }
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let nodes = Nodes::open(&arguments.path, global)?;
    let (actions, others) = plan(arguments, &nodes, global)?;
    // These cannot be repaired.
    for finding in &others {
        print(finding, output)?;
    }
    let local = local_folder(&arguments.path);
    let mut quarantine = Quarantine::new(arguments.quarantine.clone(), local.as_deref());
    let is_chunk = |action: &Action| matches!(action, Action::Chunk { .. });
    if arguments.yes && !quarantine.has_folder() && actions.iter().any(is_chunk) {
        let what = "--quarantine says where damaged chunks are kept; it is a local folder";
        return Err(Failure::usage(what));
    }
    let mut n_done = 0;
    let mut n_left = 0;
    for action in &actions {
        let status = if arguments.yes {
            match perform(action, arguments, &nodes, &mut quarantine, global) {
                Ok(status) => status,
                // The other actions go on.
                Err(failure) => Status::Left(failure.message().to_owned()),
            }
        } else {
            Status::Planned
        };
        match status {
            Status::Done => n_done += 1,
            Status::Planned | Status::Left(_) => n_left += 1,
        }
        print_action(action, status, output)?;
    }
    if output.json() {
        output.value(
            &json!({"done": {"repaired": n_done, "left": n_left, "beyond_repair": others.len()}}),
        )?;
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
    Ok(if n_left == 0 && others.is_empty() {
        Outcome::Good
    } else {
        Outcome::Found
    })
}

/// The repairs to be made, and the findings that cannot be repaired.
fn plan(
    arguments: &Arguments,
    nodes: &Nodes,
    global: &Global,
) -> Result<(Vec<Action>, Vec<Finding>), Failure> {
    let mut actions = Vec::new();
    let mut others: Vec<Finding> = nodes
        .findings
        .iter()
        .filter(|finding| finding.kind != Kind::Stale)
        .cloned()
        .collect();
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
            // The copy of an array has ended if the array has its document. The note of a group
            // stays until all arrays are copied, so that a killed copy can be resumed.
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
    let depth = if arguments.quick {
        Depth::Quick
    } else {
        Depth::Full
    };
    for array in &nodes.arrays {
        let bar = Bar::new(global, describe::byte_len(array).unwrap_or(0));
        let checked = check(
            array,
            depth,
            global.workers(&[&arguments.path]),
            bar.callback(),
        )?;
        bar.finish();
        for finding in checked.findings {
            // Chunks that others may read stay.
            match finding.kind {
                Kind::Damaged if finding.chunk.is_some() => {
                    actions.push(Action::Chunk {
                        array: Box::new(array.clone()),
                        finding,
                    });
                }
                _ => others.push(finding),
            }
        }
    }
    for finding in nodes
        .findings
        .iter()
        .filter(|finding| finding.kind == Kind::Stale)
    {
        let path = if finding.key == "." {
            String::new()
        } else {
            finding.key.clone()
        };
        actions.push(Action::Consolidate {
            path,
            why: finding.what.clone(),
        });
    }
    Ok((actions, others))
}

/// Performs an action.
fn perform(
    action: &Action,
    arguments: &Arguments,
    nodes: &Nodes,
    quarantine: &mut Quarantine,
    global: &Global,
) -> Result<Status, Failure> {
    match action {
        Action::Leftover(leftover) => {
            let Some(folder) = local_folder(&arguments.path) else {
                return Ok(Status::left("not local"));
            };
            let is_removed = FsStore::new(folder).remove_leftover(leftover);
            let is_removed = is_removed.map_err(|error| Failure::new(with_causes(&error)))?;
            Ok(if is_removed {
                Status::Done
            } else {
                Status::left("a writer holds it")
            })
        }
        Action::OfCopy { key } => {
            let Some(path) = local_path(arguments, nodes, key) else {
                return Ok(Status::left("not local"));
            };
            fs::remove_file(&path).map_err(|error| Failure::of_file(&path, &error))?;
            // A folder that is not empty stays.
            let folders = path.ancestors().skip(1);
            let is_temporary = |folder: &&Path| {
                folder
                    .ancestors()
                    .filter_map(Path::file_name)
                    .any(|name| name.to_string_lossy().starts_with(".ndzarr-temporary"))
            };
            for folder in folders.take_while(is_temporary) {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
            Ok(Status::Done)
        }
        Action::Chunk { array, finding } => {
            quarantine_chunk(array, finding, arguments, nodes, quarantine)
        }
        Action::Consolidate { path, .. } => {
            let Some(AnyNode::Group(root)) = &nodes.root else {
                return Ok(Status::left("it is not a group"));
            };
            let group = global
                .open_options()
                .open_group((root.storage(), &**path))?;
            let mut group = group.with_options(global.run_options());
            group.consolidate()?;
            Ok(Status::Done)
        }
    }
}

/// Copies a damaged chunk into the quarantine, and removes it from the array: its elements become
/// the fill value. Only the damaged inner chunks of a shard are removed.
fn quarantine_chunk(
    array: &AnyArray,
    finding: &Finding,
    arguments: &Arguments,
    nodes: &Nodes,
    quarantine: &mut Quarantine,
) -> Result<Status, Failure> {
    let Some(chunk) = &finding.chunk else {
        return Ok(Status::left("its place is not known"));
    };
    let Some(unit) = unit_at(array, chunk) else {
        return Ok(Status::left("it is outside of the array"));
    };
    if quarantine.rebuilt.contains(&finding.key) {
        return Ok(Status::Done);
    }
    let part = inner_part(array, &unit.ranges, &finding.inner_chunk);
    let mut to_check = unit.clone();
    if let Some(part) = &part {
        to_check.ranges.clone_from(part);
        to_check.overlap.clone_from(part);
    }
    if !is_broken(array, &to_check, &finding.inner_chunk)? {
        return Ok(Status::left("it has been written again meanwhile"));
    }
    // A shard is stored as it was before its first inner chunk was removed.
    if !quarantine.keys.contains(&finding.key) {
        // Chunks of the draft are not below the folder of the array, and have the whole key as a
        // name.
        let name = below_root(nodes, &finding.key).unwrap_or(&finding.key);
        if !is_below(name) {
            return Ok(Status::left("its key leads out of the folder"));
        }
        let local = local_path(arguments, nodes, &finding.key).filter(|from| from.is_file());
        let value = match local {
            Some(path) => Value::File(path),
            None => match array.units().encoded(chunk)? {
                Some(bytes) => Value::Bytes(bytes),
                None => return Ok(Status::left("it is not stored any more")),
            },
        };
        quarantine.store(name, &value)?;
        quarantine.keys.insert(finding.key.clone());
    }
    let Some(ranges) = part else {
        array.units().erase(chunk)?;
        return Ok(Status::Done);
    };
    // This writes all elements of the inner chunk, so that it is not decoded.
    if array.fill(&ranges[..], array.fill_value()).is_ok() {
        return Ok(Status::Done);
    }
    // The rest of the shard cannot stay as it is stored: other parts are damaged as well.
    let status = rebuild(array, &unit)?;
    if matches!(status, Status::Done) {
        quarantine.rebuilt.insert(finding.key.clone());
    }
    Ok(status)
}

/// Writes a shard again with the elements that can be decoded, and removes it if there are none.
fn rebuild(array: &AnyArray, shard: &Chunk) -> Result<Status, Failure> {
    let damage = DamageReport::new();
    let run = RunOptions::default().fill_damaged(&damage);
    let reader = array.clone().with_options(run);
    let others_may_read = || damage.take().iter().any(|damaged| damaged.may_be_read);
    let left = || {
        Ok(Status::left(
            "other programs may read other parts of this shard",
        ))
    };
    let Ok(writer) = array.shard_writer(&shard.index) else {
        // A shard that further codecs encode is one value.
        let elements = reader.read(shard)?;
        if others_may_read() {
            return left();
        }
        array.write(shard, &elements)?;
        return Ok(Status::Done);
    };
    for chunk in writer.chunks() {
        let elements = reader.read(&chunk)?;
        if others_may_read() {
            return left();
        }
        writer.write_chunk(&chunk.index, &elements)?;
    }
    writer.finish()?;
    Ok(Status::Done)
}

/// True if a path from the folder of the node may be that of a document or a chunk, even of an
/// array that was removed.
fn may_be_key(path: &str, nodes: &Nodes) -> bool {
    let above = nodes
        .root
        .as_ref()
        .map_or_else(String::new, |root| below(root.path()));
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
    // `nth` takes a usize, which may have 32 bits: less than the number of units of some grids.
    const STEP: usize = usize::MAX / 2;
    let mut units = array.units().iter();
    let lengths = units.grid_shape();
    let mut number = index
        .iter()
        .zip(&lengths)
        .try_fold(0_u64, |number, (at, n)| {
            number.checked_mul(*n)?.checked_add(*at)
        })?;
    while number > STEP as u64 {
        units.nth(STEP - 1)?;
        number -= STEP as u64;
    }
    units
        .get(usize::try_from(number).ok()?)
        .filter(|unit| unit.index == index)
}

/// The ranges of an inner chunk in the array; `None` for the whole value.
fn inner_part(
    array: &AnyArray,
    shard: &[Range<u64>],
    inner_chunk: &[Vec<u64>],
) -> Option<Vec<Range<u64>>> {
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

/// The path of a key from the folder of the node.
fn below_root<'k>(nodes: &Nodes, key: &'k str) -> Option<&'k str> {
    let prefix = below(nodes.root.as_ref()?.path());
    key.strip_prefix(&prefix).filter(|rest| is_below(rest))
}

/// True if a key leads to a file below a folder.
fn is_below(key: &str) -> bool {
    !key.split('/').any(|name| matches!(name, "" | "." | ".."))
}

/// The file of a key, if the place is a local folder.
fn local_path(arguments: &Arguments, nodes: &Nodes, key: &str) -> Option<PathBuf> {
    if is_remote(&arguments.path) {
        return None;
    }
    Some(local_folder(&arguments.path)?.join(below_root(nodes, key)?))
}

fn print_action(action: &Action, status: Status, output: &mut Output) -> Result<(), Failure> {
    let (name, key, what) = match action {
        Action::Leftover(leftover) => (
            "remove",
            leftover.path.clone(),
            "left by a writer that was killed".to_owned(),
        ),
        Action::OfCopy { key } => (
            "remove",
            key.clone(),
            "left by a copy that has ended".to_owned(),
        ),
        Action::Chunk { finding, .. } => ("quarantine", finding.key.clone(), finding.line()),
        Action::Consolidate { path, why } => ("consolidate", path.clone(), why.clone()),
    };
    if output.json() {
        let (status, why) = match status {
            Status::Planned => ("planned", None),
            Status::Done => ("done", None),
            Status::Left(why) => ("left", Some(why)),
        };
        return output.value(
            &json!({"action": name, "key": key, "what": what, "status": status, "why": why}),
        );
    }
    let key = if key.is_empty() { "." } else { &key };
    let what = what.strip_prefix(&format!("{key}: ")).unwrap_or(&what);
    output.line(match status {
        Status::Planned => format!("would {name} {key}: {what}"),
        Status::Done => format!("{name} {key}: {what}"),
        Status::Left(why) => format!("left {key}: {why}"),
    })
}
