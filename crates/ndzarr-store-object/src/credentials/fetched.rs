//! Credentials that are fetched. Their requests and failures are handled separately from those of
//! values.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ndzarr_store::PerProcess;
use object_store::CredentialProvider;
use tokio::time::Instant;

use crate::answers::call::{Answer, CALL, Call, Purpose};
use crate::client::signing::Signing;
use crate::errors::message::{self, OwnError};
use crate::requests::backoff::backoff;

/// The most that fetching credentials may take.
const FETCH_LIMIT: Duration = Duration::from_secs(90);
const MAX_ATTEMPTS: u32 = 4;
/// How long the last credentials, if there are any, are used after a failure to fetch others.
const PAUSE: Duration = Duration::from_secs(10);

/// `true` for metadata services that have credentials, `false` for those that have none, by name.
/// Found once for the process.
static MACHINES: PerProcess<Mutex<BTreeMap<String, bool>>> = PerProcess::new();

/// The origin of credentials.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A file, a service or a program that the user named: a failure is an error.
    Named(String),
    /// The metadata service of a virtual machine: if there is none within this time, nothing is
    /// signed.
    Machine(String, Duration),
}

/// A provider of object_store's or of ours, with the rules of its origin.
pub(crate) struct GuardedProvider<C> {
    /// A forked child has its own, since object_store locks its credentials while it fetches new
    /// ones.
    pub(crate) from: PerProcess<Arc<dyn CredentialProvider<Credential = C>>>,
    pub(crate) make: Make<C>,
    pub(crate) origin: Origin,
    pub(crate) signing: Signing,
    /// The credential for signatures that are removed before the request is sent.
    pub(crate) none: Arc<C>,
    /// Checks that a credential can be used; the error says what is wrong with it.
    pub(crate) check: fn(&C) -> Result<(), String>,
    pub(crate) last: PerProcess<Mutex<Option<LastCredential<C>>>>,
}

/// Makes a provider.
pub(crate) type Make<C> =
    Box<dyn Fn() -> Arc<dyn CredentialProvider<Credential = C>> + Send + Sync>;

/// The credential that was fetched last.
pub(crate) struct LastCredential<C> {
    credential: Arc<C>,
    /// Fetching another one failed, and is not tried again before this time.
    pause: Option<Instant>,
}

impl<C> fmt::Debug for GuardedProvider<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GuardedProvider")
            .field(&self.origin)
            .finish()
    }
}

impl<C: Send + Sync + 'static> CredentialProvider for GuardedProvider<C> {
    type Credential = C;

    fn get_credential<'s, 'f>(&'s self) -> BoxFuture<'f, object_store::Result<Arc<C>>>
    where
        's: 'f,
        Self: 'f,
    {
        self.fetch().boxed()
    }
}

impl<C> GuardedProvider<C> {
    fn last(&self) -> MutexGuard<'_, Option<LastCredential<C>>> {
        self.last.lock_inherited()
    }

    async fn fetch(&self) -> object_store::Result<Arc<C>> {
        if let Some(LastCredential {
            credential,
            pause: Some(until),
        }) = &*self.last()
            && Instant::now() < *until
        {
            return Ok(Arc::clone(credential));
        }
        let machines = || MACHINES.lock_inherited();
        let (name, limit, machine) = match &self.origin {
            Origin::Named(name) => (name, FETCH_LIMIT, None),
            Origin::Machine(name, limit) => (name, *limit, Some(name)),
        };
        let has_credentials = || machine.and_then(|name| machines().get(name).copied());
        if has_credentials() == Some(false) {
            self.signing.turn_off();
        }
        if !self.signing.is_on() {
            return Ok(Arc::clone(&self.none));
        }
        let mut attempts = 0;
        let (error, answer) = loop {
            attempts += 1;
            let call = Call::new(Purpose::Credentials);
            let from = self.from.get(|_| (self.make)());
            let fetched = CALL.scope(
                call.clone(),
                tokio::time::timeout(limit, from.get_credential()),
            );
            let error = match fetched.await {
                Ok(Ok(credential)) => {
                    if let Err(what) = (self.check)(&credential) {
                        break (Some(failed(what)), call.answer().clone());
                    }
                    *self.last() = Some(LastCredential {
                        credential: Arc::clone(&credential),
                        pause: None,
                    });
                    if let Some(name) = machine
                        && has_credentials() != Some(true)
                    {
                        machines().insert(name.clone(), true);
                    }
                    return Ok(credential);
                }
                Ok(Err(error)) => Some(error),
                Err(_) => None,
            };
            let answer = call.answer().clone();
            let is_busy = answer.status >= 500 || answer.status == 429;
            if let Some(name) = machine
                && !is_busy
                && has_credentials() != Some(true)
            {
                machines().insert(name.clone(), false);
                self.signing.turn_off();
                return Ok(Arc::clone(&self.none));
            }
            let may_retry =
                answer.is_passing() && error.is_some() && !(200..300).contains(&answer.status);
            if !may_retry || attempts == MAX_ATTEMPTS {
                break (error, answer);
            }
            tokio::time::sleep(backoff(attempts) + answer.requested_pause()).await;
        };
        // Others are fetched minutes before the last credential expires, so it may still be valid;
        // the service decides.
        if let Some(last) = &mut *self.last() {
            last.pause = Some(Instant::now() + PAUSE);
            return Ok(Arc::clone(&last.credential));
        }
        let reason = match &error {
            Some(error) => failure_reason(error, &answer),
            None => format!("no answer within {} s", limit.as_secs()),
        };
        let what = format!("there are no credentials from {name}: {reason}");
        // Their service may have them later.
        let is_passing =
            error.is_none() || answer.is_passing() && !(200..300).contains(&answer.status);
        let own_error = OwnError {
            what: what.clone(),
            is_final: !is_passing,
        };
        let _ = CALL.try_with(|call| call.answer().no_credentials = Some(own_error));
        Err(failed(what))
    }
}

fn failed(what: String) -> object_store::Error {
    object_store::Error::Generic {
        store: "credentials",
        source: Box::new(OwnError::lasting(what)),
    }
}

/// Why there are no credentials. The texts of other crates are not used: they may quote files,
/// answers and URLs, which have secrets.
fn failure_reason(error: &object_store::Error, answer: &Answer) -> String {
    if let Some(own) = message::find_cause::<OwnError>(error) {
        return own.what.clone();
    }
    if (200..300).contains(&answer.status) {
        return "the answer has none".to_owned();
    }
    if answer.sent {
        return answer.describe();
    }
    malformed(error)
}

/// Why credentials that are given, or in a file, cannot be used.
pub(crate) fn malformed(error: &object_store::Error) -> String {
    match message::find_cause::<io::Error>(error) {
        Some(error) => error.kind().to_string(),
        None => "they are not well-formed".to_owned(),
    }
}
