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
use tokio::sync::Mutex;

use crate::told::Told;

/// How long the program may run: some of them ask people.
const TIME: Duration = Duration::from_secs(60);
/// The most that it may print, in bytes.
const OUTPUT: usize = 64 << 10;
/// So long before they expire credentials are fetched again, or at half of their time.
const EARLY: Duration = Duration::from_secs(300);

type Shared = std::sync::Mutex<BTreeMap<Vec<String>, Arc<CredentialProcess>>>;

/// Those of this process, by their words.
static SHARED: PerProcess<Shared> = PerProcess::new();

/// Runs a program when credentials are needed, and again when they expire.
pub(crate) struct CredentialProcess {
    name: String,
    words: Result<Vec<String>, &'static str>,
    /// Locked while the program runs, by a thread that a forked child does not have.
    kept: PerProcess<Mutex<Option<Kept>>>,
}

/// What the program printed.
struct Kept {
    credential: Arc<AwsCredential>,
    fetched: SystemTime,
    expires: Option<SystemTime>,
}

impl Kept {
    fn is_fresh(&self, now: SystemTime) -> bool {
        let Some(expires) = self.expires else { return true };
        let half = expires.duration_since(self.fetched).unwrap_or_default() / 2;
        now + half.min(EARLY) < expires
    }

    /// The same as if it had been fetched now, so that the program is run again after half of the time
    /// that is left; `None` if it has expired.
    fn renewed(self, now: SystemTime) -> Option<Self> {
        self.expires.is_none_or(|expires| now < expires).then_some(Self { fetched: now, ..self })
    }
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
            words => Arc::new(Self { name: name.to_owned(), words, kept: PerProcess::new() }),
        }
    }

    /// All stores share the one with the same words, so that it runs once.
    pub(crate) fn of_words(name: &str, words: Vec<String>) -> Arc<Self> {
        let mut shared = SHARED.get(|_| Shared::default()).lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Self { name: name.to_owned(), words: Ok(words.clone()), kept: PerProcess::new() };
        Arc::clone(shared.entry(words.clone()).or_insert_with(|| Arc::new(new())))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn kept(&self) -> &Mutex<Option<Kept>> {
        self.kept.get(|_| Mutex::default())
    }

    async fn fetch(&self) -> Result<Arc<AwsCredential>, Told> {
        let mut kept = self.kept().lock().await;
        let now = SystemTime::now();
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_fresh(now)) {
            return Ok(Arc::clone(&kept.credential));
        }
        let new = match self.run(now).await {
            Ok(new) => new,
            Err(told) => match kept.take().and_then(|kept| kept.renewed(SystemTime::now())) {
                Some(kept) => kept,
                None => return Err(told),
            },
        };
        Ok(Arc::clone(&kept.insert(new).credential))
    }

    async fn run(&self, now: SystemTime) -> Result<Kept, Told> {
        let words = self.words.clone().map_err(Told::last)?;
        let printed = tokio::task::spawn_blocking(move || printed(&words, TIME)).await;
        let printed = printed.map_err(|_| Told::last("its thread ended"))?.map_err(Told::last)?;
        parsed(&printed, now).map_err(Told::last)
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
    let mut child = command.spawn().map_err(|error| format!("{program:?} does not start: {error}"))?;
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
fn parsed(text: &[u8], now: SystemTime) -> Result<Kept, &'static str> {
    let value: serde_json::Value =
        serde_json::from_slice(text).map_err(|_| "what it prints is not a JSON document")?;
    if value.get("Version").and_then(serde_json::Value::as_u64) != Some(1) {
        return Err("what it prints does not have the version 1");
    }
    let text =
        |name: &str| value.get(name).and_then(serde_json::Value::as_str).filter(|text| !text.is_empty());
    let credential = AwsCredential {
        key_id: text("AccessKeyId").ok_or("what it prints has no AccessKeyId")?.to_owned(),
        secret_key: text("SecretAccessKey").ok_or("what it prints has no SecretAccessKey")?.to_owned(),
        token: text("SessionToken").map(str::to_owned),
    };
    let expires = match value.get("Expiration") {
        None | Some(serde_json::Value::Null) => None,
        Some(time) => {
            let time = time.as_str().and_then(|text| chrono::DateTime::parse_from_rfc3339(text).ok());
            let time = time.ok_or("the Expiration in what it prints is not a time")?;
            let seconds = u64::try_from(time.timestamp()).unwrap_or_default();
            Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        }
    };
    if expires.is_some_and(|expires| expires <= now) {
        return Err("what it prints has expired");
    }
    Ok(Kept { credential: Arc::new(credential), fetched: now, expires })
}

#[cfg(test)]
mod tests;
