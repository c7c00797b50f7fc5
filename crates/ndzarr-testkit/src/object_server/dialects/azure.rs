//! The dialect of Azure Blob Storage, as in the reference "Blob service REST API".

use bytes::Bytes;

use crate::object_server::connections::answer::Answer;
use crate::object_server::connections::faults::Twist;
use crate::object_server::connections::request::Request;
use crate::object_server::dialects::dates::http_date;
use crate::object_server::dialects::listing::{Entry, From, Wanted, hidden, page, unhidden};
use crate::object_server::dialects::range::{
    Selected, Suffixes, Verdict, matches, read_conditions, select,
};
use crate::object_server::dialects::xml::{contents, element, unescaped};
use crate::object_server::stored::objects::{Object, Objects, State, Upload};

/// The account, with which each path begins, as in emulators.
const ACCOUNT: &str = "devstoreaccount1";

struct Call<'r> {
    objects: &'r Objects,
    request: &'r Request,
    body: &'r Bytes,
    container: String,
    name: String,
    twist: Option<Twist>,
}

/// Answers a request.
pub(crate) fn answer(
    objects: &Objects,
    request: &Request,
    body: &Bytes,
    twist: Option<Twist>,
) -> Answer {
    let Some(path) = request.path() else {
        return error(400, "InvalidUri");
    };
    let path = path
        .strip_prefix(ACCOUNT)
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(&path);
    let (container, name) = path.split_once('/').unwrap_or((path, ""));
    let call = Call {
        objects,
        request,
        body,
        container: container.to_owned(),
        name: name.to_owned(),
        twist,
    };
    let answer = call.answer();
    if request.method == "HEAD" {
        answer.for_head()
    } else {
        answer
    }
}

/// An error as the service words it, with its code also in a header.
pub(crate) fn error(status: u16, code: &str) -> Answer {
    let xml = element("Code", code) + &element("Message", format!("{code}, says the test server"));
    let xml = format!("<?xml version=\"1.0\" encoding=\"utf-8\"?><Error>{xml}</Error>");
    common(Answer::xml(status, xml)).with("x-ms-error-code", code)
}

fn common(answer: Answer) -> Answer {
    answer
        .with("x-ms-request-id", "9b1a2c3d-0000-0000-0000-000000000000")
        .with("x-ms-version", "2023-11-03")
}

