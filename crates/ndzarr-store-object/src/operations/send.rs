//! Sends requests: within the store's limit, repeatedly where another attempt may succeed, and with
//! errors that quote the service.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use ndzarr_store::StoreError;
use object_store::Error as OsError;
use tokio::time::Instant;

use crate::answers::call::{Answer, CALL, Call, Purpose};
use crate::errors::message;
use crate::requests::backoff::backoff;
use crate::requests::hedge::Hedge;
use crate::requests::limit::{Limit, Permit};
use crate::store::{Inner, Service};

/// The most attempts if the host has no address: its name may be wrong.
const MAX_LOOKUPS: u32 = 3;

/// Why a request failed for good.
pub(crate) struct Failure {
    pub(crate) error: OsError,
    pub(crate) answer: Answer,
    pub(crate) attempts: u32,
    /// An attempt may have been carried out.
    pub(crate) may_be_done: bool,
}

/// The attempts of one request.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    pub(crate) n_made: u32,
    /// One of them may have been carried out.
    pub(crate) may_be_done: bool,
    /// One of them may still be carried out.
    pub(crate) may_come_late: bool,
    /// When the first one was sent.
    since: Option<Instant>,
    /// The pause that the service asks for.
    requested_pause: Duration,
    /// The service refuses all requests, so no further attempt is made.
    is_over: bool,
}

fn refused_error() -> OsError {
    OsError::Generic {
        store: "http",
        source: "the service refuses all requests".into(),
    }
}

impl Inner {
    fn limit(&self) -> &Limit {
        self.limit.get(|_| Limit::new(self.options.requests))
    }

