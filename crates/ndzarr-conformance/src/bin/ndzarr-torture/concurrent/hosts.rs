//! Writers on two hosts that do not see each other's file locks.

mod mounts;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use ndzarr::ndarray::Array1;
use ndzarr::store::Locking;
use ndzarr::{Array, FsStore};
use ndzarr_testkit::Random;
use serde_json::json;

use crate::common::layout::{Layout, leftovers, open, read, write};
use crate::common::process::{Worker, answer_lines, send_line};
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture};
use crate::concurrent::appends;
use crate::concurrent::one_unit::PROCESSES;
use mounts::{Mounts, this_program};

/// Of writers that must wait until a lease ends.
const SHORT_LEASE: u64 = 2;
const USUAL_LEASE: u64 = 30;

/// Stands for no lease: the writers use file locks.
const FILE_LOCKS: u64 = 0;

/// Elements of an inner chunk.
const INNER: u64 = 4;

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let mounts = match &torture.mounted[..] {
        [data, host0, host1] => Mounts::given(&torture.folder, data, [host0, host1])?,
        _ => match Mounts::new(&torture.folder.join("hosts")) {
            Ok(mounts) => mounts,
            Err(why) => {
                return send_line(&format!(
                    "   did not run: sshfs cannot mount a folder twice here ({why})"
                ));
            }
        },
    };
    let n = torture.times(40);
    for &layout in mounts.layouts() {
        for work in Work::ALL {
            if work == Work::Put && !layout.has_shards() {
                continue;
            }
            let (lost, failed) = together(&mounts, work, layout, n, USUAL_LEASE)?;
            let name = format!(
                "{} lost, {PROCESSES} processes on 2 hosts, {}",
                work.noun(),
                layout.unit()
            );
            table.row(
                name,
                lost,
                format_args!("of {}", PROCESSES * n),
                Expect::None,
            )?;
            if failed > 0 {
                table.row("  calls that failed", failed, "", Expect::None)?;
            }
        }
    }
    // Where others mounted the folder, file locks may reach both hosts.
    if torture.mounted.is_empty() {
        let (lost, failed) = together(&mounts, Work::Update, Layout::V3, n, FILE_LOCKS)?;
        let name = "  only by file locks (Locking::Local), elements of a v3 chunk";
        table.row(
            name,
            lost.max(failed),
            format_args!("of {}", PROCESSES * n),
            Expect::Some,
        )?;
    }
    killed(&mounts, torture.times(20), table)?;
    stopped(&mounts, torture.times(20), table)
}

/// The kind of write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// An element of one unit.
    Update,
    Append,
    Attribute,
    /// An inner chunk, by a `ShardWriter`.
    Put,
}

impl Work {
    const ALL: [Self; 4] = [Self::Update, Self::Append, Self::Attribute, Self::Put];

    fn name(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Append => "append",
            Self::Attribute => "attribute",
            Self::Put => "put",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Update => "elements",
            Self::Append => "appends",
            Self::Attribute => "attributes",
            Self::Put => "inner chunks of ShardWriters",
        }
    }

    pub(crate) fn parse(name: &str) -> Outcome<Self> {
        let found = Self::ALL.into_iter().find(|work| work.name() == name);
        found.ok_or_else(|| format!("no work {name}").into())
    }

    /// Creates the array for writers that write `n` times each.
    fn create(self, layout: Layout, root: &Path, n: usize) -> Outcome {
        let n = (PROCESSES * n) as u64;
        let builder = match self {
            Self::Update => layout.compressed(layout.builder(&[n], &[n])),
            Self::Append => layout.builder(&[0], &[16]),
            Self::Attribute => layout.builder(&[4], &[4]),
            Self::Put => layout
                .builder(&[INNER * n], &[INNER * n])
                .chunks([INNER])
                .shards([INNER * n]),
        };
        builder.create((root, "a"))?;
        Ok(())
    }

    /// Performs write `i` of `n`.
    fn once(self, array: &mut Array<u32>, writer: usize, i: usize, n: usize) -> Outcome {
        let at = (writer * n + i) as u64;
        match self {
            Self::Update => write(array, at, vec![element(at)])?,
            Self::Append => appends::append_once(array, writer, i)?,
            Self::Attribute => array.merge_attributes(json!({ format!("{writer}-{i}"): i }))?,
            Self::Put => {
                let shard = array.shard_writer(&[0])?;
                shard.write_chunk(&[at], &Array1::from_elem(INNER as usize, element(at)))?;
                shard.finish()?;
            }
        }
        Ok(())
    }

    /// The number of writes that are missing.
    fn lost(self, root: &Path, n: usize) -> Outcome<u64> {
        let array = open(root)?;
        let elements = |each: u64| -> Outcome<u64> {
            let found = read(&array)?;
            let expected =
                (0..(PROCESSES * n) as u64).flat_map(|at| (0..each).map(move |_| element(at)));
            let differ = found
                .iter()
                .zip(expected)
                .filter(|(found, expected)| **found != *expected)
                .count();
            Ok((differ as u64).div_ceil(each))
        };
        match self {
            Self::Update => elements(1),
            Self::Append => appends::lost(&array, n),
            Self::Attribute => {
                let names = (0..PROCESSES)
                    .flat_map(|writer| (0..n).map(move |i| (format!("{writer}-{i}"), i)));
                let missing =
                    names.filter(|(name, i)| array.attributes().get(name) != Some(&json!(i)));
                Ok(missing.count() as u64)
            }
            Self::Put => elements(INNER),
        }
    }
}

