//! Executors that drive the futures of a store, and forks.

use ndzarr_store::{AsyncStore, StoreError, block_on};
use ndzarr_store_object::ObjectStore;
use ndzarr_testkit::object_server::{Dialect, ObjectServer};
use tokio::runtime::Builder;

use crate::it::{options, part, s3, s3_with, whole};

/// Reads, and drops the last handle of the store inside the task.
async fn read(store: ObjectStore) -> bool {
    store
        .fetch(&whole("a"))
        .await
        .is_ok_and(|fetched| part(fetched) == "a value")
}

#[test]
fn rs_24_any_executor_drives_a_store() {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "a value");
    assert!(block_on(read(s3(&server, ""))));
    assert!(smol::block_on(read(s3(&server, ""))));
    // A runtime without timers and sockets.
    let bare = Builder::new_current_thread().build().expect("a runtime");
    assert!(bare.block_on(read(s3(&server, ""))));
    let several = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let task = several.spawn(read(s3(&server, "")));
    assert!(several.block_on(task).expect("it does not panic"));
    // A runtime of the caller's, from its own tasks and from a thread outside.
    let own = options(&server).runtime(several.handle().clone());
    let task = several.spawn(read(s3_with(&own, "")));
    assert!(several.block_on(task).expect("it does not panic"));
    assert!(block_on(read(s3_with(&own, ""))));
    // A blocking call in a task.
    let store = s3_with(&own, "");
    let task = several.spawn(async move {
        let mut is_right = false;
        store.block_on(std::pin::pin!(async {
            is_right = read(store.clone()).await
        }))?;
        Ok::<_, StoreError>(is_right)
    });
    assert!(
        several
            .block_on(task)
            .expect("it does not panic")
            .expect("it waits")
    );
}

#[test]
fn stores_of_one_endpoint_share_connections() {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "a value");
    // A connection that has just answered may still be in use when the next store needs one.
    let shared = (1..=1000).any(|n| {
        assert!(block_on(read(s3(&server, ""))));
        server.traffic().connections < n
    });
    assert!(shared, "{:?}", server.traffic());
}

/// The child has neither the threads of its parent nor the permits that these hold, and must not
/// read from its sockets.
#[cfg(unix)]
#[test]
fn rs_25_both_processes_read_after_a_fork() {
    use std::sync::mpsc;
    use std::time::Duration;

    use fork::Fork;
    use futures_util::FutureExt;

    ndzarr_testkit::in_own_process!();
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "a value");
    let options = options(&server)
        .requests_in_flight(1)
        .read_timeout(Duration::from_secs(10))
        .retry_for(Duration::from_secs(10));
    let store = s3_with(&options, "");
    assert!(block_on(read(store.clone())), "before");
    let held = server.hold();
    let fetch = whole("a");
    let mut pending = store.fetch(&fetch);
    assert!((&mut pending).now_or_never().is_none());
    held.wait_for(1);
    let child = match fork::fork().expect("the system has one more process") {
        Fork::Child => {
            let (sender, receiver) = mpsc::channel();
            let store = store.clone();
            let reader = std::thread::spawn(move || sender.send(block_on(read(store))));
            let is_right = receiver.recv_timeout(Duration::from_secs(20));
            drop(reader);
            std::process::exit(if is_right.unwrap_or_default() { 0 } else { 1 });
        }
        Fork::Parent(child) => child,
    };
    drop(held);
    assert_eq!(
        part(block_on(pending).expect("the parent's answer comes")),
        "a value"
    );
    assert!(block_on(read(store.clone())), "the parent");
    let status = fork::waitpid(child).expect("it is a child");
    assert_eq!(status, 0, "the child");
}
