//! The dialect of Azure Blob Storage; see the "Blob service REST API".

use ndzarr_testkit::ObjectServer;
use ndzarr_testkit::object_server::Dialect;

use super::client::Client;

const BLOB: (&str, &str) = ("x-ms-blob-type", "BlockBlob");

fn start() -> (ObjectServer, Client) {
    let server = ObjectServer::start(Dialect::Azure);
    let client = Client::new(&server);
    (server, client)
}

/// "Put Blob", "Get Blob", "Delete Blob", "Specifying conditional headers".
#[test]
fn conditions_are_checked() {
    let (server, mut client) = start();
    let at = "/devstoreaccount1/bucket/a";
    assert_eq!(
        client.put(at, &[], "no").element("Code"),
        "MissingRequiredHeader"
    );
    assert_eq!(
        client.get(at).header("x-ms-error-code"),
        Some("BlobNotFound")
    );
    assert_eq!(
        client.put(at, &[BLOB, ("If-Match", "\"x\"")], "no").status,
        412
    );
    let put = client.put(at, &[BLOB, ("If-None-Match", "*")], "one");
    let one = put.header("etag").expect("a tag").to_owned();
    assert_eq!(put.status, 201);
    let exists = client.put(at, &[BLOB, ("If-None-Match", "*")], "no");
    assert_eq!(
        (exists.status, exists.element("Code")),
        (409, "BlobAlreadyExists")
    );
    // The same bytes, another tag: it is opaque.
    let again = client.put(at, &[BLOB, ("If-Match", &one)], "one");
    assert_eq!(again.status, 201);
    assert_ne!(again.header("etag"), Some(one.as_str()));
    assert_eq!(
        client
            .put(at, &[BLOB, ("If-Match", &one)], "no")
            .element("Code"),
        "ConditionNotMet"
    );
    assert_eq!(
        client.send("DELETE", at, &[("If-Match", &one)], b"").status,
        412
    );
    assert_eq!(
        client
            .send(
                "GET",
                at,
                &[("If-None-Match", again.header("etag").expect("a tag"))],
                b""
            )
            .status,
        304
    );
    assert_eq!(client.send("DELETE", at, &[], b"").status, 202);
    assert_eq!(client.send("DELETE", at, &[], b"").status, 404);
    assert!(server.objects().keys().is_empty());
    assert_eq!(
        client.get("/devstoreaccount1/other/a").element("Code"),
        "ContainerNotFound"
    );
}

/// Names of metadata are identifiers of C#.
#[test]
fn metadata_names_are_words() {
    let (_server, mut client) = start();
    let at = "/devstoreaccount1/bucket/a";
    assert_eq!(
        client
            .put(at, &[BLOB, ("x-ms-meta-ndzarr-put", "1")], "no")
            .element("Code"),
        "InvalidMetadata"
    );
    assert_eq!(
        client
            .put(at, &[BLOB, ("x-ms-meta-ndzarrput", "1")], "value")
            .status,
        201
    );
    assert_eq!(
        client
            .send("HEAD", at, &[], b"")
            .header("x-ms-meta-ndzarrput"),
        Some("1")
    );
}

/// "Specifying the range header": no suffixes.
#[test]
fn ranges_are_answered() {
    let (server, mut client) = start();
    server.objects().put("a", "0123456789");
    let mut status = |range: &str| {
        client
            .send("GET", "/bucket/a", &[("Range", range)], b"")
            .status
    };
    assert_eq!(
        (status("bytes=2-4"), status("bytes=9-"), status("bytes=-3")),
        (206, 206, 400)
    );
    let bad = client.send("GET", "/bucket/a", &[("x-ms-range", "bytes=10-12")], b"");
    assert_eq!(
        (bad.status, bad.header("content-range")),
        (416, Some("bytes */10"))
    );
}

