//! Reads of objects.

use crate::object_server::connections::answer::Answer;
use crate::object_server::dialects::dates::http_date;
use crate::object_server::dialects::dialect::Dialect;
use crate::object_server::dialects::range::{Selected, Suffixes, Verdict, read_conditions, select};
use crate::object_server::dialects::xml::element;
use crate::object_server::dialects::xml_api::call::{Call, error, generation_headers, no_such_key};
use crate::object_server::stored::gzip::inflated;
use crate::object_server::stored::objects::Object;

/// GET and HEAD of an object.
pub(super) fn get(call: &Call<'_>) -> Answer {
    let state = call.objects.lock();
    let Some(object) = state
        .buckets
        .get(&call.bucket)
        .and_then(|bucket| bucket.get(&call.key))
    else {
        return no_such_key(call);
    };
    if call.dialect == Dialect::Gcs {
        let generation = object.generation.to_string();
        if call
            .request
            .query("generation")
            .is_some_and(|wanted| wanted != generation)
        {
            return no_such_key(call);
        }
        if call
            .request
            .header("x-goog-if-generation-match")
            .is_some_and(|wanted| wanted != generation)
        {
            return error(412, "PreconditionFailed", "");
        }
        if call.request.header("x-goog-if-generation-not-match") == Some(&generation) {
            return head(call, object, 304);
        }
    }
    match read_conditions(call.request, object) {
        Verdict::Failed => return error(412, "PreconditionFailed", ""),
        Verdict::NotModified => return head(call, object, 304),
        Verdict::Holds => {}
    }
    if let Some(inflated) = transcoded(call, object) {
        let mut answer = head(call, object, 200);
        answer.drop_headers(&["Content-Encoding"]);
        return answer.with_body(inflated);
    }
    let size = object.data.len();
    match select(call.request.header("range"), size, Suffixes::Supported) {
        Ok(Selected::Part(range)) => head(call, object, 206)
            .with(
                "Content-Range",
                format!("bytes {}-{}/{size}", range.start, range.end - 1),
            )
            .with_body(object.data.slice(range)),
        Ok(Selected::Nothing) => not_satisfiable(call, size),
        _ => head(call, object, 200).with_body(object.data.clone()),
    }
}

/// A value that is stored with `Content-Encoding: gzip`, inflated. Google sends all of it to
/// clients that do not accept gzip, whatever the range ("Transcoding of gzip-compressed files").
fn transcoded(call: &Call<'_>, object: &Object) -> Option<Vec<u8>> {
    let is_gzip = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("content-encoding") && value == "gzip"
    };
    let accepts_gzip = |header: &str| header.split(',').any(|encoding| encoding.trim() == "gzip");
    let is_transcoded = call.dialect == Dialect::Gcs
        && object.headers.iter().any(is_gzip)
        && !call
            .request
            .header("accept-encoding")
            .is_some_and(accepts_gzip);
    if is_transcoded {
        inflated(&object.data)
    } else {
        None
    }
}

/// S3 states the size only in the document, Google also in a header.
fn not_satisfiable(call: &Call<'_>, size: usize) -> Answer {
    let range = call.request.header("range").unwrap_or_default();
    let more = element("RangeRequested", range) + &element("ActualObjectSize", size);
    let answer = error(416, "InvalidRange", &more);
    match call.dialect {
        Dialect::Gcs => answer.with("Content-Range", format!("bytes */{size}")),
        _ => answer,
    }
}

fn head(call: &Call<'_>, object: &Object, status: u16) -> Answer {
    let mut answer = Answer::new(status)
        .with("ETag", &object.etag)
        .with("Last-Modified", http_date(object.modified))
        .with("Accept-Ranges", "bytes");
    if call.dialect == Dialect::Gcs {
        answer = generation_headers(answer, object)
            .with("x-goog-stored-content-length", object.data.len());
    }
    answer.headers.extend(object.headers.iter().cloned());
    if !object
        .headers
        .iter()
        .any(|(name, _)| name == "content-type")
    {
        answer = answer.with("Content-Type", "binary/octet-stream");
    }
    answer
}
