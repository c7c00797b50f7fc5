//! `cargo xtask tidy`: proves the rules of ARCHITECTURE.md and CONTRIBUTING.md that the compiler does not know.

mod features;
mod house;
mod layers;
mod lexer;
mod links;
mod manifests;
mod sources;
mod support;
mod testdata;
mod traps;
mod tree;
mod unsafe_code;

use std::path::Path;

use tree::Tree;

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    /// From the root of the repository, with `/`.
    path: String,
    /// From 1.
    line: usize,
    /// The rule and how it is broken.
    what: String,
}

impl Violation {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

/// Checks every rule and prints what breaks one, as `file:line: what`.
///
/// # Errors
///
/// The number of violations, or what kept the task from looking.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let tree = Tree::of(root)?;
    let workspace = layers::workspace(root)?;
    let mut violations = layers::check(&workspace, &tree);
    violations.extend(features::check(root)?);
    violations.extend(manifests::check(&workspace, &tree));
    violations.extend(unsafe_code::check(&workspace, &tree));
    violations.extend(sources::check(&workspace, &tree));
    violations.extend(house::check(&workspace, &tree));
    violations.extend(testdata::check(&tree));
    violations.extend(links::check(&tree));
    violations.extend(traps::check(&tree));
    violations.extend(support::check(&tree));
    violations.sort();
    violations.dedup();
    for Violation { path, line, what } in &violations {
        eprintln!("{path}:{line}: {what}");
    }
    if violations.is_empty() {
        eprintln!("tidy: {} files, nothing to say", tree.paths().len());
        return Ok(());
    }
    Err(format!("tidy: {} violations", violations.len()))
}
