//! The quick workloads of the torture program; `cargo xtask torture` runs all of them.

use std::process::Command;

fn check(workload: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_ndzarr-torture"))
        .args(["--minute", "--only", workload])
        .output()
        .expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}

pub(crate) fn every_prefix_of_the_write_log_is_sound() {
    check("write-log");
}

pub(crate) fn nothing_is_lost_on_a_server_with_faults() {
    check("soak");
}

pub(crate) fn faults_are_reported_and_do_no_damage() {
    check("faults");
}
