//! What a program can find out about the failure of a store: the kind, the error of the store, and
//! that of the system.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use ndzarr::ndarray::array;
use ndzarr::store::{Key, StoreError, ZipWriter};
use ndzarr::{
    AnyNode, Array, Error, ErrorKind, Format, FsStore, Group, MemoryStore, Storage, asynchronous,
};
use ndzarr_store_zip::ZipStore;
use ndzarr_testkit::{Call, FaultStore, block_on};

/// The first cause of a type.
fn cause<T: std::error::Error + 'static>(error: &Error) -> Option<&T> {
    let mut next = error.source();
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref() {
            return Some(found);
        }
        next = cause.source();
    }
    None
}

/// The errors of every call that uses the store, on an array of this store and on the groups around
/// it.
fn failures(store: &FaultStore<MemoryStore>, call: Call, error: &StoreError) -> Vec<Error> {
    let place = || Storage::blocking(store.clone());
    let mut root = Group::create(place(), Format::Zarr3).expect("a new group");
    let mut a = root
        .create_array("a", Array::<u16>::builder([4]).chunks([4]))
        .expect("a new array");
    a.fill(.., 1).expect("a chunk");
    store.fail_nth(call, 0, error.clone());
    let mut errors = Vec::new();
    let mut collect = |result: Result<(), Error>| {
        match result {
            Ok(()) => store.heal(),
            Err(error) => errors.push(error),
        }
        store.fail_nth(call, 0, error.clone());
    };
    collect(AnyNode::open(place()).map(drop));
    collect(Array::<u16>::open((place(), "a")).map(drop));
    collect(Group::create((place(), "g"), Format::Zarr3).map(drop));
    collect(a.read(..).map(drop));
    collect(a.write([0..1], &array![2]));
    collect(a.fill(.., 3));
    collect(a.set_attribute("x", &1));
    collect(a.append(0, &array![5]));
    collect(a.resize([2]));
    collect(a.refresh());
    collect(root.consolidate());
    collect(root.children().map(drop));
    collect(a.units().stored().map(drop));
    collect(block_on(asynchronous::Array::from(a.clone()).read(..)).map(drop));
    collect(block_on(
        asynchronous::Array::from(a.clone()).write([0..1], &array![2]),
    ));
    collect(root.erase("a"));
    store.heal();
    errors
}

fn check(error: &StoreError, kind: ErrorKind) {
    for call in [
        Call::Fetch,
        Call::Put,
        Call::Lock,
        Call::Write,
        Call::Publish,
        Call::Erase,
        Call::List,
    ] {
        let store = FaultStore::new(MemoryStore::new());
        for found in failures(&store, call, error) {
            assert_eq!(found.kind(), kind, "{call:?}: {found:?}");
            let of_store = cause::<StoreError>(&found).expect("the error of the store");
            assert_eq!(of_store.to_string(), error.to_string());
            assert!(found.to_string().contains(&error.to_string()), "{found}");
            let StoreError::Io { source, .. } = error else {
                continue;
            };
            let of_system = cause::<io::Error>(&found).expect("the error of the system");
            assert_eq!(of_system.raw_os_error(), source.raw_os_error());
            assert!(found.to_string().contains(&source.to_string()), "{found}");
        }
    }
    let store = FaultStore::new(MemoryStore::new());
    let n = failures(&store, Call::Fetch, error).len();
    // The store fails once: with files of its own closed, a call tries again.
    let is_tried_again = error.is_out_of_files();
    assert!(
        is_tried_again || n > 6,
        "only {n} calls have failed with {error:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn errors_of_the_system_have_a_kind() {
    // By the numbers of Linux: EPERM, EACCES, EROFS; ENOSPC, EDQUOT; EAGAIN, EBUSY, ENFILE, EMFILE,
    // ENETDOWN, ENETUNREACH, ECONNRESET, ETIMEDOUT, ECONNREFUSED, EHOSTUNREACH, ESTALE; ENOMEM;
    // ENOENT, EIO, EFBIG, ELOOP.
    let kinds = [
        (ErrorKind::Denied, &[1, 13, 30][..]),
        (ErrorKind::StorageFull, &[28, 122]),
        (
            ErrorKind::Unavailable,
            &[11, 16, 23, 24, 100, 101, 104, 110, 111, 113, 116],
        ),
        (ErrorKind::OutOfMemory, &[12]),
        (ErrorKind::Store, &[2, 5, 27, 40]),
    ];
    for (kind, numbers) in kinds {
        for &number in numbers {
            check(
                &StoreError::io("reach", "the disk", io::Error::from_raw_os_error(number)),
                kind,
            );
        }
    }
}

/// Closing the files of the process does not help if it has none of ours.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_stays_out_of_files_may_try_later() {
    for number in [23, 24] {
        let store = FaultStore::new(MemoryStore::new());
        let place = (Storage::blocking(store.clone()), "a");
        let a = Array::<u8>::builder([4])
            .create(place)
            .expect("a new array");
        let error = io::Error::from_raw_os_error(number);
        store.fail_key(Call::Fetch, "a/c/0", StoreError::io("open", "a/c/0", error));
        let found = a.read(..).expect_err("no file can be opened");
        assert_eq!(
            (found.kind(), found.key()),
            (ErrorKind::Unavailable, Some("a/c/0")),
            "{found:?}"
        );
    }
}

