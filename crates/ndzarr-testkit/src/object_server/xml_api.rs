//! The dialect of Amazon S3, and the XML API of Google Cloud Storage, which is like it.
//!
//! References: "Amazon S3 API Reference" and "Cloud Storage XML API".

use bytes::Bytes;

use super::answer::Answer;
use super::dates::{http_date, iso_date};
use super::dialect::Dialect;
use super::faults::Twist;
use super::gzip::inflated;
use super::listing::{Entry, From, Wanted, page};
use super::md5::{base64, md5};
use super::multipart;
use super::objects::{Object, Objects, State, content_hash};
use super::range::{Selected, Suffixes, Verdict, matches, read_conditions, select};
use super::request::Request;
use super::xml::{contents, element, escaped, text, unescaped};
use super::xml_call::{Call, error};

/// Answers a request.
pub(super) fn answer(objects: &Objects, request: &Request, body: &Bytes, twist: Option<Twist>) -> Answer {
    let Some(path) = request.path() else { return error(400, "InvalidURI", "") };
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
    let answer = call.answer();
    let answer = match call.dialect {
        Dialect::Gcs => answer.with("X-GUploader-UploadID", "upload-id"),
        _ => answer.with("x-amz-request-id", "4442587FB7D0A2F9").with("x-amz-id-2", "host"),
    };
    if request.method == "HEAD" { answer.for_head() } else { answer }
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

impl Call<'_> {
    fn answer(&self) -> Answer {
        let query = |name: &str| self.request.query(name);
        let is_known = |name: &str| KNOWN_PARAMETERS.contains(&name) || name.starts_with("X-Amz-");
        if self.request.parameters().any(|(name, _)| !is_known(&name)) || self.is_unsupported() {
            return error(501, "NotImplemented", "");
        }
        if self.request.method == "PUT" && self.key.is_empty() {
            self.objects.make_bucket(&self.bucket);
            return Answer::new(200);
        }
        if !self.objects.lock().buckets.contains_key(&self.bucket) {
            return error(404, "NoSuchBucket", &element("BucketName", &self.bucket));
        }
        match (self.request.method.as_str(), self.key.as_str()) {
            ("GET", "") if query("list-type").as_deref() == Some("2") => self.list(),
            ("GET", "") if query("location").is_some() => {
                Answer::xml(200, "<LocationConstraint>eu-central-1</LocationConstraint>".to_owned())
            }
            ("GET", "") => error(501, "NotImplemented", ""),
            ("HEAD", "") => Answer::new(200).with("x-amz-bucket-region", "eu-central-1"),
            ("POST", "") if query("delete").is_some() && self.dialect == Dialect::S3 => self.delete_objects(),
            ("GET" | "HEAD", _) => self.get(),
            ("PUT", _) if query("uploadId").is_some() => multipart::put_part(self),
            ("PUT", _) => self.put(),
            ("POST", _) if query("uploads").is_some() => multipart::begin(self),
            ("POST", _) if query("uploadId").is_some() => multipart::complete(self),
            ("DELETE", _) if query("uploadId").is_some() => multipart::abort(self),
            ("DELETE", _) => self.delete(),
            _ => error(405, "MethodNotAllowed", ""),
        }
    }

    /// Copies, and uploads in signed chunks, which no test needs yet.
    fn is_unsupported(&self) -> bool {
        let has = |name: &str| self.request.header(name).is_some();
        has("x-amz-copy-source") || has("x-goog-copy-source") || has("x-amz-decoded-content-length")
    }

    fn get(&self) -> Answer {
        let state = self.objects.lock();
        let Some(object) = state.buckets.get(&self.bucket).and_then(|bucket| bucket.get(&self.key)) else {
            return self.no_such_key();
        };
        if self.dialect == Dialect::Gcs {
            let generation = object.generation.to_string();
            if self.request.query("generation").is_some_and(|wanted| wanted != generation) {
                return self.no_such_key();
            }
            if self.request.header("x-goog-if-generation-match").is_some_and(|wanted| wanted != generation) {
                return error(412, "PreconditionFailed", "");
            }
            if self.request.header("x-goog-if-generation-not-match") == Some(&generation) {
                return self.head(object, 304);
            }
        }
        match read_conditions(self.request, object) {
            Verdict::Failed => return error(412, "PreconditionFailed", ""),
            Verdict::NotModified => return self.head(object, 304),
            Verdict::Holds => {}
        }
        if let Some(inflated) = self.transcoded(object) {
            let mut answer = self.head(object, 200);
            answer.drop_headers(&["Content-Encoding"]);
            return answer.with_body(inflated);
        }
        let size = object.data.len();
        match select(self.request.header("range"), size, Suffixes::Supported) {
            Ok(Selected::Part(range)) => self
                .head(object, 206)
                .with("Content-Range", format!("bytes {}-{}/{size}", range.start, range.end - 1))
                .with_body(object.data.slice(range)),
            Ok(Selected::Nothing) => self.not_satisfiable(size),
            _ => self.head(object, 200).with_body(object.data.clone()),
        }
    }

    /// A value that is stored with `Content-Encoding: gzip`, inflated. Google sends all of it to clients
    /// that do not accept gzip, whatever the range ("Transcoding of gzip-compressed files").
    fn transcoded(&self, object: &Object) -> Option<Vec<u8>> {
        let is_gzip = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("content-encoding") && value == "gzip"
        };
        let accepts_gzip = |header: &str| header.split(',').any(|encoding| encoding.trim() == "gzip");
        let is_transcoded = self.dialect == Dialect::Gcs
            && object.headers.iter().any(is_gzip)
            && !self.request.header("accept-encoding").is_some_and(accepts_gzip);
        if is_transcoded { inflated(&object.data) } else { None }
    }

    /// S3 states the size only in the document, Google also in a header.
    fn not_satisfiable(&self, size: usize) -> Answer {
        let range = self.request.header("range").unwrap_or_default();
        let more = element("RangeRequested", range) + &element("ActualObjectSize", size);
        let answer = error(416, "InvalidRange", &more);
        match self.dialect {
            Dialect::Gcs => answer.with("Content-Range", format!("bytes */{size}")),
            _ => answer,
        }
    }

    fn head(&self, object: &Object, status: u16) -> Answer {
        let mut answer = Answer::new(status)
            .with("ETag", &object.etag)
            .with("Last-Modified", http_date(object.modified))
            .with("Accept-Ranges", "bytes");
        if self.dialect == Dialect::Gcs {
            answer =
                generation_headers(answer, object).with("x-goog-stored-content-length", object.data.len());
        }
        answer.headers.extend(object.headers.iter().cloned());
        if !object.headers.iter().any(|(name, _)| name == "content-type") {
            answer = answer.with("Content-Type", "binary/octet-stream");
        }
        answer
    }

    fn no_such_key(&self) -> Answer {
        error(404, "NoSuchKey", &element("Key", &self.key))
    }

    fn put(&self) -> Answer {
        if self.request.header("content-length").is_none()
            && self.request.header("transfer-encoding").is_none()
        {
            return error(411, "MissingContentLength", "");
        }
        if self.request.header("content-md5").is_some_and(|sum| sum != base64(&md5(self.body))) {
            return error(400, "BadDigest", "");
        }
        let hash = content_hash(self.dialect, self.body);
        let mut state = self.objects.lock();
        if let Err(refusal) = self.write_conditions(&state) {
            return refusal;
        }
        let object = state.object(self.body.clone(), hash, self.stored_headers());
        self.store(&mut state, object)
    }

    pub(super) fn store(&self, state: &mut State, object: Object) -> Answer {
        let answer = Answer::new(200).with("ETag", &object.etag);
        let answer = match self.dialect {
            Dialect::Gcs => generation_headers(answer, &object),
            _ => answer,
        };
        state.buckets.entry(self.bucket.clone()).or_default().insert(self.key.clone(), object);
        answer
    }

    /// Checks the conditions of a write. S3: `If-None-Match: *` and `If-Match`, 404 if there is nothing to
    /// match. Google: the generation; it does not look at ETags in writes.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub(super) fn write_conditions(&self, state: &State) -> Result<(), Answer> {
        let object = state.buckets.get(&self.bucket).and_then(|bucket| bucket.get(&self.key));
        let failed = || Err(error(412, "PreconditionFailed", ""));
        if self.dialect == Dialect::Gcs {
            let generation = object.map_or(0, |object| object.generation).to_string();
            let wanted = self.request.header("x-goog-if-generation-match");
            return if wanted.is_some_and(|wanted| wanted != generation) { failed() } else { Ok(()) };
        }
        match (self.request.header("if-none-match"), self.request.header("if-match"), object) {
            (Some("*"), _, Some(_)) => failed(),
            (Some(tag), _, _) if tag != "*" => Err(error(501, "NotImplemented", "")),
            (_, Some(_), None) => Err(self.no_such_key()),
            (_, Some(tags), Some(object)) if !matches(tags, &object.etag) => failed(),
            _ => Ok(()),
        }
    }

    /// The headers of a write that come back with the value.
    pub(super) fn stored_headers(&self) -> Vec<(String, String)> {
        const STORED: &[&str] =
            &["content-type", "cache-control", "content-encoding", "content-language", "content-disposition"];
        let prefix = if self.dialect == Dialect::Gcs { "x-goog-meta-" } else { "x-amz-meta-" };
        let is_stored = |name: &str| STORED.contains(&name) || name.starts_with(prefix);
        self.request.headers.iter().filter(|(name, _)| is_stored(name)).cloned().collect()
    }

    /// S3 answers 204 also for a key that does not exist, Google 404.
    fn delete(&self) -> Answer {
        let mut state = self.objects.lock();
        let exists = state.buckets.get(&self.bucket).is_some_and(|bucket| bucket.contains_key(&self.key));
        let has_condition =
            ["if-match", "x-goog-if-generation-match"].iter().any(|name| self.request.header(name).is_some());
        if has_condition && let Err(refusal) = self.write_conditions(&state) {
            return refusal;
        }
        if state.protected.contains(&self.key) {
            return error(403, "AccessDenied", "");
        }
        if !exists && self.dialect == Dialect::Gcs {
            return self.no_such_key();
        }
        state.buckets.entry(self.bucket.clone()).or_default().remove(&self.key);
        Answer::new(204)
    }

    fn delete_objects(&self) -> Answer {
        let Ok(body) = std::str::from_utf8(self.body) else { return error(400, "MalformedXML", "") };
        let keys = contents(body, "Key");
        if keys.is_empty() || keys.len() > 1000 {
            return error(400, "MalformedXML", "");
        }
        let is_checksum = |name: &str| name == "content-md5" || name.starts_with("x-amz-checksum-");
        if !self.request.headers.iter().any(|(name, _)| is_checksum(name)) {
            return error(400, "InvalidRequest", "");
        }
        let quiet = text(body, "Quiet").as_deref() == Some("true");
        let mut state = self.objects.lock();
        let mut results = String::new();
        let mut refused = match self.twist {
            Some(Twist::RefusedInside(code)) => Some(code),
            _ => None,
        };
        for key in keys {
            let key = unescaped(key);
            let denied = state.protected.contains(&key).then_some("AccessDenied");
            if let Some(code) = refused.take().or(denied) {
                let cause =
                    element("Code", code) + &element("Message", format!("{code}, says the test server"));
                results += &format!("<Error>{}{cause}</Error>", element("Key", &key));
                continue;
            }
            state.buckets.entry(self.bucket.clone()).or_default().remove(&key);
            if !quiet {
                results += &format!("<Deleted>{}</Deleted>", element("Key", &key));
            }
        }
        Answer::xml(200, format!("<DeleteResult>{results}</DeleteResult>"))
    }

    fn list(&self) -> Answer {
        let query = |name: &str| self.request.query(name);
        let state = self.objects.lock();
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
        let wanted = Wanted { prefix: &prefix, delimiter: &delimiter, from, page_len };
        let bucket = state.buckets.get(&self.bucket);
        let (mut entries, mut more) = bucket.map_or((Vec::new(), false), |bucket| page(bucket, &wanted));
        let mut next = entries.last().filter(|_| more).map(|last| hidden(last.name()));
        if self.twist == Some(Twist::EndlessList) {
            entries.clear();
            more = true;
            next = Some(hidden(&(name.unwrap_or_default() + "~")));
        }
        let is_url_encoded = query("encoding-type").as_deref() == Some("url");
        let spelled = |text: &str| if is_url_encoded { encoded(text) } else { text.to_owned() };
        let mut xml = element("Name", &self.bucket)
            + &element("Prefix", spelled(&prefix))
            + &element("MaxKeys", page_len)
            + &element("KeyCount", entries.len())
            + &element("IsTruncated", more);
        xml += &after.map(|after| element("StartAfter", spelled(&after))).unwrap_or_default();
        xml += &token.map(|token| element("ContinuationToken", token)).unwrap_or_default();
        xml += &next.map(|next| element("NextContinuationToken", next)).unwrap_or_default();
        // Objects come first, prefixes after them.
        let mut contents = String::new();
        let mut prefixes = String::new();
        for entry in entries {
            match entry {
                Entry::Prefix(name) => {
                    prefixes +=
                        &format!("<CommonPrefixes>{}</CommonPrefixes>", element("Prefix", spelled(name)));
                }
                Entry::Object(key, object) => contents += &self.list_entry(&spelled(key), object),
            }
        }
        let namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
        let xml =
            format!("<ListBucketResult xmlns=\"{namespace}\">{xml}{contents}{prefixes}</ListBucketResult>");
        Answer::xml(200, format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{xml}"))
    }

    /// The element of a list for an object, with its key as the list spells it.
    fn list_entry(&self, key: &str, object: &Object) -> String {
        let generation = match self.dialect {
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
}

fn generation_headers(answer: Answer, object: &Object) -> Answer {
    answer.with("x-goog-generation", object.generation).with("x-goog-metageneration", 1)
}

/// A name as a token from which clients learn nothing.
pub(super) fn hidden(name: &str) -> String {
    super::md5::hex(name.as_bytes())
}

/// The reverse of [`hidden`].
pub(super) fn unhidden(token: &str) -> Option<String> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = token.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> = pairs.iter().map(|[a, b]| Some(digit(a)? * 16 + digit(b)?)).collect();
    String::from_utf8(bytes.filter(|_| rest.is_empty())?).ok()
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
