//! Tests in a process of their own, for what a process has once: memory, threads, open files.

use std::env;
use std::process::Command;

/// Runs the rest of a test in a process of its own: the test program starts itself again, with this
/// test alone.
///
/// It is the first line of the function that has `#[test]`, which returns nothing.
#[macro_export]
macro_rules! in_own_process {
    () => {
        if $crate::has_own_process(::std::any::type_name_of_val(&|| ())) == $crate::OwnProcess::Ended {
            return;
        }
    };
}

/// Where the code runs that asks.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnProcess {
    /// In the process that was started for it.
    Here,
    /// It has run in a process of its own.
    Ended,
}

/// What [`in_own_process!`] calls with the path of a closure in the test, as
/// `it::a::test::{{closure}}`.
#[doc(hidden)]
#[must_use]
pub fn has_own_process(closure: &str) -> OwnProcess {
    if has_started() {
        return OwnProcess::Here;
    }
    let test = closure.split_once("::").and_then(|(_, path)| path.strip_suffix("::{{closure}}"));
    let test = test.expect("closures are named so");
    run(test, |command| command);
    OwnProcess::Ended
}

const STARTED: &str = "NDZARR_OWN_PROCESS";

/// Whether this process was started for one test.
#[must_use]
pub fn has_started() -> bool {
    env::var_os(STARTED).is_some()
}

/// Runs a test again, `module::test`, in a process with these variables. Those of services, proxies and
/// certificates stay outside, and `HOME` is not set.
///
/// # Panics
///
/// When the test fails, or is not there.
pub fn run_with_variables(test: &str, variables: &[(&str, &str)]) {
    const PARTS: [&str; 7] = ["AWS_", "GOOGLE_", "GCE_", "AZURE_", "IDENTITY_", "_PROXY", "SSL_CERT_"];
    run(test, |command| {
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy().to_ascii_uppercase();
            if PARTS.iter().any(|part| text.contains(part)) {
                command.env_remove(&name);
            }
        }
        command.env("HOME", "").env("USERPROFILE", "").envs(variables.iter().copied())
    });
}

/// Runs a test again, `module::test`, in a process of a user who is not root, if this one is root's:
/// permissions are then checked.
///
/// # Panics
///
/// When the test fails, or is not there.
#[cfg(target_os = "linux")]
pub fn run_without_root(test: &str) {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let own = std::fs::metadata("/proc/self").expect("a process is in /proc");
    run(test, |command| match own.uid() {
        0 => command.uid(NOBODY).gid(NOBODY).current_dir("/"),
        _ => command,
    });
}

fn run(test: &str, prepare: impl FnOnce(&mut Command) -> &mut Command) {
    let program = match cfg!(target_os = "linux") {
        // Also for a user who may not enter its folder.
        true => "/proc/self/exe".into(),
        false => env::current_exe().expect("the system says which program this is"),
    };
    let mut command = Command::new(program);
    command.args(["--exact", test, "--include-ignored", "--nocapture"]).env(STARTED, "");
    let output = prepare(&mut command).output().expect("the program starts");
    let [said, complained] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && said.contains("1 passed"), "{}\n{said}{complained}", output.status);
}