#[test]
fn errors_of_a_store_have_a_kind() {
    let action = "reach";
    let key = "the bucket".to_owned();
    let what = "for a reason".to_owned();
    let of = |make: &dyn Fn(String, String) -> StoreError| make(key.clone(), what.clone());
    let denied = of(&|key, what| StoreError::Denied {
        action,
        key,
        what,
        or_missing: false,
    });
    check(&denied, ErrorKind::Denied);
    let unavailable = of(&|key, what| StoreError::Unavailable {
        action,
        key,
        what,
        attempts: 3,
    });
    check(&unavailable, ErrorKind::Unavailable);
    check(
        &of(&|key, what| StoreError::Unknown { action, key, what }),
        ErrorKind::UnknownOutcome,
    );
    check(
        &of(&|key, what| StoreError::Other { action, key, what }),
        ErrorKind::Store,
    );
    check(
        &StoreError::Busy {
            key,
            waited: Duration::from_secs(1),
            holder: None,
        },
        ErrorKind::Conflict,
    );
}

/// A missing bucket is not a missing chunk, which would read as the fill value.
#[test]
fn a_missing_bucket_is_not_found() {
    let store = FaultStore::new(MemoryStore::new());
    let a = Array::<u8>::builder([4])
        .create((Storage::blocking(store.clone()), "a"))
        .expect("a new array");
    let what = "NoSuchBucket".to_owned();
    let error = StoreError::NoBucket {
        action: "read",
        key: "a/c/0".to_owned(),
        what,
    };
    store.fail_key(Call::Fetch, "a/c/0", error);
    let found = a.read(..).expect_err("there is no bucket");
    assert_eq!(
        (found.kind(), found.key()),
        (ErrorKind::NotFound, Some("a/c/0")),
        "{found:?}"
    );
    assert!(cause::<StoreError>(&found).is_some());
}

/// The store below an archive.
#[test]
fn errors_below_an_archive_keep_their_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FaultStore::new(FsStore::new(folder.path()));
    let key = || Key::new("a.zip").expect("a key");
    let new = ZipWriter::create(store.clone(), key()).expect("a new archive");
    Array::<u8>::builder([4])
        .create((&new, "a"))
        .expect("a new array")
        .fill(.., 1)
        .expect("a chunk");
    new.finish().expect("a whole archive");
    let archive = Storage::blocking(ZipStore::open(store.clone(), key()).expect("it opens"));
    let a = Array::<u8>::open((&archive, "a")).expect("it opens");
    let error = StoreError::io("read", "a.zip", io::ErrorKind::PermissionDenied.into());
    store.fail_key(Call::Fetch, "a.zip", error);
    for found in [
        a.read(..).map(drop),
        Array::<u8>::open((&archive, "b")).map(drop),
    ] {
        let found = found.expect_err("the store below fails");
        assert_eq!(found.kind(), ErrorKind::Denied, "{found:?}");
        assert!(cause::<io::Error>(&found).is_some(), "{found:?}");
    }
}

/// Real files, of another user where the tests run as root, who may read everything.
#[cfg(target_os = "linux")]
mod without_root {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use ndzarr_testkit::{has_started, run_without_root};

    use super::*;

    fn check_denied<T>(result: Result<T, Error>, what: &str) {
        let Err(error) = result else {
            panic!("{what}: it succeeds")
        };
        assert_eq!(error.kind(), ErrorKind::Denied, "{what}: {error:?}");
        let number = cause::<io::Error>(&error).and_then(io::Error::raw_os_error);
        assert_eq!(number, Some(13), "{what}: {error:?}");
        assert!(
            error.to_string().contains("Permission denied"),
            "{what}: {error}"
        );
    }

    #[test]
    fn files_without_permission_are_denied() {
        if !has_started() {
            return run_without_root(
                "error_kinds::without_root::files_without_permission_are_denied",
            );
        }
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        let mut a = Array::<u8>::builder([4])
            .chunks([2])
            .create((place, "a"))
            .expect("a new array");
        a.fill(.., 1).expect("two chunks");
        set(&place.join("a/c/0"), 0o0).expect("it is ours");
        check_denied(a.read(..), "read");
        check_denied(a.write([0..1], &array![2]), "a partial write");
        set(&place.join("a/c"), 0o555).expect("it is ours");
        check_denied(a.write([2..4], &array![2, 3]), "write");
        set(&place.join("a"), 0o555).expect("it is ours");
        check_denied(a.set_attribute("x", &1), "an attribute");
        check_denied(a.resize([2]), "resize");
        set(place, 0o555).expect("it is ours");
        check_denied(Array::<u8>::builder([4]).create((place, "b")), "create");
        set(&place.join("a/zarr.json"), 0o0).expect("it is ours");
        check_denied(Array::<u8>::open((place, "a")), "open");
        set(&place.join("a"), 0o0).expect("it is ours");
        check_denied(Array::<u8>::open((place, "a")), "open in a folder");
        for folder in ["", "a", "a/c"] {
            set(&place.join(folder), 0o755).expect("it is ours");
        }
    }
}
