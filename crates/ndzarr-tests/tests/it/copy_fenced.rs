//! A copy that goes on while other calls work on its target: it publishes nothing over what they
//! have acknowledged, and succeeds only if all of it exists.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ndarray::Array2;
use ndzarr::{
    AnyNode, Array, AsyncStore, Cancel, CopyOptions, Error, ErrorKind, Existing, MemoryStore,
    NewArray, Progress, RunOptions, Storage, copy,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency};

const ROWS: u64 = 8;

fn make(storage: &Storage, path: &str, value: u8) {
    let array = Array::<u8>::builder([ROWS, 4]).chunks([1, 4]);
    array
        .create((storage, path))
        .expect("a new array")
        .fill(.., value)
        .expect("elements");
}

/// How many elements at `to` have another value; `None` if it does not open.
fn count_others(storage: &Storage, value: u8) -> Option<usize> {
    let array = Array::<u8>::open((storage, "to")).ok()?;
    Some(
        array
            .read(..)
            .expect("elements")
            .iter()
            .filter(|element| **element != value)
            .count(),
    )
}

fn stores(folder: &Path) -> [Storage; 3] {
    let slow: Arc<dyn AsyncStore> = Arc::new(AsyncMemoryStore::new(Latency::default()));
    [
        Storage::folder(folder),
        Storage::from(MemoryStore::new()),
        Storage::from(slow),
    ]
}

/// One thread, which does this after the given step, in place of other calls.
fn with(step: u64, meanwhile: impl Fn() + Send + Sync + 'static) -> RunOptions {
    let n_steps = AtomicU64::new(0);
    RunOptions::default()
        .threads(NonZeroUsize::new(1))
        .progress(move |_: Progress| {
            if n_steps.fetch_add(1, Ordering::SeqCst) + 1 == step {
                std::thread::scope(|scope| scope.spawn(&meanwhile).join()).expect("it goes well");
            }
        })
}