fn element(at: u64) -> u32 {
    at as u32 + 1
}

/// Starts a writer, each second one on the other host.
fn start(
    mounts: &Mounts,
    name: &str,
    work: Work,
    writer: usize,
    n: usize,
    lease: u64,
) -> Outcome<Worker> {
    let host = writer % 2;
    let mut command = mounts.command(host, &this_program()?);
    let root = mounts.on(host).join(name);
    command
        .args(["--worker", "on-host"])
        .arg(root)
        .arg(work.name());
    command.args([writer.to_string(), n.to_string(), lease.to_string()]);
    let mut worker = Worker::spawn(command)?;
    worker.receive()?;
    Ok(worker)
}

/// A worker that writes as often as it is asked to, and answers how many of these writes failed.
pub(crate) fn work(root: &Path, work: Work, writer: usize, n: usize, lease: u64) -> Outcome {
    let locking = if lease == FILE_LOCKS {
        Locking::Local
    } else {
        Locking::Auto
    };
    let store = FsStore::builder(root)
        .locking(locking)
        .lease(Duration::from_secs(lease));
    let store = store.lock_timeout(Duration::from_secs(100)).build();
    let mut array = Array::<u32>::open((&store, "a"))?;
    let mut i = 0;
    send_line("ready")?;
    answer_lines(|line| {
        let mut failed = 0;
        let end = i + line.parse::<usize>()?;
        while i < end {
            while let Err(error) = work.once(&mut array, writer, i, n) {
                // A writer that is stopped for longer than a lease loses its lock and gets an
                // error.
                if !error.to_string().contains("took over its lock") {
                    let mut cause: Option<&dyn std::error::Error> = error.source();
                    if locking == Locking::Auto {
                        eprintln!("{work:?}: {error}");
                    }
                    while let Some(it) = cause.filter(|_| locking == Locking::Auto) {
                        eprintln!("  {it}");
                        cause = it.source();
                    }
                    if error.to_string().contains("the lock was not free") {
                        // The others would wait as long: they count as failed.
                        failed += end - i - 1;
                        i = end - 1;
                    }
                    failed += 1;
                    break;
                }
            }
            i += 1;
        }
        Ok(failed.to_string())
    })
}

/// Lets processes on both hosts write to one array. Returns how much is lost, and how many calls
/// failed.
fn together(
    mounts: &Mounts,
    work: Work,
    layout: Layout,
    n: usize,
    lease: u64,
) -> Outcome<(u64, u64)> {
    let name = format!("{}-{layout}-{lease}", work.name());
    let root = mounts.data().join(&name);
    work.create(layout, &root, n)?;
    let mut workers = Vec::new();
    for writer in 0..PROCESSES {
        workers.push(start(mounts, &name, work, writer, n, lease)?);
    }
    let failed = send_all(&mut workers, n)?;
    workers.into_iter().try_for_each(Worker::end)?;
    let lost = match work.lost(&root, n) {
        Err(_) if lease == FILE_LOCKS => (PROCESSES * n) as u64,
        lost => lost?,
    };
    Ok((lost, failed))
}

/// Has each worker write this often, all at the same time. Returns how many writes failed.
fn send_all(workers: &mut [Worker], n: usize) -> Outcome<u64> {
    for worker in &mut *workers {
        worker.send(&n.to_string())?;
    }
    workers.iter_mut().map(Worker::receive_number).sum()
}

