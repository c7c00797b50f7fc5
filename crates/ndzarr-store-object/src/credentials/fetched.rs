//! Credentials that are fetched: their requests and failures are kept apart from those of values.

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
use crate::errors::told::{self, Told};
use crate::requests::backoff::backoff;

/// The most that fetching credentials may take.
const FETCH: Duration = Duration::from_secs(90);
const ATTEMPTS: u32 = 4;
/// After a failure the last ones are used for so long, if there are any, before others are fetched.
const PAUSE: Duration = Duration::from_secs(10);

/// Whether machines have credentials, found once for the process.
static MACHINES: PerProcess<Mutex<BTreeMap<String, bool>>> = PerProcess::new();

/// Where credentials come from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A file, a service or a program that the user named: a failure is an error.
    Named(String),
    /// The metadata service of a virtual machine: if there is none within this time, nothing is signed.
    Machine(String, Duration),
}

/// A provider of object_store's or of ours, with these rules.
pub(crate) struct Guarded<C> {
    /// A forked child has its own: object_store locks what it has fetched while it fetches anew.
    pub(crate) from: PerProcess<Arc<dyn CredentialProvider<Credential = C>>>,
    pub(crate) make: Make<C>,
    pub(crate) origin: Origin,
    pub(crate) signing: Signing,
    /// What signatures are made with that are then removed.
    pub(crate) none: Arc<C>,
    /// Whether a credential can be used, or what is wrong with it.
    pub(crate) check: fn(&C) -> Result<(), String>,
    pub(crate) last: PerProcess<Mutex<Option<Last<C>>>>,
}

/// Makes a provider.
pub(crate) type Make<C> = Box<dyn Fn() -> Arc<dyn CredentialProvider<Credential = C>> + Send + Sync>;

/// The credential that was fetched last.
pub(crate) struct Last<C> {
    credential: Arc<C>,
    /// Fetching another one failed: until then none is fetched.
    pause: Option<Instant>,
}

impl<C> fmt::Debug for Guarded<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guarded").field(&self.origin).finish()
    }
}

impl<C: Send + Sync + 'static> CredentialProvider for Guarded<C> {
    type Credential = C;

    fn get_credential<'s, 'f>(&'s self) -> BoxFuture<'f, object_store::Result<Arc<C>>>
    where
        's: 'f,
        Self: 'f,
    {
        self.fetch().boxed()
    }
}

impl<C> Guarded<C> {
    fn last(&self) -> MutexGuard<'_, Option<Last<C>>> {
        self.last.lock_inherited()
    }

    async fn fetch(&self) -> object_store::Result<Arc<C>> {
        if let Some(Last { credential, pause: Some(until) }) = &*self.last()
            && Instant::now() < *until
        {
            return Ok(Arc::clone(credential));
        }
        let machines = || MACHINES.lock_inherited();
        let (name, limit, machine) = match &self.origin {
            Origin::Named(name) => (name, FETCH, None),
            Origin::Machine(name, limit) => (name, *limit, Some(name)),
        };
        let found = || machine.and_then(|name| machines().get(name).copied());
        if found() == Some(false) {
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
            let fetched = CALL.scope(call.clone(), tokio::time::timeout(limit, from.get_credential()));
            let error = match fetched.await {
                Ok(Ok(credential)) => {
                    if let Err(what) = (self.check)(&credential) {
                        break (Some(failed(what)), call.answer().clone());
                    }
                    *self.last() = Some(Last { credential: Arc::clone(&credential), pause: None });
                    if let Some(name) = machine.filter(|_| found() != Some(true)) {
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
                && found() != Some(true)
            {
                machines().insert(name.clone(), false);
                self.signing.turn_off();
                return Ok(Arc::clone(&self.none));
            }
            let goes_on = answer.is_passing() && error.is_some() && !(200..300).contains(&answer.status);
            if !goes_on || attempts == ATTEMPTS {
                break (error, answer);
            }
            tokio::time::sleep(backoff(attempts) + answer.wait()).await;
        };
        // It is asked for minutes before the last one expires, which the service judges.
        if let Some(last) = &mut *self.last() {
            last.pause = Some(Instant::now() + PAUSE);
            return Ok(Arc::clone(&last.credential));
        }
        let why = match &error {
            Some(error) => why(error, &answer),
            None => format!("no answer within {} s", limit.as_secs()),
        };
        let what = format!("there are no credentials from {name}: {why}");
        // Their service may have them later.
        let is_passing = error.is_none() || answer.is_passing() && !(200..300).contains(&answer.status);
        let told = Told { what: what.clone(), is_final: !is_passing };
        let _ = CALL.try_with(|call| call.answer().no_credentials = Some(told));
        Err(failed(what))
    }
}

fn failed(what: String) -> object_store::Error {
    object_store::Error::Generic { store: "credentials", source: Box::new(Told::last(what)) }
}

/// Why there are none. The texts of other crates may quote files, answers and URLs, which have secrets.
fn why(error: &object_store::Error, answer: &Answer) -> String {
    if let Some(told) = told::find::<Told>(error) {
        return told.what.clone();
    }
    if (200..300).contains(&answer.status) {
        return "the answer has none".to_owned();
    }
    if answer.sent {
        return answer.what();
    }
    malformed(error)
}

/// Why credentials cannot be used that are given or in a file.
pub(crate) fn malformed(error: &object_store::Error) -> String {
    match told::find::<io::Error>(error) {
        Some(error) => error.kind().to_string(),
        None => "they are not well-formed".to_owned(),
    }
}
