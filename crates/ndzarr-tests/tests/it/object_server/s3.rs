//! The dialect of Amazon S3; see the "Amazon S3 API Reference".

use ndzarr_testkit::ObjectServer;
use ndzarr_testkit::object_server::Dialect;

use super::client::Client;

fn start() -> (ObjectServer, Client) {
    let server = ObjectServer::start(Dialect::S3);
    let client = Client::new(&server);
    (server, client)
}

/// The test vectors of RFC 1321, as ETags.
#[test]
fn etags_are_md5() {
    let (_server, mut client) = start();
    let digits = "1234567890".repeat(8);
    for (value, etag) in [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            "d174ab98d277d9f5a5611c2c9f419d9f",
        ),
        (&digits, "57edf4a22be3c955ac49da2e2107b67a"),
    ] {
        let put = client.put("/bucket/a", &[], value);
        assert_eq!(
            (put.status, put.header("etag")),
            (200, Some(format!("\"{etag}\"").as_str())),
            "{value}"
        );
        let get = client.get("/bucket/a");
        assert_eq!((get.status, get.text()), (200, value));
        assert_eq!(get.header("etag"), put.header("etag"));
        let head = client.send("HEAD", "/bucket/a", &[], b"");
        assert_eq!(
            head.header("content-length"),
            Some(value.len().to_string().as_str())
        );
    }
    let sum = [("Content-MD5", "kAFQmDzST7DWlj99KOF/cg==")];
    assert_eq!(client.put("/bucket/a", &sum, "abc").status, 200);
    assert_eq!(
        client.put("/bucket/a", &sum, "abd").element("Code"),
        "BadDigest"
    );
}

#[test]
fn absent_keys_are_not_found_and_may_be_deleted() {
    let (server, mut client) = start();
    assert_eq!(client.get("/bucket/a").element("Code"), "NoSuchKey");
    assert_eq!(client.get("/other/a").element("Code"), "NoSuchBucket");
    assert_eq!(client.send("HEAD", "/bucket/a", &[], b"").status, 404);
    client.put("/bucket/a", &[("x-amz-meta-ndzarrput", "0123")], "value");
    assert_eq!(
        client.get("/bucket/a").header("x-amz-meta-ndzarrput"),
        Some("0123")
    );
    assert_eq!(client.send("DELETE", "/bucket/a", &[], b"").status, 204);
    assert_eq!(client.send("DELETE", "/bucket/a", &[], b"").status, 204);
    assert!(server.objects().keys().is_empty());
    server.objects().put("a", "value");
    server.objects().protect("a");
    assert_eq!(client.send("DELETE", "/bucket/a", &[], b"").status, 403);
    assert_eq!(
        client
            .send("HEAD", "/bucket", &[], b"")
            .header("x-amz-bucket-region"),
        Some("eu-central-1")
    );
    assert_eq!(client.get("/bucket/a?acl").status, 501);
}

/// RFC 9110, section 14.1.2, and what S3 says in its error.
#[test]
fn ranges_are_answered() {
    let (server, mut client) = start();
    server.objects().put("a", "0123456789");
    server.objects().put("empty", "");
    let mut range = |key: &str, range: &str| {
        let answer = client.send("GET", &format!("/bucket/{key}"), &[("Range", range)], b"");
        (
            answer.status,
            answer.header("content-range").map(str::to_owned),
            answer.text().to_owned(),
        )
    };
    for (wanted, content_range, body) in [
        ("bytes=2-4", "bytes 2-4/10", "234"),
        ("bytes=8-99", "bytes 8-9/10", "89"),
        ("bytes=9-", "bytes 9-9/10", "9"),
        ("bytes=-3", "bytes 7-9/10", "789"),
        ("bytes=-99", "bytes 0-9/10", "0123456789"),
    ] {
        assert_eq!(
            range("a", wanted),
            (206, Some(content_range.into()), body.into()),
            "{wanted}"
        );
    }
    for ignored in ["bytes=5-4", "bytes=x", "lines=1-2", "bytes=0-1,3-4"] {
        assert_eq!(
            range("a", ignored),
            (200, None, "0123456789".into()),
            "{ignored}"
        );
    }
    for (key, bad) in [
        ("a", "bytes=10-"),
        ("a", "bytes=10-12"),
        ("a", "bytes=-0"),
        ("empty", "bytes=-4"),
        ("empty", "bytes=0-0"),
    ] {
        let (status, content_range, body) = range(key, bad);
        assert_eq!((status, content_range), (416, None), "{bad}");
        let size = if key == "a" { 10 } else { 0 };
        assert!(body.contains("<Code>InvalidRange</Code>"), "{body}");
        assert!(
            body.contains(&format!("<ActualObjectSize>{size}</ActualObjectSize>")),
            "{body}"
        );
    }
}

