//! Reads values and parts of them.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_store::{Fetch, Fetched, Key, Of, StoreError, Want};
use object_store::{Error as OsError, GetOptions, GetRange};

use crate::answers::call::{CALL, Purpose};
use crate::state::State;
use crate::store::{Inner, Service};
use crate::unranged::Unranged;

/// A larger value is read in pieces, on several connections.
const LARGE: u64 = 16 << 20;
const PIECE: u64 = 8 << 20;
/// Some servers count in signed numbers.
const LAST: u64 = i64::MAX as u64;

/// The answer to one request.
pub(crate) enum Got {
    Missing,
    /// Not the pinned value.
    Changed,
    /// The range is not inside the value.
    Beyond,
    /// The server sends the whole value, whatever range is asked for.
    NoRange,
    /// The value is larger than what is read at once.
    Large(State, u64),
    Part(State, u64, Bytes),
}

#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Head,
    Whole { limit: u64, at_once: u64 },
    Range(GetRange),
}

impl Inner {
    pub(crate) async fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let pinned = match &fetch.of {
            Of::Any => None,
            Of::Snapshot(pin) | Of::IfCurrent(pin) => match pin.get::<State>() {
                // Without anything telling, a later value of the same size would look like the current one.
                Some(state)
                    if state.value == self.value(&self.path(&fetch.key)?)
                        && (state.is_telling() || matches!(fetch.of, Of::Snapshot(_))) =>
                {
                    Some(state)
                }
                _ => return Ok(Fetched::Changed),
            },
        };
        // Requests of one call may meet two values: then all are made again.
        for _ in 0..16 {
            match self.fetch_once(fetch, pinned).await? {
                Fetched::Changed if pinned.is_none() => {}
                fetched => return Ok(fetched),
            }
        }
        let what = "it keeps changing".to_owned();
        Err(StoreError::Other { action: "read", key: fetch.key.to_string(), what })
    }

    async fn fetch_once(&self, fetch: &Fetch, pinned: Option<&State>) -> Result<Fetched, StoreError> {
        let key = &fetch.key;
        let got = match &fetch.want {
            Want::Size | Want::Tail(0) => self.get(key, Ask::Head, pinned).await?,
            Want::Whole { limit } => self.whole(key, *limit, pinned).await?,
            _ if self.unranged.has(key) => Got::NoRange,
            Want::Tail(n) => self.tail(key, *n, pinned).await?,
            Want::Ranges(ranges) => match self.ranges(key, ranges, pinned).await? {
                Some(fetched) => return Ok(fetched),
                None => Got::NoRange,
            },
        };
        let got = match got {
            Got::NoRange => match self.unranged(key, pinned).await? {
                Got::Part(state, _, value) => {
                    let (size, parts) = fetch.want.cut(key, &value)?;
                    // A slice would keep all of it in memory.
                    let parts = parts.iter().map(|part| Bytes::copy_from_slice(part)).collect();
                    return Ok(Fetched::Parts { pin: state.into_pin(), size, parts });
                }
                got => got,
            },
            got => got,
        };
        Ok(match got {
            Got::Missing => Fetched::Missing,
            Got::Part(state, size, bytes) => {
                let parts = if fetch.want == Want::Size { Vec::new() } else { vec![bytes] };
                Fetched::Parts { pin: state.into_pin(), size, parts }
            }
            Got::Changed | Got::Beyond | Got::NoRange | Got::Large(..) => Fetched::Changed,
        })
    }

    /// All of a value whose server ignores ranges: from memory, if it is still the same.
    async fn unranged(&self, key: &Key, pinned: Option<&State>) -> Result<Got, StoreError> {
        if let Some(got) = self.kept(key, pinned).await? {
            return Ok(got);
        }
        // One at a time is read, each of which may need much memory.
        let _turn = self.unranged.turn().await;
        if let Some(got) = self.kept(key, pinned).await? {
            return Ok(got);
        }
        let limit = Unranged::LIMIT;
        let got = match self.get(key, Ask::Whole { limit, at_once: limit }, pinned).await {
            Err(StoreError::TooLarge { size, .. }) => {
                let what = format!(
                    "the server ignores ranges, and the value has {size} bytes: more than {limit} are not \
                     read for a part of them"
                );
                return Err(StoreError::Other { action: "read", key: key.to_string(), what });
            }
            got => got?,
        };
        if let Got::Part(state, _, value) = &got {
            self.unranged.keep(key, state, value);
        }
        Ok(got)
    }

    /// The same from memory; `None` if another one or none is kept.
    async fn kept(&self, key: &Key, pinned: Option<&State>) -> Result<Option<Got>, StoreError> {
        let Some((kept, value)) = self.unranged.get(key) else { return Ok(None) };
        Ok(match self.get(key, Ask::Head, pinned).await? {
            Got::Part(state, size, _) if state.is(&kept) && size == value.len() as u64 => {
                Some(Got::Part(state, size, value))
            }
            Got::Part(..) => None,
            got => Some(got),
        })
    }

    async fn whole(&self, key: &Key, limit: u64, pinned: Option<&State>) -> Result<Got, StoreError> {
        let (state, size) = match self.get(key, Ask::Whole { limit, at_once: LARGE }, pinned).await? {
            Got::Large(state, size) => (state, size),
            got => return Ok(got),
        };
        let starts = (0..size).step_by(PIECE as usize);
        let pieces = stream::iter(starts.map(|start| {
            let range = GetRange::Bounded(start..size.min(start + PIECE));
            self.get(key, Ask::Range(range), Some(&state))
        }));
        let mut pieces = std::pin::pin!(pieces.buffered(8));
        let mut value = BytesMut::new();
        while let Some(piece) = pieces.try_next().await? {
            match piece {
                Got::Part(_, _, bytes) => value.extend_from_slice(&bytes),
                Got::NoRange => {
                    return self.get(key, Ask::Whole { limit, at_once: u64::MAX }, pinned).await;
                }
                _ => return Ok(Got::Changed),
            }
        }
        Ok(Got::Part(state.clone(), size, value.freeze()))
    }

    async fn tail(&self, key: &Key, n: u64, pinned: Option<&State>) -> Result<Got, StoreError> {
        if self.service != Service::Azure {
            let range = GetRange::Suffix(n.min(LAST));
            match self.get(key, Ask::Range(range), pinned).await? {
                Got::Beyond => {}
                got => return Ok(got),
            }
        }
        match self.get(key, Ask::Head, pinned).await? {
            Got::Part(state, size, _) if size > 0 => {
                let range = GetRange::Bounded(size.saturating_sub(n)..size);
                self.get(key, Ask::Range(range), Some(&state)).await
            }
            got => Ok(got),
        }
    }

    /// All ranges at once; whether they came from one value is compared afterwards. `None` if the
    /// server ignores ranges.
    async fn ranges(
        &self,
        key: &Key,
        ranges: &[Range<u64>],
        pinned: Option<&State>,
    ) -> Result<Option<Fetched>, StoreError> {
        let gets = ranges.iter().filter(|range| range.start < range.end.min(LAST)).map(|range| {
            // No more than memory can address: object_store refuses a longer range even of a short value.
            let end = range.end.min(LAST).min(range.start.saturating_add(isize::MAX as u64));
            self.get(key, Ask::Range(GetRange::Bounded(range.start..end)), pinned)
        });
        let got = try_join_all(gets).await?;
        if got.iter().any(|got| matches!(got, Got::NoRange)) {
            return Ok(None);
        }
        let mut of: Option<(State, u64)> = None;
        for got in &got {
            match (got, &of) {
                (Got::Part(state, size, _), None) => of = Some((state.clone(), *size)),
                (Got::Part(state, ..), Some((first, _))) if first.is(state) => {}
                (Got::Beyond, _) => {}
                (Got::Missing, None) => {}
                _ => return Ok(Some(Fetched::Changed)),
            }
        }
        if got.iter().any(|got| matches!(got, Got::Missing)) {
            let all = got.iter().all(|got| matches!(got, Got::Missing));
            return Ok(Some(if all { Fetched::Missing } else { Fetched::Changed }));
        }
        let (state, size) = match of {
            Some(of) => of,
            // Nothing was asked for, or all of it is outside.
            None => match self.get(key, Ask::Head, pinned).await? {
                Got::Part(state, size, _) => (state, size),
                Got::Missing => return Ok(Some(Fetched::Missing)),
                _ => return Ok(Some(Fetched::Changed)),
            },
        };
        let mut got = got.into_iter();
        let mut parts = Vec::with_capacity(ranges.len());
        for range in ranges {
            let (start, end) = (range.start, range.end);
            if start > end || end > size.min(LAST) {
                return Err(StoreError::OutOfRange { key: key.clone(), start, end, size });
            }
            parts.push(match (start < end).then(|| got.next()).flatten() {
                None => Bytes::new(),
                Some(Got::Part(_, _, bytes)) => bytes,
                // Inside this value, and outside the one that was asked.
                Some(_) => return Ok(Some(Fetched::Changed)),
            });
        }
        Ok(Some(Fetched::Parts { pin: state.into_pin(), size, parts }))
    }

    pub(crate) async fn get(&self, key: &Key, ask: Ask, pinned: Option<&State>) -> Result<Got, StoreError> {
        let path = self.path(key)?;
        let ranged = matches!(ask, Ask::Range(_));
        let request = || async {
            let mut options = GetOptions::new()
                .with_head(matches!(ask, Ask::Head))
                .with_if_match(pinned.and_then(State::strong));
            if let Ask::Range(range) = &ask {
                options = options.with_range(Some(range.clone()));
            }
            let result = match self.backend.store().get_opts(&path, options).await {
                Err(error) if ranged => match CALL.with(|call| call.answer().status) {
                    416 => return Ok(Ok(Got::Beyond)),
                    200 => return Ok(Ok(Got::NoRange)),
                    // A range that is nonsense: the size will tell.
                    206 => return Ok(Ok(Got::Beyond)),
                    _ => return Err(error),
                },
                // A head without a length, for instance: asking again brings the same.
                Err(error) => {
                    CALL.with(|call| call.answer().has_bad_head());
                    return Err(error);
                }
                Ok(result) => result,
            };
            let (state, size) = (State::of(self.value(&path), &result.meta), result.meta.size);
            if pinned.is_some_and(|pinned| !pinned.is(&state)) {
                return Ok(Ok(Got::Changed));
            }
            match ask {
                Ask::Head => return Ok(Ok(Got::Part(state, size, Bytes::new()))),
                Ask::Whole { limit, .. } if size > limit => {
                    return Ok(Err(StoreError::TooLarge { key: key.clone(), size, limit }));
                }
                Ask::Whole { at_once, .. } if size > at_once => return Ok(Ok(Got::Large(state, size))),
                _ => {}
            }
            let wanted = result.range.end.saturating_sub(result.range.start);
            let mut bytes = BytesMut::with_capacity(wanted.min(LARGE) as usize);
            let mut body = result.into_stream();
            while let Some(part) = body.try_next().await? {
                bytes.extend_from_slice(&part);
                if bytes.len() as u64 > wanted {
                    break;
                }
            }
            if bytes.len() as u64 != wanted {
                let what = format!("{} bytes instead of {wanted}", bytes.len());
                return Err(OsError::Generic { store: "http", source: what.into() });
            }
            Ok(Ok(Got::Part(state, size, bytes.freeze())))
        };
        match self.read(Purpose::Values, request).await {
            Ok((got, _)) => got,
            Err(failure) => match failure.answer.status {
                404 | 410 if failure.answer.is_no_bucket() => Err(self.error("read", key, &failure)),
                404 | 410 if pinned.is_some() => Ok(Got::Changed),
                404 | 410 => Ok(Got::Missing),
                // It may have been removed: without the pin the answer is a denial.
                _ if pinned.is_some() && self.options.missing_if_denied && failure.answer.may_be_absent() => {
                    Ok(Got::Changed)
                }
                304 | 412 => Ok(Got::Changed),
                _ => Err(self.error("read", key, &failure)),
            },
        }
    }
}
