//! Reads values and parts of them.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_store::{Fetch, Fetched, Key, Of, StoreError, Want};
use object_store::{Error as OsError, GetOptions, GetRange, GetResult};

use crate::answers::call::{CALL, Purpose};
use crate::state::State;
use crate::store::{Inner, Service};
use crate::unranged::UnrangedCache;

/// A larger value is read in pieces, on several connections.
const LARGE_BYTES: u64 = 16 << 20;
const PIECE_BYTES: u64 = 8 << 20;
/// Some servers count in signed numbers, so no range ends after this.
const MAX_END: u64 = i64::MAX as u64;

/// The answer to one request.
pub(crate) enum ReadAnswer {
    Missing,
    /// The value is not the pinned one.
    Changed,
    /// The range is not inside the value.
    OutOfRange,
    /// The server ignores ranges, and sends the whole value.
    RangesIgnored,
    /// The value, of this size, is larger than may be read by one request.
    Large(State, u64),
    /// The bytes that were requested, of a value of this size.
    Part(State, u64, Bytes),
}

#[derive(Clone, Debug)]
pub(crate) enum ReadRequest {
    Head,
    /// All of a value of at most `limit` bytes, if it has at most `at_once`.
    Whole {
        limit: u64,
        at_once: u64,
    },
    Range(GetRange),
}

