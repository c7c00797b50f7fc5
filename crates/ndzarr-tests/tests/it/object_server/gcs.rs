//! The XML API of Google Cloud Storage; see "Request preconditions" and "XML API reference".

use std::io::Read;

use ndzarr_testkit::ObjectServer;
use ndzarr_testkit::object_server::Dialect;

use super::client::Client;

#[test]
fn conditions_are_generations() {
    let server = ObjectServer::start(Dialect::Gcs);
    let mut client = Client::new(&server);
    let if_generation = "x-goog-if-generation-match";
    let put = client.put(
        "/bucket/a%2Fb",
        &[(if_generation, "0"), ("x-goog-meta-ndzarrput", "1")],
        "one",
    );
    let one = put
        .header("x-goog-generation")
        .expect("a generation")
        .to_owned();
    assert_eq!(
        (put.status, server.objects().keys()),
        (200, vec!["a/b".to_owned()])
    );
    assert_eq!(
        client
            .put("/bucket/a/b", &[(if_generation, "0")], "no")
            .element("Code"),
        "PreconditionFailed"
    );
    let get = client.get("/bucket/a/b");
    assert_eq!(get.header("x-goog-generation"), Some(one.as_str()));
    assert_eq!(get.header("x-goog-meta-ndzarrput"), Some("1"));
    // The MD5 of "one".
    assert_eq!(
        get.header("etag"),
        Some("\"f97c5d29941bfb1b2fdab0874906ab82\"")
    );
    assert_eq!(
        client
            .put("/bucket/a/b", &[(if_generation, &one)], "two")
            .status,
        200
    );
    assert_eq!(
        client
            .put("/bucket/a/b", &[(if_generation, &one)], "no")
            .status,
        412
    );
    assert_eq!(
        client.get(&format!("/bucket/a/b?generation={one}")).status,
        404
    );
    assert_eq!(
        client
            .send("GET", "/bucket/a/b", &[(if_generation, &one)], b"")
            .status,
        412
    );
    assert_eq!(
        client
            .send("DELETE", "/bucket/a/b", &[(if_generation, &one)], b"")
            .status,
        412
    );
    // ETags count only in reads.
    let other = [("If-Match", "\"x\"")];
    assert_eq!(client.send("GET", "/bucket/a/b", &other, b"").status, 412);
    assert_eq!(client.put("/bucket/a/b", &other, "three").status, 200);
    assert_eq!(
        client
            .put("/bucket/c", &[(if_generation, &one)], "no")
            .status,
        412
    );
    assert_eq!(client.send("DELETE", "/bucket/a/b", &[], b"").status, 204);
    assert_eq!(
        client
            .send("DELETE", "/bucket/a/b", &[], b"")
            .element("Code"),
        "NoSuchKey"
    );
}

#[test]
fn ranges_and_lists_are_answered() {
    let server = ObjectServer::start(Dialect::Gcs);
    let mut client = Client::new(&server);
    server.objects().put("a/1", "0123456789");
    server.objects().put("b", "");
    let bad = client.send("GET", "/bucket/a/1", &[("Range", "bytes=10-")], b"");
    assert_eq!(
        (bad.status, bad.header("content-range")),
        (416, Some("bytes */10"))
    );
    let list = client.get("/bucket?list-type=2&delimiter=/");
    assert_eq!(
        (list.elements("Key"), list.elements("CommonPrefixes").len()),
        (vec!["b"], 1)
    );
    assert_eq!(
        client
            .get("/bucket?list-type=2&start-after=a/1")
            .elements("Key"),
        ["b"]
    );
    let generation = client
        .get("/bucket/b")
        .header("x-goog-generation")
        .expect("a generation")
        .to_owned();
    assert_eq!(list.element("Generation"), generation);
    assert_eq!(client.send("POST", "/bucket?delete", &[], b"").status, 405);
}

/// "Transcoding of gzip-compressed files" in Google's documentation.
#[test]
fn gzip_is_inflated_for_those_who_do_not_accept_it() {
    let server = ObjectServer::start(Dialect::Gcs);
    server.objects().put_gzip("a", "some text");
    let mut client = Client::new(&server);
    for headers in [
        &[][..],
        &[("Range", "bytes=1-2")],
        &[("Accept-Encoding", "identity")],
    ] {
        let answer = client.send("GET", "/bucket/a", headers, b"");
        assert_eq!((answer.status, answer.text()), (200, "some text"));
        assert_eq!(answer.header("content-encoding"), None);
    }
    let gzip = ("Accept-Encoding", "gzip");
    let stored = client.send("GET", "/bucket/a", &[gzip], b"");
    assert_eq!(stored.header("content-encoding"), Some("gzip"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&stored.body[..])
        .read_to_string(&mut text)
        .expect("it inflates");
    assert_eq!(text, "some text");
    let part = client.send("GET", "/bucket/a", &[gzip, ("Range", "bytes=1-2")], b"");
    assert_eq!((part.status, &part.body[..]), (206, &stored.body[1..3]));
}
