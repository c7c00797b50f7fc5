//! Multipart uploads of S3 and of the XML API of Google Cloud Storage.

use crate::object_server::connections::answer::Answer;
use crate::object_server::dialects::dialect::Dialect;
use crate::object_server::dialects::xml::{contents, element, text};
use crate::object_server::dialects::xml_api::call::{Call, error};
use crate::object_server::dialects::xml_api::write::{store, stored_headers, write_conditions};
use crate::object_server::stored::md5::{hex, md5};
use crate::object_server::stored::objects::{Upload, content_hash};

/// The least length of a part that is not the last, in bytes.
const MIN_PART: usize = 5 << 20;

pub(super) fn begin(call: &Call<'_>) -> Answer {
    let upload = Upload {
        bucket: call.bucket.clone(),
        key: call.key.clone(),
        headers: stored_headers(call),
        parts: Default::default(),
    };
    let id = call.objects.lock().begin(upload);
    let xml =
        element("Bucket", &call.bucket) + &element("Key", &call.key) + &element("UploadId", id);
    Answer::xml(
        200,
        format!("<InitiateMultipartUploadResult>{xml}</InitiateMultipartUploadResult>"),
    )
}

pub(super) fn put_part(call: &Call<'_>) -> Answer {
    let number = call
        .request
        .query("partNumber")
        .and_then(|number| number.parse::<u32>().ok());
    let (Some(id), Some(number @ 1..=10_000)) = (call.request.query("uploadId"), number) else {
        return error(400, "InvalidArgument", "");
    };
    let etag = format!("\"{}\"", content_hash(call.dialect, call.body));
    let mut state = call.objects.lock();
    let Some(upload) = state
        .uploads
        .get_mut(&id)
        .filter(|upload| belongs(upload, call))
    else {
        return error(404, "NoSuchUpload", "");
    };
    upload
        .parts
        .insert(format!("{number:05}"), (call.body.clone(), etag.clone()));
    Answer::new(200).with("ETag", etag)
}

pub(super) fn complete(call: &Call<'_>) -> Answer {
    let id = call.request.query("uploadId").unwrap_or_default();
    let Ok(body) = std::str::from_utf8(call.body) else {
        return error(400, "MalformedXML", "");
    };
    let mut state = call.objects.lock();
    let Some(upload) = state
        .uploads
        .get(&id)
        .filter(|upload| belongs(upload, call))
        .cloned()
    else {
        return error(404, "NoSuchUpload", "");
    };
    let listed = contents(body, "Part");
    let mut whole = Vec::new();
    let mut hashes = Vec::new();
    let mut previous = 0;
    for (i, part) in listed.iter().enumerate() {
        let number = text(part, "PartNumber").and_then(|number| number.trim().parse::<u32>().ok());
        let (Some(number), Some(etag)) = (number, text(part, "ETag")) else {
            return error(400, "MalformedXML", "");
        };
        if number <= previous {
            return error(400, "InvalidPartOrder", "");
        }
        previous = number;
        match upload.parts.get(&format!("{number:05}")) {
            Some((data, stored)) if stored.trim_matches('"') == etag.trim_matches('"') => {
                if data.len() < MIN_PART && i + 1 < listed.len() {
                    return error(400, "EntityTooSmall", "");
                }
                hashes.extend(md5(data));
                whole.extend_from_slice(data);
            }
            _ => return error(400, "InvalidPart", ""),
        }
    }
    if listed.is_empty() {
        return error(400, "MalformedXML", "");
    }
    // Google ignores conditions here.
    if call.dialect == Dialect::S3
        && let Err(refusal) = write_conditions(call, &state)
    {
        return refusal;
    }
    state.uploads.remove(&id);
    let hash = format!("{}-{}", hex(&md5(&hashes)), listed.len());
    let object = state.object(whole.into(), hash, upload.headers);
    let etag = object.etag.clone();
    let mut answer = store(call, &mut state, object);
    answer.drop_headers(&["ETag"]);
    let xml = element("Bucket", &call.bucket) + &element("Key", &call.key) + &element("ETag", etag);
    answer
        .with("Content-Type", "application/xml")
        .with_body(format!(
            "<CompleteMultipartUploadResult>{xml}</CompleteMultipartUploadResult>"
        ))
}

pub(super) fn abort(call: &Call<'_>) -> Answer {
    let id = call.request.query("uploadId").unwrap_or_default();
    let mut state = call.objects.lock();
    if !state
        .uploads
        .get(&id)
        .is_some_and(|upload| belongs(upload, call))
    {
        return error(404, "NoSuchUpload", "");
    }
    state.uploads.remove(&id);
    Answer::new(204)
}

fn belongs(upload: &Upload, call: &Call<'_>) -> bool {
    upload.bucket == call.bucket && upload.key == call.key
}
