//! Erasures of one object, and of several in one request.

use crate::object_server::connections::answer::Answer;
use crate::object_server::connections::faults::Twist;
use crate::object_server::dialects::dialect::Dialect;
use crate::object_server::dialects::xml::{contents, element, text, unescaped};
use crate::object_server::dialects::xml_api::call::{Call, error, no_such_key};
use crate::object_server::dialects::xml_api::write::write_conditions;

/// DELETE of an object: S3 answers 204 also for a key that does not exist, Google 404.
pub(super) fn delete(call: &Call<'_>) -> Answer {
    let mut state = call.objects.lock();
    let exists = state
        .buckets
        .get(&call.bucket)
        .is_some_and(|bucket| bucket.contains_key(&call.key));
    let has_condition = ["if-match", "x-goog-if-generation-match"]
        .iter()
        .any(|name| call.request.header(name).is_some());
    if has_condition && let Err(refusal) = write_conditions(call, &state) {
        return refusal;
    }
    if state.protected.contains(&call.key) {
        return error(403, "AccessDenied", "");
    }
    if !exists && call.dialect == Dialect::Gcs {
        return no_such_key(call);
    }
    state
        .buckets
        .entry(call.bucket.clone())
        .or_default()
        .remove(&call.key);
    Answer::new(204)
}

/// `DeleteObjects` of S3.
pub(super) fn delete_objects(call: &Call<'_>) -> Answer {
    let Ok(body) = std::str::from_utf8(call.body) else {
        return error(400, "MalformedXML", "");
    };
    let keys = contents(body, "Key");
    if keys.is_empty() || keys.len() > 1000 {
        return error(400, "MalformedXML", "");
    }
    let is_checksum = |name: &str| name == "content-md5" || name.starts_with("x-amz-checksum-");
    if !call
        .request
        .headers
        .iter()
        .any(|(name, _)| is_checksum(name))
    {
        return error(400, "InvalidRequest", "");
    }
    let quiet = text(body, "Quiet").as_deref() == Some("true");
    let mut state = call.objects.lock();
    let mut results = String::new();
    let mut refused = match call.twist {
        Some(Twist::RefusedInside(code)) => Some(code),
        _ => None,
    };
    for key in keys {
        let key = unescaped(key);
        let denied = state.protected.contains(&key).then_some("AccessDenied");
        if let Some(code) = refused.take().or(denied) {
            let cause = element("Code", code)
                + &element("Message", format!("{code}, says the test server"));
            results += &format!("<Error>{}{cause}</Error>", element("Key", &key));
            continue;
        }
        state
            .buckets
            .entry(call.bucket.clone())
            .or_default()
            .remove(&key);
        if !quiet {
            results += &format!("<Deleted>{}</Deleted>", element("Key", &key));
        }
    }
    Answer::xml(200, format!("<DeleteResult>{results}</DeleteResult>"))
}