/// "Conditional writes" and "Conditional reads" of the user guide.
#[test]
fn conditions_are_checked() {
    let (server, mut client) = start();
    let absent = [("If-None-Match", "*")];
    assert_eq!(
        client
            .put("/bucket/a", &[("If-Match", "\"x\"")], "no")
            .element("Code"),
        "NoSuchKey"
    );
    let first = client.put("/bucket/a", &absent, "one");
    let one = first.header("etag").expect("it was stored").to_owned();
    assert_eq!(
        client.put("/bucket/a", &absent, "no").element("Code"),
        "PreconditionFailed"
    );
    assert_eq!(
        client
            .put("/bucket/a", &[("If-None-Match", &one)], "no")
            .status,
        501
    );
    assert_eq!(
        client.put("/bucket/a", &[("If-Match", &one)], "two").status,
        200
    );
    assert_eq!(
        client.put("/bucket/a", &[("If-Match", &one)], "no").status,
        412
    );
    assert_eq!(
        client
            .send("DELETE", "/bucket/a", &[("If-Match", &one)], b"")
            .status,
        412
    );
    assert_eq!(server.objects().get("a").as_deref(), Some(&b"two"[..]));
    let two = client
        .get("/bucket/a")
        .header("etag")
        .expect("a tag")
        .to_owned();
    let mut get = |name: &str, value: &str| {
        client
            .send("GET", "/bucket/a", &[(name, value)], b"")
            .status
    };
    assert_eq!(
        (
            get("If-Match", &one),
            get("If-Match", &two),
            get("If-Match", "*")
        ),
        (412, 200, 200)
    );
    assert_eq!(
        (get("If-None-Match", &one), get("If-None-Match", &two)),
        (200, 304)
    );
    assert_eq!(get("If-Match", &format!("W/{two}")), 412);
    assert_eq!(get("If-None-Match", &format!("W/{two}")), 304);
    // The clock began at 2023-11-14T22:13:20Z and ticked twice.
    assert_eq!(
        get("If-Modified-Since", "Tue, 14 Nov 2023 22:13:22 GMT"),
        304
    );
    assert_eq!(
        get("If-Modified-Since", "Tue, 14 Nov 2023 22:13:21 GMT"),
        200
    );
    assert_eq!(
        get("If-Unmodified-Since", "Tue, 14 Nov 2023 22:13:22 GMT"),
        200
    );
    assert_eq!(
        get("If-Unmodified-Since", "Thu, 29 Feb 1996 00:00:00 GMT"),
        412
    );
}

#[test]
fn names_are_decoded_once() {
    let (server, mut client) = start();
    for (target, key) in [
        ("a%20b", "a b"),
        ("%252F", "%2F"),
        ("x%3Fy%3Dz%23w", "x?y=z#w"),
        ("a+b", "a+b"),
        ("%E6%97%A5%E6%9C%AC/%E8%AA%9E", "日本/語"),
        ("a//b", "a//b"),
        ("a/", "a/"),
    ] {
        assert_eq!(
            client
                .put(&format!("/bucket/{target}"), &[], "value")
                .status,
            200
        );
        assert_eq!(
            server.objects().get(key).as_deref(),
            Some(&b"value"[..]),
            "{key}"
        );
    }
}

/// "ListObjectsV2".
#[test]
fn lists_have_pages_and_prefixes() {
    let (server, mut client) = start();
    for key in ["a/1", "a/2", "a/b/1", "a/b/2", "a/c&d/1", "b", "z/1"] {
        server.objects().put(key, "value");
    }
    let all = client.get("/bucket?list-type=2");
    assert_eq!(
        all.elements("Key"),
        ["a/1", "a/2", "a/b/1", "a/b/2", "a/c&amp;d/1", "b", "z/1"]
    );
    assert_eq!(
        (all.element("KeyCount"), all.element("IsTruncated")),
        ("7", "false")
    );
    assert_eq!(all.elements("Size"), ["5"; 7]);
    assert_eq!(all.elements("LastModified")[0], "2023-11-14T22:13:21.000Z");
    let dir = client.get("/bucket?list-type=2&prefix=a%2F&delimiter=%2F");
    assert_eq!(dir.elements("Key"), ["a/1", "a/2"]);
    assert_eq!(
        dir.elements("CommonPrefixes"),
        ["<Prefix>a/b/</Prefix>", "<Prefix>a/c&amp;d/</Prefix>"]
    );
    assert_eq!(dir.element("KeyCount"), "4");
    let url = client.get("/bucket?list-type=2&prefix=a/c&encoding-type=url");
    assert_eq!(url.elements("Key"), ["a/c%26d/1"]);
    let after = client.get("/bucket?list-type=2&start-after=a/b/1&delimiter=/");
    assert_eq!(
        after.elements("CommonPrefixes"),
        ["<Prefix>a/</Prefix>", "<Prefix>z/</Prefix>"]
    );
    assert_eq!(after.elements("Key"), ["b"]);
    assert!(
        client
            .get("/bucket?list-type=2&prefix=none")
            .elements("Key")
            .is_empty()
    );
    assert_eq!(
        client
            .get("/bucket?list-type=2&continuation-token=zz")
            .element("Code"),
        "InvalidArgument"
    );
    for (query, expected) in [
        (
            "",
            vec!["a/1", "a/2", "a/b/1", "a/b/2", "a/c&amp;d/1", "b", "z/1"],
        ),
        ("&delimiter=/", vec!["a/", "b", "z/"]),
        (
            "&delimiter=/&prefix=a/",
            vec!["a/1", "a/2", "a/b/", "a/c&amp;d/"],
        ),
    ] {
        let mut names = Vec::new();
        let mut token = String::new();
        loop {
            let page = client.get(&format!("/bucket?list-type=2&max-keys=1{query}{token}"));
            let found = [page.elements("Key"), page.elements("CommonPrefixes")].concat();
            assert_eq!(found.len(), 1);
            names.push(
                found[0]
                    .trim_start_matches("<Prefix>")
                    .trim_end_matches("</Prefix>")
                    .to_owned(),
            );
            match page.elements("NextContinuationToken")[..] {
                [next] => token = format!("&continuation-token={next}"),
                _ => break,
            }
        }
        assert_eq!(names, expected);
    }
}

