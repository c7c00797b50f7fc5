//! Arrays and groups in buckets and on web servers, opened by URL.

use std::error::Error;

use ndarray::{Array2, array};
use ndzarr::store::{Credentials, RemoteOptions, ZipWriter};
use ndzarr::{Array, CopyOptions, ErrorKind, Existing, Format, Group, MemoryStore, Place, copy};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};
use ndzarr_testkit::{has_started, run_with_variables};
use serde_json::json;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// Formats, and their names in a URL.
const FORMATS: [(Format, &str); 3] = [
    (Format::Zarr3, "zarr3"),
    (Format::Zarr2, "zarr2"),
    (Format::N5, "n5"),
];

/// Does what users do with arrays and groups, below a URL.
pub(crate) fn use_arrays_and_groups(root: &str) -> Outcome {
    for (format, name) in FORMATS {
        let base = format!("{root}/{name}");
        let mut group = Group::create(&base, format)?;
        let mut builder = Array::<u16>::builder([4, 6]).chunks([2, 3]).format(format);
        if format == Format::Zarr3 {
            builder = builder.shards([4, 6]);
        }
        let mut a = group.create_array("a", builder)?;
        a.write(
            [0..4, 0..6],
            &Array2::from_shape_fn((4, 6), |(y, x)| (y * 6 + x + 1) as u16),
        )?;
        a.fill([1..3, 2..4], 100)?;
        a.append(0, &array![[7, 7, 7, 8, 8, 8]])?;
        a.merge_attributes(json!({"unit": "nm"}))?;
        if format != Format::N5 {
            group.consolidate()?;
        }

        let expected = array![
            [1, 2, 3, 4, 5, 6],
            [7, 8, 100, 100, 11, 12],
            [13, 14, 100, 100, 17, 18],
            [19, 20, 21, 22, 23, 24],
            [7, 7, 7, 8, 8, 8]
        ];
        let group = Group::open(&base)?;
        let names: Vec<_> = group
            .children()?
            .iter()
            .map(|child| child.name().to_owned())
            .collect();
        assert_eq!(names, ["a"]);
        for a in [
            group.array::<u16>("a")?,
            Array::open(format!("{base}/a"))?,
            Array::open(format!("{base}|{name}:a"))?,
        ] {
            assert_eq!(a.format(), format);
            assert_eq!(a.read(..)?, expected.clone().into_dyn(), "{base}");
            assert_eq!(a.read([1..2, 1..4])?, array![[8, 100, 100]]);
            assert_eq!(a.attributes()["unit"], "nm");
        }
        let wrong = Array::<u16>::open(format!(
            "{base}|{}:a",
            if name == "n5" { "zarr3" } else { "n5" }
        ));
        assert!(wrong.is_err(), "{base} is {name}");
        group.erase("a")?;
        let error = Array::<u16>::open(format!("{base}/a")).expect_err("it was removed");
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }

    // The zeros that the second call leaves are stored: an erasure could remove what another writer
    // stored.
    let fill = Array::<u16>::builder([4])
        .chunks([4])
        .create(format!("{root}/fill"))?;
    fill.write([0..2], &array![5, 6])?;
    fill.write([0..2], &array![0, 0])?;
    assert_eq!(
        Array::<u16>::open(format!("{root}/fill"))?.read(..)?,
        array![0_u16, 0, 0, 0].into_dyn()
    );
    Ok(())
}

/// Checks a bucket after [`use_arrays_and_groups`] at `data/set`.
fn check_bucket(server: &ObjectServer) {
    let keys = server.objects().keys();
    assert!(
        keys.iter().all(|key| key.starts_with("data/set/")),
        "{keys:?}"
    );
    assert!(
        keys.iter().any(|key| key == "data/set/fill/c/0"),
        "{keys:?}"
    );
    for received in server
        .requests()
        .iter()
        .filter(|received| received.request.method == "DELETE")
    {
        let condition = received
            .request
            .headers
            .iter()
            .find(|(name, _)| name.contains("if-"));
        assert_eq!(condition, None, "{}", received.request.target);
    }
}

/// Checks that this header of each request has this part.
fn check_headers(server: &ObjectServer, name: &str, part: &str) {
    for received in server.requests() {
        let value = received.request.header(name).unwrap_or_default();
        assert!(
            value.contains(part),
            "{} {name}: {value:?}",
            received.request.target
        );
    }
}

