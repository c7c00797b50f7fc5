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

use crate::credentials::kept::{Keeper, Kept};
use crate::errors::told::Told;

/// How long the program may run: some of them ask people.
const TIME: Duration = Duration::from_secs(60);
/// The most that it may print, in bytes.
const OUTPUT: usize = 64 << 10;
/// Roles and logins need AWS's own program.
const WITHOUT_AWS: &str = "; install it, or set the variables that `aws configure export-credentials --format env` prints elsewhere";

type Shared = std::sync::Mutex<BTreeMap<Vec<String>, Arc<CredentialProcess>>>;

/// Those of this process, by their words.
static SHARED: PerProcess<Shared> = PerProcess::new();

/// Runs a program when credentials are needed, and again when they expire.
pub(crate) struct CredentialProcess {
    name: String,
    words: Result<Vec<String>, &'static str>,
    keeper: Keeper,
}

/// Words may be secrets.
impl fmt::Debug for CredentialProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CredentialProcess").field(&self.name).finish()
    }
}

impl CredentialProcess {
    /// For a command line as in a profile.
    pub(crate) fn new(name: &str, command: &str) -> Arc<Self> {
        match words(command) {
            Ok(words) => Self::of_words(name, words),
            words => Arc::new(Self { name: name.to_owned(), words, keeper: Keeper::default() }),
        }
    }

    /// All stores share the one with the same words, so that it runs once.
    pub(crate) fn of_words(name: &str, words: Vec<String>) -> Arc<Self> {
        let mut shared = SHARED.get(|_| Shared::default()).lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Self { name: name.to_owned(), words: Ok(words.clone()), keeper: Keeper::default() };
        Arc::clone(shared.entry(words.clone()).or_insert_with(|| Arc::new(new())))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    async fn fetch(&self) -> Result<Arc<AwsCredential>, Told> {
        self.keeper.get(self.run()).await
    }

    async fn run(&self) -> Result<Kept, Told> {
        let words = self.words.clone().map_err(Told::last)?;
        let printed = tokio::task::spawn_blocking(move || printed(&words, TIME)).await;
        let printed = printed.map_err(|_| Told::last("its thread ended"))?.map_err(Told::last)?;
        parsed(&printed, SystemTime::now()).map_err(Told::last)
    }
}

impl CredentialProvider for CredentialProcess {
    type Credential = AwsCredential;

    fn get_credential<'s, 'f>(&'s self) -> BoxFuture<'f, object_store::Result<Arc<AwsCredential>>>
    where
        's: 'f,
        Self: 'f,
    {
        let failed = |told: Told| object_store::Error::Generic { store: "S3", source: Box::new(told) };
        self.fetch().map(move |fetched| fetched.map_err(failed)).boxed()
    }
}

/// Splits a command line: words in quotes may have blanks.
fn words(command: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let (mut word, mut quote): (Option<String>, Option<char>) = (None, None);
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, Some(open)) if open == letter => quote = None,
            // On Windows it is part of paths.
            ('\\', None | Some('"')) if cfg!(not(windows)) => {
                let next = letters.next().ok_or("its command line ends in a backslash")?;
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
    if words.is_empty() { Err("its command line is empty") } else { Ok(words) }
}

/// Runs a program, and returns what it prints. Errors have neither that nor its arguments.
fn printed(words: &[String], time: Duration) -> Result<Vec<u8>, String> {
    let program = &words[0];
    let mut command = Command::new(program);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let hint = if program == "aws" { WITHOUT_AWS } else { "" };
    let started = command.spawn();
    let mut child = started.map_err(|error| format!("{program:?} does not start: {error}{hint}"))?;
    let until = Instant::now() + time;
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        // It ends with the output, which other processes may have inherited.
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = output.take(OUTPUT as u64 + 1).read_to_end(&mut bytes);
            // The receiver may have stopped to wait.
            let _ = sender.send(read.map(|_| bytes));
        });
    }
    let mut bytes = match receiver.recv_timeout(time) {
        Ok(Ok(bytes)) if bytes.len() <= OUTPUT => Ok(bytes),
        Ok(Ok(_)) => Err(format!("{program:?} prints more than {OUTPUT} bytes")),
        Ok(Err(error)) => Err(format!("what {program:?} prints cannot be read: {error}")),
        Err(_) => Err(format!("{program:?} did not end within {} s", time.as_secs_f64())),
    };
    let status = loop {
        if bytes.is_err() {
            // Both fail if it has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => bytes = Err(format!("{program:?} did not end within {} s", time.as_secs_f64())),
            Err(error) => return Err(format!("{program:?} cannot be waited for: {error}")),
        }
    };
    let bytes = bytes?;
    match status.success() {
        true => Ok(bytes),
        false => Err(format!("{program:?} ended with {status}; run it in a terminal to see why")),
    }
}

/// Reads what a program printed at `now`.
fn parsed(text: &[u8], now: SystemTime) -> Result<Kept, String> {
    let value: serde_json::Value =
        serde_json::from_slice(text).map_err(|_| "what it prints is not a JSON document".to_owned())?;
    if value.get("Version").and_then(serde_json::Value::as_u64) != Some(1) {
        return Err("what it prints does not have the version 1".to_owned());
    }
    Kept::read(&value, "what it prints", "SessionToken", now)
}

#[cfg(test)]
mod tests;
