//! A web server of files; what nginx answers.

use ndzarr_testkit::ObjectServer;
use ndzarr_testkit::object_server::Dialect;

use super::client::Client;

#[test]
fn reads_only() {
    let server = ObjectServer::start(Dialect::Http);
    let mut client = Client::new(&server);
    server.objects().put("data/a b/zarr.json", "0123456789");
    server.objects().put("empty", "");
    let target = "/data/a%20b/zarr.json?token=1";
    let get = client.send("GET", target, &[("Range", "bytes=-2")], b"");
    assert_eq!(
        (get.status, get.text(), get.header("content-range")),
        (206, "89", Some("bytes 8-9/10"))
    );
    // 1,700,000,001 seconds and 10 bytes, in hexadecimal.
    assert_eq!(get.header("etag"), Some("\"6553f101-a\""));
    let bad = client.send("GET", target, &[("Range", "bytes=10-")], b"");
    assert_eq!(
        (bad.status, bad.header("content-range")),
        (416, Some("bytes */10"))
    );
    assert_eq!(
        client
            .send("GET", "/empty", &[("Range", "bytes=-4")], b"")
            .status,
        200
    );
    assert_eq!(client.put("/data/b", &[], "no").status, 405);
    assert_eq!(client.get("/data/b").status, 404);
}

#[test]
fn folders_are_for_people() {
    let server = ObjectServer::start(Dialect::Http);
    let mut client = Client::new(&server);
    server.objects().put("data/a b/zarr.json", "{}");
    let moved = client.get("/data/a%20b");
    assert_eq!(
        (moved.status, moved.header("location")),
        (301, Some("/data/a%20b/"))
    );
    let html = client.get("/data/a%20b/");
    assert_eq!(
        (html.status, html.header("content-type")),
        (200, Some("text/html"))
    );
    assert_eq!(client.get("/none/").status, 404);
}

/// Two values of one size within a second have one tag.
#[test]
fn tags_are_seconds_and_sizes() {
    let server = ObjectServer::start(Dialect::Http);
    let mut client = Client::new(&server);
    let mut tag = |value: &'static str| {
        server.objects().put("a", value);
        client.get("/a").header("etag").expect("a tag").to_owned()
    };
    assert_ne!(tag("one"), tag("two"));
    server.objects().hold_clock();
    assert_eq!(tag("one"), tag("two"));
    assert_ne!(tag("one"), tag("three"));
}
