//! No source file without a module: nothing would compile it.

use std::collections::BTreeSet;

use super::tokens::{Kind, starts_with, tokens};
use super::tree::Tree;
use super::violation::Violation;
use super::workspace::Workspace;

/// Checks the sources and the integration tests of every crate.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in &workspace.packages {
        let folders = [
            format!("{}/src/", package.folder),
            format!("{}/tests/", package.folder),
        ];
        let files: BTreeSet<&str> = tree
            .with_ending(".rs")
            .filter(|path| {
                folders
                    .iter()
                    .any(|folder| path.starts_with(folder.as_str()))
            })
            .collect();
        // A folder of tests may be a module of its library.
        let tests = files
            .iter()
            .copied()
            .filter(|path| path.starts_with(&folders[1]) && path.ends_with("/main.rs"));
        let roots = package
            .roots
            .iter()
            .chain(&package.test_roots)
            .map(String::as_str)
            .chain(tests);
        let text = |path: &str| files.contains(path).then(|| tree.text(path));
        let declared = declared(roots, &text);
        let rest = files.iter().filter(|path| !declared.contains(**path));
        violations.extend(rest.map(|path| Violation::new(path, 1, "no module declares this file")));
    }
    violations
}

/// The root files, and those that their modules declare; `text` gives the content of a file, if
/// there is one.
fn declared<'r>(
    roots: impl Iterator<Item = &'r str>,
    text: &dyn Fn(&str) -> Option<String>,
) -> BTreeSet<String> {
    let folder = |root: &'r str| {
        (
            root.to_owned(),
            root.rsplit_once('/')
                .map_or("", |(folder, _)| folder)
                .to_owned(),
        )
    };
    let mut waiting: Vec<(String, String)> = roots.map(folder).collect();
    let mut declared = BTreeSet::new();
    while let Some((path, folder)) = waiting.pop() {
        let Some(source) = text(&path) else { continue };
        let tokens = tokens(&source);
        for at in 0..tokens.len() {
            let Some(name) = tokens.get(at + 1).filter(|name| name.kind == Kind::Word) else {
                continue;
            };
            if starts_with(&tokens, at, &["mod"]) && starts_with(&tokens, at + 2, &[";"]) {
                let below = format!("{folder}/{}", name.text);
                waiting.push((format!("{below}.rs"), below));
            }
        }
        declared.insert(path);
    }
    declared
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn files_that_no_module_declares_are_left() {
        let files = BTreeMap::from([
            (
                "src/lib.rs",
                "mod a; #[cfg(test)] mod tests; mod inline { use x; }",
            ),
            ("src/a.rs", "pub(crate) mod b; // mod left;"),
            ("src/a/b.rs", ""),
            ("src/tests.rs", ""),
            ("src/left.rs", "mod inline;"),
            ("src/inline.rs", ""),
            ("tests/it/main.rs", "mod t; mod absent;"),
            ("tests/it/t.rs", ""),
        ]);
        let text = |path: &str| files.get(path).map(|&text| text.to_owned());
        let declared = declared(["src/lib.rs", "tests/it/main.rs"].into_iter(), &text);
        let left: Vec<&str> = files
            .keys()
            .copied()
            .filter(|path| !declared.contains(*path))
            .collect();
        assert_eq!(left, ["src/inline.rs", "src/left.rs"]);
    }
}
