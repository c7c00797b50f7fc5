//! Locks that this process holds by the portable protocol, and the threads that renew them.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ndzarr_store::PerProcess;

use crate::locks::lock_file::Found;
use crate::locks::owner::Owner;
use crate::system::stat::Device;
use crate::system::syscalls::{Syscalls, again};

/// A lock that is held: its file is under its name, with this mark in it.
#[derive(Debug)]
pub(crate) struct Held {
    sys: Arc<dyn Syscalls>,
    /// The lock file.
    path: PathBuf,
    mark: String,
    lease: Duration,
    /// Process that took it. A forked child has a copy, and must not touch the lock.
    process: u32,
    lost: AtomicBool,
    /// The time that the file was last given.
    renewed: Mutex<Renewed>,
    /// Those of its device.
    renewals: Arc<Renewals>,
}

#[derive(Clone, Copy, Debug)]
struct Renewed {
    /// By the clock of the store.
    at: Duration,
    time: SystemTime,
}

/// The number of renewals of a lock in a lease.
const RENEWALS: u32 = 5;

/// The minimum step of the time stamp, since some file systems count in pairs of seconds.
const STEP: Duration = Duration::from_secs(2);

/// Another host may have renamed the lock file for a moment, because it took it for an old one, and
/// puts it back: the number of checks until the lock is lost, and the pause between them.
const MAX_CHECKS: u32 = 20;
const CHECK_PAUSE: Duration = Duration::from_millis(50);

impl Held {
    pub(crate) fn new(
        sys: &Arc<dyn Syscalls>,
        path: &Path,
        device: Device,
        owner: &Owner,
        lease: Duration,
    ) -> Arc<Self> {
        let renewals = Renewals::on(device);
        let renewed = Renewed {
            at: sys.now(),
            time: SystemTime::now(),
        };
        let held = Arc::new(Self {
            sys: sys.clone(),
            path: path.to_owned(),
            mark: owner.mark.clone(),
            lease,
            process: std::process::id(),
            lost: AtomicBool::new(false),
            renewed: Mutex::new(renewed),
            renewals: renewals.clone(),
        });
        renewals.add(held.clone());
        held
    }

    /// Ends its renewal.
    pub(crate) fn forget(self: &Arc<Self>) {
        let mut state = lock(&self.renewals.state);
        state.held.retain(|other| !Arc::ptr_eq(other, self));
    }

    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    pub(crate) fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// True if it cannot have been taken over yet, by the clock of this process.
    pub(crate) fn is_fresh(&self) -> bool {
        self.since_renewal() < self.lease / 2
    }

    fn since_renewal(&self) -> Duration {
        self.sys.now().saturating_sub(lock(&self.renewed).at)
    }

    /// Checks that the lock file still has the mark.
    ///
    /// # Errors
    /// It was taken over.
    pub(crate) fn check(&self) -> io::Result<()> {
        for _ in 0..MAX_CHECKS {
            if self.lost.load(Ordering::Relaxed) {
                break;
            }
            match Found::at(&*self.sys, &self.path)? {
                Some(found) if found.has_mark(&self.mark) => return Ok(()),
                Some(_) => break,
                None => self.sys.pause(CHECK_PAUSE),
            }
        }
        self.lost.store(true, Ordering::Relaxed);
        Err(io::Error::other(Lost))
    }

    /// Shows other hosts that its owner is alive.
    fn renew(&self) -> io::Result<()> {
        let file = again(|| self.sys.reopen(&self.path))?;
        let Some(found) = Found::of(&*self.sys, file)? else {
            return Err(io::ErrorKind::NotFound.into());
        };
        if !found.has_mark(&self.mark) {
            self.lost.store(true, Ordering::Relaxed);
            return Ok(());
        }
        let at = self.sys.now();
        let time = SystemTime::now().max(lock(&self.renewed).time + STEP);
        // Nothing is written to it: it may have become a value by now, of a program that does not
        // know this protocol.
        again(|| self.sys.touch(&found.file, time))?;
        *lock(&self.renewed) = Renewed { at, time };
        Ok(())
    }

