//! The README, as a stranger follows it: each block in an empty folder next to a clone. Its
//! commands of the shell are tested in ndzarr-cli, and its Python in ndzarr-python.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ndzarr_testkit::has_started;

/// The README's program, word for word, which `the_program_is_the_readmes` compares.
#[allow(clippy::print_stdout)]
mod first {
    include!("readme/first.txt");

    pub(super) fn run() -> Result<(), Box<dyn std::error::Error>> {
        main()
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README's section with this title: its fenced blocks, each with its language.
fn section(title: &str) -> Vec<(String, String)> {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("the README");
    let section = readme
        .split(&format!("### {title}\n"))
        .nth(1)
        .expect("the section");
    let section = section
        .split("\n## ")
        .next()
        .and_then(|text| text.split("\n### ").next())
        .expect("it has text");
    let blocks: Vec<&str> = section.split("```").skip(1).step_by(2).collect();
    let parts = blocks
        .iter()
        .map(|block| block.split_once('\n').expect("a block has a line"));
    parts
        .map(|(language, text)| (language.to_owned(), text.to_owned()))
        .collect()
}

/// An empty folder, next to which the repository is as `ndzarr`.
#[cfg(unix)]
fn folder_next_to_a_clone() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let repository = repository().canonicalize().expect("it exists");
    std::os::unix::fs::symlink(repository, folder.path().join("ndzarr")).expect("a link");
    folder
}

fn check_printed(ran: &Output, expected: &str) {
    let printed = String::from_utf8_lossy(&ran.stdout);
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success() && printed.contains(expected),
        "{printed}{error}"
    );
}

#[test]
fn the_program_is_the_readmes() {
    let blocks = section("Rust");
    let program = blocks
        .iter()
        .find(|(language, _)| language == "rust,no_run")
        .expect("a program");
    assert_eq!(program.1, include_str!("readme/first.txt"));
}

/// The program is compiled into this one, which runs it in a process of its own: it has a folder of
/// its own, and what it prints can be read.
#[cfg(unix)]
#[test]
fn the_program_prints_what_the_readme_says() {
    if has_started() {
        return first::run().expect("it runs");
    }
    let folder = folder_next_to_a_clone();
    let project = folder.path().join("first");
    std::fs::create_dir(&project).expect("a folder");
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.args([
        "--exact",
        "readme::the_program_prints_what_the_readme_says",
        "--nocapture",
    ]);
    let ran = program
        .env("NDZARR_OWN_PROCESS", "1")
        .current_dir(project)
        .output()
        .expect("it runs");
    let blocks = section("Rust");
    check_printed(&ran, &blocks.last().expect("what it prints").1);
}

/// The section on Rust, with cargo as it is. It compiles everything once more: `.ci/run all` runs
/// it.
#[cfg(unix)]
#[ignore = "compiles for a minute"]
#[test]
fn a_stranger_follows_the_readme() {
    let folder = folder_next_to_a_clone();
    let blocks = section("Rust");
    let [(sh, commands), (rust, program), (text, printed)] = &blocks[..] else {
        panic!("{blocks:?}")
    };
    assert_eq!([sh, rust, text], ["sh", "rust,no_run", "text"]);
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        shell
            .args(["-ec", script])
            .current_dir(folder.path())
            .env("CARGO_NET_OFFLINE", "true");
        // What was compiled before, and is at hand: the lock of the workspace, and its target.
        shell.env("CARGO_TARGET_DIR", repository().join("target/readme"));
        shell.output().expect("a shell")
    };
    check_printed(&shell(commands), "");
    let project = folder.path().join("first");
    std::fs::write(project.join("src/main.rs"), program).expect("a file");
    std::fs::copy(repository().join("Cargo.lock"), project.join("Cargo.lock")).expect("the lock");
    check_printed(&shell("cd first && cargo run"), printed);
}
