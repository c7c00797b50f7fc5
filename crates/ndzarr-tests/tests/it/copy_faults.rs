//! A store fails at each request of a copy in turn, or from it on, on either side: what looks like
//! a copy is whole, the source stays, and a resumed copy is the one that would have been made, with
//! nothing else.

mod side;

use std::num::NonZeroUsize;

use ndzarr::store::ZipWriter;
use ndzarr::{
    Array, CopyOptions, ErrorKind, Existing, Format, Group, MemoryStore, RunOptions, asynchronous,
    copy,
};
use ndzarr_testkit::block_on;

use side::{Fails, Keys, Kind, Side};

/// A group with consolidated metadata, two arrays, one of them in a group of its own, and a file of
/// others.
fn source() -> MemoryStore {
    let memory = MemoryStore::new();
    let mut group = Group::create((&memory, "from"), Format::Zarr2).expect("a group");
    let inner = group.create_group("inner").expect("a group");
    for (group, name) in [(&group, "a"), (&inner, "b")] {
        let array = Array::<u16>::builder([10]).chunks([4]).fill_value(9);
        let array = group.create_array(name, array).expect("an array");
        array.fill([0..7], 3).expect("elements");
    }
    group.consolidate().expect("consolidated metadata");
    memory
        .set("from/inner/notes.txt", "by others")
        .expect("a key");
    memory
}

/// Copies, as a future or not.
fn copied(
    from: &Side,
    to: &Side,
    options: &CopyOptions,
    as_future: bool,
) -> Result<(), ndzarr::Error> {
    let from = (&from.storage, "from");
    let to = (&to.storage, "to");
    let report = if as_future {
        block_on(asynchronous::copy(from, to, options))
    } else {
        copy(from, to, options)
    };
    report.map(drop)
}

fn on_one_thread(options: &CopyOptions) -> CopyOptions {
    options
        .clone()
        .run(RunOptions::default().threads(NonZeroUsize::new(1)))
}

/// What a copy makes, by a copy in memory without faults.
fn expected(options: &CopyOptions) -> Keys {
    let to = Side::empty(Kind::Blocking);
    copied(&Side::new(Kind::Blocking, &source()), &to, options, false).expect("a copy");
    to.keys()
}

fn at_each_request(options: &CopyOptions, kinds: [Kind; 2], as_future: bool) {
    let options = on_one_thread(options);
    let [kind_from, kind_to] = kinds;
    let whole = expected(&options);
    let from = Side::new(kind_from, &source());
    let before = from.keys();
    let mut failed = 0;
    let targets = kind_to.faults().iter().map(|fails| (true, *fails));
    for (fails_at_target, fails) in kind_from
        .faults()
        .iter()
        .map(|fails| (false, *fails))
        .chain(targets)
    {
        // That many requests in a row did not matter: the copy has ended before them.
        let mut idle = 0;
        for n in 0.. {
            let to = Side::empty(kind_to);
            let side = if fails_at_target { &to } else { &from };
            side.fail(fails, n);
            let done = copied(&from, &to, &options, as_future);
            side.heal();
            let what = format!(
                "{fails:?} request {n} of the {}, {kinds:?}, {done:?}",
                if fails_at_target { "target" } else { "source" }
            );
            assert!(from.keys() == before, "{what}: the source");
            let is_open = Group::open((&to.storage, "to")).is_ok();
            match &done {
                // What failed was not needed.
                Ok(()) => {
                    assert!(to.keys() == whole, "{what}: {:?}", to.keys().keys());
                    idle += 1;
                    if idle > 3 {
                        break;
                    }
                    continue;
                }
                // All but the note's removal was done; or consolidated metadata exist, which show a
                // group by themselves, and its own document does not.
                Err(_) if is_open => {
                    let mut made = to.keys();
                    made.retain(|key, _| !key.ends_with(".ndzarr-copy"));
                    let mut without_document = whole.clone();
                    if made.contains_key("to/.zmetadata") {
                        without_document.remove("to/.zgroup");
                    }
                    assert!(
                        made == whole || made == without_document,
                        "{what}: it opens: {:?}",
                        made.keys()
                    );
                }
                Err(error) => {
                    failed += 1;
                    assert_ne!(error.kind(), ErrorKind::AlreadyExists, "{what}");
                }
            }
            idle = 0;
            match copied(&from, &to, &options.clone().resume(), as_future) {
                Ok(()) => assert!(to.keys() == whole, "{what}: {:?}", to.keys().keys()),
                Err(error) => {
                    assert!(
                        is_open && error.kind() == ErrorKind::AlreadyExists,
                        "{what}: resumed: {error}"
                    );
                }
            }
        }
    }
    assert!(failed > 50, "{failed} requests failed");
}