/// "DeleteObjects": 200 with errors inside.
#[test]
fn many_are_deleted_at_once() {
    let (server, mut client) = start();
    for key in ["a&b", "kept", "c"] {
        server.objects().put(key, "value");
    }
    server.objects().protect("kept");
    let body = "<Delete><Object><Key>a&amp;b</Key></Object><Object><Key>kept</Key></Object>\
                <Object><Key>never</Key></Object></Delete>";
    let headers = [("Content-MD5", "unused")];
    let answer = client.send("POST", "/bucket?delete", &headers, body.as_bytes());
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.elements("Deleted"),
        ["<Key>a&amp;b</Key>", "<Key>never</Key>"]
    );
    assert!(
        answer
            .element("Error")
            .starts_with("<Key>kept</Key><Code>AccessDenied</Code>")
    );
    assert_eq!(server.objects().keys(), ["c", "kept"]);
    let too_many = format!(
        "<Delete>{}</Delete>",
        "<Object><Key>k</Key></Object>".repeat(1001)
    );
    assert_eq!(
        client
            .send("POST", "/bucket?delete", &headers, too_many.as_bytes())
            .element("Code"),
        "MalformedXML"
    );
}

/// "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "AbortMultipartUpload".
#[test]
fn parts_are_put_together() {
    let (server, mut client) = start();
    let begun = client.send("POST", "/bucket/a?uploads", &[], b"");
    let id = begun.element("UploadId").to_owned();
    assert_eq!(server.objects().n_uploads(), 1);
    let big = "x".repeat(5 << 20);
    let mut part = |number: u32, body: &str| {
        let answer = client.put(
            &format!("/bucket/a?partNumber={number}&uploadId={id}"),
            &[],
            body,
        );
        answer
            .header("etag")
            .expect("a tag")
            .trim_matches('"')
            .to_owned()
    };
    let (small, large, last) = (part(1, "abc"), part(2, &big), part(3, "def"));
    let part = |number: u32, etag: &str| {
        format!("<Part><ETag>&quot;{etag}&quot;</ETag><PartNumber>{number}</PartNumber></Part>")
    };
    let target = format!("/bucket/a?uploadId={id}");
    let mut complete = |parts: &[String], headers: &[(&str, &str)]| {
        let body = format!(
            "<CompleteMultipartUpload>{}</CompleteMultipartUpload>",
            parts.concat()
        );
        client.send("POST", &target, headers, body.as_bytes())
    };
    assert_eq!(
        complete(&[part(1, &small), part(2, &large)], &[]).element("Code"),
        "EntityTooSmall"
    );
    assert_eq!(
        complete(&[part(2, &large), part(2, &large)], &[]).element("Code"),
        "InvalidPartOrder"
    );
    assert_eq!(
        complete(&[part(2, &last), part(3, &last)], &[]).element("Code"),
        "InvalidPart"
    );
    server.objects().put("a", "existing");
    let parts = [part(2, &large), part(3, &last)];
    assert_eq!(complete(&parts, &[("If-None-Match", "*")]).status, 412);
    let done = complete(&parts, &[]);
    assert_eq!(done.status, 200);
    assert!(
        done.element("ETag").ends_with("-2&quot;"),
        "{}",
        done.text()
    );
    assert_eq!(
        server.objects().get("a").expect("it was stored").len(),
        big.len() + 3
    );
    assert_eq!(complete(&parts, &[]).element("Code"), "NoSuchUpload");
    let begun = client.send("POST", "/bucket/a?uploads", &[], b"");
    let target = format!("/bucket/a?uploadId={}", begun.element("UploadId"));
    assert_eq!(client.send("DELETE", &target, &[], b"").status, 204);
    assert_eq!(server.objects().n_uploads(), 0);
}
