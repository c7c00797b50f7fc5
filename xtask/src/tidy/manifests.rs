//! The required entries of every crate's manifest.

use super::tree::Tree;
use super::violation::Violation;
use super::workspace::{Package, Workspace};

/// The most programs that `cargo test --workspace` may build: each takes seconds to link.
const MAX_TEST_PROGRAMS: usize = 12;

/// Checks the manifests of the crates and of the workspace.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in &workspace.packages {
        let manifest = package.manifest();
        let found = package_rules(package, &tree.text(&manifest));
        violations.extend(
            found
                .into_iter()
                .map(|what| Violation::new(&manifest, 1, what)),
        );
        // A package is its folder: what is outside is not in it.
        let readme = format!("{}/README.md", package.folder);
        if package.published && !tree.exists(&readme) {
            violations.push(Violation::new(
                &manifest,
                1,
                "README.md is missing next to it",
            ));
        }
        // crates.io and docs.rs have only the page.
        let page = if package.published {
            tree.text(&readme)
        } else {
            String::new()
        };
        for target in relative_links(&page) {
            let what = format!("{target} leads nowhere outside of the repository");
            violations.push(Violation::new(&readme, 1, what));
        }
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"]
            .iter()
            .filter(|_| package.published)
        {
            if !tree.exists(&format!("{}/{licence}", package.folder)) {
                violations.push(Violation::new(
                    &manifest,
                    1,
                    format!("{licence} is missing next to it"),
                ));
            }
        }
    }
    if !denies_missing_docs(&tree.text("Cargo.toml")) {
        violations.push(Violation::new(
            "Cargo.toml",
            1,
            "[workspace.lints.rust] must deny missing_docs",
        ));
    }
    violations.extend(too_many_programs(&workspace.packages));
    violations
}

/// The programs of unit tests and of integration tests, if there are too many.
fn too_many_programs(packages: &[Package]) -> Option<Violation> {
    let n_programs: usize = packages.iter().map(|package| package.n_test_programs).sum();
    if n_programs <= MAX_TEST_PROGRAMS {
        return None;
    }
    let of_package = |package: &Package| format!("{} {}", package.name, package.n_test_programs);
    let with_tests = packages
        .iter()
        .filter(|package| package.n_test_programs > 0);
    let list = with_tests.map(of_package).collect::<Vec<_>>().join(", ");
    let what = format!("{n_programs} test programs, more than {MAX_TEST_PROGRAMS}: {list}");
    Some(Violation::new("Cargo.toml", 1, what))
}

fn package_rules(package: &Package, manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !inherits_lints(manifest) {
        found.push("must have `[lints] workspace = true`".to_owned());
    }
    let tail = package.folder.rsplit('/').next().unwrap_or_default();
    if tail != package.name {
        found.push(format!("the folder of {} must have its name", package.name));
    }
    if package.published {
        found.extend(
            package
                .missing
                .iter()
                .map(|entry| format!("has no `{entry}`")),
        );
        let description = package.description.as_str();
        let sentence = description.starts_with(char::is_uppercase) && !description.ends_with('.');
        if !sentence || !(15..=120).contains(&description.len()) || description.contains('\n') {
            found.push(format!(
                "description {description:?} must be one line of 15 to 120 characters, with a capital and no full stop"
            ));
        }
    }
    found
}

/// The targets of links in a page that are neither addresses nor places in the page.
fn relative_links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|target| !target.contains(':') && !target.starts_with('#'))
}

fn inherits_lints(manifest: &str) -> bool {
    manifest.parse::<toml::Table>().is_ok_and(|table| {
        let workspace = table.get("lints").and_then(|lints| lints.get("workspace"));
        workspace.and_then(toml::Value::as_bool) == Some(true)
    })
}

fn denies_missing_docs(manifest: &str) -> bool {
    manifest.parse::<toml::Table>().is_ok_and(|table| {
        let lints = table
            .get("workspace")
            .and_then(|workspace| workspace.get("lints"));
        let level = lints
            .and_then(|lints| lints.get("rust"))
            .and_then(|rust| rust.get("missing_docs"));
        level.and_then(toml::Value::as_str) == Some("deny")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(name: &str, description: &str, manifest: &str) -> usize {
        let package = Package {
            name: name.to_owned(),
            folder: "crates/ndzarr-x".to_owned(),
            published: true,
            description: description.to_owned(),
            ..Package::default()
        };
        package_rules(&package, manifest).len()
    }

    #[test]
    fn crates_are_described_and_linted() {
        let lints = "[lints]\nworkspace = true\n";
        assert_eq!(rules("ndzarr-x", "Integer geometry of arrays", lints), 0);
        assert_eq!(rules("ndzarr-x", "", lints), 1);
        assert_eq!(rules("ndzarr-x", "Integer geometry of arrays.", lints), 1);
        assert_eq!(
            rules(
                "ndzarr-x",
                "Integer geometry of arrays",
                "[lints.rust]\nmissing_docs = \"allow\"\n"
            ),
            1
        );
        assert_eq!(rules("ndzarr-y", "Integer geometry of arrays", lints), 1);
    }

    #[test]
    fn one_test_program_too_many_is_found() {
        let package = |n_test_programs| Package {
            name: format!("ndzarr-{n_test_programs}"),
            n_test_programs,
            ..Package::default()
        };
        assert_eq!(
            too_many_programs(&[package(MAX_TEST_PROGRAMS), package(0)]),
            None
        );
        let found =
            too_many_programs(&[package(MAX_TEST_PROGRAMS), package(1)]).expect("one too many");
        assert!(found.what.ends_with(", ndzarr-1 1"), "{}", found.what);
    }

    #[test]
    fn links_within_the_repository_are_found() {
        let found = |page| relative_links(page).collect::<Vec<_>>();
        assert_eq!(
            found("[a](../../README.md) and [b](docs/b.md#c)"),
            ["../../README.md", "docs/b.md#c"]
        );
        assert!(found("[a](https://x.y/z) [b](#here)").is_empty());
    }

    #[test]
    fn the_workspace_denies_missing_docs() {
        assert!(denies_missing_docs(
            "[workspace.lints.rust]\nmissing_docs = \"deny\"\n"
        ));
        assert!(!denies_missing_docs(
            "[workspace.lints.rust]\nmissing_docs = \"warn\"\n"
        ));
    }
}