#[test]
fn rs_05_rs_33_arrays_in_a_bucket_of_amazon() -> Outcome {
    if has_started() {
        return use_arrays_and_groups(&format!("s3://{BUCKET}/data/set"));
    }
    let server = ObjectServer::start(Dialect::S3);
    let variables = [
        ("AWS_ACCESS_KEY_ID", "an-id"),
        ("AWS_SECRET_ACCESS_KEY", "a-secret"),
        ("AWS_SESSION_TOKEN", "a-session"),
        ("AWS_DEFAULT_REGION", "eu-central-1"),
        ("AWS_ENDPOINT_URL", &server.url()),
    ];
    run_with_variables(
        "buckets::rs_05_rs_33_arrays_in_a_bucket_of_amazon",
        &variables,
    );
    check_bucket(&server);
    check_headers(&server, "authorization", "Credential=an-id/");
    check_headers(&server, "authorization", "/eu-central-1/s3/");
    check_headers(&server, "x-amz-security-token", "a-session");
    Ok(())
}

/// The caller's variables replace those of the process, of which it has none.
#[test]
fn a_place_has_variables_of_its_own() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let endpoint = server.url();
    let place = |id: &'static str| {
        let endpoint = endpoint.clone();
        Place::with_variables(format!("s3://{BUCKET}/data/set"), move |name| match name {
            "AWS_ENDPOINT_URL" => Some(endpoint.clone()),
            "AWS_ACCESS_KEY_ID" => Some(id.to_owned()),
            "AWS_SECRET_ACCESS_KEY" => Some("a-secret".to_owned()),
            _ => None,
        })
    };
    Array::<u8>::builder([2])
        .create(place("first"))?
        .write([0..2], &[1, 2])?;
    check_headers(&server, "authorization", "Credential=first/");
    let before = server.requests().len();
    assert_eq!(
        Array::<u8>::open(place("second"))?.read([0..2])?,
        array![1, 2]
    );
    let after = server.requests();
    assert!(after.len() > before);
    for received in &after[before..] {
        let signed = received.request.header("authorization").unwrap_or_default();
        assert!(signed.contains("Credential=second/"), "{signed}");
    }
    assert!(!format!("{:?}", place("first")).contains("first"));
    Ok(())
}

#[test]
fn a_place_has_options_of_its_own() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.zip");
    let archive = ZipWriter::create_file(&path)?;
    Array::<u8>::builder([2])
        .create((&archive, "in"))?
        .write([0..2], &array![3, 4])?;
    archive.finish()?;
    server.objects().put("data/a.zip", std::fs::read(&path)?);
    let endpoint = server.url();
    let place = |url: &str| {
        let endpoint = endpoint.clone();
        Place::with_options(url, move |options| {
            let options = options
                .endpoint(&endpoint)
                .credentials(Credentials::key("an-id", "hidden"));
            options
                .header("x-lab-project", "volumes")
                .expect("it is valid")
        })
    };
    let [set, inside] =
        ["data/set", "data/a.zip|zip:in"].map(|path| place(&format!("s3://{BUCKET}/{path}")));
    Array::<u8>::builder([2])
        .create(&set)?
        .write([0..2], &array![1, 2])?;
    assert_eq!(Array::<u8>::open(&set)?.read(..)?, array![1, 2].into_dyn());
    assert_eq!(
        Array::<u8>::open(inside)?.read(..)?,
        array![3, 4].into_dyn()
    );
    check_headers(&server, "authorization", "Credential=an-id/");
    check_headers(&server, "x-lab-project", "volumes");
    assert!(!format!("{set:?}").contains("hidden"));

    // What the URL says of the service stays.
    server.forget();
    let url = format!("s3+{endpoint}/{BUCKET}/data/set");
    let none = |_| RemoteOptions::new().endpoint("http://127.0.0.1:1");
    assert_eq!(
        Array::<u8>::open(Place::with_options(url, none))?.read(..)?,
        array![1, 2].into_dyn()
    );
    assert!(
        server
            .requests()
            .iter()
            .all(|received| received.request.header("authorization").is_none())
    );
    let azure = ObjectServer::start(Dialect::Azure);
    let endpoint = azure.url();
    let key = move |options: RemoteOptions| {
        options
            .endpoint(&endpoint)
            .account("theirs")
            .credentials(Credentials::AccountKey("a2V5".into()))
    };
    let url = format!("abfss://{BUCKET}@lab.dfs.core.windows.net/set");
    Array::<u8>::builder([2]).create(Place::with_options(url, key))?;
    check_headers(&azure, "authorization", "SharedKey lab:");
    Ok(())
}

