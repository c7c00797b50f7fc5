//! Identifies this process and its machine to other hosts.

use std::fs;
use std::io;

use ndzarr_store::PerProcess;

/// Identifies a machine until it is booted again. Texts are empty if unknown.
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

/// True if a process of this number exists, of any user, or if that is unknown.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn exists(process: u32) -> bool {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    pid.is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn exists(_: u32) -> bool {
    true
}

/// When a process was started; `None` if it has ended.
pub(crate) fn process_start(process: u32) -> io::Result<Option<String>> {
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // The start of the first thread, which is that of the process: for a program under QEMU,
    // `/proc/<its own id>/stat` has the start of the thread that reads it.
    let stat = match fs::read_to_string(format!("/proc/{process}/task/{process}/stat")) {
        Ok(stat) => stat,
        // Without /proc no process can be checked.
        Err(e) if e.kind() == io::ErrorKind::NotFound && fs::exists("/proc/self/stat")? => {
            // With `hidepid`, /proc shows no processes of other users.
            return if exists(process) {
                Err(io::ErrorKind::PermissionDenied.into())
            } else {
                Ok(None)
            };
        }
        Err(e) => return Err(e),
    };
    // The name of the program, in parentheses, may contain anything. The state follows it, and the
    // time is the 22nd word.
    let mut words = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let (Some(state), Some(start)) = (words.next(), words.nth(18)) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    // A process that has ended stays in the list until its parent waits for it.
    Ok((!matches!(state, "Z" | "X")).then(|| start.to_owned()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_has_ended_is_missing() {
        let mut child = std::process::Command::new("true")
            .spawn()
            .expect("it starts");
        child.wait().expect("it ends");
        assert!(!exists(child.id()));
        assert!(exists(std::process::id()));
        // Of another user, unless the tests run as root.
        assert!(exists(1));
        assert_eq!(process_start(child.id()).expect("/proc exists"), None);
    }

    #[test]
    fn a_thread_knows_when_its_process_was_started() {
        let start = || {
            process_start(std::process::id())
                .expect("/proc exists")
                .expect("it runs")
        };
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert_eq!(std::thread::spawn(start).join().expect("no panic"), start());
    }
}