/// Makes arrays that writers on both hosts are to write to. Returns their names and roots.
fn pairs(mounts: &Mounts, name: &str, n: usize) -> Outcome<Vec<(String, PathBuf)>> {
    let mut made = Vec::new();
    for &layout in mounts.layouts() {
        let name = format!("{name}-{layout}");
        let root = mounts.data().join(&name);
        Work::Update.create(layout, &root, n)?;
        made.push((name, root));
    }
    Ok(made)
}

/// Kills the writers of one host at any moment; those of the other one continue after the lease.
fn killed(mounts: &Mounts, rounds: usize, table: &mut Table) -> Outcome {
    let mut random = Random::seeded("hosts killed");
    let mut kills = 0;
    let mut left = 0;
    let mut lost = 0;
    let mut unhealed = 0;
    for round in 0..rounds {
        const N: usize = 500;
        let arrays = pairs(mounts, &format!("killed-{round}"), N)?;
        let mut dying = Vec::new();
        let mut living = Vec::new();
        for (name, _) in &arrays {
            dying.push(start(mounts, name, Work::Update, 0, N, SHORT_LEASE)?);
            living.push(start(mounts, name, Work::Update, 1, N, SHORT_LEASE)?);
        }
        for worker in &mut dying {
            for _ in 0..N {
                worker.send("1")?;
            }
            worker.receive_number()?;
        }
        thread::sleep(Duration::from_micros(random.below(20_000)));
        for (worker, (_, root)) in dying.into_iter().zip(&arrays) {
            let acknowledged = 1 + worker.kill()?;
            kills += 1;
            left += u64::from(!leftovers(root)?.is_empty());
            let found = read(&open(root)?)?;
            lost += (0..acknowledged)
                .filter(|at| found[*at as usize] != element(*at))
                .count();
        }
        lost += send_all(&mut living, 1)? as usize;
        for (_, root) in &arrays {
            unhealed += u64::from(!leftovers(root)?.is_empty());
            let found = read(&open(root)?)?;
            lost += usize::from(found[N] != element(N as u64));
        }
        living.into_iter().try_for_each(Worker::end)?;
    }
    let of = format!("of {kills} kills");
    table.row(
        "writes lost when writers of one host are killed",
        lost as u64,
        &of,
        Expect::None,
    )?;
    table.row("kills that left a lock file", left, &of, Expect::Anything)?;
    table.row(
        "lock files left after the next write, on the other host",
        unhealed,
        &of,
        Expect::None,
    )
}

/// Stops the writers of one host for longer than the lease, at any moment, while those of the other
/// one write.
fn stopped(mounts: &Mounts, rounds: usize, table: &mut Table) -> Outcome {
    let mut random = Random::seeded("hosts stopped");
    const N: usize = 30;
    let mut lost = 0;
    let mut failed = 0;
    let mut stops = 0;
    for round in 0..rounds {
        let arrays = pairs(mounts, &format!("stopped-{round}"), N)?;
        let mut stopping = Vec::new();
        let mut going = Vec::new();
        for (name, _) in &arrays {
            stopping.push(start(mounts, name, Work::Update, 0, N, SHORT_LEASE)?);
            going.push(start(mounts, name, Work::Update, 1, N, SHORT_LEASE)?);
        }
        for worker in &mut stopping {
            worker.send(&N.to_string())?;
        }
        thread::sleep(Duration::from_micros(random.below(30_000)));
        for worker in &stopping {
            signal(worker, "-STOP")?;
            stops += 1;
        }
        failed += send_all(&mut going, N / 2)?;
        for worker in &stopping {
            signal(worker, "-CONT")?;
        }
        failed += send_all(&mut going, N - N / 2)?;
        for worker in &mut stopping {
            failed += worker.receive_number()?;
        }
        stopping
            .into_iter()
            .chain(going)
            .try_for_each(Worker::end)?;
        for (_, root) in &arrays {
            let found = read(&open(root)?)?;
            lost += (0..2 * N)
                .filter(|at| found[*at] != element(*at as u64))
                .count() as u64;
        }
    }
    let of = format!("of {}, {stops} stops", stops * 2 * N as u64);
    table.row(
        "writes lost when one host is stopped for longer than a lease",
        lost,
        of,
        Expect::None,
    )?;
    table.row(
        "calls that failed then, other than by the loss of a lock",
        failed,
        "",
        Expect::None,
    )
}

fn signal(worker: &Worker, signal: &str) -> Outcome {
    let status = Command::new("kill")
        .args([signal, &worker.id().to_string()])
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("kill {signal} failed").into())
    }
}
