//! Writers that are killed at any moment.

use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ndzarr::Array;
use ndzarr::ndarray::Array1;
use ndzarr_testkit::Random;
use serde_json::json;

use crate::common::foreign_writer::write_in_place;
use crate::common::layout::{Layout, leftovers, open, read, write};
use crate::common::process::Worker;
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture, until_lost};

/// The write that is repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// The whole unit.
    Overwrite(Layout),
    /// One half of it, and then the other.
    Update(Layout),
    /// The whole shard, by a `ShardWriter`.
    Put(Layout),
    /// Two attributes of an array.
    Attributes(Layout),
    /// A whole raw v3 chunk, by a foreign writer that writes into its file: a kill tears it.
    InPlace,
}

const ELEMENTS: u64 = 16 << 10;

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overwrite(layout) => write!(f, "overwrite:{layout}"),
            Self::Update(layout) => write!(f, "update:{layout}"),
            Self::Put(layout) => write!(f, "put:{layout}"),
            Self::Attributes(layout) => write!(f, "attributes:{layout}"),
            Self::InPlace => write!(f, "in-place:{}", Layout::V3),
        }
    }
}

impl Kind {
    fn all() -> Vec<Self> {
        let units = Layout::ALL
            .into_iter()
            .flat_map(|layout| [Self::Overwrite(layout), Self::Update(layout)]);
        let shards = Layout::ALL
            .into_iter()
            .filter(|layout| layout.has_shards())
            .map(Self::Put);
        units
            .chain(shards)
            .chain(Layout::FORMATS.into_iter().map(Self::Attributes))
            .collect()
    }

    pub(crate) fn parse(name: &str) -> Outcome<Self> {
        let (what, layout) = name.split_once(':').ok_or("a kind has a colon")?;
        let layout = Layout::parse(layout)?;
        match what {
            "overwrite" => Ok(Self::Overwrite(layout)),
            "update" => Ok(Self::Update(layout)),
            "put" => Ok(Self::Put(layout)),
            "attributes" => Ok(Self::Attributes(layout)),
            "in-place" => Ok(Self::InPlace),
            _ => Err(format!("no kind {name}").into()),
        }
    }

    fn create(self, root: &Path) -> Outcome {
        let layout = match self {
            Self::Overwrite(layout)
            | Self::Update(layout)
            | Self::Put(layout)
            | Self::Attributes(layout) => layout,
            Self::InPlace => Layout::V3,
        };
        let builder = layout
            .builder(&[ELEMENTS], &[ELEMENTS])
            .attributes(json!({"number": 0, "again": 0}));
        let array = builder.create((root, "a"))?;
        if let Self::InPlace = self {
            write(&array, 0, vec![1; ELEMENTS as usize])?;
        }
        self.write(&mut open(root)?, 1)
    }

    /// Performs the write of this number.
    fn write(self, array: &mut Array<u32>, number: u32) -> Outcome {
        let half = ELEMENTS / 2;
        match self {
            Self::Overwrite(_) => write(array, 0, vec![number; ELEMENTS as usize]),
            Self::Update(_) => write(
                array,
                u64::from(number % 2) * half,
                vec![number; half as usize],
            ),
            Self::Put(_) => {
                let writer = array.shard_writer(&[0])?;
                for inner in writer.chunks() {
                    let n = (inner.ranges[0].end - inner.ranges[0].start) as usize;
                    writer.write_chunk(&inner.index, &Array1::from_elem(n, number))?;
                }
                Ok(writer.finish()?)
            }
            Self::InPlace => {
                let file = Path::new(&array.storage().name()).join("a/c/0");
                write_in_place(&file, &vec![number; ELEMENTS as usize])
            }
            Self::Attributes(_) => {
                Ok(array.merge_attributes(json!({"number": number, "again": number}))?)
            }
        }
    }

    /// The number of the last write that is stored.
    ///
    /// # Errors
    /// The content is not such a write, or cannot be read.
    fn last_write(self, root: &Path) -> Outcome<u32> {
        let array = open(root)?;
        if let Self::Attributes(_) = self {
            let attributes = array.attributes();
            let number = attributes
                .get("number")
                .and_then(serde_json::Value::as_u64)
                .ok_or("no number")?;
            let whole = attributes.get("again") == Some(&json!(number));
            return if whole {
                Ok(u32::try_from(number)?)
            } else {
                Err("mixed attributes".into())
            };
        }
        let elements = read(&array)?;
        let (even, odd) = elements.split_at(elements.len() / 2);
        let constant = |half: &[u32]| half.iter().all(|element| *element == half[0]);
        let a = even[0];
        let b = odd[0];
        let whole = match self {
            Self::Update(_) => a.abs_diff(b) == 1 && a % 2 == 0 || a == 0 && b == 1,
            _ => a == b,
        };
        if whole && constant(even) && constant(odd) {
            Ok(a.max(b))
        } else {
            Err(format!("mixed: {a} and {b}").into())
        }
    }
}

