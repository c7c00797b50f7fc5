//! Several threads and processes on one value: nothing is lost, nothing torn, and a killed writer
//! does no harm.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ndzarr_store::{
    Fetch, Fetched, Key, Locked, Of, Precondition, Prefix, Store, StoreError, Wait, Want,
};
use ndzarr_store_fs::FsStore;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const SLOTS: usize = 4;
/// Enough for a value that is written while it is read to show.
const PADDING: usize = 100_000;

/// What a process does that a test has started. It is this program, which runs only [`ACTOR`].
const ROLE: &str = "NDZARR_STORE_FS_CHILD";
const ACTOR: &str = "it::processes::processes_lose_nothing_and_read_nothing_torn";

fn key() -> Outcome<Key> {
    Ok(Key::new("c/slots")?)
}

/// Counters of the writers, then bytes that all are their sum: a part of one value and a part of
/// another do not fit.
fn encode(slots: [u32; SLOTS]) -> Vec<u8> {
    let sum = slots.iter().fold(0_u32, |sum, n| sum.wrapping_add(*n));
    let mut value: Vec<u8> = slots.iter().flat_map(|n| n.to_le_bytes()).collect();
    value.resize(4 * SLOTS + PADDING, sum as u8);
    value
}

fn decode(fetched: &Fetched) -> Outcome<[u32; SLOTS]> {
    let mut slots = [0; SLOTS];
    let Fetched::Parts { parts, .. } = fetched else {
        return Ok(slots);
    };
    for (slot, bytes) in slots.iter_mut().zip(parts[0].chunks_exact(4)) {
        *slot = u32::from_le_bytes(bytes.try_into()?);
    }
    if parts[0][..] == encode(slots) {
        Ok(slots)
    } else {
        Err("torn".into())
    }
}

fn read(store: &FsStore) -> Outcome<[u32; SLOTS]> {
    decode(&store.fetch(&Fetch {
        key: key()?,
        of: Of::Any,
        want: Want::Whole { limit: 1 << 20 },
    })?)
}

/// Where open files are not replaced, a value that readers keep open for ten seconds is an error,
/// which changed nothing: the call is repeated.
fn count_up(store: &FsStore, slot: usize) -> Outcome {
    loop {
        match count_up_once(store, slot) {
            Err(e) if cfg!(windows) && is_open_elsewhere(&*e) => {}
            other => return other,
        }
    }
}

