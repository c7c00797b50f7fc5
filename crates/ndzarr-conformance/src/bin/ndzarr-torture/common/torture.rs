//! The input and the result of every workload: `Torture` and `Outcome`.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

/// The result of a workload.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// The input of the workloads: folders and amounts.
pub(crate) struct Torture {
    /// On the disk.
    pub(crate) folder: PathBuf,
    /// A fast folder, so that much happens at the same time.
    pub(crate) quick_folder: PathBuf,
    /// The short form.
    pub(crate) minute: bool,
    pub(crate) peers: Option<Peers>,
    /// How many calls are dropped.
    pub(crate) drops: Option<u64>,
    /// How long random histories run.
    pub(crate) duration: Option<Duration>,
    /// How long a server with faults is used.
    pub(crate) soak: Duration,
    /// The one history that is run, and the steps of it that are not.
    pub(crate) seed: Option<u64>,
    pub(crate) without: BTreeSet<usize>,
    /// A folder and its mounts on two hosts, or nothing.
    pub(crate) mounted: Vec<PathBuf>,
    /// How long a step may take: milliseconds are usual; a step that takes longer than this hangs.
    pub(crate) patience: Duration,
}

impl Torture {
    /// A number of repetitions, a tenth of it in the short form.
    pub(crate) fn times(&self, full: usize) -> usize {
        if self.minute { full.div_ceil(10) } else { full }
    }
}

/// A Python with other libraries.
pub(crate) struct Peers {
    pub(crate) python: PathBuf,
    pub(crate) script: PathBuf,
}

/// Tries, at most twenty times, until something is lost. Returns how much, and the number of tries.
pub(crate) fn until_lost(mut lose: impl FnMut() -> Outcome<u64>) -> Outcome<(u64, usize)> {
    for tries in 1..20 {
        let lost = lose()?;
        if lost > 0 {
            return Ok((lost, tries));
        }
    }
    Ok((lose()?, 20))
}
