//! The owner of a lock file: the text in the file, and the state of its process.

use std::fmt;

use crate::names::lock_names::{is_mark, new_mark};
use crate::system::host::{Host, Process};
use crate::system::syscalls::Syscalls;

/// The first line of a lock file that names its owner.
const HEAD: &str = "ndzarr lock 1";

/// The owner that a lock file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    host: Host,
    process: u32,
    /// When the process was started, by the system's count, since process ids are reused.
    start: String,
    /// Unique to this lock.
    pub(crate) mark: String,
}

impl Owner {
    /// This process, with a new mark.
    pub(crate) fn new(sys: &dyn Syscalls) -> Self {
        let this = Process::current();
        Self {
            host: sys.host(),
            process: this.id,
            start: this.start.clone(),
            mark: new_mark(),
        }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes)
            .ok()?
            .strip_suffix('\n')?
            .split('\n');
        let mut word = |name: &str| Some(lines.next()?.strip_prefix(name)?.trim().to_owned());
        word(HEAD)?;
        let host = Host {
            boot: word("host")?,
            space: word("space")?,
        };
        let process = word("process")?.parse().ok()?;
        let start = word("start")?;
        let mark = word("mark")?;
        is_mark(&mark).then_some(Self {
            host,
            process,
            start,
            mark,
        })
    }

    /// True if its process is known to have ended.
    pub(crate) fn is_dead(&self, sys: &dyn Syscalls) -> bool {
        let here = sys.host();
        if here != self.host
            || here.boot.is_empty()
            || here.space.is_empty()
            || self.start.is_empty()
        {
            return false;
        }
        sys.process_start(self.process)
            .is_ok_and(|start| start.as_ref() != Some(&self.start))
    }
}

/// The bytes of the lock file.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host: Host { boot, space },
            process,
            start,
            mark,
        } = self;
        writeln!(
            f,
            "{HEAD}\nhost {boot}\nspace {space}\nprocess {process}\nstart {start}\nmark {mark}"
        )
    }
}

impl Owner {
    /// Its process, for an error.
    pub(crate) fn describe(&self, sys: &dyn Syscalls) -> String {
        let here = sys.host() == self.host;
        format!(
            "process {} on {}",
            self.process,
            if here { "this host" } else { "another host" }
        )
    }
}
