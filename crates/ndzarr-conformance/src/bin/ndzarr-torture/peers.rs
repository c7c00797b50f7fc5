//! tensorstore beside ndzarr on the same unit, and the other libraries alone with the same work.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::layout::Layout;
use crate::process::Worker;
use crate::shared::{INCREMENTS, PROCESSES, count_together};
use crate::table::{Expect, Table};
use crate::{Outcome, Torture};

/// A Python with other libraries.
pub(crate) struct Peers {
    pub(crate) python: PathBuf,
    pub(crate) script: PathBuf,
}

impl Peers {
    fn start(&self, library: &str, what: &str, root: &Path, words: &[String]) -> Outcome<Worker> {
        let mut command = Command::new(&self.python);
        command.arg(&self.script).args([library, what]).arg(root.join("a")).args(words);
        Worker::of(command)
    }
}

/// What tensorstore and zarr-python 3 open.
const LAYOUTS: [Layout; 3] = [Layout::V2, Layout::V3, Layout::V3Shards];

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let Some(peers) = &torture.peers else {
        return crate::process::say("   no Python with the other libraries was given");
    };
    let rounds = torture.times(10);
    let of = format!("of {}", PROCESSES * rounds * INCREMENTS);
    for layout in LAYOUTS {
        let (root, array) = layout.one_unit(&torture.folder, PROCESSES as u64)?;
        let path = root.to_string_lossy();
        let mut workers = Vec::new();
        for index in 0..PROCESSES {
            workers.push(if index % 2 == 0 {
                Worker::start(&["count", &path, &index.to_string()])?
            } else {
                peers.start("tensorstore", "count", &root, &[index.to_string()])?
            });
        }
        let lost = count_together(workers, &array, rounds)?;
        let name = format!("elements lost, 4 ndzarr + 4 tensorstore, one {}", layout.unit());
        table.row(name, lost, &of, Expect::None)?;
    }
    for library in ["tensorstore", "zarr-python"] {
        for layout in LAYOUTS.into_iter().take(if torture.minute { 1 } else { 3 }) {
            let (root, _) = layout.one_unit(&torture.folder, 16)?;
            let mut worker = peers.start(library, "threads", &root, &["16".to_owned(), "20".to_owned()])?;
            let lost = worker.hear_number()?;
            worker.end()?;
            let name = format!("  {library} alone: lost, 16 threads, one {}", layout.unit());
            table.row(name, lost, "of 320", Expect::Anything)?;

            let (root, array) = layout.one_unit(&torture.folder, PROCESSES as u64)?;
            let start = |index: usize| peers.start(library, "count", &root, &[index.to_string()]);
            let workers = (0..PROCESSES).map(start).collect::<Outcome<Vec<_>>>()?;
            let lost = count_together(workers, &array, rounds)?;
            let name = format!("  {library} alone: lost, {PROCESSES} processes, one {}", layout.unit());
            table.row(name, lost, &of, Expect::Anything)?;
        }
    }
    Ok(())
}
