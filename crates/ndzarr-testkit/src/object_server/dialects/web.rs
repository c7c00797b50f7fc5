//! A web server of files that answers as nginx does: values can only be read, and the lists of
//! folders are for people.

use crate::object_server::connections::answer::Answer;
use crate::object_server::connections::request::Request;
use crate::object_server::dialects::dates::http_date;
use crate::object_server::dialects::range::{Selected, Suffixes, Verdict, read_conditions, select};
use crate::object_server::stored::objects::{BUCKET, Object, Objects};

/// Answers a request. The query does not matter, as for presigned addresses.
pub(crate) fn answer(objects: &Objects, request: &Request) -> Answer {
    let answer = match (request.method.as_str(), request.path()) {
        ("GET" | "HEAD", Some(path)) => get(objects, request, &path),
        (_, None) => error(400),
        _ => error(405),
    };
    if request.method == "HEAD" {
        answer.for_head()
    } else {
        answer
    }
}

pub(crate) fn error(status: u16) -> Answer {
    Answer::new(status)
        .with("Content-Type", "text/html")
        .with_body(format!("<html>{status}</html>"))
}

fn get(objects: &Objects, request: &Request, path: &str) -> Answer {
    let state = objects.lock();
    let files = state.buckets.get(BUCKET);
    let is_below = |key: &String| {
        key.strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    let Some(file) = files.and_then(|files| files.get(path)) else {
        let mut keys = files.into_iter().flat_map(|files| files.keys());
        return match path {
            "" => listing(),
            folder if folder.ends_with('/') && keys.any(|key| key.starts_with(folder)) => listing(),
            folder if folder.ends_with('/') => error(404),
            _ if keys.any(is_below) => {
                let raw = request.target.split('?').next().unwrap_or_default();
                error(301).with("Location", format!("{raw}/"))
            }
            _ => error(404),
        };
    };
    match read_conditions(request, file) {
        Verdict::Failed => return error(412),
        Verdict::NotModified => return head(file, 304),
        Verdict::Holds => {}
    }
    let size = file.data.len();
    match select(request.header("range"), size, Suffixes::Supported) {
        // nginx serves all of an empty file.
        Ok(Selected::Nothing) if size > 0 => {
            error(416).with("Content-Range", format!("bytes */{size}"))
        }
        Ok(Selected::Part(range)) => head(file, 206)
            .with(
                "Content-Range",
                format!("bytes {}-{}/{size}", range.start, range.end - 1),
            )
            .with_body(file.data.slice(range)),
        _ => head(file, 200).with_body(file.data.clone()),
    }
}

/// A folder, for people.
fn listing() -> Answer {
    Answer::new(200)
        .with("Content-Type", "text/html")
        .with_body("<html>Index of</html>")
}

fn head(file: &Object, status: u16) -> Answer {
    let mut answer = Answer::new(status)
        .with("ETag", &file.etag)
        .with("Last-Modified", http_date(file.modified))
        .with("Accept-Ranges", "bytes");
    answer.headers.extend(file.headers.iter().cloned());
    answer
}
