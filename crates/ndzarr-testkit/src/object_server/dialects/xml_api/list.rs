//! Lists of objects (`ListObjectsV2`).

use crate::object_server::connections::answer::Answer;
use crate::object_server::connections::faults::Twist;
use crate::object_server::dialects::dates::iso_date;
use crate::object_server::dialects::dialect::Dialect;
use crate::object_server::dialects::listing::{Entry, From, Wanted, hidden, page, unhidden};
use crate::object_server::dialects::xml::{element, escaped};
use crate::object_server::dialects::xml_api::call::{Call, error};
use crate::object_server::stored::objects::Object;

/// Answers with a page of a list.
pub(super) fn list(call: &Call<'_>) -> Answer {
    let query = |name: &str| call.request.query(name);
    let state = call.objects.lock();
    let prefix = query("prefix").unwrap_or_default();
    let delimiter = query("delimiter").unwrap_or_default();
    let page_len = match query("max-keys").map(|text| text.parse::<usize>()) {
        Some(Ok(n)) => n.min(state.page_len),
        None => state.page_len,
        Some(Err(_)) => return error(400, "InvalidArgument", ""),
    };
    let token = query("continuation-token");
    let name = match token.as_deref().map(unhidden) {
        Some(None) => return error(400, "InvalidArgument", ""),
        Some(name) => name,
        None => None,
    };
    let after = query("start-after");
    let from = match (&name, &after) {
        (Some(name), _) => From::AfterEntry(name),
        (None, Some(after)) => From::AfterKey(after),
        (None, None) => From::Start,
    };
    let wanted = Wanted {
        prefix: &prefix,
        delimiter: &delimiter,
        from,
        page_len,
    };
    let bucket = state.buckets.get(&call.bucket);
    let (mut entries, mut more) =
        bucket.map_or((Vec::new(), false), |bucket| page(bucket, &wanted));
    let mut next = entries
        .last()
        .filter(|_| more)
        .map(|last| hidden(last.name()));
    if call.twist == Some(Twist::EndlessList) {
        entries.clear();
        more = true;
        next = Some(hidden(&(name.unwrap_or_default() + "~")));
    }
    let is_url_encoded = query("encoding-type").as_deref() == Some("url");
    let spelled = |text: &str| {
        if is_url_encoded {
            encoded(text)
        } else {
            text.to_owned()
        }
    };
    let mut xml = element("Name", &call.bucket)
        + &element("Prefix", spelled(&prefix))
        + &element("MaxKeys", page_len)
        + &element("KeyCount", entries.len())
        + &element("IsTruncated", more);
    xml += &after
        .map(|after| element("StartAfter", spelled(&after)))
        .unwrap_or_default();
    xml += &token
        .map(|token| element("ContinuationToken", token))
        .unwrap_or_default();
    xml += &next
        .map(|next| element("NextContinuationToken", next))
        .unwrap_or_default();
    // Objects come first, prefixes after them.
    let mut contents = String::new();
    let mut prefixes = String::new();
    for entry in entries {
        match entry {
            Entry::Prefix(name) => {
                prefixes += &format!(
                    "<CommonPrefixes>{}</CommonPrefixes>",
                    element("Prefix", spelled(name))
                );
            }
            Entry::Object(key, object) => contents += &list_entry(call, &spelled(key), object),
        }
    }
    let namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
    let xml = format!(
        "<ListBucketResult xmlns=\"{namespace}\">{xml}{contents}{prefixes}</ListBucketResult>"
    );
    Answer::xml(
        200,
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{xml}"),
    )
}

/// The element of a list for an object, with its key as the list spells it.
fn list_entry(call: &Call<'_>, key: &str, object: &Object) -> String {
    let generation = match call.dialect {
        Dialect::Gcs => element("Generation", object.generation),
        _ => String::new(),
    };
    format!(
        "<Contents>{}{generation}{}<ETag>{}</ETag>{}<StorageClass>STANDARD</StorageClass></Contents>",
        element("Key", key),
        element("LastModified", iso_date(object.modified)),
        escaped(&object.etag),
        element("Size", object.data.len()),
    )
}

/// A name as `encoding-type=url` spells it.
fn encoded(text: &str) -> String {
    let letter = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'/' | b'*' => {
            char::from(byte).to_string()
        }
        b' ' => "+".to_owned(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
}