impl Call<'_> {
    fn answer(&self) -> Answer {
        let comp = self.request.query("comp");
        let is_container = self.request.query("restype").as_deref() == Some("container");
        if self.request.method == "PUT" && is_container && comp.is_none() {
            self.objects.make_bucket(&self.container);
            return common(Answer::new(201));
        }
        if !self.objects.lock().buckets.contains_key(&self.container) {
            return error(404, "ContainerNotFound");
        }
        if self.request.header("x-ms-copy-source").is_some() {
            return error(501, "NotImplemented");
        }
        match (self.request.method.as_str(), comp.as_deref(), is_container) {
            ("GET", Some("list"), true) => self.list(),
            ("POST", Some("batch"), true) => self.batch(),
            ("GET" | "HEAD", None, false) => self.get(),
            ("PUT", None, false) => self.put(),
            ("PUT", Some("block"), false) => self.put_block(),
            ("PUT", Some("blocklist"), false) => self.put_block_list(),
            ("DELETE", None, false) => self.delete(&self.name, self.request.header("if-match")),
            _ => error(400, "InvalidQueryParameterValue"),
        }
    }

    fn get(&self) -> Answer {
        let state = self.objects.lock();
        let Some(object) = state
            .buckets
            .get(&self.container)
            .and_then(|blobs| blobs.get(&self.name))
        else {
            return error(404, "BlobNotFound");
        };
        match read_conditions(self.request, object) {
            Verdict::Failed => return error(412, "ConditionNotMet"),
            Verdict::NotModified => return head(object, 304),
            Verdict::Holds => {}
        }
        let size = object.data.len();
        let range = self
            .request
            .header("x-ms-range")
            .or(self.request.header("range"));
        match select(range, size, Suffixes::Unsupported) {
            Err(()) => error(400, "InvalidHeaderValue"),
            Ok(Selected::Nothing) => {
                error(416, "InvalidRange").with("Content-Range", format!("bytes */{size}"))
            }
            Ok(Selected::Part(range)) => head(object, 206)
                .with(
                    "Content-Range",
                    format!("bytes {}-{}/{size}", range.start, range.end - 1),
                )
                .with_body(object.data.slice(range)),
            Ok(Selected::Whole) => head(object, 200).with_body(object.data.clone()),
        }
    }

    fn put(&self) -> Answer {
        if self.request.header("x-ms-blob-type") != Some("BlockBlob") {
            return error(400, "MissingRequiredHeader");
        }
        let mut state = self.objects.lock();
        self.store(&mut state, self.body.clone())
    }

    /// Stores a value on the conditions of the request.
    fn store(&self, state: &mut State, data: Bytes) -> Answer {
        let Some(headers) = self.stored_headers() else {
            return error(400, "InvalidMetadata");
        };
        let existing = state
            .buckets
            .get(&self.container)
            .and_then(|blobs| blobs.get(&self.name));
        match (
            self.request.header("if-none-match"),
            self.request.header("if-match"),
            existing,
        ) {
            (Some("*"), _, Some(_)) => return error(409, "BlobAlreadyExists"),
            (Some(tags), _, Some(blob)) if matches(tags, &blob.etag) => {
                return error(412, "ConditionNotMet");
            }
            (_, Some(_), None) => return error(412, "ConditionNotMet"),
            (_, Some(tags), Some(blob)) if !matches(tags, &blob.etag) => {
                return error(412, "ConditionNotMet");
            }
            _ => {}
        }
        let blob = state.object(data, String::new(), headers);
        let answer = common(Answer::new(201))
            .with("ETag", &blob.etag)
            .with("Last-Modified", http_date(blob.modified))
            .with("x-ms-request-server-encrypted", "true");
        state
            .buckets
            .entry(self.container.clone())
            .or_default()
            .insert(self.name.clone(), blob);
        answer
    }

    /// The headers of a write that come back with the value. `None` if metadata has a name that is
    /// no C# identifier.
    fn stored_headers(&self) -> Option<Vec<(String, String)>> {
        let mut stored = Vec::new();
        for (name, value) in &self.request.headers {
            if let Some(word) = name.strip_prefix("x-ms-meta-") {
                let is_word = !word.is_empty()
                    && !word.starts_with(|first: char| first.is_ascii_digit())
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                if !is_word {
                    return None;
                }
                stored.push((name.clone(), value.clone()));
            } else if let Some(name) = name
                .strip_prefix("x-ms-blob-")
                .filter(|name| *name != "type")
            {
                stored.push((name.to_owned(), value.clone()));
            }
        }
        Some(stored)
    }

    fn delete(&self, name: &str, if_match: Option<&str>) -> Answer {
        let mut state = self.objects.lock();
        if state.protected.contains(name) {
            return error(403, "AuthorizationPermissionMismatch");
        }
        let Some(blobs) = state.buckets.get_mut(&self.container) else {
            return error(404, "ContainerNotFound");
        };
        match (blobs.get(name), if_match) {
            (None, _) => return error(404, "BlobNotFound"),
            (Some(blob), Some(tags)) if !matches(tags, &blob.etag) => {
                return error(412, "ConditionNotMet");
            }
            (Some(blob), _) if blob.is_folder() => return error(409, "DirectoryIsNotEmpty"),
            _ => blobs.remove(name),
        };
        common(Answer::new(202))
    }

    /// "Blob Batch": requests in a multipart body, answers likewise.
    fn batch(&self) -> Answer {
        let boundary = self
            .request
            .header("content-type")
            .and_then(|kind| kind.split_once("boundary="));
        let (Some((_, boundary)), Ok(body)) = (boundary, std::str::from_utf8(self.body)) else {
            return error(400, "InvalidInput");
        };
        let parts: Vec<&str> = body.split(&format!("--{boundary}")).skip(1).collect();
        let Some((&"--\r\n" | &"--", parts)) = parts.split_last() else {
            return error(400, "InvalidInput");
        };
        if parts.is_empty() || parts.len() > 256 {
            return error(400, "InvalidInput");
        }
        let mut answers = String::new();
        for part in parts {
            let id = part
                .lines()
                .find_map(|line| line.strip_prefix("Content-ID: "))
                .unwrap_or_default();
            let target = part
                .lines()
                .find_map(|line| line.strip_prefix("DELETE ")?.strip_suffix(" HTTP/1.1"));
            let Some(target) = target else {
                return error(400, "InvalidInput");
            };
            let request = Request {
                method: "DELETE".into(),
                target: target.to_owned(),
                headers: Vec::new(),
            };
            let inner = match self.twist {
                Some(Twist::RefusedInside(code)) if answers.is_empty() => error(503, code),
                _ => answer_one(self, &request),
            };
            let head = String::from_utf8_lossy(&inner.head(&inner.content_length())).into_owned();
            answers += &format!(
                "--batchresponse\r\nContent-Type: application/http\r\nContent-ID: {id}\r\n\r\n{head}"
            );
            answers += &String::from_utf8_lossy(&inner.body);
            answers += "\r\n";
        }
        common(Answer::new(202))
            .with("Content-Type", "multipart/mixed; boundary=batchresponse")
            .with_body(answers + "--batchresponse--\r\n")
    }

    fn put_block(&self) -> Answer {
        let Some(block) = self.request.query("blockid") else {
            return error(400, "InvalidQueryParameterValue");
        };
        let mut state = self.objects.lock();
        let id = format!("{}/{}", self.container, self.name);
        let upload = state.uploads.entry(id).or_insert_with(|| Upload {
            bucket: self.container.clone(),
            key: self.name.clone(),
            headers: Vec::new(),
            parts: Default::default(),
        });
        upload
            .parts
            .insert(block, (self.body.clone(), String::new()));
        common(Answer::new(201))
    }

    fn put_block_list(&self) -> Answer {
        let Ok(body) = std::str::from_utf8(self.body) else {
            return error(400, "InvalidXmlDocument");
        };
        let mut state = self.objects.lock();
        let id = format!("{}/{}", self.container, self.name);
        let mut whole = Vec::new();
        let names = [contents(body, "Uncommitted"), contents(body, "Latest")].concat();
        for name in names {
            let block = state
                .uploads
                .get(&id)
                .and_then(|upload| upload.parts.get(&unescaped(name)));
            let Some((data, _)) = block else {
                return error(400, "InvalidBlockList");
            };
            whole.extend_from_slice(data);
        }
        let answer = self.store(&mut state, whole.into());
        if answer.status == 201 {
            state.uploads.remove(&id);
        }
        answer
    }

    fn list(&self) -> Answer {
        let query = |name: &str| self.request.query(name).unwrap_or_default();
        let state = self.objects.lock();
        let prefix = query("prefix");
        let delimiter = query("delimiter");
        let marker = query("marker");
        let page_len = match query("maxresults").as_str() {
            "" => state.page_len,
            text => match text.parse::<usize>() {
                Ok(n) if n > 0 => n.min(state.page_len),
                _ => return error(400, "OutOfRangeQueryParameterValue"),
            },
        };
        let Some(name) = unhidden(&marker) else {
            return error(400, "InvalidMarker");
        };
        let first = query("startFrom");
        let from = match (name.as_str(), first.as_str()) {
            ("", "") => From::Start,
            ("", first) => From::AtKey(first),
            (name, _) => From::AfterEntry(name),
        };
        let wanted = Wanted {
            prefix: &prefix,
            delimiter: &delimiter,
            from,
            page_len,
        };
        let blobs = state.buckets.get(&self.container);
        let (mut entries, more) = blobs.map_or((Vec::new(), false), |blobs| page(blobs, &wanted));
        let mut next = entries
            .last()
            .filter(|_| more)
            .map(|last| hidden(last.name()));
        if self.twist == Some(Twist::EndlessList) {
            entries.clear();
            next = Some(hidden(&(name.clone() + "~")));
        }
        let mut blobs = String::new();
        for entry in entries {
            blobs += &match entry {
                Entry::Prefix(name) => {
                    format!("<BlobPrefix>{}</BlobPrefix>", element("Name", name))
                }
                Entry::Object(name, blob) => format!(
                    "<Blob>{}<Properties>{}{}{}{}{}<BlobType>BlockBlob</BlobType></Properties></Blob>",
                    element("Name", name),
                    element("Last-Modified", http_date(blob.modified)),
                    // Without the quotes that the header has.
                    element("Etag", blob.etag.trim_matches('"')),
                    element("Content-Length", blob.data.len()),
                    element("Content-Type", "application/octet-stream"),
                    if blob.is_folder() {
                        element("ResourceType", "directory")
                    } else {
                        String::new()
                    },
                ),
            };
        }
        let parameters = element("Prefix", &prefix) + &element("MaxResults", page_len);
        let next = element("NextMarker", next.unwrap_or_default());
        let xml = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ContainerName=\"{}\">{parameters}<Blobs>{blobs}</Blobs>{next}</EnumerationResults>",
            self.container,
        );
        common(Answer::xml(200, xml))
    }
}

/// The deletion of a batch: its path names the container again.
fn answer_one(call: &Call<'_>, request: &Request) -> Answer {
    answer(call.objects, request, &Bytes::new(), None)
}

fn head(blob: &Object, status: u16) -> Answer {
    let mut answer = common(Answer::new(status))
        .with("ETag", &blob.etag)
        .with("Last-Modified", http_date(blob.modified))
        .with("Accept-Ranges", "bytes")
        .with("x-ms-blob-type", "BlockBlob");
    answer.headers.extend(blob.headers.iter().cloned());
    if !blob.headers.iter().any(|(name, _)| name == "content-type") {
        answer = answer.with("Content-Type", "application/octet-stream");
    }
    answer
}
