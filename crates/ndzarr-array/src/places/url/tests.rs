//! The table of what is accepted and refused.

use super::*;

fn parsed(text: &str) -> Result<Option<Url>> {
    parse(Path::new(text))
}

/// Of a URL that is accepted: root, path in an archive, path of the node.
fn accepted(text: &str) -> (String, Option<String>, String) {
    let url = parsed(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let url = url.unwrap_or_else(|| panic!("{text}: a path"));
    let root = match url.root {
        Root::File(path) => format!("file {}", path.display()),
        Root::Memory { name, path } => format!("memory {name} {path}"),
        Root::Remote(remote) => format!("{remote:?}"),
    };
    (root, url.archive, url.node)
}

#[test]
fn rs_48_accepted() {
    for (text, root) in [
        ("s3://bucket", "s3://bucket/"),
        ("S3://bucket/", "s3://bucket/"),
        ("s3://my.bucket-1/a/b.zarr/", "s3://my.bucket-1/a/b.zarr"),
        ("s3://bucket/a%20b/%7C/%252F", "s3://bucket/a b/|/%2F"),
        ("s3://bucket/a+b", "s3://bucket/a+b"),
        (
            "s3+http://127.0.0.1:9000/bucket/a",
            "s3+http://127.0.0.1:9000/bucket/a",
        ),
        ("s3+https://host/bucket", "s3+https://host/bucket/"),
        ("gs://bucket/a", "gs://bucket/a"),
        ("gcs://bucket/a", "gs://bucket/a"),
        ("az://container/a", "az://container/a"),
        (
            "abfss://box@acc.dfs.core.windows.net/a",
            "abfss://box@acc.dfs.core.windows.net/a",
        ),
        (
            "abfs://box@acc.dfs.core.windows.net",
            "abfss://box@acc.dfs.core.windows.net/",
        ),
        (
            "https://bucket.s3.amazonaws.com/a",
            "https://bucket.s3.amazonaws.com/a",
        ),
        ("http://[::1]:80/a/b/", "http://[::1]:80/a/b"),
        ("https://host/a%2Fb%20c+%7C/", "https://host/a%2Fb%20c+%7C"),
        ("file:///a%20b/c", "file /a b/c"),
        ("file://localhost/a", "file /a"),
        ("file:/a", "file /a"),
        ("memory://", "memory  "),
        ("memory://name/a/b", "memory name a/b"),
    ] {
        assert_eq!(
            accepted(text),
            (root.to_owned(), None, String::new()),
            "{text}"
        );
    }
    let query = parsed("https://host/a?sig=x%2Fy&b");
    let Ok(Some(Url {
        root: Root::Remote(Remote::Http { path, query, .. }),
        ..
    })) = query
    else {
        panic!("{query:?}")
    };
    assert_eq!(
        (path.as_str(), query.as_deref()),
        ("a", Some("sig=x%2Fy&b"))
    );
}

/// RFC 8089, appendix E.2.
#[test]
fn drives_of_windows() {
    for (local, path) in [
        ("/C:/data/a.zarr", "C:/data/a.zarr"),
        ("/c:\\data", "c:\\data"),
        // The current folder of a drive is not an absolute path.
        ("/C:", "/C:"),
        ("/1:/data", "/1:/data"),
        ("/data/C:/a", "/data/C:/a"),
        ("/é:/a", "/é:/a"),
    ] {
        assert_eq!(on_drive(local), path);
    }
    let path = if cfg!(windows) {
        "file C:/a b"
    } else {
        "file /C:/a b"
    };
    assert_eq!(accepted("file:///C:/a%20b").0, path);
}

#[test]
fn rs_48_adapters() {
    let some = |text: &str| Some(text.to_owned());
    for (text, root, archive, node) in [
        ("s3://b/a.zip|zip:", "s3://b/a.zip", some(""), ""),
        (
            "s3://b/a.zip|zip:in/here/|zarr3:x%20y",
            "s3://b/a.zip",
            some("in/here"),
            "x y",
        ),
        ("s3://b/a|auto:", "s3://b/a", None, ""),
        ("s3://b/a|n5:s0", "s3://b/a", None, "s0"),
        ("a b.zip|zip:%41", "file a b.zip", some("%41"), ""),
        ("a|b.zarr|zarr:x", "file a|b.zarr", None, "x"),
        ("zip::s3://b/a.zip", "s3://b/a.zip", some(""), ""),
        ("zip://in/x::file:///a.zip", "file /a.zip", some("in/x"), ""),
    ] {
        assert_eq!(
            accepted(text),
            (root.to_owned(), archive, node.to_owned()),
            "{text}"
        );
    }
    let format = |text: &str| {
        parsed(text)
            .expect("it is a URL")
            .expect("it is a URL")
            .format
    };
    assert_eq!(format("s3://b/a"), None);
    assert_eq!(format("s3://b/a|auto:"), None);
    for (word, allowed) in [
        ("zarr", [true, true, false]),
        ("zarr2", [true, false, false]),
        ("zarr3", [false, true, false]),
        ("n5", [false, false, true]),
    ] {
        let format = format(&format!("s3://b/a|{word}:")).expect("it is named");
        assert_eq!(
            [Format::Zarr2, Format::Zarr3, Format::N5].map(|one| format.allows(one)),
            allowed,
            "{word}"
        );
    }
}

#[test]
fn rs_48_paths() {
    for text in [
        "a/b", "/a b", "C:\\a", "c:/a", "a:b", "a|b", "a::b", "x|y:z", "", "1://a", "a#b", "a?b",
    ] {
        assert_eq!(parsed(text).expect("it is a path"), None, "{text}");
    }
}

#[test]
fn rs_48_refused() {
    for (text, why) in [
        ("s3://", "bucket"),
        ("s3:///a", "bucket"),
        ("s3://b%20c/a", "bucket"),
        ("s3://b//a", "empty"),
        ("s3://b/a//c", "empty"),
        ("s3://b/./a", "empty"),
        ("s3://b/a/..", "empty"),
        ("s3://b/a%2F..%2Fc", "empty"),
        ("s3://b/%zz", "hexadecimal"),
        ("s3://b/%ff", "UTF-8"),
        ("s3://b/a?x", "%3F"),
        ("s3://b/a#mode=zarr", "|zarr3:"),
        ("s3+http://host", "bucket"),
        ("https://", "host"),
        ("abfss://box/a", "container@account"),
        ("az:///a", "bucket"),
        ("file://host/a", "another machine"),
        ("file:///a%2", "not a valid URL"),
        ("file:///a%+f", "not a valid URL"),
        ("s3://b/a|tar:", "zip, zarr"),
        ("s3://b/a|", "zip, zarr"),
        ("s3://b/a|zip:x|zip:y", "nothing can follow"),
        ("s3://b/a|zarr3:x|zip:y", "nothing can follow"),
        ("s3://b/a|auto:x", "no path"),
        ("s3://b/a|zip:x/../y", "empty"),
        ("ftp://host/a", "the known ones are s3,"),
        ("simplecache::s3://b/a", "simplecache"),
        ("zip::simplecache::s3://b/a.zip", "zip"),
    ] {
        let error = parsed(text).expect_err(text).to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

/// What may be secret is in no error, and in no `Debug`.
#[test]
fn secrets_are_not_shown() {
    for text in [
        "https://name:hunter2@host/a?x",
        "https://host//a?sig=hunter2",
        "s3://hunter2:hunter2@b/a",
        "s3+https://key:hunter2@host/b/a",
        "https://host/a?sig=hunter2|tar:",
    ] {
        let error = format!("{:?}", parsed(text).expect_err(text));
        assert!(!error.contains("hunter2"), "{error}");
    }
    let url = format!("{:?}", parsed("https://host/a?sig=hunter2"));
    assert!(url.contains("host/a") && !url.contains("hunter2"), "{url}");
}
