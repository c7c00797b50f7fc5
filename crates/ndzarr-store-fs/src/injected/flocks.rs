//! Tests with the locks of macOS and the BSDs, which every Unix has.

use std::thread;

use ndzarr_store::{KeyLock, Locked, Wait};

use super::*;
use crate::system::syscalls::flock;

/// Locks as macOS does, and keeps a copy of the descriptor of each lock, as a forked child has it.
#[derive(Debug, Default)]
struct Flock {
    copies: Mutex<Vec<File>>,
}

impl Syscalls for Flock {
    fn lock(&self, file: &File, part: Part, wait: Wait<'_>) -> io::Result<bool> {
        let locked = flock::lock(file, part, wait)?;
        if locked {
            held(&self.copies).push(file.try_clone()?);
        }
        Ok(locked)
    }
    fn lock_to_read(&self, file: &File, part: Part) -> io::Result<bool> {
        flock::lock_to_read(file, part)
    }
    fn unlock(&self, file: &File) -> io::Result<()> {
        flock::unlock(file)
    }
}

fn setup() -> Result<(Setup, Arc<Flock>, FsStore), Box<dyn Error>> {
    let (setup, flock) = (Setup::new()?, Arc::new(Flock::default()));
    let store = FsStore::builder(setup.folder.path()).build_on(flock.clone());
    Ok((setup, flock, store))
}

fn lock(store: &FsStore, wait: Wait<'_>) -> Result<Option<Box<dyn KeyLock>>, StoreError> {
    Ok(match store.lock(&Key::new("a/b")?, wait)? {
        Locked::Held(lock) => Some(lock),
        _ => None,
    })
}

#[test]
fn threads_lose_no_update() -> Outcome {
    const THREADS: usize = 4;
    let (setup, flock, store) = setup()?;
    store.put(&key()?, &["0".into()], Precondition::None)?;
    let count = || -> Result<(), StoreError> {
        for _ in 0..50 {
            let mut lock = lock(&store, Wait::Block)?.expect("there are locks");
            let Fetched::Parts { parts, .. } = lock.fetch(Of::Any, Want::Whole { limit: 100 })?
            else {
                panic!("nobody erases it")
            };
            let count: usize = String::from_utf8_lossy(&parts[0])
                .parse()
                .expect("only whole numbers");
            lock.append((count + 1).to_string().as_bytes())?;
            lock.publish()?;
            held(&flock.copies).clear();
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("200"), vec!["b".to_owned()])
    );
    Ok(())
}

/// Unlike those of `fcntl`, which end when the process closes any descriptor of the file.
#[test]
fn a_lock_excludes_the_same_process_until_it_is_dropped() -> Outcome {
    let (setup, flock, store) = setup()?;
    let first = lock(&store, Wait::Try)?.ok_or("it is free")?;
    let other = FsStore::builder(setup.folder.path()).build_on(flock.clone());
    assert!(lock(&other, Wait::Try)?.is_none());
    assert!(lock(&other, Wait::While(&|| false))?.is_none());
    drop(File::open(setup.lock_file())?);
    // A child that ends closes its copy.
    held(&flock.copies).clear();
    assert!(lock(&other, Wait::Try)?.is_none());
    drop(first);
    assert!(lock(&other, Wait::Try)?.is_some());
    Ok(())
}

#[test]
fn a_copy_of_the_descriptor_in_a_forked_child_does_not_keep_the_lock() -> Outcome {
    let (setup, flock, store) = setup()?;
    for publishes in [false, true] {
        let mut first = lock(&store, Wait::Try)?.ok_or("it is free")?;
        if publishes {
            first.append(b"published")?;
            first.publish()?;
        } else {
            drop(first);
        }
        assert_eq!(held(&flock.copies).len(), 1);
        let next = lock(&store, Wait::Try)?.ok_or("the copy is open still")?;
        drop(next);
        held(&flock.copies).clear();
    }
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("published"), vec!["b".to_owned()])
    );
    Ok(())
}

/// The lock file that a killed writer leaves is unlocked, whatever is in it.
#[test]
fn the_lock_file_of_a_killed_writer_is_taken_over() -> Outcome {
    let (setup, _, store) = setup()?;
    fs::write(setup.lock_file(), "half a val")?;
    put(&store, Precondition::None)?;
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("new value"), vec!["b".to_owned()])
    );
    Ok(())
}
