//! `cargo xtask tidy`: proves the rules of ARCHITECTURE.md and CONTRIBUTING.md that the compiler
//! does not know.

mod cargo;
mod circles;
mod features;
mod house;
mod layers;
mod lexer;
mod manifests;
mod messages;
mod modules;
mod report;
mod sources;
mod support;
mod testdata;
mod tests_in_src;
mod traps;
mod tree;
mod undeclared;
mod unsafe_code;
mod violation;
mod words;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tree::Tree;
use violation::Violation;

/// The options of `cargo xtask tidy`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print figures instead: lines, files, items, circles, words. Of another checkout, if its
    /// folder is given.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1)]
    report: Option<Option<PathBuf>>,
}

/// Checks every rule and prints what breaks one, as `file:line: what`; or prints the report.
///
/// # Errors
///
/// The number of violations, or why the task could not run.
pub(crate) fn run(root: &Path, args: &Args) -> Result<(), String> {
    if let Some(other) = &args.report {
        let root = other.as_deref().unwrap_or(root);
        let report = report::text(&layers::workspace(root)?, &Tree::of(root)?)?;
        return io::stdout().write_all(report.as_bytes()).map_err(|e| format!("stdout: {e}"));
    }
    let tree = Tree::of(root)?;
    let workspace = layers::workspace(root)?;
    let mut violations = layers::check(&workspace, &tree);
    let built = cargo::metadata(root, "--all-features")?;
    violations.extend(features::check(&built).ok_or("cargo metadata: unexpected output")?);
    violations.extend(manifests::check(&workspace, &tree));
    violations.extend(unsafe_code::check(&workspace, &tree));
    violations.extend(sources::check(&workspace, &tree));
    violations.extend(circles::check(&workspace, &tree));
    violations.extend(undeclared::check(&workspace, &tree));
    violations.extend(house::check(&workspace, &tree));
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
