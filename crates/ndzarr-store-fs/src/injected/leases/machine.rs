//! Simulated machines, each with a clock of its own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::Locking;
use crate::injected::*;
use crate::system::file_system::FileSystem;
use crate::system::host::Host;

pub(super) const LEASE: Duration = Duration::from_secs(30);

/// A machine: its boot id, and its clock, which shows another time than that of every other
/// machine.
#[derive(Debug, Default)]
pub(super) struct Machine {
    pub(super) boot: &'static str,
    pub(super) millis: AtomicU64,
    /// True if its processes were killed.
    pub(super) is_dead: AtomicBool,
    /// True if a process of it holds the locks of files.
    pub(super) is_locked: AtomicBool,
    /// True if its locks of files reach the other machines.
    pub(super) locks_reach_others: AtomicBool,
    /// True if it finds a removed file by its name, as a process that has it open does on SMB.
    pub(super) keeps_names: AtomicBool,
    pub(super) faults: Faulty,
    /// What happens at each pause.
    pub(super) at_pause: Mutex<Option<AtPause>>,
}

pub(super) struct AtPause(pub(super) Box<dyn FnMut() + Send>);

impl std::fmt::Debug for AtPause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtPause")
    }
}

impl Machine {
    pub(super) fn new(boot: &'static str) -> Arc<Self> {
        Self::with(boot, Faulty::default())
    }

    pub(super) fn with(boot: &'static str, faults: Faulty) -> Arc<Self> {
        let millis = AtomicU64::new(boot.len() as u64 * 1_000_000);
        Arc::new(Self {
            boot,
            millis,
            faults,
            ..Self::default()
        })
    }

    pub(super) fn pass(&self, time: Duration) {
        // A pause is shorter than what this clock tells apart at first.
        self.millis
            .fetch_add((time.as_millis() as u64).max(1), Ordering::Relaxed);
    }

    pub(super) fn store(self: &Arc<Self>, setup: &Setup) -> FsStore {
        let portable = FsStore::builder(setup.folder.path()).locking(Locking::Portable);
        portable.lease(LEASE).build_on(self.clone())
    }
}

impl Syscalls for Machine {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.faults.create(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.faults.rename(from, to)
    }
    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.faults.unlink(path)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.faults.check("link")?;
        System.link(from, to)
    }
    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        match System.link_stat(path) {
            // Of any file, since nothing but its existence matters.
            Err(_) if self.keeps_names.load(Ordering::Relaxed) => {
                System.link_stat(&path.with_file_name("b"))
            }
            found => found,
        }
    }
    fn read_at(&self, file: &File, at: u64, len: usize, into: &mut Vec<u8>) -> io::Result<usize> {
        self.faults.read_at(file, at, len, into)
    }
    fn write_at(&self, file: &File, at: u64, from: &[u8]) -> io::Result<usize> {
        self.faults.write_at(file, at, from)
    }
    /// Where the locks of a machine do not reach the others, nothing is locked at all.
    fn lock(&self, file: &File, part: Part, wait: Wait<'_>) -> io::Result<bool> {
        self.faults.check("lock")?;
        if self.locks_reach_others.load(Ordering::Relaxed) {
            System.lock(file, part, wait)
        } else {
            Ok(true)
        }
    }
    fn lock_to_read(&self, file: &File, part: Part) -> io::Result<bool> {
        if self.locks_reach_others.load(Ordering::Relaxed) {
            return System.lock_to_read(file, part);
        }
        Ok(!self.is_locked.load(Ordering::Relaxed))
    }
    fn now(&self) -> Duration {
        Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
    fn pause(&self, time: Duration) {
        self.pass(time);
        if let Some(AtPause(happens)) = &mut *held(&self.at_pause) {
            happens();
        }
    }
    fn host(&self) -> Host {
        Host {
            boot: self.boot.to_owned(),
            space: "pid:[1]".to_owned(),
        }
    }
    fn process_start(&self, process: u32) -> io::Result<Option<String>> {
        if self.is_dead.load(Ordering::Relaxed) {
            Ok(None)
        } else {
            System.process_start(process)
        }
    }
    fn file_system(&self, file: &File) -> io::Result<FileSystem> {
        System.file_system(file)
    }
}