impl Inner {
    pub(crate) async fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let pinned = match &fetch.of {
            Of::Any => None,
            Of::Snapshot(pin) | Of::IfCurrent(pin) => match pin.get::<State>() {
                // A state that shows no changes would match any later value of the same size.
                Some(state)
                    if state.value == self.value_name(&self.path(&fetch.key)?)
                        && (state.shows_changes() || matches!(fetch.of, Of::Snapshot(_))) =>
                {
                    Some(state)
                }
                _ => return Ok(Fetched::Changed),
            },
        };
        // If the value changes between the requests of one call, all of them are made again.
        for _ in 0..16 {
            match self.fetch_once(fetch, pinned).await? {
                Fetched::Changed if pinned.is_none() => {}
                fetched => return Ok(fetched),
            }
        }
        let what = "it keeps changing".to_owned();
        Err(StoreError::Other {
            action: "read",
            key: fetch.key.to_string(),
            what,
        })
    }

    async fn fetch_once(
        &self,
        fetch: &Fetch,
        pinned: Option<&State>,
    ) -> Result<Fetched, StoreError> {
        let key = &fetch.key;
        let got = match &fetch.want {
            Want::Size | Want::Tail(0) => self.get(key, ReadRequest::Head, pinned).await?,
            Want::Whole { limit } => self.whole(key, *limit, pinned).await?,
            _ if self.unranged.contains(key) => ReadAnswer::RangesIgnored,
            Want::Tail(n) => self.tail(key, *n, pinned).await?,
            Want::Ranges(ranges) => match self.ranges(key, ranges, pinned).await? {
                Some(fetched) => return Ok(fetched),
                None => ReadAnswer::RangesIgnored,
            },
        };
        let got = match got {
            ReadAnswer::RangesIgnored => match self.whole_unranged(key, pinned).await? {
                ReadAnswer::Part(state, _, value) => {
                    let (size, parts) = fetch.want.cut(key, &value)?;
                    // A slice would keep the whole value in memory.
                    let parts = parts
                        .iter()
                        .map(|part| Bytes::copy_from_slice(part))
                        .collect();
                    return Ok(Fetched::Parts {
                        pin: state.into_pin(),
                        size,
                        parts,
                    });
                }
                got => got,
            },
            got => got,
        };
        Ok(match got {
            ReadAnswer::Missing => Fetched::Missing,
            ReadAnswer::Part(state, size, bytes) => {
                let parts = if fetch.want == Want::Size {
                    Vec::new()
                } else {
                    vec![bytes]
                };
                Fetched::Parts {
                    pin: state.into_pin(),
                    size,
                    parts,
                }
            }
            ReadAnswer::Changed
            | ReadAnswer::OutOfRange
            | ReadAnswer::RangesIgnored
            | ReadAnswer::Large(..) => Fetched::Changed,
        })
    }

    /// All of a value whose server ignores ranges: from memory, if it is still the same.
    async fn whole_unranged(
        &self,
        key: &Key,
        pinned: Option<&State>,
    ) -> Result<ReadAnswer, StoreError> {
        if let Some(got) = self.answer_from_memory(key, pinned).await? {
            return Ok(got);
        }
        // These values are read one at a time, since each may need much memory.
        let _guard = self.unranged.lock_reads().await;
        if let Some(got) = self.answer_from_memory(key, pinned).await? {
            return Ok(got);
        }
        let limit = UnrangedCache::LIMIT;
        let got = match self
            .get(
                key,
                ReadRequest::Whole {
                    limit,
                    at_once: limit,
                },
                pinned,
            )
            .await
        {
            Err(StoreError::TooLarge { size, .. }) => {
                let what = format!(
                    "the server ignores ranges, and the value has {size} bytes: more than {limit} are not \
                     read for a part of them"
                );
                return Err(StoreError::Other {
                    action: "read",
                    key: key.to_string(),
                    what,
                });
            }
            got => got?,
        };
        if let ReadAnswer::Part(state, _, value) = &got {
            self.unranged.insert(key, state, value);
        }
        Ok(got)
    }

    /// The value in memory if it is current; `None` if it is not, or there is none.
    async fn answer_from_memory(
        &self,
        key: &Key,
        pinned: Option<&State>,
    ) -> Result<Option<ReadAnswer>, StoreError> {
        let Some((cached, value)) = self.unranged.get(key) else {
            return Ok(None);
        };
        Ok(match self.get(key, ReadRequest::Head, pinned).await? {
            ReadAnswer::Part(state, size, _)
                if state.is_same_as(&cached) && size == value.len() as u64 =>
            {
                Some(ReadAnswer::Part(state, size, value))
            }
            ReadAnswer::Part(..) => None,
            got => Some(got),
        })
    }

    async fn whole(
        &self,
        key: &Key,
        limit: u64,
        pinned: Option<&State>,
    ) -> Result<ReadAnswer, StoreError> {
        let request = ReadRequest::Whole {
            limit,
            at_once: LARGE_BYTES,
        };
        let (state, size) = match self.get(key, request, pinned).await? {
            ReadAnswer::Large(state, size) => (state, size),
            got => return Ok(got),
        };
        let starts = (0..size).step_by(PIECE_BYTES as usize);
        let pieces = stream::iter(starts.map(|start| {
            let range = GetRange::Bounded(start..size.min(start + PIECE_BYTES));
            self.get(key, ReadRequest::Range(range), Some(&state))
        }));
        let mut pieces = std::pin::pin!(pieces.buffered(8));
        let mut value = BytesMut::new();
        while let Some(piece) = pieces.try_next().await? {
            match piece {
                ReadAnswer::Part(_, _, bytes) => value.extend_from_slice(&bytes),
                ReadAnswer::RangesIgnored => {
                    return self
                        .get(
                            key,
                            ReadRequest::Whole {
                                limit,
                                at_once: u64::MAX,
                            },
                            pinned,
                        )
                        .await;
                }
                _ => return Ok(ReadAnswer::Changed),
            }
        }
        Ok(ReadAnswer::Part(state.clone(), size, value.freeze()))
    }

    async fn tail(
        &self,
        key: &Key,
        n: u64,
        pinned: Option<&State>,
    ) -> Result<ReadAnswer, StoreError> {
        // Azure has no ranges that count from the end.
        if self.service != Service::Azure {
            let range = GetRange::Suffix(n.min(MAX_END));
            match self.get(key, ReadRequest::Range(range), pinned).await? {
                ReadAnswer::OutOfRange => {}
                got => return Ok(got),
            }
        }
        match self.get(key, ReadRequest::Head, pinned).await? {
            ReadAnswer::Part(state, size, _) if size > 0 => {
                let range = GetRange::Bounded(size.saturating_sub(n)..size);
                self.get(key, ReadRequest::Range(range), Some(&state)).await
            }
            got => Ok(got),
        }
    }

    /// Requests all ranges at once, and compares afterwards that they came from one value. `None`
    /// if the server ignores ranges.
    async fn ranges(
        &self,
        key: &Key,
        ranges: &[Range<u64>],
        pinned: Option<&State>,
    ) -> Result<Option<Fetched>, StoreError> {
        let gets = ranges
            .iter()
            .filter(|range| range.start < range.end.min(MAX_END))
            .map(|range| {
                // No more than memory can address: object_store refuses a longer range even of a
                // short value.
                let end = range
                    .end
                    .min(MAX_END)
                    .min(range.start.saturating_add(isize::MAX as u64));
                self.get(
                    key,
                    ReadRequest::Range(GetRange::Bounded(range.start..end)),
                    pinned,
                )
            });
        let got = try_join_all(gets).await?;
        if got
            .iter()
            .any(|got| matches!(got, ReadAnswer::RangesIgnored))
        {
            return Ok(None);
        }
        let mut found: Option<(State, u64)> = None;
        for got in &got {
            match (got, &found) {
                (ReadAnswer::Part(state, size, _), None) => found = Some((state.clone(), *size)),
                (ReadAnswer::Part(state, ..), Some((first, _))) if first.is_same_as(state) => {}
                (ReadAnswer::OutOfRange, _) => {}
                (ReadAnswer::Missing, None) => {}
                _ => return Ok(Some(Fetched::Changed)),
            }
        }
        if got.iter().any(|got| matches!(got, ReadAnswer::Missing)) {
            let all = got.iter().all(|got| matches!(got, ReadAnswer::Missing));
            return Ok(Some(if all {
                Fetched::Missing
            } else {
                Fetched::Changed
            }));
        }
        let (state, size) = match found {
            Some(found) => found,
            // Nothing was requested, or all of it is outside the value.
            None => match self.get(key, ReadRequest::Head, pinned).await? {
                ReadAnswer::Part(state, size, _) => (state, size),
                ReadAnswer::Missing => return Ok(Some(Fetched::Missing)),
                _ => return Ok(Some(Fetched::Changed)),
            },
        };
        let mut got = got.into_iter();
        let mut parts = Vec::with_capacity(ranges.len());
        for &Range { start, end } in ranges {
            if start > end || end > size.min(MAX_END) {
                return Err(StoreError::OutOfRange {
                    key: key.clone(),
                    start,
                    end,
                    size,
                });
            }
            // Nothing was requested for an empty range.
            let answer = if start < end { got.next() } else { None };
            parts.push(match answer {
                None => Bytes::new(),
                Some(ReadAnswer::Part(_, _, bytes)) => bytes,
                // Inside this value, but outside the one that the range was requested of.
                Some(_) => return Ok(Some(Fetched::Changed)),
            });
        }
        Ok(Some(Fetched::Parts {
            pin: state.into_pin(),
            size,
            parts,
        }))
    }

    pub(crate) async fn get(
        &self,
        key: &Key,
        read: ReadRequest,
        pinned: Option<&State>,
    ) -> Result<ReadAnswer, StoreError> {
        let path = self.path(key)?;
        let is_range = matches!(read, ReadRequest::Range(_));
        let request = || async {
            let mut options = GetOptions::new()
                .with_head(matches!(read, ReadRequest::Head))
                .with_if_match(pinned.and_then(State::strong_e_tag));
            if let ReadRequest::Range(range) = &read {
                options = options.with_range(Some(range.clone()));
            }
            let result = match self.backend.store().get_opts(&path, options).await {
                Err(error) if is_range => match CALL.with(|call| call.answer().status) {
                    416 => return Ok(Ok(ReadAnswer::OutOfRange)),
                    200 => return Ok(Ok(ReadAnswer::RangesIgnored)),
                    // The range of the answer makes no sense: a request for the size will tell.
                    206 => return Ok(Ok(ReadAnswer::OutOfRange)),
                    _ => return Err(error),
                },
                // For instance a head without a length: another attempt would bring the same.
                Err(error) => {
                    CALL.with(|call| call.answer().note_refused_head());
                    return Err(error);
                }
                Ok(result) => result,
            };
            let state = State::of(self.value_name(&path), &result.meta);
            let size = result.meta.size;
            if pinned.is_some_and(|pinned| !pinned.is_same_as(&state)) {
                return Ok(Ok(ReadAnswer::Changed));
            }
            match read {
                ReadRequest::Head => return Ok(Ok(ReadAnswer::Part(state, size, Bytes::new()))),
                ReadRequest::Whole { limit, .. } if size > limit => {
                    return Ok(Err(StoreError::TooLarge {
                        key: key.clone(),
                        size,
                        limit,
                    }));
                }
                ReadRequest::Whole { at_once, .. } if size > at_once => {
                    return Ok(Ok(ReadAnswer::Large(state, size)));
                }
                _ => {}
            }
            Ok(Ok(ReadAnswer::Part(state, size, read_body(result).await?)))
        };
        match self.read(Purpose::Values, request).await {
            Ok((got, _)) => got,
            Err(failure) => match failure.answer.status {
                404 | 410 if failure.answer.is_no_bucket() => {
                    Err(self.error("read", key, &failure))
                }
                404 | 410 if pinned.is_some() => Ok(ReadAnswer::Changed),
                404 | 410 => Ok(ReadAnswer::Missing),
                // The value may have been removed: a read without the pin gets the denial.
                _ if pinned.is_some()
                    && self.options.missing_if_denied
                    && failure.answer.may_be_absent() =>
                {
                    Ok(ReadAnswer::Changed)
                }
                304 | 412 => Ok(ReadAnswer::Changed),
                _ => Err(self.error("read", key, &failure)),
            },
        }
    }
}

/// Reads a body, which must have the length that its head states.
async fn read_body(result: GetResult) -> object_store::Result<Bytes> {
    let byte_len = result.range.end.saturating_sub(result.range.start);
    let mut bytes = BytesMut::with_capacity(byte_len.min(LARGE_BYTES) as usize);
    let mut body = result.into_stream();
    while let Some(part) = body.try_next().await? {
        bytes.extend_from_slice(&part);
        if bytes.len() as u64 > byte_len {
            break;
        }
    }
    if bytes.len() as u64 != byte_len {
        let what = format!("{} bytes instead of {byte_len}", bytes.len());
        return Err(OsError::Generic {
            store: "http",
            source: what.into(),
        });
    }
    Ok(bytes.freeze())
}