/// A new archive exists once it is finished, and is then whole.
fn into_an_archive(options: &CopyOptions, kind_from: Kind) {
    let options = on_one_thread(options);
    let whole = expected(&options);
    let from = Side::new(kind_from, &source());
    let mut failed = 0;
    for (fails_at_target, fails) in [
        (false, Fails::One),
        (false, Fails::AllFromIt),
        (true, Fails::One),
        (true, Fails::AllFromIt),
    ] {
        let mut idle = 0;
        for n in 0.. {
            let to = Side::folder();
            let side = if fails_at_target { &to } else { &from };
            side.fail(fails, n);
            let done = to.new_archive().and_then(|archive: ZipWriter| {
                copy((&from.storage, "from"), (&archive, "to"), &options)?;
                assert!(to.keys().is_empty(), "it is not finished");
                archive.finish().map_err(ndzarr::Error::from)
            });
            side.heal();
            let what =
                format!("{fails:?} request {n}, target {fails_at_target}, {kind_from:?}, {done:?}");
            if done.is_err() {
                assert!(to.keys().is_empty(), "{what}: {:?}", to.keys().keys());
                assert!(
                    fails == Fails::AllFromIt || to.files() == 0,
                    "{what}: it leaves a file"
                );
                failed += 1;
                idle = 0;
                continue;
            }
            assert!(to.keys_of_archive() == whole, "{what}");
            idle += 1;
            if idle > 3 {
                break;
            }
        }
    }
    assert!(failed > 50, "{failed} requests failed");
}

fn option_sets() -> [CopyOptions; 4] {
    [
        CopyOptions::new(),
        CopyOptions::new().format(Format::Zarr3),
        CopyOptions::new()
            .format(Format::Zarr3)
            .chunks([5])
            .shards([10]),
        CopyOptions::new()
            .format(Format::N5)
            .existing(Existing::Replace)
            .record_losses(),
    ]
}

#[test]
fn a_fault_of_blocking_stores_leaves_a_whole_copy_or_none() {
    at_each_request(&CopyOptions::new(), [Kind::Blocking; 2], false);
    at_each_request(
        &CopyOptions::new().format(Format::Zarr3),
        [Kind::Blocking; 2],
        false,
    );
}

#[test]
fn a_fault_of_asynchronous_stores_leaves_a_whole_copy_or_none() {
    at_each_request(&CopyOptions::new(), [Kind::Asynchronous; 2], false);
    at_each_request(&CopyOptions::new(), [Kind::Asynchronous; 2], true);
}

#[test]
fn a_fault_of_archives_leaves_a_whole_copy_or_none() {
    at_each_request(&CopyOptions::new(), [Kind::Archive, Kind::Blocking], false);
    into_an_archive(&CopyOptions::new(), Kind::Blocking);
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn stores_of_each_kind() {
        for from in [Kind::Blocking, Kind::Asynchronous, Kind::Archive] {
            for to in [Kind::Blocking, Kind::Asynchronous] {
                option_sets()
                    .iter()
                    .for_each(|options| at_each_request(options, [from, to], false));
            }
            option_sets()
                .iter()
                .for_each(|options| into_an_archive(options, from));
        }
    }

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn as_futures() {
        for from in [Kind::Blocking, Kind::Asynchronous, Kind::Archive] {
            for to in [Kind::Blocking, Kind::Asynchronous] {
                option_sets()
                    .iter()
                    .for_each(|options| at_each_request(options, [from, to], true));
            }
        }
    }

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn buckets() {
        for options in &option_sets()[..3] {
            at_each_request(options, [Kind::Bucket; 2], false);
        }
        into_an_archive(&CopyOptions::new(), Kind::Bucket);
    }
}
