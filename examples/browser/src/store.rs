//! A store of values below a URL, which the page fetches: read only.

use std::ops::Range;

use bytes::Bytes;
use futures_util::future::{BoxFuture, ready, try_join_all};
use ndzarr::AsyncStore;
use ndzarr::store::{Can, Fetch, Fetched, Key, Of, Pin, Precondition, Put, StoreError, Want};
use serde_json::{Value, json};

use crate::request::{Answer, answer_to};

/// Values below a URL, which ends with a slash.
#[derive(Debug)]
pub(crate) struct WebStore(pub(crate) String);

/// Distinguishes one state of a value from another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// The ETag, or else the time of the last change, if the server says either.
    version: Option<String>,
    size: u64,
}

/// A value or part of it.
struct Part {
    state: State,
    /// Where it begins, in bytes.
    start: u64,
    body: Bytes,
}

impl Part {
    fn cut(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let Range { start, end } = range;
        let size = self.state.size;
        if start > end || end > size {
            return Err(StoreError::OutOfRange {
                key: key.clone(),
                start,
                end,
                size,
            });
        }
        let to = |at: u64| usize::try_from(at.checked_sub(self.start)?).ok();
        match (to(start), to(end)) {
            _ if start == end => Ok(Bytes::new()),
            (Some(from), Some(to)) if to <= self.body.len() => Ok(self.body.slice(from..to)),
            _ => Err(failure(
                key,
                "the server sent other bytes than were requested",
            )),
        }
    }
}

impl WebStore {
    /// Makes one request; `None` for no value.
    async fn send(&self, key: &Key, mut request: Value) -> Result<Option<Answer>, StoreError> {
        request["store"] = json!(self.0);
        request["key"] = json!(key.as_str());
        let answer = answer_to(request).await;
        match answer.status {
            // The last one is for ranges outside the value.
            200 | 206 | 416 => Ok(Some(answer)),
            404 | 410 => Ok(None),
            0 => Err(failure(key, String::from_utf8_lossy(&answer.body))),
            status => Err(failure(key, format!("status {status}"))),
        }
    }

    /// Makes one request, for what begins at `start`; `None` for no value.
    async fn get(&self, key: &Key, request: Value, start: u64) -> Result<Option<Part>, StoreError> {
        let Some(answer) = self.send(key, request).await? else {
            return Ok(None);
        };
        let version = |answer: &Answer| answer.head["version"].as_str().map(str::to_owned);
        let size = match answer.head["size"].as_u64() {
            Some(size) => size,
            // After a range request the size is in a header, which a server of another origin has
            // to expose, and few do.
            None => {
                let Some(head) = self.send(key, json!({"method": "HEAD"})).await? else {
                    return Ok(None);
                };
                if version(&head) != version(&answer) {
                    return Err(failure(key, "it changed while it was read"));
                }
                head.head["size"]
                    .as_u64()
                    .ok_or_else(|| failure(key, "the server does not say its size"))?
            }
        };
        // Servers that ignore ranges send the whole value.
        let start = if answer.status == 206 { start } else { 0 };
        Ok(Some(Part {
            state: State {
                version: version(&answer),
                size,
            },
            start,
            body: answer.body,
        }))
    }

    /// Answers a request, whatever its pin; `Err(None)` if the value changed in the meantime.
    async fn read(
        &self,
        key: &Key,
        want: &Want,
    ) -> Result<Option<(State, Vec<Bytes>)>, Option<StoreError>> {
        if let &Want::Whole { limit } = want {
            let Some(part) = self.get(key, json!({"limit": limit}), 0).await? else {
                return Ok(None);
            };
            let size = part.state.size;
            if size > limit {
                return Err(Some(StoreError::TooLarge {
                    key: key.clone(),
                    size,
                    limit,
                }));
            }
            let value = part.cut(key, 0..size)?;
            return Ok(Some((part.state, vec![value])));
        }
        let (head, ranges) = match want {
            Want::Ranges(ranges) if ranges.iter().any(|range| !range.is_empty()) => {
                (None, ranges.clone())
            }
            // A server of another origin has to allow a range from the end, and few do.
            _ => {
                let Some(head) = self.get(key, json!({"method": "HEAD"}), 0).await? else {
                    return Ok(None);
                };
                let size = head.state.size;
                let ranges = match want {
                    Want::Tail(n) => vec![size.saturating_sub(*n)..size],
                    Want::Ranges(ranges) => ranges.clone(),
                    Want::Size | Want::Whole { .. } => Vec::new(),
                };
                (Some(head), ranges)
            }
        };
        let n_heads = usize::from(head.is_some());
        let get = |range: &Range<u64>| {
            let request = json!({"range": format!("bytes={}-{}", range.start, range.end - 1)});
            self.get(key, request, range.start)
        };
        let got = try_join_all(ranges.iter().filter(|range| !range.is_empty()).map(get)).await?;
        let got: Option<Vec<Part>> = head.map(Some).into_iter().chain(got).collect();
        let Some(got) = got else { return Ok(None) };
        let state = got[0].state.clone();
        if got.iter().any(|part| part.state != state) {
            return Err(None);
        }
        let mut parts = got[n_heads..].iter();
        let cut = |range: &Range<u64>| {
            let part = if range.is_empty() { None } else { parts.next() };
            part.unwrap_or(&got[0]).cut(key, range.clone())
        };
        Ok(Some((
            state,
            ranges.iter().map(cut).collect::<Result<_, _>>()?,
        )))
    }

    async fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let pinned = match &fetch.of {
            Of::Any => None,
            // If the server states no version, the value may have changed without a trace.
            Of::IfCurrent(pin) => {
                match pin.get::<State>().filter(|state| state.version.is_some()) {
                    None => return Ok(Fetched::Changed),
                    state => state,
                }
            }
            Of::Snapshot(pin) => match pin.get::<State>() {
                None => return Ok(Fetched::Changed),
                state => state,
            },
        };
        for _ in 0..4 {
            return Ok(match (self.read(&fetch.key, &fetch.want).await, pinned) {
                (Ok(Some((state, _))), Some(pinned)) if state != *pinned => Fetched::Changed,
                (Ok(None) | Err(None), Some(_)) => Fetched::Changed,
                (Ok(Some((state, parts))), _) => Fetched::Parts {
                    size: state.size,
                    pin: Pin::new(state),
                    parts,
                },
                (Ok(None), None) => Fetched::Missing,
                (Err(None), None) => continue,
                (Err(Some(error)), _) => return Err(error),
            });
        }
        Err(failure(&fetch.key, "it keeps changing"))
    }
}

impl AsyncStore for WebStore {
    fn name(&self) -> String {
        self.0.clone()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        Box::pin(self.fetch(fetch))
    }

    fn put<'a>(
        &'a self,
        _: &'a Key,
        _: &'a [Bytes],
        _: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(ready(Err(StoreError::Unsupported("write"))))
    }

    fn erase<'a>(&'a self, _: &'a Key, _: Precondition) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(ready(Err(StoreError::Unsupported("write"))))
    }

    fn can(&self) -> Can {
        Can {
            write: false,
            put_if: false,
            erase_if: false,
            lock: false,
            list: false,
        }
    }
}

fn failure(key: &Key, what: impl ToString) -> StoreError {
    StoreError::Other {
        action: "read",
        key: key.to_string(),
        what: what.to_string(),
    }
}
