//! `cargo xtask tidy --report`: how much there is of code, pages, tests and circles.

use std::fmt::Write as _;

use super::circles;
use super::layers::Workspace;
use super::lexer::{Token, lex};
use super::tests_in_src::without_tests;
use super::tree::Tree;

/// Crates that are not the library's own sources: tools of the tests, and a feature that few build.
const BESIDES: [&str; 4] = ["ndzarr-testkit", "ndzarr-tests", "ndzarr-conformance", "ndzarr-zfp"];

/// Kinds of pages, and what their paths start with. The first that fits counts.
const PAGES: [(&str, &[&str]); 5] = [
    (
        "README, ARCHITECTURE, CONTRIBUTING, CHANGELOG",
        &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"],
    ),
    ("guide", &["docs/guide/"]),
    ("decisions", &["docs/internals/decisions/"]),
    ("written by programs", &["docs/cli.md", "docs/internals/support.md"]),
    ("other docs", &["docs/"]),
];

/// The figures of a work tree, as tables in Markdown.
///
/// # Errors
///
/// A message when the manifest of ndzarr-codec cannot be read.
pub(super) fn text(workspace: &Workspace, tree: &Tree) -> Result<String, String> {
    let circles = circles::circles(workspace, tree);
    let mut crates = Vec::new();
    let mut total = Row { name: "the library's own sources", ..Row::default() };
    for package in &workspace.packages {
        let src = format!("{}/src/", package.folder);
        let mut row = Row { name: &package.name, ..Row::default() };
        for path in tree.with_ending(".rs").filter(|path| path.starts_with(&src) && !is_test(path)) {
            let text = tree.text(path);
            row.lines += text.lines().count();
            row.code += text.lines().filter(|line| is_code(line)).count();
            row.files += 1;
            row.items += pub_items(&text);
        }
        for circle in circles.iter().filter(|circle| format!("{}/", circle.folder).starts_with(&src)) {
            row.circles += 1;
            row.largest = row.largest.max(circle.files.len());
        }
        if package.folder.starts_with("crates/") && !BESIDES.contains(&row.name) {
            total.lines += row.lines;
            total.code += row.code;
            total.files += row.files;
            total.items += row.items;
            total.circles += row.circles;
            total.largest = total.largest.max(row.largest);
        }
        crates.push(row);
    }
    crates.sort_by_key(|row| row.name);
    crates.push(total);

    let mut report =
        "| crate | lines | of code | files | pub items | circles | files of the largest |\n".to_owned();
    report += "|---|---:|---:|---:|---:|---:|---:|\n";
    for Row { name, lines, code, files, items, circles, largest } in crates {
        _ = writeln!(report, "| {name} | {lines} | {code} | {files} | {items} | {circles} | {largest} |");
    }
    report += "\n| | number |\n|---|---:|\n";
    for (at, (name, _)) in PAGES.iter().enumerate() {
        let pages = tree.with_ending(".md").filter(|path| page(path) == Some(at));
        let words: usize = pages.map(|path| tree.text(path).split_whitespace().count()).sum();
        _ = writeln!(report, "| words: {name} | {words} |");
    }
    let programs: usize = workspace.packages.iter().map(|package| package.n_test_programs).sum();
    let integration: usize = workspace.packages.iter().map(|package| package.test_roots.len()).sum();
    _ = writeln!(report, "| programs of integration tests | {integration} |");
    _ = writeln!(report, "| the same, and of unit tests | {programs} |");
    let api = tree.text("crates/ndzarr/public-api.txt");
    _ = writeln!(
        report,
        "| items of the facade | {} |",
        api.lines().filter(|line| !line.contains(": ")).count()
    );
    for names in [&["Array", "ArrayInfo"][..], &["AnyArray"], &["Group"]] {
        _ = writeln!(report, "| methods of {} | {} |", names.join(" and "), methods(&api, names));
    }
    let features = features(&tree.text("crates/ndzarr-codec/Cargo.toml"))?;
    _ = writeln!(report, "| features of ndzarr-codec | {features} |");
    Ok(report)
}

/// The figures of one crate.
#[derive(Default)]
struct Row<'a> {
    name: &'a str,
    lines: usize,
    /// Lines that are neither empty nor only a comment.
    code: usize,
    files: usize,
    items: usize,
    circles: usize,
    /// Files of the largest circle.
    largest: usize,
}

/// Whether a file below `src/` is for tests alone, by its name.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn is_code(line: &str) -> bool {
    let line = line.trim();
    !(line.is_empty() || line.starts_with("//"))
}

/// Functions, types, constants and the like that say `pub`, in crates and in `impl` blocks; no
/// fields and re-exports.
fn pub_items(text: &str) -> usize {
    const ITEMS: [&str; 10] =
        ["fn", "struct", "enum", "union", "trait", "const", "static", "type", "mod", "async"];
    let tokens = without_tests(&lex(text).tokens);
    let is_item = |token: &Token<'_>| token.is("unsafe") || ITEMS.iter().any(|item| token.is(item));
    tokens.windows(2).filter(|pair| pair[0].is("pub") && is_item(&pair[1])).count()
}

/// Methods of these types in the list of the public API.
fn methods(api: &str, types: &[&str]) -> usize {
    let is_method = |line: &&str| {
        let item = line.split_once(": impl");
        item.is_some_and(|(name, rest)| types.contains(&name) && rest.contains(" fn "))
    };
    api.lines().filter(is_method).count()
}

fn page(path: &str) -> Option<usize> {
    PAGES.iter().position(|(_, starts)| starts.iter().any(|start| path.starts_with(start)))
}

/// How many features a manifest has besides `default`.
fn features(manifest: &str) -> Result<usize, String> {
    let manifest: toml::Table = manifest.parse().map_err(|e| format!("a manifest: {e}"))?;
    let features = manifest.get("features").and_then(toml::Value::as_table);
    Ok(features.map_or(0, |features| features.keys().filter(|name| *name != "default").count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_items_are_counted() {
        let source =
            "pub struct A { pub b: u8 } impl A { pub fn c() {} pub(crate) fn d() {} pub async fn e() {} }
            pub use f::G; pub const H: u8 = 1; // pub fn i()
            #[cfg(test)] mod tests { pub fn j() {} }";
        assert_eq!(pub_items(source), 4);
    }

    #[test]
    fn methods_of_a_type_are_counted() {
        let api = "A\nA: impl A: pub fn a(&self)\nA: impl Clone for A\nA: impl<T> A<T>: pub async fn b()\nB: impl B: pub fn c()\n";
        assert_eq!((methods(api, &["A"]), methods(api, &["A", "B"])), (2, 3));
    }

    #[test]
    fn files_are_told_apart() {
        assert!(is_test("crates/a/src/b/tests.rs") && is_test("crates/a/src/tests/b.rs"));
        assert!(!is_test("crates/a/src/b.rs"));
        let name = |path| page(path).map(|at| PAGES[at].0);
        assert_eq!(name("docs/guide/a.md"), Some("guide"));
        assert_eq!(
            (name("docs/a.md"), name("docs/internals/support.md")),
            (Some("other docs"), Some("written by programs"))
        );
        assert_eq!(
            (name("docs/internals/decisions/a.md"), name("crates/a/README.md")),
            (Some("decisions"), None)
        );
    }

    #[test]
    fn features_are_counted_without_the_default() {
        let manifest = "[package]\nname = \"a\"\n[features]\ndefault = [\"b\"]\nb = []\nc = []\n";
        assert_eq!(features(manifest), Ok(2));
        assert_eq!(features("[package]\nname = \"a\"\n"), Ok(0));
        assert!(features("[").is_err());
    }
}
