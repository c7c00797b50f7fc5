//! `cargo xtask tidy`: proves the rules of ARCHITECTURE.md and CONTRIBUTING.md that the compiler
//! does not know.

mod cargo;
mod circles;
mod features;
mod guide_links;
mod house;
mod layers;
mod manifests;
mod messages;
mod modules;
mod sources;
mod support;
mod testdata;
mod tests_in_src;
mod tokens;
mod traps;
mod tree;
mod undeclared;
mod unsafe_code;
mod violation;
mod words;
mod workspace;

use std::path::Path;

use tree::Tree;
use violation::Violation;

/// Checks every rule and prints what breaks one, as `file:line: what`.
///
/// # Errors
///
/// The number of violations, or why the task could not run.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let tree = Tree::of(root)?;
    let workspace = workspace::workspace(root)?;
    let mut violations = layers::check(&workspace, &tree);
    let built = cargo::metadata(root, "--all-features")?;
    violations.extend(features::check(&built).ok_or("cargo metadata: unexpected output")?);
    violations.extend(manifests::check(&workspace, &tree));
    violations.extend(unsafe_code::check(&tree));
    violations.extend(sources::check(&workspace, &tree));
    violations.extend(circles::check(&workspace, &tree));
    violations.extend(undeclared::check(&workspace, &tree));
    violations.extend(house::check(&workspace, &tree));
    violations.extend(guide_links::check(&tree));
    violations.extend(testdata::check(&tree));
    violations.extend(traps::check(&tree));
    violations.extend(support::check(&tree));
    violations.extend(words::check(&tree));
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
