//! The dialect of Amazon S3, and the XML API of Google Cloud Storage, which is like it.
//!
//! References: "Amazon S3 API Reference" and "Cloud Storage XML API".

pub(super) mod call;
mod erase;
mod list;
mod multipart;
mod read;
mod write;

use bytes::Bytes;

use crate::object_server::connections::answer::Answer;
use crate::object_server::connections::faults::Twist;
use crate::object_server::connections::request::Request;
use crate::object_server::dialects::dialect::Dialect;
use crate::object_server::dialects::xml::element;
use crate::object_server::stored::objects::Objects;
use call::{Call, error};

/// Answers a request.
pub(crate) fn answer(
    objects: &Objects,
    request: &Request,
    body: &Bytes,
    twist: Option<Twist>,
) -> Answer {
    let Some(path) = request.path() else {
        return error(400, "InvalidURI", "");
    };
    let (bucket, key) = path.split_once('/').unwrap_or((&path, ""));
    let call = Call {
        dialect: objects.dialect(),
        objects,
        request,
        body,
        bucket: bucket.to_owned(),
        key: key.to_owned(),
        twist,
    };
    let answer = answer_call(&call);
    let answer = match call.dialect {
        Dialect::Gcs => answer.with("X-GUploader-UploadID", "upload-id"),
        _ => answer
            .with("x-amz-request-id", "4442587FB7D0A2F9")
            .with("x-amz-id-2", "host"),
    };
    if request.method == "HEAD" {
        answer.for_head()
    } else {
        answer
    }
}

/// The parameters of a query that are supported, apart from those of a signature.
const KNOWN_PARAMETERS: [&str; 16] = [
    "list-type",
    "prefix",
    "delimiter",
    "max-keys",
    "start-after",
    "fetch-owner",
    "continuation-token",
    "encoding-type",
    "uploads",
    "uploadId",
    "partNumber",
    "delete",
    "location",
    "generation",
    "versionId",
    "x-id",
];

fn answer_call(call: &Call<'_>) -> Answer {
    let query = |name: &str| call.request.query(name);
    let is_known = |name: &str| KNOWN_PARAMETERS.contains(&name) || name.starts_with("X-Amz-");
    if call.request.parameters().any(|(name, _)| !is_known(&name)) || is_unsupported(call) {
        return error(501, "NotImplemented", "");
    }
    if call.request.method == "PUT" && call.key.is_empty() {
        call.objects.make_bucket(&call.bucket);
        return Answer::new(200);
    }
    if !call.objects.lock().buckets.contains_key(&call.bucket) {
        return error(404, "NoSuchBucket", &element("BucketName", &call.bucket));
    }
    match (call.request.method.as_str(), call.key.as_str()) {
        ("GET", "") if query("list-type").as_deref() == Some("2") => list::list(call),
        ("GET", "") if query("location").is_some() => Answer::xml(
            200,
            "<LocationConstraint>eu-central-1</LocationConstraint>".to_owned(),
        ),
        ("GET", "") => error(501, "NotImplemented", ""),
        ("HEAD", "") => Answer::new(200).with("x-amz-bucket-region", "eu-central-1"),
        ("POST", "") if query("delete").is_some() && call.dialect == Dialect::S3 => {
            erase::delete_objects(call)
        }
        ("GET" | "HEAD", _) => read::get(call),
        ("PUT", _) if query("uploadId").is_some() => multipart::put_part(call),
        ("PUT", _) => write::put(call),
        ("POST", _) if query("uploads").is_some() => multipart::begin(call),
        ("POST", _) if query("uploadId").is_some() => multipart::complete(call),
        ("DELETE", _) if query("uploadId").is_some() => multipart::abort(call),
        ("DELETE", _) => erase::delete(call),
        _ => error(405, "MethodNotAllowed", ""),
    }
}

/// True for copies, and for uploads in signed chunks, which no test needs yet.
fn is_unsupported(call: &Call<'_>) -> bool {
    let has = |name: &str| call.request.header(name).is_some();
    has("x-amz-copy-source") || has("x-goog-copy-source") || has("x-amz-decoded-content-length")
}