/// "List Blobs": prefixes among the blobs, tags without quotes, `startFrom` inclusive.
#[test]
fn lists_have_pages_and_prefixes() {
    let (server, mut client) = start();
    for key in ["a/1", "a/b/1", "a/b/2", "a/c", "b"] {
        server.objects().put(key, "value");
    }
    let list = "/devstoreaccount1/bucket?restype=container&comp=list";
    let dir = client.get(&format!("{list}&prefix=a/&delimiter=/"));
    assert_eq!(dir.elements("Name"), ["a/1", "a/b/", "a/c"]);
    assert_eq!(dir.elements("BlobPrefix"), ["<Name>a/b/</Name>"]);
    let tag = client
        .get("/devstoreaccount1/bucket/a/1")
        .header("etag")
        .expect("a tag")
        .to_owned();
    assert_eq!(format!("\"{}\"", dir.elements("Etag")[0]), tag);
    assert_eq!(
        dir.elements("Last-Modified")[0],
        "Tue, 14 Nov 2023 22:13:21 GMT"
    );
    assert_eq!(
        client
            .get(&format!("{list}&startFrom=a/b/2"))
            .elements("Name"),
        ["a/b/2", "a/c", "b"]
    );
    let mut names = Vec::new();
    let mut marker = String::new();
    loop {
        let page = client.get(&format!("{list}&maxresults=2&marker={marker}"));
        names.extend(page.elements("Name").iter().map(|name| (*name).to_owned()));
        marker = page.element("NextMarker").to_owned();
        if marker.is_empty() {
            break;
        }
    }
    assert_eq!(names, ["a/1", "a/b/1", "a/b/2", "a/c", "b"]);
}

/// "Put Block" and "Put Block List".
#[test]
fn blocks_are_put_together() {
    let (server, mut client) = start();
    for (id, body) in [("MQ%3D%3D", "one "), ("Mg%3D%3D", "two")] {
        assert_eq!(
            client
                .put(&format!("/bucket/a?comp=block&blockid={id}"), &[], body)
                .status,
            201
        );
    }
    let list = |ids: &str| format!("<BlockList>{ids}</BlockList>");
    let bad = list("<Uncommitted>Mw==</Uncommitted>");
    assert_eq!(
        client
            .put("/bucket/a?comp=blocklist", &[], &bad)
            .element("Code"),
        "InvalidBlockList"
    );
    let good = list("<Uncommitted>MQ==</Uncommitted><Uncommitted>Mg==</Uncommitted>");
    assert_eq!(
        client.put("/bucket/a?comp=blocklist", &[], &good).status,
        201
    );
    assert_eq!(server.objects().get("a").as_deref(), Some(&b"one two"[..]));
    assert_eq!(server.objects().n_uploads(), 0);
}

/// "Blob Batch".
#[test]
fn batches_delete() {
    let (server, mut client) = start();
    server.objects().put("a b", "value");
    let part = |id: u32, path: &str| {
        format!(
            "--batch_x\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\
             Content-ID: {id}\r\n\r\nDELETE {path} HTTP/1.1\r\nContent-Length: 0\r\n\r\n\r\n"
        )
    };
    let root = "/devstoreaccount1/bucket";
    let body =
        part(0, &format!("{root}/a%20b")) + &part(1, &format!("{root}/never")) + "--batch_x--\r\n";
    let kind = [("Content-Type", "multipart/mixed; boundary=batch_x")];
    let answer = client.send(
        "POST",
        &format!("{root}?restype=container&comp=batch"),
        &kind,
        body.as_bytes(),
    );
    assert_eq!(answer.status, 202);
    let parts: Vec<&str> = answer.text().split("--batchresponse\r\n").skip(1).collect();
    assert!(
        parts[0].contains("Content-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n"),
        "{parts:?}"
    );
    assert!(
        parts[1].contains("Content-ID: 1\r\n\r\nHTTP/1.1 404 Not Found\r\n"),
        "{parts:?}"
    );
    assert!(server.objects().keys().is_empty());
}
