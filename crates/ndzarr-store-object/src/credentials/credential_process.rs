//! `credential_process`: a program that prints credentials of AWS.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::{Arc, PoisonError, mpsc};
use std::time::{Duration, Instant, SystemTime};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ndzarr_store::PerProcess;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;

use crate::credentials::expiring::{CredentialCache, ExpiringCredential};
use crate::errors::message::OwnError;

/// How long the program may run: some programs wait for a person.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The most that it may print, in bytes.
const MAX_OUTPUT: usize = 64 << 10;
/// The hint for profiles with roles and logins, which need AWS's own program.
const WITHOUT_AWS: &str = "; install it, or set the variables that `aws configure export-credentials --format env` prints elsewhere";

type Shared = std::sync::Mutex<BTreeMap<Vec<String>, Arc<CredentialProcess>>>;

/// The programs that stores of this process use, by their words.
static SHARED: PerProcess<Shared> = PerProcess::new();

/// Runs a program when credentials are needed, and again when they expire.
pub(crate) struct CredentialProcess {
    name: String,
    words: Result<Vec<String>, &'static str>,
    cache: CredentialCache,
}

/// Without the words, which may be secrets.
impl fmt::Debug for CredentialProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CredentialProcess")
            .field(&self.name)
            .finish()
    }
}

impl CredentialProcess {
    /// For a command line as in a profile.
    pub(crate) fn new(name: &str, command: &str) -> Arc<Self> {
        match words(command) {
            Ok(words) => Self::of_words(name, words),
            words => Arc::new(Self {
                name: name.to_owned(),
                words,
                cache: CredentialCache::default(),
            }),
        }
    }

    /// The program with these words, which all stores share so that it runs once.
    pub(crate) fn of_words(name: &str, words: Vec<String>) -> Arc<Self> {
        let mut shared = SHARED
            .get(|_| Shared::default())
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let new = || Self {
            name: name.to_owned(),
            words: Ok(words.clone()),
            cache: CredentialCache::default(),
        };
        Arc::clone(
            shared
                .entry(words.clone())
                .or_insert_with(|| Arc::new(new())),
        )
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    async fn fetch(&self) -> Result<Arc<AwsCredential>, OwnError> {
        self.cache.get(self.run()).await
    }

    async fn run(&self) -> Result<ExpiringCredential, OwnError> {
        let words = self.words.clone().map_err(OwnError::lasting)?;
        let output = tokio::task::spawn_blocking(move || run_program(&words, TIME_LIMIT)).await;
        let output = output
            .map_err(|_| OwnError::lasting("its thread ended"))?
            .map_err(OwnError::lasting)?;
        read_output(&output, SystemTime::now()).map_err(OwnError::lasting)
    }
}

impl CredentialProvider for CredentialProcess {
    type Credential = AwsCredential;

    fn get_credential<'s, 'f>(&'s self) -> BoxFuture<'f, object_store::Result<Arc<AwsCredential>>>
    where
        's: 'f,
        Self: 'f,
    {
        let failed = |error: OwnError| object_store::Error::Generic {
            store: "S3",
            source: Box::new(error),
        };
        self.fetch()
            .map(move |fetched| fetched.map_err(failed))
            .boxed()
    }
}

/// Splits a command line into words. Words in quotes may have blanks.
fn words(command: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, Some(open)) if open == letter => quote = None,
            // On Windows a backslash is part of paths.
            ('\\', None | Some('"')) if cfg!(not(windows)) => {
                let next = letters
                    .next()
                    .ok_or("its command line ends in a backslash")?;
                let word = word.get_or_insert_default();
                if quote.is_some() && !['"', '\\'].contains(&next) {
                    word.push('\\');
                }
                word.push(next);
            }
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quote in its command line has no end");
    }
    words.extend(word);
    if words.is_empty() {
        Err("its command line is empty")
    } else {
        Ok(words)
    }
}

/// Runs a program, and returns its output. Errors contain neither that nor its arguments.
fn run_program(words: &[String], time_limit: Duration) -> Result<Vec<u8>, String> {
    let program = &words[0];
    let mut command = Command::new(program);
    command
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let hint = if program == "aws" { WITHOUT_AWS } else { "" };
    let started = command.spawn();
    let mut child =
        started.map_err(|error| format!("{program:?} does not start: {error}{hint}"))?;
    let until = Instant::now() + time_limit;
    let late = || {
        format!(
            "{program:?} did not end within {} s",
            time_limit.as_secs_f64()
        )
    };
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        // The thread ends with the output, which other processes may have inherited.
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = output.take(MAX_OUTPUT as u64 + 1).read_to_end(&mut bytes);
            // The receiver may have stopped waiting.
            let _ = sender.send(read.map(|_| bytes));
        });
    }
    let mut bytes = match receiver.recv_timeout(time_limit) {
        Ok(Ok(bytes)) if bytes.len() <= MAX_OUTPUT => Ok(bytes),
        Ok(Ok(_)) => Err(format!("{program:?} prints more than {MAX_OUTPUT} bytes")),
        Ok(Err(error)) => Err(format!("what {program:?} prints cannot be read: {error}")),
        Err(_) => Err(late()),
    };
    let status = loop {
        if bytes.is_err() {
            // Both calls fail if the program has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => bytes = Err(late()),
            Err(error) => return Err(format!("{program:?} cannot be waited for: {error}")),
        }
    };
    let bytes = bytes?;
    if !status.success() {
        return Err(format!(
            "{program:?} ended with {status}; run it in a terminal to see why"
        ));
    }
    Ok(bytes)
}

/// Reads what a program printed at `now`.
fn read_output(text: &[u8], now: SystemTime) -> Result<ExpiringCredential, String> {
    let value: serde_json::Value = serde_json::from_slice(text)
        .map_err(|_| "what it prints is not a JSON document".to_owned())?;
    if value.get("Version").and_then(serde_json::Value::as_u64) != Some(1) {
        return Err("what it prints does not have the version 1".to_owned());
    }
    ExpiringCredential::read(&value, "what it prints", "SessionToken", now)
}

#[cfg(test)]
mod tests;