/// A copy that is cancelled after its first step.
fn cancelled(storage: &Storage, options: CopyOptions) {
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let run = with(1, move || stop.cancel()).cancel(cancel);
    let error =
        copy((storage, "from"), (storage, "to"), &options.run(run)).expect_err("it is cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
}

/// Does something after each step of a copy, which may go on with one that was cancelled, in each
/// kind of store; and checks the result.
fn at_each_step(meanwhile: fn(&Storage, &CopyOptions), check: fn(&Storage, Result<(), Error>)) {
    let as_they_are = CopyOptions::new();
    let encoded = CopyOptions::new().chunks([2, 4]);
    let by_pieces = CopyOptions::new().chunks([2, 4]).shards([4, 4]);
    for options in [as_they_are, encoded, by_pieces] {
        for resumes in [false, true] {
            for step in 1..=ROWS {
                let folder = tempfile::tempdir().expect("a folder");
                for storage in stores(folder.path()) {
                    make(&storage, "from", 7);
                    let mut own = options.clone();
                    if resumes {
                        cancelled(&storage, own.clone());
                        own = own.resume();
                    }
                    let happened = Arc::new(AtomicBool::new(false));
                    let of_others = storage.clone();
                    let same = options.clone();
                    let happens = Arc::clone(&happened);
                    let own = own.run(with(step, move || {
                        happens.store(true, Ordering::SeqCst);
                        meanwhile(&of_others, &same);
                    }));
                    let copied = copy((&storage, "from"), (&storage, "to"), &own).map(drop);
                    if !happened.load(Ordering::SeqCst) {
                        copied.expect("it has fewer steps");
                        continue;
                    }
                    if let Err(error) = &copied {
                        let kinds = [ErrorKind::Conflict, ErrorKind::AlreadyExists];
                        assert!(kinds.contains(&error.kind()), "{step}: {error:?}");
                    }
                    check(&storage, copied);
                }
            }
        }
    }
}

#[test]
fn what_is_written_to_a_copy_that_another_call_has_ended_stays() {
    let ends_and_writes = |storage: &Storage, options: &CopyOptions| {
        copy(
            (storage, "from"),
            (storage, "to"),
            &options.clone().resume(),
        )
        .expect("it goes on");
        Array::<u8>::open((storage, "to"))
            .expect("the copy")
            .fill(.., 9)
            .expect("elements");
    };
    at_each_step(ends_and_writes, |storage, _| {
        assert_eq!(count_others(storage, 9), Some(0))
    });
}

#[test]
fn what_is_appended_to_a_copy_that_another_call_has_ended_stays() {
    let ends_and_appends = |storage: &Storage, options: &CopyOptions| {
        copy(
            (storage, "from"),
            (storage, "to"),
            &options.clone().resume(),
        )
        .expect("it goes on");
        let mut to = Array::<u8>::open((storage, "to")).expect("the copy");
        to.append(0, &Array2::from_elem((2, 4), 7)).expect("rows");
        to.set_attribute("checked", &true).expect("an attribute");
    };
    at_each_step(ends_and_appends, |storage, _| {
        let to = Array::<u8>::open((storage, "to")).expect("the copy");
        assert_eq!(to.shape(), [ROWS + 2, 4]);
        assert!(to.attributes().contains_key("checked"));
        assert_eq!(count_others(storage, 7), Some(0));
    });
}

#[test]
fn a_copy_that_succeeds_is_whole_though_another_call_began_it_again() {
    let begins_anew = |storage: &Storage, options: &CopyOptions| {
        cancelled(storage, options.clone().existing(Existing::Replace));
    };
    at_each_step(begins_anew, |storage, copied| {
        assert!(
            copied.is_err() || count_others(storage, 7) == Some(0),
            "{copied:?}"
        );
        assert!(copied.is_ok() || count_others(storage, 7).is_none());
    });
}

#[test]
fn a_copy_of_another_source_stays() {
    let copies_another = |storage: &Storage, options: &CopyOptions| {
        make(storage, "other", 5);
        let options = options.clone().existing(Existing::Replace);
        copy((storage, "other"), (storage, "to"), &options).expect("a copy");
    };
    at_each_step(copies_another, |storage, _| {
        assert_eq!(count_others(storage, 5), Some(0))
    });
}

#[test]
fn an_array_that_is_made_in_its_place_stays() {
    let makes_one = |storage: &Storage, _: &CopyOptions| {
        let array = Array::<u8>::builder([ROWS, 4]).chunks([1, 4]).overwrite();
        array
            .create((storage, "to"))
            .expect("a new array")
            .fill(.., 9)
            .expect("elements");
    };
    at_each_step(makes_one, |storage, _| {
        assert_eq!(count_others(storage, 9), Some(0))
    });
}

#[test]
fn a_removed_target_is_whole_or_missing() {
    for step in 1..=ROWS {
        let folder = tempfile::tempdir().expect("a folder");
        let storage = Storage::folder(folder.path());
        make(&storage, "from", 7);
        let to = folder.path().join("to");
        let run = with(step, move || {
            std::fs::remove_dir_all(&to).expect("it is removed")
        });
        let copied = copy(
            (&storage, "from"),
            (&storage, "to"),
            &CopyOptions::new().run(run),
        );
        assert!(
            copied.is_err() || count_others(&storage, 7) == Some(0),
            "{step}"
        );
    }
}

/// Two copies of one source, to two folders, with one place for what lies between their passes.
#[test]
fn copies_that_share_a_place_for_temporaries_do_not_share_a_temporary() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = folder.path().join("from");
    let array = Array::<u16>::builder([64, 64, 64]).chunks([2, 64, 64]);
    array
        .create(&*from)
        .expect("a new array")
        .fill(.., 7)
        .expect("elements");
    let scratch = folder.path().join("scratch");
    let options = CopyOptions::new()
        .chunks([64, 4, 8])
        .memory((1 << 20) + (200 << 10))
        .temporary(&*scratch);
    let options = options.run(RunOptions::default().threads(NonZeroUsize::new(1)));
    for step in [1, 2, 3, 5, 8] {
        let [first, second] =
            ["first", "second"].map(|name| folder.path().join(format!("{name}{step}")));
        let source = from.clone();
        let target = second.clone();
        let same = options.clone();
        let own = RunOptions::default().threads(NonZeroUsize::new(1));
        let run = with(step, move || {
            let same = same.clone().run(own.clone());
            copy(&*source, &*target, &same).expect("a copy");
        });
        let report = copy(&*from, &*first, &options.clone().run(run)).expect("a copy");
        assert!(report.nodes[0].temporary_bytes > 0, "{report:?}");
        assert!(second.exists(), "{step}");
        for copied in [first, second] {
            let elements = Array::<u16>::open(&*copied)
                .expect("the copy")
                .read(..)
                .expect("elements");
            assert_eq!(
                elements.iter().filter(|element| **element != 7).count(),
                0,
                "{step}"
            );
        }
        assert_eq!(std::fs::read_dir(&scratch).expect("a folder").count(), 0);
    }
}

#[test]
fn what_took_the_place_of_a_new_array_is_not_removed_with_it() -> Result<(), Error> {
    let folder = tempfile::tempdir().expect("a folder");
    for storage in stores(folder.path()) {
        let builder = Array::<u8>::builder([ROWS, 4]).chunks([1, 4]);
        let first = NewArray::begin((&storage, "to"), builder.clone())?;
        first.array().fill(.., 1)?;
        let second = NewArray::begin((&storage, "to"), builder.overwrite())?;
        second.array().fill(.., 2)?;
        second.finish()?;
        let erased = AnyNode::Array(first.array().clone().into()).erase_self();
        assert_eq!(
            erased.expect_err("it is another array").kind(),
            ErrorKind::Conflict
        );
        assert_eq!(count_others(&storage, 2), Some(0));
    }
    Ok(())
}
