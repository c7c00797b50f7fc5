//! Calls that wait for a lock can be cancelled.

use ndzarr::{Array, Format, FsStore, Group, Storage, asynchronous};
use ndzarr_testkit::block_on;
use serde_json::json;

use crate::reports_waits::ReportsWaits;

#[test]
fn a_call_that_waits_for_a_lock_can_be_cancelled() {
    use ndarray::arr1;
    use ndzarr::store::{Key, Locked, Wait};
    use ndzarr::{
        Cancel, ConcurrentUpdate, CopyOptions, Error, ErrorKind, N5Block, RunOptions, Store,
    };

    type Call = fn(Group, Array<u8>, RunOptions) -> Result<(), Error>;
    type AsyncArray = asynchronous::Array<u8>;
    fn block() -> N5Block<u8> {
        N5Block {
            size: vec![4],
            elements: vec![1; 4],
        }
    }
    let calls: [(&str, Format, &str, Call); 19] = [
        ("fill", Format::Zarr3, "a/c/0", |_, a, _| a.fill([1..2], 3)),
        ("append", Format::Zarr3, "a/zarr.json", |_, mut a, _| {
            a.append(0, &arr1(&[1]))
        }),
        ("resize", Format::Zarr3, "a/zarr.json", |_, mut a, _| {
            a.resize([2])
        }),
        (
            "resize, whoever is last",
            Format::Zarr3,
            "a/c/0",
            |_, a, run| {
                a.with_options(run.concurrent_update(ConcurrentUpdate::LastWriterWins))
                    .resize([0])
            },
        ),
        (
            "attributes of an array",
            Format::Zarr3,
            "a/zarr.json",
            |_, mut a, _| a.merge_attributes(json!({"n": 1})),
        ),
        (
            "attributes of a group",
            Format::Zarr3,
            "zarr.json",
            |mut g, _, _| g.merge_attributes(json!({"n": 1})),
        ),
        ("consolidate", Format::Zarr3, "zarr.json", |mut g, _, _| {
            g.consolidate()
        }),
        ("create_array", Format::Zarr3, "b/zarr.json", |g, _, _| {
            g.create_array("b", Array::<u8>::builder([1])).map(drop)
        }),
        ("create_group", Format::Zarr3, "b/zarr.json", |g, _, _| {
            g.create_group("b").map(drop)
        }),
        ("convert", Format::Zarr3, "b/zarr.json", |g, _, run| {
            let place = |path| (g.storage(), path);
            ndzarr::copy(
                place("a"),
                place("b"),
                &CopyOptions::new().format(Format::Zarr3).run(run),
            )
            .map(drop)
        }),
        (
            "append, a future",
            Format::Zarr3,
            "a/zarr.json",
            |_, a, _| block_on(async { AsyncArray::from(a).append(0, &arr1(&[1])).await }),
        ),
        (
            "attributes of an array, a future",
            Format::Zarr3,
            "a/zarr.json",
            |_, a, _| {
                block_on(async { AsyncArray::from(a).merge_attributes(json!({"n": 1})).await })
            },
        ),
        (
            "create_group, a future",
            Format::Zarr3,
            "b/zarr.json",
            |g, _, _| {
                block_on(async {
                    asynchronous::Group::from(g)
                        .create_group("b")
                        .await
                        .map(drop)
                })
            },
        ),
        ("erase", Format::Zarr3, "a/c/0", |g, _, _| g.erase("a")),
        ("erase, a future", Format::Zarr3, "a/c/0", |g, _, _| {
            block_on(async { asynchronous::Group::from(g).erase("a").await })
        }),
        ("append", Format::Zarr2, "a/.zarray", |_, mut a, _| {
            a.append(0, &arr1(&[1]))
        }),
        ("consolidate", Format::Zarr2, ".zmetadata", |mut g, _, _| {
            g.consolidate()
        }),
        ("write an N5 block", Format::N5, "a/0", |_, a, _| {
            a.n5_blocks().write(&[0], &block())
        }),
        (
            "write an N5 block, a future",
            Format::N5,
            "a/0",
            |_, a, _| {
                block_on(async { AsyncArray::from(a).n5_blocks().write(&[0], &block()).await })
            },
        ),
    ];
    for (what, format, key, call) in calls {
        let folder = tempfile::tempdir().expect("it works");
        let (store, waits) = ReportsWaits::new(FsStore::new(folder.path()));
        let group = Group::create(Storage::blocking(store), format).expect("it works");
        let a = group
            .create_array("a", Array::<u8>::builder([4]).chunks([4]))
            .expect("it works");
        a.fill(.., 1).expect("it works");
        // A stopped writer (SIGSTOP, a debugger, a sleeping laptop).
        let store = FsStore::new(folder.path());
        let lock = store
            .lock(&Key::new(key).expect("it works"), Wait::Block)
            .expect("it works");
        assert!(matches!(lock, Locked::Held(_)));

        let cancel = Cancel::new();
        let run = RunOptions::default().cancel(cancel.clone());
        let group = group.with_options(run.clone());
        let array = group.array::<u8>("a").expect("it works");
        let call = std::thread::spawn(move || call(group, array, run));
        waits.recv().expect("the call waits for the lock");
        cancel.cancel();
        let error = call.join().expect("no panic").expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{what}: {error:?}");
    }
}
