//! Sends requests: within the store's limit, again where they may succeed, and with errors that say
//! what the service said.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use ndzarr_store::StoreError;
use object_store::Error as OsError;
use tokio::time::Instant;

use crate::answers::call::{Answer, CALL, Call, Purpose};
use crate::errors::told;
use crate::requests::backoff::backoff;
use crate::requests::hedge::Hedge;
use crate::requests::limit::{Limit, Permit};
use crate::store::{Inner, Service};

/// Of a request whose host has no address: the name may be wrong.
const MOST_LOOKUPS: u32 = 3;

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
    pub(crate) made: u32,
    /// One of them may have been carried out.
    pub(crate) may_be_done: bool,
    /// One of them may still be carried out.
    pub(crate) may_come_late: bool,
    /// When the first one was sent.
    since: Option<Instant>,
    /// How long the service wants to be left alone.
    wait: Duration,
    /// It refuses everything, so there is to be no further one.
    is_over: bool,
}

fn refused() -> OsError {
    OsError::Generic { store: "http", source: "the service refuses all requests".into() }
}

impl Inner {
    fn limit(&self) -> &Limit {
        self.limit.get(|_| Limit::new(self.options.requests))
    }

    /// Waits for the turn of one more attempt.
    async fn turn(&self, attempts: &mut Attempts) -> Result<Permit<'_>, Answer> {
        if attempts.made > 0 {
            tokio::time::sleep(backoff(attempts.made) + attempts.wait).await;
        }
        let permit = self.limit().acquire(self.options.retry_for).await;
        let permit = permit.inspect_err(|_| attempts.is_over = true)?;
        attempts.made += 1;
        attempts.since.get_or_insert_with(Instant::now);
        Ok(permit)
    }

    fn call(&self, purpose: Purpose) -> Call {
        let mut call = Call::new(purpose);
        call.inflates = self.service == Service::Gcs && purpose == Purpose::Values;
        call.is_of_web = self.service == Service::Http && purpose == Purpose::Values;
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

    /// One more attempt, and what the service answered.
    pub(crate) async fn attempt<T>(
        &self,
        attempts: &mut Attempts,
        purpose: Purpose,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> (object_store::Result<T>, Answer) {
        let permit = match self.turn(attempts).await {
            Ok(permit) => permit,
            Err(answer) => return (Err(refused()), answer),
        };
        let (result, answer) = self.send(purpose, request).await;
        permit.answered(&answer);
        attempts.wait = answer.wait();
        attempts.may_be_done |= result.is_err() && answer.may_be_done();
        attempts.may_come_late |= answer.may_come_late();
        (result, answer)
    }

    /// The same of a request that reads. It may be sent twice.
    async fn attempt_to_read<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        attempts: &mut Attempts,
        purpose: Purpose,
        request: &impl Fn() -> F,
    ) -> (object_store::Result<T>, Answer) {
        let Some(hedge) = &self.hedge else { return self.attempt(attempts, purpose, request()).await };
        let permit = match self.turn(attempts).await {
            Ok(permit) => permit,
            Err(answer) => return (Err(refused()), answer),
        };
        let (result, answer) = self.hedged(hedge, purpose, request).await;
        hedge.answered(answer.head_after);
        permit.answered(&answer);
        attempts.wait = answer.wait();
        (result, answer)
    }

    /// Sends a request once more if the head of its answer is late. The first answer counts, and the
    /// other request ends.
    async fn hedged<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        hedge: &Hedge,
        purpose: Purpose,
        request: &impl Fn() -> F,
    ) -> (object_store::Result<T>, Answer) {
        let call = self.call(purpose);
        let first = pin!(CALL.scope(call.clone(), request()));
        let late = pin!(tokio::time::sleep(hedge.patience()));
        let first = match select(first, late).await {
            Either::Left((result, _)) => return (result, call.answer().clone()),
            Either::Right(((), first)) => first,
        };
        let has_begun = call.answer().status != 0;
        let Some(spare) = (!has_begun && hedge.may_send()).then(|| self.limit().spare()).flatten() else {
            let result = first.await;
            return (result, call.answer().clone());
        };
        match select(first, pin!(self.send(purpose, request()))).await {
            Either::Left((result, second)) => {
                let answer = call.answer().clone();
                if result.is_err() && answer.is_passing() { second.await } else { (result, answer) }
            }
            Either::Right(((result, answer), first)) => {
                if result.is_ok() || !answer.is_passing() {
                    return (result, answer);
                }
                spare.answered(&answer);
                let result = first.await;
                (result, call.answer().clone())
            }
        }
    }

    /// Attempts until one succeeds or cannot.
    pub(crate) async fn repeat<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        purpose: Purpose,
        request: impl Fn() -> F,
    ) -> Result<(T, Answer), Failure> {
        let mut attempts = Attempts::default();
        loop {
            let (result, answer) = self.attempt(&mut attempts, purpose, request()).await;
            if let Some(ended) = self.ended(&attempts, result, answer) {
                return ended;
            }
        }
    }

    /// The same for a request that reads.
    pub(crate) async fn read<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        purpose: Purpose,
        request: impl Fn() -> F,
    ) -> Result<(T, Answer), Failure> {
        let mut attempts = Attempts::default();
        loop {
            let (result, answer) = self.attempt_to_read(&mut attempts, purpose, &request).await;
            if let Some(ended) = self.ended(&attempts, result, answer) {
                return ended;
            }
        }
    }

    /// What attempts came to; `None` if there is to be one more.
    pub(crate) fn ended<T>(
        &self,
        attempts: &Attempts,
        result: object_store::Result<T>,
        answer: Answer,
    ) -> Option<Result<(T, Answer), Failure>> {
        match result {
            Ok(value) => Some(Ok((value, answer))),
            Err(error) if !answer.is_passing() || !self.goes_on(attempts, &answer) => {
                let (attempts, may_be_done) = (attempts.made, attempts.may_be_done);
                Some(Err(Failure { error, answer, attempts, may_be_done }))
            }
            Err(_) => None,
        }
    }

    /// Whether there is to be one more attempt after this answer.
    pub(crate) fn goes_on(&self, attempts: &Attempts, answer: &Answer) -> bool {
        let most = if answer.is_unknown_host() { MOST_LOOKUPS } else { u32::MAX };
        // A service that wants to be left alone for longer is not waited for at all.
        let wait = answer.retry_after.unwrap_or_default();
        let is_in_time = |since: Instant| since.elapsed().saturating_add(wait) < self.options.retry_for;
        !attempts.is_over
            && attempts.made < most.min(self.options.attempts)
            && attempts.since.is_none_or(is_in_time)
    }

    /// The error for the caller of a write without a condition.
    pub(crate) fn write_error(
        &self,
        action: &'static str,
        key: impl ToString,
        failure: &Failure,
    ) -> StoreError {
        match failure.may_be_done {
            true => StoreError::Unknown { action, key: key.to_string(), what: failure.answer.what() },
            false => self.error(action, key, failure),
        }
    }

    /// The error for a caller. It names no URL, which may have a signature.
    pub(crate) fn error(&self, action: &'static str, key: impl ToString, failure: &Failure) -> StoreError {
        let (answer, key) = (&failure.answer, key.to_string());
        if let Some(told) = &answer.no_credentials {
            let what = told.what.clone();
            return match told.is_final {
                true => StoreError::Denied { action, key, what, or_missing: false },
                false => StoreError::Unavailable { action, key, attempts: failure.attempts, what },
            };
        }
        if !answer.sent {
            return StoreError::Other { action, key, what: failure.error.to_string() };
        }
        let mut what = answer.what();
        if answer.is_success() {
            what = format!("{}, {what}", told::innermost(&failure.error));
        }
        if let Some(region) = &answer.region {
            what +=
                &format!("; the bucket is in the region {region}: set AWS_REGION, or name it in the options");
        }
        match answer.status {
            404 if answer.is_no_bucket() => StoreError::NoBucket { action, key, what },
            407 => StoreError::Denied {
                action,
                key,
                what: format!("{what}; {}", told::PROXY),
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
                StoreError::Denied { action, key, what, or_missing }
            }
            _ if answer.is_passing() => {
                StoreError::Unavailable { action, key, attempts: failure.attempts, what }
            }
            _ => StoreError::Other { action, key, what },
        }
    }
}
