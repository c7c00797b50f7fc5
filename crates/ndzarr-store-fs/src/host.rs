//! This process and its machine, as other hosts are told.

use std::fs;
use std::io;

use ndzarr_store::PerProcess;

/// Identifies a machine between two boots; `None` if unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) boot: String,
    /// The PID namespace: containers on one machine each have their own.
    pub(crate) space: String,
}

/// What identifies this process on its machine.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) host: Host,
    /// When it was started; empty if unknown.
    pub(crate) start: String,
}

impl Process {
    pub(crate) fn current() -> &'static Self {
        static THIS: PerProcess<Process> = PerProcess::new();
        THIS.get(|id| Self {
            id,
            host: this_host(),
            start: process_start(id).ok().flatten().unwrap_or_default(),
        })
    }
}

/// Asks the system which host this is.
fn this_host() -> Host {
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