fn is_open_elsewhere(e: &(dyn Error + Send + Sync + 'static)) -> bool {
    let Some(StoreError::Io {
        action: "publish",
        source,
        ..
    }) = e.downcast_ref()
    else {
        return false;
    };
    source.to_string().starts_with("it is open elsewhere")
}

fn count_up_once(store: &FsStore, slot: usize) -> Outcome {
    let Locked::Held(mut lock) = store.lock(&key()?, Wait::Block)? else {
        return Err("not locked".into());
    };
    let mut slots = decode(&lock.fetch(Of::Any, Want::Whole { limit: 1 << 20 })?)?;
    slots[slot] += 1;
    // In two parts, to be killed in between.
    let value = encode(slots);
    lock.append(&value[..50])?;
    lock.append(&value[50..])?;
    lock.publish()?;
    Ok(())
}

/// The program that the tests start as another process.
fn child(role: &str) -> Outcome {
    let mut words = role.splitn(3, ' ');
    let (Some(what), Some(number), Some(root)) = (words.next(), words.next(), words.next()) else {
        return Err("the role has three words".into());
    };
    let (number, store) = (number.parse()?, FsStore::new(root));
    let mut say = std::io::stderr();
    match what {
        "count" => {
            for _ in 0..200 {
                count_up(&store, number)?;
            }
        }
        // Says so after each update, until it is killed.
        "endless" => loop {
            count_up(&store, number)?;
            say.write_all(b".")?;
        },
        "hold" => {
            let Locked::Held(mut lock) = store.lock(&key()?, Wait::Block)? else {
                return Err("not locked".into());
            };
            lock.append(&[1; 200_000])?;
            say.write_all(b".")?;
            loop {
                thread::park();
            }
        }
        _ => return Err("unknown role".into()),
    }
    Ok(())
}

fn start(what: &str, number: usize, root: &Path) -> Outcome<Child> {
    let child = Command::new(env::current_exe()?)
        .args(["--exact", ACTOR, "--nocapture"])
        .env(ROLE, format!("{what} {number} {}", root.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok(child)
}

/// Waits until the child has said something `n` times.
fn hear(child: &mut Child, n: usize) -> Outcome {
    let said = child.stderr.as_mut().ok_or("its output is piped")?;
    let mut dots = vec![0; n];
    said.read_exact(&mut dots)?;
    Ok(())
}

/// Kills the child, and counts what it said since.
fn kill(mut child: Child) -> Outcome<usize> {
    child.kill()?;
    child.wait()?;
    let mut said = Vec::new();
    child
        .stderr
        .take()
        .ok_or("its output is piped")?
        .read_to_end(&mut said)?;
    Ok(said.len())
}

fn assert_clean(root: &Path) -> Outcome {
    let names: Vec<_> = fs::read_dir(root.join("c"))?
        .map(|e| e.map(|e| e.file_name()))
        .collect::<Result<_, _>>()?;
    assert_eq!(names, ["slots"]);
    Ok(())
}

#[test]
fn threads_lose_nothing_and_read_nothing_torn() -> Outcome {
    let folder = tempfile::tempdir()?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| -> Outcome {
        let writers: Vec<_> = (0..SLOTS)
            .map(|slot| {
                let store = FsStore::new(folder.path());
                scope.spawn(move || (0..200).try_for_each(|_| count_up(&store, slot)))
            })
            .collect();
        let reader = scope.spawn(|| -> Outcome {
            let store = FsStore::new(folder.path());
            while !done.load(Ordering::Relaxed) {
                read(&store)?;
            }
            Ok(())
        });
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        for outcome in written.into_iter().chain([reader.join()]) {
            outcome.map_err(|_| "panicked")??;
        }
        Ok(())
    })?;
    assert_eq!(read(&FsStore::new(folder.path()))?, [200; SLOTS]);
    assert_clean(folder.path())
}

/// The same, with a writer that empties the key when it is done with a round: what a reader sees is
/// whole or absent.
#[test]
fn erasing_while_others_write_loses_nothing() -> Outcome {
    let folder = tempfile::tempdir()?;
    thread::scope(|scope| -> Outcome {
        let writers: Vec<_> = (0..SLOTS)
            .map(|slot| {
                let store = FsStore::new(folder.path());
                scope.spawn(move || (0..200).try_for_each(|_| flip(&store, slot)))
            })
            .collect();
        for writer in writers {
            writer.join().map_err(|_| "panicked")??;
        }
        Ok(())
    })?;
    assert_eq!(read(&FsStore::new(folder.path()))?, [0; SLOTS]);
    assert!(
        !folder.path().join("c").exists(),
        "the last one erased it, and its folder"
    );
    Ok(())
}

/// Sets the slot, and clears it again; a value that is all zero is erased.
fn flip(store: &FsStore, slot: usize) -> Outcome {
    for (old, new) in [(0, 1), (1, 0)] {
        let Locked::Held(mut lock) = store.lock(&key()?, Wait::Block)? else {
            return Err("not locked".into());
        };
        let mut slots = decode(&lock.fetch(Of::Any, Want::Whole { limit: 1 << 20 })?)?;
        if slots[slot] != old {
            return Err(format!("slot {slot} is {}", slots[slot]).into());
        }
        slots[slot] = new;
        if slots == [0; SLOTS] {
            lock.erase()?;
        } else {
            lock.append(&encode(slots))?;
            lock.publish()?;
        }
    }
    Ok(())
}

#[test]
fn processes_lose_nothing_and_read_nothing_torn() -> Outcome {
    if let Ok(role) = env::var(ROLE) {
        return child(&role);
    }
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    let mut children = Vec::new();
    for slot in 0..SLOTS {
        children.push(start("count", slot, folder.path())?);
    }
    let mut running = true;
    while running {
        read(&store)?;
        running = false;
        for child in &mut children {
            running |= child.try_wait()?.is_none();
        }
    }
    for mut child in children {
        assert!(child.wait()?.success());
    }
    assert_eq!(read(&store)?, [200; SLOTS]);
    assert_clean(folder.path())
}

/// Writers killed at any moment: what they reported as written exists, at most one update more,
/// and the next writer goes on.
#[test]
fn killed_writers_do_no_harm() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    let mut said = [0; SLOTS];
    let mut at_least = [0; SLOTS];
    for round in 0..12 {
        let mut children = Vec::new();
        for slot in 0..SLOTS - 1 {
            children.push(start("endless", slot, folder.path())?);
        }
        for (slot, mut child) in children.into_iter().enumerate() {
            // Turns are not fair, so little is waited for: some are killed early, some late.
            let heard = if slot == 0 { 1 + round } else { 0 };
            hear(&mut child, heard)?;
            said[slot] += (heard + kill(child)?) as u32;
            at_least[slot] += 1;
            read(&store)?;
        }
        count_up(&store, SLOTS - 1)?;
        said[SLOTS - 1] += 1;
        assert_clean(folder.path())?;
    }
    let found = read(&store)?;
    for slot in 0..SLOTS {
        // Each kill may have come between an update and the word on it.
        let most = said[slot] + at_least[slot];
        assert!(
            (said[slot]..=most).contains(&found[slot]),
            "slot {slot}: said {said:?}, found {found:?}"
        );
    }
    Ok(())
}

#[test]
fn a_lock_ends_with_its_holder() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    count_up(&store, 0)?;
    let mut child = start("hold", 0, folder.path())?;
    hear(&mut child, 1)?;
    assert!(matches!(store.lock(&key()?, Wait::Try)?, Locked::Busy));
    assert_eq!(read(&store)?, [1, 0, 0, 0], "readers do not wait");
    kill(child)?;
    assert!(folder.path().join("c/slots.__lock").exists());
    assert_eq!(store.list_prefix(&Prefix::root())?, [key()?]);
    let Locked::Held(lock) = store.lock(&key()?, Wait::Try)? else {
        panic!("its holder is dead")
    };
    drop(lock);
    assert_clean(folder.path())?;

    let mut child = start("hold", 0, folder.path())?;
    hear(&mut child, 1)?;
    kill(child)?;
    count_up(&store, 0)?;
    assert_eq!(read(&store)?, [2, 0, 0, 0]);
    assert_clean(folder.path())
}

/// A waiting writer gets the lock when its holder is killed.
#[test]
fn waiting_ends_with_the_holder() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut child = start("hold", 0, folder.path())?;
    hear(&mut child, 1)?;
    thread::scope(|scope| -> Outcome {
        let store = FsStore::new(folder.path());
        let waiting = scope.spawn(move || {
            store
                .put(&key()?, &[encode([7; SLOTS]).into()], Precondition::None)
                .map(drop)
                .map_err(Into::into) as Outcome
        });
        kill(child)?;
        waiting.join().map_err(|_| "panicked")?
    })?;
    assert_eq!(read(&FsStore::new(folder.path()))?, [7; SLOTS]);
    assert_clean(folder.path())
}
