//! Tests in a process of their own, for what a process has once: memory, threads, open files.

use std::env;
use std::process::Command;

/// Runs the rest of a test in a process of its own: the test program starts itself again, with only
/// this test.
///
/// It is the first line of the function that has `#[test]`, which returns nothing.
#[macro_export]
macro_rules! in_own_process {
    () => {
        if $crate::has_own_process(::std::any::type_name_of_val(&|| ()))
            == $crate::OwnProcess::Ended
        {
            return;
        }
    };
}

/// The process in which a test runs.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnProcess {
    /// This is the process that was started for the test.
    Here,
    /// The test has run in a process of its own, which has ended.
    Ended,
}

/// Called by [`in_own_process!`] with the path of a closure in the test, as
/// `it::a::test::{{closure}}`.
#[doc(hidden)]
#[must_use]
pub fn has_own_process(closure: &str) -> OwnProcess {
    if has_started() {
        return OwnProcess::Here;
    }
    let test = closure
        .split_once("::")
        .and_then(|(_, path)| path.strip_suffix("::{{closure}}"));
    let test = test.expect("the names of closures have this form");
    run(test, |command| command);
    OwnProcess::Ended
}

const STARTED: &str = "NDZARR_OWN_PROCESS";

/// Returns `true` in a process that was started for one test.
#[must_use]
pub fn has_started() -> bool {
    env::var_os(STARTED).is_some()
}

/// Runs a test again, `module::test`, in a process with these variables. Those of services, proxies
/// and certificates are not inherited, and `HOME` is empty.
///
/// # Panics
///
/// When the test fails or does not exist.
pub fn run_with_variables(test: &str, variables: &[(&str, &str)]) {
    const REMOVED: [&str; 7] = [
        "AWS_",
        "GOOGLE_",
        "GCE_",
        "AZURE_",
        "IDENTITY_",
        "_PROXY",
        "SSL_CERT_",
    ];
    run(test, |command| {
        for (name, _) in env::vars_os() {
            let upper = name.to_string_lossy().to_ascii_uppercase();
            if REMOVED.iter().any(|removed| upper.contains(removed)) {
                command.env_remove(&name);
            }
        }
        command
            .env("HOME", "")
            .env("USERPROFILE", "")
            .envs(variables.iter().copied())
    });
}

/// Runs a test again, `module::test`, in a process of a user who is not root, if this one is
/// root's: permissions are then checked.
///
/// # Panics
///
/// When the test fails or does not exist.
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
    let program = if cfg!(target_os = "linux") {
        // This path also works for a user who may not enter the folder of the program.
        "/proc/self/exe".into()
    } else {
        env::current_exe().expect("the system knows the path of this program")
    };
    let mut command = Command::new(program);
    command
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .env(STARTED, "");
    let output = prepare(&mut command).output().expect("the program starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{}\n{stdout}{stderr}",
        output.status
    );
}
