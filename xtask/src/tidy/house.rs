//! Names, first lines and lengths of files, how many a folder has, and what ARCHITECTURE.md must
//! mention.

use std::collections::BTreeMap;

use super::tree::Tree;
use super::violation::Violation;
use super::workspace::Workspace;

/// Longer source files need a line with a reason in [`LONG_FILES`].
const MAX_LINES: usize = 500;

/// `path: reason`, one a line; `#` starts a comment.
const LONG_FILES: &str = "xtask/tidy-long-files.txt";

/// Folders with more source files need a line with a reason in [`FULL_FOLDERS`].
const MAX_FILES: usize = 15;

/// `folder: reason`, one a line; `#` starts a comment. The list only shrinks.
const FULL_FOLDERS: &str = "xtask/tidy-full-folders.txt";

/// The shortest text of a first line that can say what a file is for, in bytes.
const MIN_PURPOSE: usize = 12;

/// Checks the tree.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Violation> {
    let mut violations: Vec<Violation> = tree.with_ending(".rs").filter_map(name).collect();
    let sources = tree.with_ending(".rs").filter(|path| is_source(path));
    violations.extend(sources.filter_map(|path| first_line(path, &tree.text(path))));
    let lengths: Vec<(&str, usize)> = tree
        .with_ending(".rs")
        .map(|path| (path, tree.text(path).lines().count()))
        .collect();
    violations.extend(long_files(&lengths, &tree.text(LONG_FILES)));
    let sources: Vec<&str> = tree
        .with_ending(".rs")
        .filter(|path| is_source(path))
        .collect();
    violations.extend(full_folders(&sources, &tree.text(FULL_FOLDERS)));
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

/// True if this is a source file of a crate of the workspace, not one of its tests or benchmarks.
fn is_source(path: &str) -> bool {
    let in_crate = path
        .strip_prefix("crates/")
        .and_then(|path| path.split_once('/'));
    path.starts_with("xtask/src/") || in_crate.is_some_and(|(_, path)| path.starts_with("src/"))
}

fn first_line(path: &str, text: &str) -> Option<Violation> {
    let first = text.lines().next().unwrap_or_default();
    let purpose = first.strip_prefix("//! ").unwrap_or_default().trim();
    let says_it = purpose.len() >= MIN_PURPOSE && !purpose.starts_with('#');
    (!says_it).then(|| {
        Violation::new(
            path,
            1,
            "begins without a line `//! …` that says what the file is for",
        )
    })
}

fn long_files(lengths: &[(&str, usize)], list: &str) -> Vec<Violation> {
    let (excused, mut violations) = excused(LONG_FILES, list, lengths, (MAX_LINES, "lines"));
    for &(path, n_lines) in lengths {
        if n_lines > MAX_LINES && !excused.contains(&path) {
            let what = format!(
                "{n_lines} lines, more than {MAX_LINES}: split it, or give a reason in {LONG_FILES}"
            );
            violations.push(Violation::new(path, MAX_LINES + 1, what));
        }
    }
    violations
}

/// Folders that hold too many source files.
fn full_folders(sources: &[&str], list: &str) -> Vec<Violation> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (folder, _) in sources.iter().filter_map(|path| path.rsplit_once('/')) {
        *counts.entry(folder).or_default() += 1;
    }
    let counts: Vec<(&str, usize)> = counts.into_iter().collect();
    let (excused, mut violations) = excused(FULL_FOLDERS, list, &counts, (MAX_FILES, "files"));
    for (folder, n_files) in counts {
        if n_files > MAX_FILES && !excused.contains(&folder) {
            let what = format!(
                "{n_files} files in one folder, more than {MAX_FILES}: give what they do folders"
            );
            violations.push(Violation::new(folder, 1, what));
        }
    }
    violations
}

/// The paths of a list, whose lines each need a reason and a path that is over the limit.
fn excused<'l>(
    name: &str,
    list: &'l str,
    sizes: &[(&str, usize)],
    (limit, unit): (usize, &str),
) -> (Vec<&'l str>, Vec<Violation>) {
    let mut violations = Vec::new();
    let mut excused = Vec::new();
    for (at, line) in list.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (path, reason) = line.split_once(": ").unwrap_or((line, ""));
        if reason.trim().len() < 20 {
            violations.push(Violation::new(
                name,
                at + 1,
                format!("{path} needs a reason"),
            ));
        }
        if !sizes
            .iter()
            .any(|&(known, size)| known == path && size > limit)
        {
            violations.push(Violation::new(
                name,
                at + 1,
                format!("{path} is not over {limit} {unit}"),
            ));
        }
        excused.push(path);
    }
    (excused, violations)
}

/// True if a text contains a name by itself, not as the start of a longer one.
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
            misses("//! # Index of a shard\n")
                && misses("//! Index.\n")
                && misses("//!\n")
                && misses("")
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
            long_files(lengths, list)
                .into_iter()
                .map(|found| (found.path, found.line))
                .collect::<Vec<_>>()
        };
        assert!(what(&[("a.rs", 500)], "").is_empty());
        assert_eq!(what(&[("a.rs", 501)], ""), [("a.rs".to_owned(), 501)]);
        assert!(
            what(
                &[("a.rs", 501)],
                "# why\na.rs: one table, that reads best in one piece\n"
            )
            .is_empty()
        );
        assert_eq!(
            what(&[("a.rs", 501)], "a.rs: because\n"),
            [(LONG_FILES.to_owned(), 1)]
        );
        assert_eq!(
            what(
                &[("a.rs", 400)],
                "\na.rs: one table, that reads best in one piece"
            ),
            [(LONG_FILES.to_owned(), 2)]
        );
    }

    #[test]
    fn full_folders_need_a_reason() {
        let paths: Vec<String> = (0..16).map(|n| format!("crates/a/src/f{n}.rs")).collect();
        let sources: Vec<&str> = paths
            .iter()
            .map(String::as_str)
            .chain(["crates/a/src/b/c.rs"])
            .collect();
        let what = |sources: &[&str], list| {
            full_folders(sources, list)
                .into_iter()
                .map(|found| (found.path, found.line))
                .collect::<Vec<_>>()
        };
        assert!(what(&sources[1..], "").is_empty());
        assert_eq!(what(&sources, ""), [("crates/a/src".to_owned(), 1)]);
        let line = "# why\ncrates/a/src: one kind: a file for each codec\n";
        assert!(what(&sources, line).is_empty());
        assert_eq!(what(&sources[1..], line), [(FULL_FOLDERS.to_owned(), 2)]);
        assert_eq!(
            what(&sources, "crates/a/src: because"),
            [(FULL_FOLDERS.to_owned(), 1)]
        );
    }

    #[test]
    fn a_longer_name_is_no_mention() {
        assert!(mentions("the crate ndzarr-store.", "ndzarr-store"));
        assert!(!mentions("the crate ndzarr-store-fs", "ndzarr-store"));
        assert!(!mentions("the crate ndzarr-store", "ndzarr"));
    }
}