/// Kills a writer that writes in place until a value is mixed; returns how many are, and the number
/// of kills.
fn kill_in_place(folder: &Path, random: &mut Random) -> Outcome<(u64, usize)> {
    let kind = Kind::InPlace;
    let root = folder.join("kills-in-place");
    kind.create(&root)?;
    until_lost(|| {
        let words = [
            "overwrite-until-killed",
            &kind.to_string(),
            &root.to_string_lossy(),
            "2",
        ];
        let mut worker = Worker::start(&words)?;
        worker.receive()?;
        thread::sleep(Duration::from_micros(random.below(2_000)));
        worker.kill()?;
        Ok(u64::from(kind.last_write(&root).is_err()))
    })
}

/// A worker that writes from a number on, and reports each write.
pub(crate) fn write_until_killed(kind: Kind, root: &Path, from: u32) -> Outcome {
    let mut array = open(root)?;
    for number in from.. {
        kind.write(&mut array, number)?;
        crate::common::process::send_line("written")?;
    }
    Ok(())
}

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    // On the disk and in memory, where killed writers are more often in the middle of something.
    let places: Vec<(Kind, PathBuf)> = [&torture.quick_folder, &torture.folder]
        .into_iter()
        .flat_map(|folder| {
            Kind::all()
                .into_iter()
                .map(|kind| (kind, folder.join(format!("kills-{kind}").replace(':', "-"))))
        })
        .collect();
    let n = torture.times(1000);
    let mut random = Random::seeded("kills");
    let mut bad = 0;
    let mut lost = 0;
    let mut too_many = 0;
    let mut left = 0;
    let mut unhealed = 0;
    let mut writes = 0;
    for (kind, root) in &places {
        kind.create(root)?;
    }
    let mut next: Vec<u32> = vec![2; places.len()];
    for round in 0..n {
        let i = round % places.len();
        let (kind, root) = &places[i];
        let from = next[i];
        let words = [
            "overwrite-until-killed",
            &kind.to_string(),
            &root.to_string_lossy(),
            &from.to_string(),
        ];
        let mut worker = Worker::start(&words)?;
        worker.receive()?;
        // At a moment that has nothing to do with what it is doing.
        thread::sleep(Duration::from_micros(random.below(2_000)));
        let acknowledged = from + u32::try_from(worker.kill()?)?;
        writes += u64::from(acknowledged - from) + 1;
        let locks = leftovers(root)?.len();
        left += u64::from(locks > 0);
        // A `ShardWriter` also has a temporary.
        let most = if matches!(kind, Kind::Put(_)) { 2 } else { 1 };
        too_many += u64::from(locks > most);
        match kind.last_write(root) {
            // Its last write before it was killed may be stored unreported.
            Ok(found) => lost += u64::from(found != acknowledged && found != acknowledged + 1),
            Err(error) => {
                eprintln!("{kind}: {error}");
                bad += 1;
            }
        }
        let number = kind.last_write(root).unwrap_or(acknowledged) + 1;
        kind.write(&mut open(root)?, number)?;
        unhealed += u64::from(!leftovers(root)?.is_empty());
        lost += u64::from(kind.last_write(root)? != number);
        next[i] = number + 1;
    }
    let of = format!("of {n} kills, {writes} writes");
    table.row(
        "unreadable or mixed values after SIGKILL",
        bad,
        &of,
        Expect::None,
    )?;
    table.row(
        "acknowledged writes lost after SIGKILL",
        lost,
        &of,
        Expect::None,
    )?;
    table.row("kills that left a lock file", left, &of, Expect::Anything)?;
    table.row(
        "kills that left more than one, or two of a ShardWriter",
        too_many,
        &of,
        Expect::None,
    )?;
    table.row(
        "lock files left after the next write",
        unhealed,
        &of,
        Expect::None,
    )?;
    let (mixed, kills) = kill_in_place(&torture.quick_folder, &mut random)?;
    let of = format!("of {kills} kills");
    table.row(
        "  mixed values of a writer of another make, in place",
        mixed,
        of,
        Expect::Some,
    )
}
