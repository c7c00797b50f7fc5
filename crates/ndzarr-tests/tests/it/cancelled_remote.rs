//! Calls that wait for a server that never answers end when they are cancelled.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use ndarray::arr1;
use ndzarr::{AnyNode, Array, Cancel, Error, ErrorKind, Format, Group, RunOptions, par_fold};
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};
use serde_json::json;

/// Ends a test that fails, too.
const LONG: Duration = Duration::from_secs(120);

type Call = fn(&str, Group, Array<u8>) -> Result<(), Error>;

#[test]
fn a_cancelled_call_does_not_wait_for_a_silent_server() -> Result<(), Error> {
    let server = ObjectServer::start(Dialect::S3);
    let root = format!("s3+{}/{BUCKET}/g", server.url());
    let group = Group::create(&root, Format::Zarr3)?;
    let array = group.create_array("a", Array::<u8>::builder([8]).chunks([2]).shards([4]))?;
    array.fill(.., 1)?;
    server.objects().put("g.zip", "no archive");
    // They have no options: the cancellation is that of the thread.
    let without_options: [(&str, Call); 6] = [
        ("open an array", |root, _, _| {
            Array::<u8>::open(format!("{root}/a")).map(drop)
        }),
        ("open a group", |root, _, _| Group::open(root).map(drop)),
        ("open an archive", |root, _, _| {
            Group::open(format!("{root}.zip|zip:")).map(drop)
        }),
        ("create an array", |root, _, _| {
            Array::<u8>::builder([1])
                .create(format!("{root}/b"))
                .map(drop)
        }),
        ("create a group", |root, _, _| {
            Group::create(format!("{root}/b"), Format::Zarr3).map(drop)
        }),
        ("walk", |_, group, _| {
            group.with_options(RunOptions::default()).walk().map(drop)
        }),
    ];
    let with_options: [(&str, Call); 16] = [
        ("read", |_, _, a| a.read(..).map(drop)),
        ("read into", |_, _, a| {
            a.read_into([0..8], &mut arr1(&[0; 8]))
        }),
        ("read many", |_, _, a| {
            a.read_many([[0..2], [5..6]]).map(drop)
        }),
        ("write", |_, _, a| a.write([0..8], &arr1(&[2; 8]))),
        ("write a part", |_, _, a| a.write([1..3], &arr1(&[2; 2]))),
        ("fill", |_, _, a| a.fill(.., 2)),
        ("append", |_, _, mut a| a.append(0, &arr1(&[1]))),
        ("shrink", |_, _, mut a| a.resize([2])),
        ("attributes", |_, _, mut a| {
            a.merge_attributes(json!({"n": 1}))
        }),
        ("refresh", |_, _, mut a| a.refresh()),
        ("stored units", |_, _, a| a.units().stored().map(drop)),
        ("fold", |_, _, a| {
            par_fold(&a, || 0, |n, _, _| n + 1, |a, b| a + b).map(drop)
        }),
        ("contents", |_, _, a| {
            AnyNode::Array(a.into()).contents().map(drop)
        }),
        ("end a shard", |_, _, a| {
            let shard = a.shard_writer(&[0])?;
            shard.write_chunk(&[0], &arr1(&[1; 2]))?;
            shard.finish()
        }),
        ("children", |_, group, _| group.children().map(drop)),
        ("create in a group", |_, group, _| {
            group.create_array("b", Array::<u8>::builder([1])).map(drop)
        }),
    ];
    for (what, call, has_options) in without_options
        .iter()
        .map(|(what, call)| (*what, *call, false))
        .chain(with_options.iter().map(|(what, call)| (*what, *call, true)))
    {
        let cancel = Cancel::new();
        let run = RunOptions::default().cancel(cancel.clone());
        let mut own_group = group.clone();
        let mut own_array = array.clone();
        if has_options {
            own_group = own_group.with_options(run.clone());
            own_array = own_array.with_options(run);
        }
        let root = root.clone();
        let scope = cancel.clone();
        let held = server.hold();
        let (ended, end) = channel();
        let thread = thread::spawn(move || {
            let call = || call(&root, own_group, own_array);
            let output = if has_options {
                call()
            } else {
                scope.scope(call)
            };
            // The test may have given up.
            let _ = ended.send(output);
        });
        held.wait_for(1);
        cancel.cancel();
        let output = end
            .recv_timeout(LONG)
            .unwrap_or_else(|_| panic!("{what}: it waits for the server"));
        let error = output.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{what}: {error:?}");
        thread.join().expect("it does not panic");
        drop(held);
    }
    assert_eq!(array.read(..)?.len(), 8);
    Ok(())
}
