//! Sends requests: within the store's limit, again where they may succeed, and with errors that say
//! what the service said.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use ndzarr_store::StoreError;
use object_store::Error as OsError;

use crate::call::{Answer, CALL, Call, Purpose};
use crate::store::Inner;
use crate::told;

const ATTEMPTS: u32 = 8;

/// Why a request failed for good.
pub(crate) struct Failure {
    pub(crate) error: OsError,
    pub(crate) answer: Answer,
    pub(crate) attempts: u32,
}

impl Inner {
    /// One attempt, and what the service answered.
    pub(crate) async fn attempt<T>(
        &self,
        purpose: Purpose,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> (object_store::Result<T>, Answer) {
        // It is never closed.
        let _permit = self.permits.acquire().await.ok();
        let call = Call::new(purpose);
        let result = CALL.scope(call.clone(), request).await;
        let answer = call.answer().clone();
        (result, answer)
    }

    /// Attempts until one succeeds or cannot.
    pub(crate) async fn repeat<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        purpose: Purpose,
        request: impl Fn() -> F,
    ) -> Result<(T, Answer), Failure> {
        let since = Instant::now();
        for attempts in 1.. {
            let (result, answer) = self.attempt(purpose, request()).await;
            match result {
                Ok(value) => return Ok((value, answer)),
                Err(error) if !answer.is_passing() || !self.goes_on(since, attempts) => {
                    return Err(Failure { error, answer, attempts });
                }
                Err(_) => pause(attempts, answer.retry_after).await,
            }
        }
        unreachable!("the loop has no end")
    }

    pub(crate) fn goes_on(&self, since: Instant, attempts: u32) -> bool {
        attempts < ATTEMPTS && since.elapsed() < self.options.retry_for
    }

    /// The error for a caller. It names no URL, which may have a signature.
    pub(crate) fn error(&self, action: &'static str, key: impl ToString, failure: &Failure) -> StoreError {
        let (answer, key) = (&failure.answer, key.to_string());
        if let Some(why) = &answer.no_credentials {
            return StoreError::Other { action, key, what: why.clone() };
        }
        if !answer.sent {
            return StoreError::Other { action, key, what: failure.error.to_string() };
        }
        let mut what = answer.what();
        if let Some(region) = &answer.region {
            what +=
                &format!("; the bucket is in the region {region}: set AWS_REGION or `RemoteOptions::region`");
        }
        match answer.status {
            401 | 403 => {
                if !self.signing.is_on() {
                    what += "; nothing was signed, for lack of credentials";
                }
                let is_read = action == "read" && answer.status == 403;
                let or_missing = is_read && self.options.missing_if_denied;
                if is_read && !or_missing {
                    what += "; if this service denies what is absent, set `missing_if_denied`";
                }
                StoreError::Denied { action, key, what, or_missing }
            }
            status if answer.is_passing() => {
                // The head was as it should be: what is wrong is not in it.
                if (200..300).contains(&status) && answer.transport.is_none() {
                    what = format!("{}, {what}", told::innermost(&failure.error));
                }
                StoreError::Unavailable { action, key, attempts: failure.attempts, what }
            }
            _ => StoreError::Other { action, key, what },
        }
    }
}

/// Waits before the next attempt: at random up to 100 ms, doubled each time, at most 10 s.
pub(crate) async fn pause(attempts: u32, at_least: Option<Duration>) {
    let most = Duration::from_millis(100 << (attempts - 1).min(7)).min(Duration::from_secs(10));
    let share = (random() >> 11) as f64 / (1_u64 << 53) as f64;
    let least = at_least.unwrap_or_default().min(Duration::from_secs(60));
    tokio::time::sleep(least + most.mul_f64(share)).await;
}

pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(0)
}