#[test]
fn rs_05_rs_33_rs_36_arrays_in_a_bucket_of_google() -> Outcome {
    if has_started() {
        return use_arrays_and_groups(&format!("gs://{BUCKET}/data/set"));
    }
    let server = ObjectServer::start(Dialect::Gcs);
    let variables = [
        ("GOOGLE_BASE_URL", &*server.url()),
        ("GOOGLE_SKIP_SIGNATURE", "true"),
    ];
    run_with_variables(
        "buckets::rs_05_rs_33_rs_36_arrays_in_a_bucket_of_google",
        &variables,
    );
    check_bucket(&server);
    // Google's caches keep what does not say so for an hour.
    for received in server
        .requests()
        .iter()
        .filter(|received| received.request.method == "PUT")
    {
        let control = received.request.header("cache-control");
        assert_eq!(
            control,
            Some("no-cache, max-age=0"),
            "{}",
            received.request.target
        );
    }
    Ok(())
}

#[test]
fn rs_05_rs_33_arrays_in_a_container_of_azure() -> Outcome {
    if has_started() {
        return use_arrays_and_groups(&format!("az://{BUCKET}/data/set"));
    }
    let server = ObjectServer::start(Dialect::Azure);
    let variables = [
        ("AZURE_STORAGE_ACCOUNT_NAME", "lab"),
        ("AZURE_STORAGE_ACCOUNT_KEY", "a2V5"),
        ("AZURE_STORAGE_ENDPOINT", &server.url()),
    ];
    run_with_variables(
        "buckets::rs_05_rs_33_arrays_in_a_container_of_azure",
        &variables,
    );
    check_bucket(&server);
    check_headers(&server, "authorization", "SharedKey lab:");
    Ok(())
}

#[test]
fn rs_01_ten_appends_make_ten_rows_whatever_answers_are_lost() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let url = format!("s3+{}/{BUCKET}/a", server.url());
    let mut a = Array::<u16>::builder([0, 3]).chunks([4, 3]).create(&url)?;
    server.faults([FaultRule::every(2, Fault::Lost500).of(&["PUT"])]);
    for row in 1..=10 {
        server.forget();
        a.append(0, &array![[row, row, row]])?;
        assert!(server.traffic().requests < 30, "{:?}", server.traffic());
    }
    server.heal();
    let rows = Array::<u16>::open(&url)?.read(..)?;
    assert_eq!(
        rows,
        Array2::from_shape_fn((10, 3), |(y, _)| y as u16 + 1).into_dyn()
    );
    Ok(())
}

#[test]
fn rs_35_web_servers_are_read() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    let store = MemoryStore::new();
    let mut group = Group::create(&store, Format::Zarr3)?;
    group
        .create_array("a", Array::<u16>::builder([3]))?
        .write([0..3], &array![1, 2, 3])?;
    group.consolidate()?;
    for key in store.keys() {
        server.objects().put(
            &format!("my data%/{key}"),
            store.get(&key).expect("it is stored"),
        );
    }
    let base = format!("{}/my%20data%25", server.url());
    for query in ["", "?token=hidden"] {
        for path in ["/a", "/a/"] {
            server.forget();
            let a = Array::<u16>::open(format!("{base}{path}{query}"))?;
            assert_eq!(a.read(..)?, array![1, 2, 3].into_dyn());
            assert!(
                server
                    .requests()
                    .iter()
                    .all(|received| received.request.target.ends_with(query))
            );
            let error = a
                .write([0..3], &array![4, 5, 6])
                .expect_err("nothing can be written");
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(!format!("{error} {error:?} {a:?}").contains("hidden"));
        }
        assert_eq!(
            Group::open(format!("{base}{query}"))?
                .array::<u16>("a")?
                .shape(),
            [3]
        );
    }
    let error =
        Array::<u16>::open(format!("{base}/b?token=hidden")).expect_err("it does not exist");
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(!format!("{error} {error:?}").contains("hidden"));
    Ok(())
}