    /// Waits until one more attempt may be made.
    async fn acquire_permit(&self, attempts: &mut Attempts) -> Result<Permit<'_>, Answer> {
        if attempts.n_made > 0 {
            tokio::time::sleep(backoff(attempts.n_made) + attempts.requested_pause).await;
        }
        let permit = self.limit().acquire(self.options.retry_for).await;
        let permit = permit.inspect_err(|_| attempts.is_over = true)?;
        attempts.n_made += 1;
        attempts.since.get_or_insert_with(Instant::now);
        Ok(permit)
    }

    fn call(&self, purpose: Purpose) -> Call {
        let mut call = Call::new(purpose);
        call.inflates = self.service == Service::Gcs && purpose == Purpose::Values;
        call.is_web_value = self.service == Service::Http && purpose == Purpose::Values;
        call
    }

    async fn send<T>(
        &self,
        purpose: Purpose,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> (object_store::Result<T>, Answer) {
        let call = self.call(purpose);
        let result = CALL.scope(call.clone(), request).await;
        let answer = call.answer().clone();
        (result, answer)
    }

    /// Makes one more attempt. Returns its result and the answer of the service.
    pub(crate) async fn attempt<T>(
        &self,
        attempts: &mut Attempts,
        purpose: Purpose,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> (object_store::Result<T>, Answer) {
        let permit = match self.acquire_permit(attempts).await {
            Ok(permit) => permit,
            Err(answer) => return (Err(refused_error()), answer),
        };
        let (result, answer) = self.send(purpose, request).await;
        permit.answered(&answer);
        attempts.requested_pause = answer.requested_pause();
        attempts.may_be_done |= result.is_err() && answer.may_be_done();
        attempts.may_come_late |= answer.may_come_late();
        (result, answer)
    }

    /// Makes one more attempt of a request that reads. It may be sent twice.
    async fn attempt_to_read<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        attempts: &mut Attempts,
        purpose: Purpose,
        request: &impl Fn() -> F,
    ) -> (object_store::Result<T>, Answer) {
        let Some(hedge) = &self.hedge else {
            return self.attempt(attempts, purpose, request()).await;
        };
        let permit = match self.acquire_permit(attempts).await {
            Ok(permit) => permit,
            Err(answer) => return (Err(refused_error()), answer),
        };
        let (result, answer) = self.hedged(hedge, purpose, request).await;
        hedge.answered(answer.head_after);
        permit.answered(&answer);
        attempts.requested_pause = answer.requested_pause();
        (result, answer)
    }

    /// Sends a request, and once more if the head of its answer is late. The first answer is used,
    /// and the other request is dropped.
    async fn hedged<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        hedge: &Hedge,
        purpose: Purpose,
        request: &impl Fn() -> F,
    ) -> (object_store::Result<T>, Answer) {
        let call = self.call(purpose);
        let first = pin!(CALL.scope(call.clone(), request()));
        let late = pin!(tokio::time::sleep(hedge.delay()));
        let first = match select(first, late).await {
            Either::Left((result, _)) => return (result, call.answer().clone()),
            Either::Right(((), first)) => first,
        };
        let has_begun = call.answer().status != 0;
        let second_permit = if !has_begun && hedge.may_send() {
            self.limit().try_acquire()
        } else {
            None
        };
        let Some(second_permit) = second_permit else {
            let result = first.await;
            return (result, call.answer().clone());
        };
        match select(first, pin!(self.send(purpose, request()))).await {
            Either::Left((result, second)) => {
                let answer = call.answer().clone();
                if result.is_err() && answer.is_passing() {
                    second.await
                } else {
                    (result, answer)
                }
            }
            Either::Right(((result, answer), first)) => {
                if result.is_ok() || !answer.is_passing() {
                    return (result, answer);
                }
                second_permit.answered(&answer);
                let result = first.await;
                (result, call.answer().clone())
            }
        }
    }

    /// Makes attempts until one succeeds, or no further one may.
    pub(crate) async fn repeat<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        purpose: Purpose,
        request: impl Fn() -> F,
    ) -> Result<(T, Answer), Failure> {
        let mut attempts = Attempts::default();
        loop {
            let (result, answer) = self.attempt(&mut attempts, purpose, request()).await;
            if let Some(outcome) = self.outcome(&attempts, result, answer) {
                return outcome;
            }
        }
    }

    /// [`repeat`](Self::repeat) for a request that reads.
    pub(crate) async fn read<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        purpose: Purpose,
        request: impl Fn() -> F,
    ) -> Result<(T, Answer), Failure> {
        let mut attempts = Attempts::default();
        loop {
            let (result, answer) = self.attempt_to_read(&mut attempts, purpose, &request).await;
            if let Some(outcome) = self.outcome(&attempts, result, answer) {
                return outcome;
            }
        }
    }

    /// The outcome of attempts; `None` if one more is to be made.
    pub(crate) fn outcome<T>(
        &self,
        attempts: &Attempts,
        result: object_store::Result<T>,
        answer: Answer,
    ) -> Option<Result<(T, Answer), Failure>> {
        match result {
            Ok(value) => Some(Ok((value, answer))),
            Err(error) if !answer.is_passing() || !self.may_retry(attempts, &answer) => {
                Some(Err(Failure {
                    error,
                    answer,
                    attempts: attempts.n_made,
                    may_be_done: attempts.may_be_done,
                }))
            }
            Err(_) => None,
        }
    }

    /// Returns `true` if one more attempt may be made after this answer.
    pub(crate) fn may_retry(&self, attempts: &Attempts, answer: &Answer) -> bool {
        let max = if answer.is_unknown_host() {
            MAX_LOOKUPS
        } else {
            u32::MAX
        };
        // If the service asks for a pause beyond that time, the call fails at once.
        let pause = answer.retry_after.unwrap_or_default();
        let is_in_time =
            |since: Instant| since.elapsed().saturating_add(pause) < self.options.retry_for;
        !attempts.is_over
            && attempts.n_made < max.min(self.options.attempts)
            && attempts.since.is_none_or(is_in_time)
    }

    /// The error for the caller of a write without a condition.
    pub(crate) fn write_error(
        &self,
        action: &'static str,
        key: impl ToString,
        failure: &Failure,
    ) -> StoreError {
        if failure.may_be_done {
            return StoreError::Unknown {
                action,
                key: key.to_string(),
                what: failure.answer.describe(),
            };
        }
        self.error(action, key, failure)
    }

    /// The error for a caller. It names no URL, which may have a signature.
    pub(crate) fn error(
        &self,
        action: &'static str,
        key: impl ToString,
        failure: &Failure,
    ) -> StoreError {
        let answer = &failure.answer;
        let key = key.to_string();
        if let Some(own_error) = &answer.no_credentials {
            let what = own_error.what.clone();
            if own_error.is_final {
                return StoreError::Denied {
                    action,
                    key,
                    what,
                    or_missing: false,
                };
            }
            return StoreError::Unavailable {
                action,
                key,
                attempts: failure.attempts,
                what,
            };
        }
        if !answer.sent {
            return StoreError::Other {
                action,
                key,
                what: failure.error.to_string(),
            };
        }
        let mut what = answer.describe();
        if answer.is_success() {
            what = format!("{}, {what}", message::innermost(&failure.error));
        }
        if let Some(region) = &answer.region {
            what += &format!(
                "; the bucket is in the region {region}: set AWS_REGION, or name it in the options"
            );
        }
        match answer.status {
            404 if answer.is_no_bucket() => StoreError::NoBucket { action, key, what },
            407 => StoreError::Denied {
                action,
                key,
                what: format!("{what}; {}", message::PROXY),
                or_missing: false,
            },
            401 | 403 => {
                if !self.signing.is_on() {
                    what += "; nothing was signed, for lack of credentials";
                }
                let may_be_absent = action == "read" && answer.may_be_absent();
                let or_missing = may_be_absent && self.options.missing_if_denied;
                if may_be_absent && !or_missing {
                    what += "; if this service denies what is absent, NDZARR_MISSING_IF_DENIED=true takes it for \
                             missing";
                }
                StoreError::Denied {
                    action,
                    key,
                    what,
                    or_missing,
                }
            }
            _ if answer.is_passing() => StoreError::Unavailable {
                action,
                key,
                attempts: failure.attempts,
                what,
            },
            _ => StoreError::Other { action, key, what },
        }
    }
}
