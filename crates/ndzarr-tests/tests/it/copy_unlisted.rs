//! What has a name that no key can have is not copied, and each report names it.

use ndzarr::store::{Credentials, ObjectStore, RemoteOptions};
use ndzarr::{
    AnyNode, Array, CopyOptions, CopyReport, Format, Group, LeftOutReason, MemoryStore, Storage,
    asynchronous, copy,
};
use ndzarr_testkit::block_on;
use ndzarr_testkit::object_server::{BUCKET, Dialect, Met, ObjectServer};

use crate::bucket_faults::Outcome;

/// What is below `data/` in the bucket.
fn bucket(server: &ObjectServer) -> Result<Storage, ndzarr::store::StoreError> {
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .credentials(Credentials::key("id", "secret"));
    Ok(ObjectStore::s3(BUCKET, "data", &options)?.into())
}

/// Makes a group `g` with an array `a`.
fn fill(storage: &Storage) -> Result<(), ndzarr::Error> {
    Group::create((storage, "g"), Format::Zarr3)?;
    let a = Array::<u8>::builder([4])
        .chunks([2])
        .create((storage, "g/a"))?;
    a.fill(.., 1)
}

fn unreadable(report: &CopyReport) -> Vec<&str> {
    let account = report.account.as_ref().expect("an account");
    account
        .left_out
        .iter()
        .filter(|left_out| left_out.reason == LeftOutReason::Unreadable)
        .flat_map(|left_out| left_out.keys.first.iter().map(String::as_str))
        .collect()
}

#[test]
fn copies_from_a_bucket_name_them_without_another_list() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let storage = bucket(&server)?;
    fill(&storage)?;
    let options = CopyOptions::new();
    let copied = |path: &str| {
        server.forget();
        copy((&storage, path), (MemoryStore::new(), "to"), &options)
    };
    let n_lists = || {
        let requests = server.requests();
        let is_list = |met: &&Met| met.request.query("list-type").is_some();
        requests.iter().filter(is_list).count()
    };
    let report = copied("g")?;
    assert!(report.is_complete(), "{report:?}");
    let n_lists_without = n_lists();
    // Two markers of folders do not count.
    for name in ["g/y\\z", "g/a/c//0", "g/", "g/a/"] {
        server.objects().put(&format!("data/{name}"), "mine");
    }
    let report = copied("g")?;
    assert_eq!(unreadable(&report), ["g/a/c//0", "g/y\\z"]);
    assert!(!report.is_complete());
    assert_eq!(n_lists(), n_lists_without);
    let report = copied("g/a")?;
    assert_eq!(unreadable(&report), ["g/a/c//0"]);

    server.objects().put("data/g/x//y", "mine");
    let future = asynchronous::copy((&storage, "g"), (MemoryStore::new(), "to"), &options);
    let report = block_on(future)?;
    assert_eq!(unreadable(&report), ["g/a/c//0", "g/x//y", "g/y\\z"]);

    for name in ["g/y\\z", "g/a/c//0", "g/x//y"] {
        server.objects().erase(&format!("data/{name}"));
    }
    let report = copied("g")?;
    assert!(
        report.is_complete(),
        "what is gone is not named: {report:?}"
    );
    Ok(())
}

#[test]
fn contents_of_a_bucket_name_them_and_a_removal_leaves_them() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let storage = bucket(&server)?;
    fill(&storage)?;
    server.objects().put("data/g/a/c//0", "mine");
    let contents = AnyNode::open((&storage, "g"))?.contents()?;
    assert_eq!(contents.unlisted, ["g/a/c//0"]);
    assert!(contents.foreign.is_empty(), "{contents:?}");
    Group::open((&storage, "g"))?.erase("a")?;
    let mut left = server.objects().keys();
    left.retain(|key| key.starts_with("data/g/a/"));
    assert_eq!(left, ["data/g/a/c//0"]);
    Ok(())
}

#[cfg(unix)]
#[test]
fn those_in_a_folder_are_named_and_foreign() -> Outcome {
    let folder = tempfile::tempdir()?;
    let storage = Storage::folder(folder.path());
    fill(&storage)?;
    std::fs::write(folder.path().join("g/C:\\notes.txt"), "mine")?;
    let to = (MemoryStore::new(), "to");
    let report = copy((&storage, "g"), to, &CopyOptions::new())?;
    assert_eq!(unreadable(&report), ["g/C:\\notes.txt"]);
    let contents = AnyNode::open((&storage, "g"))?.contents()?;
    assert_eq!(contents.unlisted, ["g/C:\\notes.txt"]);
    assert_eq!(contents.foreign, contents.unlisted);
    Ok(())
}