/// Only the server knows what a path means.
#[test]
fn rs_35_a_web_server_is_asked_for_the_path_as_it_was_written() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    for (path, requested) in [
        ("/a%2Fb/c", "/a%2Fb/c"),
        ("/a%2fb%20c%7E/", "/a%2fb%20c%7E"),
        ("/a+b,c;d=e@f:g!$&'()*", "/a+b,c;d=e@f:g!$&'()*"),
        // What no request can have is encoded.
        ("/a b\\\"<>^`{}/é", "/a%20b%5C%22%3C%3E%5E%60%7B%7D/%C3%A9"),
    ] {
        server.forget();
        let opened = Array::<u16>::open(format!("{}{path}|zarr3:", server.url()));
        assert_eq!(
            opened.expect_err("it does not exist").kind(),
            ErrorKind::NotFound
        );
        let targets: Vec<_> = server
            .requests()
            .into_iter()
            .map(|received| received.request.target)
            .collect();
        assert_eq!(targets, [format!("{requested}/zarr.json")], "{path}");
    }
    for path in ["/a%2F%2Fb", "/a/%2E%2e/b", "/a%2F..%2Fb", "/a/%2e"] {
        server.forget();
        let error = Array::<u16>::open(format!("{}{path}", server.url())).expect_err(path);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{path}: {error}");
        assert_eq!(server.traffic().requests, 0);
    }
    Ok(())
}

#[test]
fn archives_in_buckets_are_read() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.zip");
    let archive = ZipWriter::create_file(&path)?;
    Array::<u16>::builder([3])
        .create((&archive, "in/a"))?
        .write([0..3], &array![1, 2, 3])?;
    archive.finish()?;
    for (dialect, scheme, bucket) in [(Dialect::S3, "s3+", "/bucket"), (Dialect::Http, "", "")] {
        let server = ObjectServer::start(dialect);
        server.objects().put("data/a b+.zip", std::fs::read(&path)?);
        let url = format!("{scheme}{}{bucket}/data/a%20b+.zip", server.url());
        for inside in ["|zip:in/a", "|zip:in/a|zarr3:", "|zip:in|zarr:a"] {
            let a = Array::<u16>::open(format!("{url}{inside}"))?;
            assert_eq!(a.read([1..3])?, array![2, 3], "{url}{inside}");
        }
        let root = format!("{scheme}{}{bucket}|zip:a", server.url());
        assert_eq!(
            Array::<u16>::open(root).expect_err("no archive").kind(),
            ErrorKind::InvalidArgument
        );
    }
    Ok(())
}

#[test]
fn the_url_of_an_archive_says_what_to_append() -> Outcome {
    let archive = tempfile::tempdir()?;
    let path = archive.path().join("a.zip");
    let writer = ZipWriter::create_file(&path)?;
    Array::<u8>::builder([4]).create(&writer)?.fill([0..4], 1)?;
    writer.finish()?;
    let server = ObjectServer::start(Dialect::Http);
    for name in ["a.zip", "a.ozx"] {
        server.objects().put(name, std::fs::read(&path)?);
        let url = format!("{}/{name}", server.url());
        let error = Group::open(&url).expect_err("a URL does not say that it is an archive");
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(
            error.to_string().contains(&format!("open {url}|zip:")),
            "{error}"
        );
        assert_eq!(
            Array::<u8>::open(format!("{url}|zip:"))?.read([0..4])?,
            array![1, 1, 1, 1]
        );
    }
    Ok(())
}

/// One array, by URLs with other roots: it is not copied over itself.
#[test]
fn another_root_of_a_bucket_is_the_same_place() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let endpoint = server.url();
    let place = |path: &str| {
        let endpoint = endpoint.clone();
        Place::with_options(format!("s3://{BUCKET}/{path}"), move |options| {
            options
                .endpoint(&endpoint)
                .credentials(Credentials::key("id", "secret"))
        })
    };
    Group::create(place("g"), Format::Zarr3)?;
    for name in ["raw", "h/same"] {
        Array::<u8>::builder([16])
            .chunks([4])
            .create(place(&format!("g/{name}")))?
            .fill(.., 7)?;
    }
    let keys = server.objects().keys();
    let replacing = CopyOptions::new().chunks([8]).existing(Existing::Replace);
    for (from, to) in [
        ("g|zarr3:raw", "g/raw"),
        ("g/raw", "g|zarr3:raw"),
        ("g", "g/raw"),
        ("g/raw", "g"),
        ("g", "g/h/same"),
    ] {
        let error = copy(place(from), place(to), &replacing).expect_err("it is refused");
        assert_eq!(
            error.kind(),
            ErrorKind::InvalidArgument,
            "{from} to {to}: {error}"
        );
        assert_eq!(server.objects().keys(), keys, "{from} to {to}");
    }
    // An equal array elsewhere in the bucket is another one.
    copy(place("g/raw"), place("g/h/same"), &replacing)?;
    assert_eq!(Array::<u8>::open(place("g/h/same"))?.chunk_shape(), [8]);
    Ok(())
}
