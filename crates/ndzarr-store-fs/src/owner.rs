//! The owner of a lock file: what is written into it, and whether its process is alive.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::fs;
use std::hash::BuildHasher;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::renewal::Process;
use crate::syscalls::Syscalls;

/// The first line of a lock file that names its owner.
const HEAD: &str = "ndzarr lock 1";

/// The maximum size of such a file in bytes.
pub(crate) const MAX_BYTES: usize = 512;

/// What a lock file says about its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    host: Host,
    process: u32,
    /// When the process was started, by the system's count, since process ids are reused.
    start: String,
    /// Unique to this lock.
    pub(crate) mark: String,
}

/// Identifies a machine between two boots; `None` if unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) boot: String,
    /// The PID namespace: containers on one machine each have their own.
    pub(crate) space: String,
}

impl Owner {
    /// This process, with a new mark.
    pub(crate) fn new(sys: &dyn Syscalls) -> Self {
        let this = Process::current();
        Self { host: sys.host(), process: this.id, start: this.start.clone(), mark: new_mark() }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?.split('\n');
        let mut word = |name: &str| Some(lines.next()?.strip_prefix(name)?.trim().to_owned());
        word(HEAD)?;
        let host = Host { boot: word("host")?, space: word("space")? };
        let (process, start, mark) = (word("process")?.parse().ok()?, word("start")?, word("mark")?);
        is_mark(&mark).then_some(Self { host, process, start, mark })
    }

    /// Whether its process is known to have ended.
    pub(crate) fn is_dead(&self, sys: &dyn Syscalls) -> bool {
        let here = sys.host();
        if here != self.host || here.boot.is_empty() || here.space.is_empty() || self.start.is_empty() {
            return false;
        }
        sys.process_start(self.process).is_ok_and(|start| start.as_ref() != Some(&self.start))
    }
}

/// The bytes of the lock file.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host: Host { boot, space }, process, start, mark } = self;
        writeln!(f, "{HEAD}\nhost {boot}\nspace {space}\nprocess {process}\nstart {start}\nmark {mark}")
    }
}

impl Owner {
    /// For an error: which process it is.
    pub(crate) fn describe(&self, sys: &dyn Syscalls) -> String {
        let here = sys.host() == self.host;
        format!("process {} on {}", self.process, if here { "this host" } else { "another host" })
    }
}

const MARK_LEN: usize = 24;

/// Whether it may be the mark of an owner.
pub(crate) fn is_mark(mark: &str) -> bool {
    mark.len() == MARK_LEN && mark.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A mark that no other lock has, on no host.
pub(crate) fn new_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let seed = (COUNT.fetch_add(1, Ordering::Relaxed), nanos, std::process::id());
    // The keys of a hasher are random. Those of a forked child are its parent's, hence the seed.
    let random = RandomState::new();
    let (high, low) = (random.hash_one((seed, 0)), random.hash_one((seed, 1)));
    format!("{high:016x}{low:016x}")[..MARK_LEN].to_owned()
}

/// Asks the system which host this is.
pub(crate) fn this_host() -> Host {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid");
    Host {
        boot: boot.trim().to_owned(),
        space: space.map_or(String::new(), |space| space.to_string_lossy().into_owned()),
    }
}

pub(crate) fn process_start(process: u32) -> io::Result<Option<String>> {
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let stat = match fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => stat,
        // Without /proc no process can be checked.
        Err(e) if e.kind() == io::ErrorKind::NotFound && fs::exists("/proc/self/stat")? => return Ok(None),
        Err(e) => return Err(e),
    };
    // The name of the program, in parentheses, may contain anything. The state follows it, and the
    // time is the 22nd word.
    let mut words = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let (Some(state), Some(start)) = (words.next(), words.nth(18)) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    // A process that has ended stays in the list until its parent asks for it.
    Ok((!matches!(state, "Z" | "X")).then(|| start.to_owned()))
}
