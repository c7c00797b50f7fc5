//! Buckets that deny requests for what is absent, or lists.

use ndarray::array;
use ndzarr::store::{Credentials, ObjectStore, RemoteOptions};
use ndzarr::{
    AnyArray, Array, CopyOptions, ErrorKind, Format, Group, MemoryStore, OpenOptions, copy,
};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer, Request};

use crate::bucket_faults::Outcome;

#[test]
fn rs_16_a_denied_chunk_may_be_missing_and_so_may_attributes() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .credentials(Credentials::key("id", "secret"));
    let open =
        |options: &RemoteOptions, path: &str| Ok(ObjectStore::s3(BUCKET, path, options)?.into());
    let open: &dyn Fn(&RemoteOptions, &str) -> Result<ndzarr::Storage, ndzarr::store::StoreError> =
        &open;
    for (format, path) in [
        (Format::Zarr3, "zarr3"),
        (Format::Zarr2, "zarr2"),
        (Format::N5, "n5"),
    ] {
        let a = Array::<u16>::builder([4])
            .chunks([2])
            .format(format)
            .create(open(&options, path)?)?;
        a.write([0..2], &array![1, 2])?;
    }
    // As S3 answers to those who may not list.
    server.faults([FaultRule::always(Fault::DeniedIfMissing)]);
    let lenient = options.clone().missing_if_denied();
    for (format, path) in [
        (Format::Zarr3, "zarr3"),
        (Format::Zarr2, "zarr2"),
        (Format::N5, "n5"),
    ] {
        let opened = |options: &RemoteOptions| {
            OpenOptions::new()
                .format(format)
                .open_array::<u16>(open(options, path)?)
        };
        // `.zattrs` is absent, which the answer does not say: there may be attributes.
        if format == Format::Zarr2 {
            let error = opened(&options).expect_err("a document is denied");
            assert!(
                error.key().is_some_and(|key| key.ends_with(".zattrs")),
                "{error}"
            );
            assert!(opened(&lenient)?.attributes().is_empty());
            server.objects().put("zarr2/.zattrs", "{}");
        }
        let strict = opened(&options)?;
        assert_eq!(strict.read([0..2])?, array![1, 2]);
        let error = strict.read(..).expect_err("a chunk is denied");
        assert!(
            error
                .to_string()
                .contains("NDZARR_MISSING_IF_DENIED=true takes it for missing"),
            "{error}"
        );
        let a = opened(&lenient)?;
        assert_eq!(a.read(..)?, array![1, 2, 0, 0].into_dyn(), "{path}");
        // The chunk may exist, with elements that the write would lose.
        let error = a
            .write([2..3], &array![5])
            .expect_err("the rest of the chunk is denied");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        a.write([2..4], &array![5, 6])?;
    }
    // Nothing at all may be read.
    server.faults([FaultRule::always(Fault::Status(403))]);
    for options in [&options, &lenient] {
        let error = AnyArray::open(open(options, "zarr3")?).expect_err("documents are denied");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("AccessDenied"), "{error}");
    }
    Ok(())
}

/// The formats that are tried first have no document there, and neither has the other kind of node.
#[test]
fn rs_16_a_node_is_found_where_what_is_absent_is_denied() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .credentials(Credentials::key("id", "secret"));
    let open = |path: &str| ObjectStore::s3(BUCKET, path, &options).map(ndzarr::Storage::from);
    let strict = FaultRule::always(Fault::DeniedIfMissing);
    for (format, path) in [
        (Format::Zarr3, "zarr3"),
        (Format::Zarr2, "zarr2"),
        (Format::N5, "n5"),
    ] {
        let mut group = Group::create(open(path)?, format)?;
        group.set_attribute("title", "t")?;
        let mut a = group.create_array("a", Array::<u16>::builder([4]).chunks([4]))?;
        a.set_attribute("unit", "nm")?;
        a.write([0..4], &array![1, 2, 3, 4])?;
    }
    Group::open(open("zarr2")?)?.consolidate()?;
    server.faults([strict]);
    for path in ["zarr3", "zarr2", "n5"] {
        let group = Group::open(open(path)?)?;
        assert_eq!(group.attributes()["title"], "t", "{path}");
        let names_document = |warning: &String| warning.contains("reading zarr.json is denied");
        assert_eq!(
            group.warnings().iter().any(names_document),
            path != "zarr3",
            "{:?}",
            group.warnings()
        );
        for a in [
            group.array::<u16>("a")?,
            Array::<u16>::open((open(path)?, "a"))?,
        ] {
            assert_eq!(a.read(..)?, array![1, 2, 3, 4].into_dyn(), "{path}");
            assert_eq!(a.attributes()["unit"], "nm", "{path}");
        }
    }
    // Where nothing can be read, the denial is the answer.
    let error = Group::open(open("none")?).expect_err("it is denied or absent");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(
        error.key().is_some_and(|key| key.ends_with("zarr.json")),
        "{error}"
    );
    Ok(())
}

/// `info`, `cp` and `verify` of a bucket that may not be listed ask for each chunk, as from a web
/// server.
#[test]
fn a_bucket_that_may_not_be_listed_is_copied_chunk_by_chunk() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .credentials(Credentials::key("id", "secret"));
    let open = |path: &str| ObjectStore::s3(BUCKET, path, &options).map(ndzarr::Storage::from);
    let a = Array::<u16>::builder([6]).chunks([2]).create(open("a")?)?;
    a.write([2..6], &array![1, 2, 3, 4])?;
    let is_list = |request: &Request| request.query("list-type").is_some();
    server.faults([FaultRule::always(Fault::Status(403)).only_if(is_list)]);
    let memory = MemoryStore::new();
    copy(open("a")?, &memory, &CopyOptions::new())?;
    assert_eq!(
        Array::<u16>::open(&memory)?.read(..)?,
        array![0, 0, 1, 2, 3, 4].into_dyn()
    );
    assert!(
        !memory.keys().iter().any(|key| key.as_str() == "c/0"),
        "a chunk that was not stored"
    );
    copy(&memory, open("b")?, &CopyOptions::new())?;
    assert_eq!(
        Array::<u16>::open(open("b")?)?.read(..)?,
        array![0, 0, 1, 2, 3, 4].into_dyn()
    );
    // Which arrays a group has is not known.
    Group::create(open("g")?, Format::Zarr3)?;
    let error = copy(open("g")?, MemoryStore::new(), &CopyOptions::new())
        .expect_err("its members are unknown");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    Ok(())
}
