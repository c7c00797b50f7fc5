//! Writes of objects, and the conditions of writes.

use crate::object_server::connections::answer::Answer;
use crate::object_server::dialects::dialect::Dialect;
use crate::object_server::dialects::range::matches;
use crate::object_server::dialects::xml_api::call::{Call, error, generation_headers, no_such_key};
use crate::object_server::stored::md5::{base64, md5};
use crate::object_server::stored::objects::{Object, State, content_hash};

/// PUT of an object.
pub(super) fn put(call: &Call<'_>) -> Answer {
    if call.request.header("content-length").is_none()
        && call.request.header("transfer-encoding").is_none()
    {
        return error(411, "MissingContentLength", "");
    }
    if call
        .request
        .header("content-md5")
        .is_some_and(|sum| sum != base64(&md5(call.body)))
    {
        return error(400, "BadDigest", "");
    }
    let hash = content_hash(call.dialect, call.body);
    let mut state = call.objects.lock();
    if let Err(refusal) = write_conditions(call, &state) {
        return refusal;
    }
    let object = state.object(call.body.clone(), hash, stored_headers(call));
    store(call, &mut state, object)
}

/// Stores an object under the key of the request, whatever its conditions.
pub(super) fn store(call: &Call<'_>, state: &mut State, object: Object) -> Answer {
    let answer = Answer::new(200).with("ETag", &object.etag);
    let answer = match call.dialect {
        Dialect::Gcs => generation_headers(answer, &object),
        _ => answer,
    };
    state
        .buckets
        .entry(call.bucket.clone())
        .or_default()
        .insert(call.key.clone(), object);
    answer
}

/// Checks the conditions of a write. S3: `If-None-Match: *` and `If-Match`, 404 if there is nothing
/// to match. Google: the generation; it does not look at ETags in writes.
///
/// # Errors
///
/// The refusal.
pub(super) fn write_conditions(call: &Call<'_>, state: &State) -> Result<(), Answer> {
    let object = state
        .buckets
        .get(&call.bucket)
        .and_then(|bucket| bucket.get(&call.key));
    let failed = || Err(error(412, "PreconditionFailed", ""));
    if call.dialect == Dialect::Gcs {
        let generation = object.map_or(0, |object| object.generation).to_string();
        let wanted = call.request.header("x-goog-if-generation-match");
        return if wanted.is_some_and(|wanted| wanted != generation) {
            failed()
        } else {
            Ok(())
        };
    }
    match (
        call.request.header("if-none-match"),
        call.request.header("if-match"),
        object,
    ) {
        (Some("*"), _, Some(_)) => failed(),
        (Some(tag), _, _) if tag != "*" => Err(error(501, "NotImplemented", "")),
        (_, Some(_), None) => Err(no_such_key(call)),
        (_, Some(tags), Some(object)) if !matches(tags, &object.etag) => failed(),
        _ => Ok(()),
    }
}

/// The headers of a write that come back with the value.
/// Stores an object under the key of the request, whatever its conditions.
pub(super) fn stored_headers(call: &Call<'_>) -> Vec<(String, String)> {
    const STORED: &[&str] = &[
        "content-type",
        "cache-control",
        "content-encoding",
        "content-language",
        "content-disposition",
    ];
    let prefix = if call.dialect == Dialect::Gcs {
        "x-goog-meta-"
    } else {
        "x-amz-meta-"
    };
    let is_stored = |name: &str| STORED.contains(&name) || name.starts_with(prefix);
    call.request
        .headers
        .iter()
        .filter(|(name, _)| is_stored(name))
        .cloned()
        .collect()
}