    /// Renews it if it is due, and returns the time until the next renewal. May be called at any
    /// time.
    pub(crate) fn renew_in_time(&self) -> Duration {
        let every = self.lease / RENEWALS;
        // The clock is read once: it may become due before a second reading.
        if let Some(left) = every
            .checked_sub(self.since_renewal())
            .filter(|left| !left.is_zero())
        {
            return left;
        }
        match self.renew() {
            Ok(()) => every,
            // Retry soon: the file system may be unavailable for a moment, or the lock file will be
            // put back.
            Err(_) => every / 4,
        }
    }
}

/// A lock was taken over while it was held.
#[derive(Debug)]
pub(crate) struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another writer took over its lock, which was not renewed in time")
    }
}

impl Error for Lost {}

/// The locks that this process holds on a device. Each device has its own thread: the thread of a
/// server that does not answer hangs.
#[derive(Debug, Default)]
struct Renewals {
    state: Mutex<State>,
    changed: Condvar,
}

type ByDevice = Vec<(Device, Arc<Renewals>)>;

#[derive(Debug, Default)]
struct State {
    held: Vec<Arc<Held>>,
    thread: Thread,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Thread {
    #[default]
    None,
    /// It sleeps until then at most.
    Runs(Instant),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock of this lock file, if this process holds it.
pub(crate) fn held_by_this_process(path: &Path) -> Option<Arc<Held>> {
    let of_devices = lock(Renewals::of_this_process()).clone();
    of_devices.iter().find_map(|(_, renewals)| {
        lock(&renewals.state)
            .held
            .iter()
            .find(|held| held.path == path)
            .cloned()
    })
}

impl Renewals {
    fn of_this_process() -> &'static Mutex<ByDevice> {
        static THIS: PerProcess<Mutex<ByDevice>> = PerProcess::new();
        THIS.get(|_| Mutex::default())
    }

    fn on(device: Device) -> Arc<Self> {
        let mut of_devices = lock(Self::of_this_process());
        if let Some((_, renewals)) = of_devices.iter().find(|(other, _)| *other == device) {
            return renewals.clone();
        }
        let renewals = Arc::new(Self::default());
        of_devices.push((device, renewals.clone()));
        renewals
    }

    fn add(self: &Arc<Self>, held: Arc<Held>) {
        let mut state = lock(&self.state);
        let due = Instant::now() + held.lease / RENEWALS;
        state.held.push(held);
        match state.thread {
            // Usually all have the same lease, and the thread wakes up early enough.
            Thread::Runs(until) if until <= due => {}
            Thread::Runs(_) => self.changed.notify_one(),
            Thread::None => {
                let thread = thread::Builder::new().name("ndzarr-locks".to_owned());
                let renewals = self.clone();
                // Without the thread, locks are still held for a lease.
                if thread.spawn(move || renewals.renew_all()).is_ok() {
                    state.thread = Thread::Runs(due);
                }
            }
        }
    }

    /// The loop of the thread, which ends when no lock is held: a lease is long enough to start
    /// another one.
    fn renew_all(&self) {
        let _running = Running(self);
        let mut state = lock(&self.state);
        loop {
            let locks = state.held.clone();
            if locks.is_empty() {
                state.thread = Thread::None;
                return;
            }
            drop(state);
            let locks = locks
                .iter()
                .filter(|lock| !lock.lost.load(Ordering::Relaxed));
            let next = locks
                .map(|lock| lock.renew_in_time())
                .min()
                .unwrap_or(Duration::from_secs(1));
            state = lock(&self.state);
            state.thread = Thread::Runs(Instant::now() + next);
            state = match self.changed.wait_timeout(state, next) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }
}

/// The thread while it runs. If it panics, the next lock starts another one.
struct Running<'r>(&'r Renewals);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.state).thread = Thread::None;
        }
    }
}

#[cfg(test)]
mod tests;
