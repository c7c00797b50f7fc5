//! Names, first lines and lengths of files, and what ARCHITECTURE.md must mention.

use super::layers::Workspace;
use super::tree::Tree;
use super::violation::Violation;

/// Longer source files need a line with a reason in [`LONG_FILES`].
const MAX_LINES: usize = 500;

/// `path: reason`, one a line; `#` starts a comment.
const LONG_FILES: &str = "xtask/tidy-long-files.txt";

/// The shortest text of a first line that can say what a file is for, in bytes.
const MIN_PURPOSE: usize = 12;

/// Checks the tree.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Violation> {
    let mut violations: Vec<Violation> = tree.with_ending(".rs").filter_map(name).collect();
    let sources = tree.with_ending(".rs").filter(|path| is_source(path));
    violations.extend(sources.filter_map(|path| first_line(path, &tree.text(path))));
    let lengths: Vec<(&str, usize)> =
        tree.with_ending(".rs").map(|path| (path, tree.text(path).lines().count())).collect();
    violations.extend(long_files(&lengths, &tree.text(LONG_FILES)));
    let architecture = tree.text("ARCHITECTURE.md");
    for package in &workspace.packages {
        if !mentions(&architecture, &package.name) {
            violations.push(Violation::new(
                "ARCHITECTURE.md",
                1,
                format!("does not mention {}", package.name),
            ));
        }
    }
    violations
}

fn name(path: &str) -> Option<Violation> {
    let what = match path.rsplit('/').next()? {
        "mod.rs" => "mod.rs: write foo.rs beside foo/",
        "utils.rs" | "util.rs" | "helpers.rs" | "misc.rs" => "name the file by its concept",
        _ => return None,
    };
    Some(Violation::new(path, 1, what))
}

/// Whether this is a source file of a crate of the workspace, not one of its tests or benchmarks.
fn is_source(path: &str) -> bool {
    let in_crate = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    path.starts_with("xtask/src/") || in_crate.is_some_and(|(_, path)| path.starts_with("src/"))
}

fn first_line(path: &str, text: &str) -> Option<Violation> {
    let first = text.lines().next().unwrap_or_default();
    let purpose = first.strip_prefix("//! ").unwrap_or_default().trim();
    let says_it = purpose.len() >= MIN_PURPOSE && !purpose.starts_with('#');
    (!says_it)
        .then(|| Violation::new(path, 1, "begins without a line `//! …` that says what the file is for"))
}

fn long_files(lengths: &[(&str, usize)], list: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut excused = Vec::new();
    for (at, line) in list.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (path, reason) = line.split_once(": ").unwrap_or((line, ""));
        if reason.trim().len() < 20 {
            violations.push(Violation::new(LONG_FILES, at + 1, format!("{path} needs a reason")));
        }
        if !lengths.iter().any(|&(long, n)| long == path && n > MAX_LINES) {
            violations.push(Violation::new(
                LONG_FILES,
                at + 1,
                format!("{path} is not over {MAX_LINES} lines"),
            ));
        }
        excused.push(path);
    }
    for &(path, n_lines) in lengths {
        if n_lines > MAX_LINES && !excused.contains(&path) {
            let what =
                format!("{n_lines} lines, more than {MAX_LINES}: split it, or give a reason in {LONG_FILES}");
            violations.push(Violation::new(path, MAX_LINES + 1, what));
        }
    }
    violations
}

/// Whether a text contains a name by itself, not as the start of a longer one.
fn mentions(text: &str, name: &str) -> bool {
    let part = |c: char| c == '-' || c == '_' || c.is_alphanumeric();
    text.match_indices(name).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part)
            && !text[at + name.len()..].chars().next().is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_a_concept() {
        assert!(name("crates/a/src/mod.rs").is_some());
        assert!(name("crates/a/src/utils.rs").is_some());
        assert!(name("crates/a/src/shard_index.rs").is_none());
    }

    #[test]
    fn the_first_line_says_what_a_file_is_for() {
        let misses = |text| first_line("crates/a/src/b.rs", text).is_some();
        assert!(!misses("//! Reads the index of a shard.\n\nuse a::b;\n"));
        assert!(misses("use a::b;\n\n//! Reads the index of a shard.\n"));
        assert!(misses("\n//! Reads the index of a shard.\n"));
        assert!(misses("/// Reads the index of a shard.\nstruct Index;\n"));
        assert!(
            misses("//! # Index of a shard\n") && misses("//! Index.\n") && misses("//!\n") && misses("")
        );
    }

    #[test]
    fn sources_are_the_files_of_crates_without_their_tests() {
        assert!(is_source("crates/a/src/b/c.rs") && is_source("xtask/src/main.rs"));
        assert!(!is_source("crates/a/tests/b.rs") && !is_source("fuzz/src/b.rs"));
        assert!(!is_source("crates/a/benches/src/b.rs"));
    }

    #[test]
    fn long_files_need_a_reason() {
        let what = |lengths: &[(&str, usize)], list| {
            long_files(lengths, list).into_iter().map(|found| (found.path, found.line)).collect::<Vec<_>>()
        };
        assert!(what(&[("a.rs", 500)], "").is_empty());
        assert_eq!(what(&[("a.rs", 501)], ""), [("a.rs".to_owned(), 501)]);
        assert!(what(&[("a.rs", 501)], "# why\na.rs: one table, that reads best in one piece\n").is_empty());
        assert_eq!(what(&[("a.rs", 501)], "a.rs: because\n"), [(LONG_FILES.to_owned(), 1)]);
        assert_eq!(
            what(&[("a.rs", 400)], "\na.rs: one table, that reads best in one piece"),
            [(LONG_FILES.to_owned(), 2)]
        );
    }

    #[test]
    fn a_longer_name_is_no_mention() {
        assert!(mentions("the crate ndzarr-store.", "ndzarr-store"));
        assert!(!mentions("the crate ndzarr-store-fs", "ndzarr-store"));
        assert!(!mentions("the crate ndzarr-store", "ndzarr"));
    }
}
