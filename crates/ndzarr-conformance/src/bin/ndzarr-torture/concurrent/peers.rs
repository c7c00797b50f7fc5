//! tensorstore together with ndzarr at one unit, and the other libraries by themselves at the same
//! work.

use std::path::Path;
use std::process::Command;

use ndzarr::ConcurrentUpdate;

use crate::common::layout::{Layout, SPREAD};
use crate::common::process::Worker;
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Peers, Torture};
use crate::concurrent::one_unit::{INCREMENTS, PROCESSES, count_together, counter};

impl Peers {
    /// Starts processes that have loaded a library.
    fn start(&self, library: &str, n: usize) -> Outcome<Vec<Worker>> {
        let start = |_| {
            let mut command = Command::new(&self.python);
            command.arg(&self.script).arg(library);
            Worker::spawn(command)
        };
        (0..n).map(start).collect()
    }
}

/// Has a process open an array. Its next line says that it has.
fn open(worker: &mut Worker, root: &Path, index: usize) -> Outcome {
    worker.send(&format!(
        "open {} {}",
        index as u64 * SPREAD,
        root.join("a").display()
    ))
}

/// The nodes that tensorstore and zarr-python 3 open.
const LAYOUTS: [Layout; 3] = [Layout::V2, Layout::V3, Layout::V3Shards];

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let Some(peers) = &torture.peers else {
        return crate::common::process::send_line(
            "   no Python with the other libraries was given",
        );
    };
    let rounds = torture.times(10);
    let of = format!("of {}", PROCESSES * rounds * INCREMENTS);
    let layouts = &LAYOUTS[..if torture.minute { 2 } else { 3 }];
    let mut others = peers.start("tensorstore", PROCESSES / 2)?;
    for &layout in layouts {
        let (root, array) = layout.one_unit(&torture.folder, PROCESSES as u64)?;
        let mut workers = Vec::new();
        for (index, mut other) in others.into_iter().enumerate() {
            open(&mut other, &root, index)?;
            workers.push(other);
            workers.push(counter(
                &root,
                PROCESSES / 2 + index,
                ConcurrentUpdate::Merge,
            )?);
        }
        let lost = count_together(&mut workers, &array, rounds)?;
        // Each second one is ndzarr's.
        others = workers.into_iter().step_by(2).collect();
        let name = format!(
            "elements lost, 4 ndzarr + 4 tensorstore, one {}",
            layout.unit()
        );
        table.row(name, lost, &of, Expect::None)?;
    }
    others.into_iter().try_for_each(Worker::end)?;
    if torture.minute {
        return Ok(());
    }
    for library in ["tensorstore", "zarr-python"] {
        let mut workers = peers.start(library, PROCESSES)?;
        for &layout in layouts {
            let (root, _) = layout.one_unit(&torture.folder, 16)?;
            open(&mut workers[0], &root, 0)?;
            workers[0].receive()?;
            workers[0].send(&format!("threads 16 20 {SPREAD}"))?;
            let lost = workers[0].receive_number()?;
            let name = format!(
                "  {library} without ndzarr: lost, 16 threads, one {}",
                layout.unit()
            );
            table.row(name, lost, "of 320", Expect::Anything)?;

            let (root, array) = layout.one_unit(&torture.folder, PROCESSES as u64)?;
            for (index, worker) in workers.iter_mut().enumerate() {
                open(worker, &root, index)?;
            }
            let lost = count_together(&mut workers, &array, rounds)?;
            let name = format!(
                "  {library} without ndzarr: lost, {PROCESSES} processes, one {}",
                layout.unit()
            );
            table.row(name, lost, &of, Expect::Anything)?;
        }
        workers.into_iter().try_for_each(Worker::end)?;
    }
    Ok(())
}
