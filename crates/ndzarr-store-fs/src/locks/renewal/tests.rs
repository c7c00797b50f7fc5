//! Tests of renewals on a clock that advances whenever it is read, and of a thread that fails.

use std::fs::File;
use std::sync::mpsc::{Sender, channel};

use super::*;

/// A system whose clock advances by `step` whenever it is read.
#[derive(Debug, Default)]
struct Ticking {
    step: Duration,
    now: Mutex<Duration>,
    /// Panics when a lock file is opened.
    panics: bool,
    /// Gets a message at each renewal.
    renewed: Option<Sender<()>>,
}

impl Syscalls for Ticking {
    fn now(&self) -> Duration {
        let mut now = lock(&self.now);
        *now += self.step;
        *now
    }
    fn reopen(&self, path: &Path) -> io::Result<File> {
        assert!(!self.panics, "as the test wants it");
        crate::system::syscalls::System.reopen(path)
    }
    fn touch(&self, _: &File, _: SystemTime) -> io::Result<()> {
        let _ = self.renewed.as_ref().map(|renewed| renewed.send(()));
        Ok(())
    }
}

/// A lock of a lease of 30 s, so it is renewed every 6 s.
fn new_held(folder: &Path, sys: Ticking) -> io::Result<Arc<Held>> {
    let (path, owner) = (folder.join("a.__lock"), Owner::new(&sys));
    std::fs::write(&path, owner.to_string())?;
    Ok(Arc::new(Held {
        renewed: Mutex::new(Renewed {
            at: sys.now(),
            time: SystemTime::now(),
        }),
        sys: Arc::new(sys),
        path,
        mark: owner.mark,
        lease: Duration::from_secs(30),
        process: std::process::id(),
        lost: AtomicBool::new(false),
        renewals: Arc::default(),
    }))
}

#[test]
fn it_may_become_due_between_two_looks_at_the_clock() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let lock = new_held(
        folder.path(),
        Ticking {
            step: Duration::from_secs(5),
            ..Ticking::default()
        },
    )?;
    // After 5 s, and it would be after 10 s at the next look.
    assert_eq!(lock.renew_in_time(), Duration::from_secs(1));
    Ok(())
}

#[test]
fn a_thread_that_panics_is_followed_by_another() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let step = Duration::from_secs(7);
    let renewals: Arc<Renewals> = Arc::default();
    let bad = new_held(
        folder.path(),
        Ticking {
            step,
            panics: true,
            ..Ticking::default()
        },
    )?;
    *lock(&renewals.state) = State {
        held: vec![bad.clone()],
        thread: Thread::Runs(Instant::now()),
    };
    let ended = thread::scope(|scope| scope.spawn(|| renewals.renew_all()).join());
    assert!(ended.is_err());
    let mut state = lock(&renewals.state);
    assert_eq!(state.thread, Thread::None);
    state.held.clear();
    drop(state);
    let (renewed, hears) = channel();
    renewals.add(new_held(
        folder.path(),
        Ticking {
            step,
            renewed: Some(renewed),
            ..Ticking::default()
        },
    )?);
    hears.recv().expect("it is due at once");
    lock(&renewals.state).held.clear();
    Ok(())
}

/// A server that does not answer takes no other server's locks with it.
#[test]
fn devices_do_not_wait_for_each_other() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let sys: Arc<dyn Syscalls> = Arc::new(Ticking::default());
    let owner = Owner::new(&*sys);
    let on = |device, name: &str| {
        let path = folder.path().join(name);
        (
            Held::new(&sys, &path, device, &owner, Duration::from_secs(30)),
            path,
        )
    };
    let ((one, path), (same, _), (other, other_path)) = (on(1, "a"), on(1, "b"), on(2, "c"));
    assert!(Arc::ptr_eq(&one.renewals, &same.renewals));
    assert!(!Arc::ptr_eq(&one.renewals, &other.renewals));
    for (lock, path) in [(&one, path), (&other, other_path)] {
        assert!(held_by_this_process(&path).is_some_and(|found| Arc::ptr_eq(&found, lock)));
    }
    for lock in [one, same, other] {
        lock.forget();
    }
    Ok(())
}
