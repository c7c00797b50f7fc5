//! Values of web servers that state no length, or compress their answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzEncoder;
use ndzarr_store::{Fetched, Want};
use ndzarr_store_object::{ObjectStore, RemoteOptions};

use crate::it::{Outcome, fetch};

const VALUE: &[u8] = b"0123456789";

/// The answer of a server to a request with this method and this range.
type Answer = fn(method: &str, range: Option<&str>) -> Vec<u8>;

/// A store on a server that answers each request by this function.
fn serving(answer: Answer) -> ObjectStore {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| {
            std::thread::spawn(move || serve(stream, answer));
        });
    });
    ObjectStore::http(&url, &RemoteOptions::new().retry_for(Duration::ZERO)).expect("it is a URL")
}

fn serve(mut stream: TcpStream, answer: Answer) {
    let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
    loop {
        let head: Vec<String> = lines
            .by_ref()
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .collect();
        let Some((method, _)) = head.first().and_then(|line| line.split_once(' ')) else {
            return;
        };
        let range = head.iter().find_map(|line| line.strip_prefix("range: "));
        if stream.write_all(&answer(method, range)).is_err() {
            return;
        }
    }
}

fn with_length(method: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nETag: \"a\"\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    let body = if method == "HEAD" { &[] } else { body };
    [head.as_bytes(), body].concat()
}

fn in_chunks(method: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 200 OK\r\nETag: \"a\"\r\n{headers}Transfer-Encoding: chunked\r\n\r\n");
    if method == "HEAD" {
        return head.into();
    }
    let (first, second) = body.split_at(body.len() / 3);
    let chunk = |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
    [head.as_bytes(), &chunk(first), &chunk(second), b"0\r\n\r\n"].concat()
}

fn gzipped(value: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    GzEncoder::new(value, Compression::default())
        .read_to_end(&mut encoded)
        .expect("it is in memory");
    encoded
}

/// Checks that each kind of request gets the value.
fn check(store: &ObjectStore) -> Outcome {
    for (want, expected) in [
        (Want::Whole { limit: 100 }, vec![VALUE]),
        (Want::Size, vec![]),
        (Want::Tail(3), vec![&VALUE[7..]]),
        (
            Want::Ranges(vec![2..5, 0..1]),
            vec![&VALUE[2..5], &VALUE[..1]],
        ),
    ] {
        let Fetched::Parts { size, parts, .. } = fetch(store, "a", want.clone())? else {
            panic!("{want:?}: it is there")
        };
        assert_eq!(
            (size, parts),
            (10, expected.into_iter().map(Into::into).collect()),
            "{want:?}"
        );
    }
    let error = fetch(store, "a", Want::Whole { limit: 9 }).expect_err("the value is larger");
    assert!(error.to_string().contains("10"), "{error}");
    Ok(())
}

#[test]
fn values_without_a_length_are_read_to_their_end() -> Outcome {
    check(&serving(|method, _| in_chunks(method, "", VALUE)))
}

#[test]
fn values_compressed_for_the_way_are_decompressed() -> Outcome {
    for answer in [
        (|method, _| with_length(method, "Content-Encoding: gzip\r\n", &gzipped(VALUE))) as Answer,
        |method, _| with_length(method, "Content-Encoding: X-GZIP\r\n", &gzipped(VALUE)),
        |method, _| in_chunks(method, "Content-Encoding: gzip\r\n", &gzipped(VALUE)),
        // Positions in the compressed bytes are of no use.
        |method, range| {
            let encoded = gzipped(VALUE);
            if range.is_none() {
                return with_length(method, "Content-Encoding: gzip\r\n", &encoded);
            }
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Encoding: gzip\r\nContent-Range: bytes 0-2/{}\r\n\
                 Content-Length: 3\r\n\r\n",
                encoded.len()
            );
            [head.as_bytes(), &encoded[..3]].concat()
        },
    ] {
        check(&serving(answer))?;
    }
    Ok(())
}

#[test]
fn what_cannot_be_decompressed_is_an_error_that_says_so() {
    for (answer, expected) in [
        (
            (|method, _| with_length(method, "Content-Encoding: br\r\n", VALUE)) as Answer,
            "Content-Encoding: br",
        ),
        (
            |method, _| {
                with_length(
                    method,
                    "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n",
                    VALUE,
                )
            },
            "gzip, gzip",
        ),
        (
            |method, _| with_length(method, "Content-Encoding: gzip\r\n", VALUE),
            "which it is not",
        ),
        (
            |method, _| {
                let encoded = gzipped(VALUE);
                with_length(
                    method,
                    "Content-Encoding: gzip\r\n",
                    &encoded[..encoded.len() - 4],
                )
            },
            "which it is not",
        ),
    ] {
        let store = serving(answer);
        for want in [Want::Whole { limit: 100 }, Want::Size, Want::Tail(3)] {
            let error = fetch(&store, "a", want.clone()).expect_err("it is not the value");
            assert!(error.to_string().contains(expected), "{want:?}: {error}");
        }
    }
}

#[test]
fn an_answer_that_only_ends_with_its_connection_may_be_cut() {
    let store = serving(|_, _| b"HTTP/1.0 200 OK\r\nETag: \"a\"\r\n\r\n01234".to_vec());
    let error = fetch(&store, "a", Want::Whole { limit: 100 }).expect_err("its end is not certain");
    assert!(error.to_string().contains("Content-Length"), "{error}");
}

#[test]
fn a_small_answer_does_not_become_a_huge_value() {
    let store = serving(|method, _| {
        let mut bomb = Vec::new();
        let zeros = std::io::repeat(0).take((64 << 20) + 1);
        GzEncoder::new(zeros, Compression::best())
            .read_to_end(&mut bomb)
            .expect("it is in memory");
        with_length(method, "Content-Encoding: gzip\r\n", &bomb)
    });
    let error = fetch(&store, "a", Want::Whole { limit: 1 << 20 }).expect_err("it is too large");
    assert!(
        error.to_string().contains("more than 67108864 bytes"),
        "{error}"
    );
}
