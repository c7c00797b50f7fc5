//! The crates of the workspace, as `cargo metadata` describes them.

use std::path::Path;

use serde_json::Value;

use super::cargo;

/// The crates of the workspace, in no order.
#[derive(Clone, Debug, Default)]
pub(super) struct Workspace {
    pub(super) packages: Vec<Package>,
}

/// A crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    /// Its folder from the root of the repository.
    pub(super) folder: String,
    /// True if it can be published.
    pub(super) published: bool,
    pub(super) description: String,
    /// Entries that a page of crates.io shows and that its manifest lacks.
    pub(super) missing: Vec<&'static str>,
    /// Root files of its libraries and programs, from the root of the repository.
    pub(super) roots: Vec<String>,
    /// Root files of its integration tests.
    pub(super) test_roots: Vec<String>,
    /// How many programs `cargo test` builds of it: unit tests of a library or program, and
    /// integration tests.
    pub(super) n_test_programs: usize,
    pub(super) dependencies: Vec<Dependency>,
}

/// A line of a crate's manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) kind: DependencyKind,
    pub(super) optional: bool,
}

/// The purpose of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DependencyKind {
    /// The crate itself or its build script.
    Shipped,
    /// Tests, examples and benchmarks.
    Dev,
}

impl Package {
    pub(super) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

/// Asks cargo for the workspace.
///
/// # Errors
///
/// A message when cargo fails or its output is unexpected.
pub(super) fn workspace(root: &Path) -> Result<Workspace, String> {
    let metadata = cargo::metadata(root, "--no-deps")?;
    parse(&metadata).ok_or_else(|| "cargo metadata: unexpected output".to_owned())
}

fn parse(metadata: &Value) -> Option<Workspace> {
    let root = metadata["workspace_root"].as_str()?;
    let relative = |path: &str| Some(path.strip_prefix(root)?.trim_start_matches('/').to_owned());
    let mut packages = Vec::new();
    for package in metadata["packages"].as_array()? {
        let manifest = relative(package["manifest_path"].as_str()?)?;
        let targets = package["targets"].as_array()?.iter();
        let is_kind = |wanted: &'static [&str]| {
            move |target: &&Value| {
                let kinds = target["kind"].as_array().into_iter().flatten();
                kinds
                    .filter_map(Value::as_str)
                    .any(|kind| wanted.contains(&kind))
            }
        };
        let path = |target: &Value| relative(target["src_path"].as_str()?);
        // With features that are off by default, a program is one of another build.
        let is_tested =
            |target: &&Value| target["test"] == true && target["required-features"].is_null();
        packages.push(Package {
            name: package["name"].as_str()?.to_owned(),
            folder: manifest.strip_suffix("/Cargo.toml")?.to_owned(),
            published: package["publish"].is_null(),
            description: package["description"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            missing: SHOWN
                .iter()
                .copied()
                .filter(|entry| is_empty(&package[entry]))
                .collect(),
            n_test_programs: targets.clone().filter(is_tested).count(),
            test_roots: targets
                .clone()
                .filter(is_kind(&["test"]))
                .map(path)
                .collect::<Option<_>>()?,
            roots: targets
                .filter(is_kind(&["lib", "cdylib", "bin", "proc-macro"]))
                .map(path)
                .collect::<Option<_>>()?,
            dependencies: package["dependencies"]
                .as_array()?
                .iter()
                .map(dependency)
                .collect::<Option<_>>()?,
        });
    }
    Some(Workspace { packages })
}

/// The entries of a manifest that crates.io shows, except for the description.
const SHOWN: &[&str] = &[
    "license",
    "repository",
    "readme",
    "documentation",
    "keywords",
    "categories",
];

fn is_empty(entry: &Value) -> bool {
    entry.as_array().map_or(entry.is_null(), Vec::is_empty)
}

fn dependency(dependency: &Value) -> Option<Dependency> {
    Some(Dependency {
        name: dependency["name"].as_str()?.to_owned(),
        kind: match dependency["kind"].as_str() {
            Some("dev") => DependencyKind::Dev,
            _ => DependencyKind::Shipped,
        },
        optional: dependency["optional"].as_bool()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SHIPPED: DependencyKind = DependencyKind::Shipped;
    const DEV: DependencyKind = DependencyKind::Dev;

    #[test]
    fn cargo_s_answer_is_understood() {
        let metadata = json!({"workspace_root": "/w", "packages": [{
            "name": "ndzarr-x", "manifest_path": "/w/crates/ndzarr-x/Cargo.toml", "publish": null, "description": "An x",
            "license": "MIT", "repository": "r", "readme": null, "documentation": "d", "keywords": ["x"], "categories": [],
            "targets": [{"kind": ["lib"], "src_path": "/w/crates/ndzarr-x/src/lib.rs", "test": false},
                        {"kind": ["test"], "src_path": "/w/crates/ndzarr-x/tests/t.rs", "test": true},
                        {"kind": ["test"], "src_path": "/w/crates/ndzarr-x/tests/u.rs", "test": true,
                         "required-features": ["u"]}],
            "dependencies": [{"name": "bytes", "kind": null, "optional": true}, {"name": "t", "kind": "dev", "optional": false}],
        }]});
        let workspace = parse(&metadata).expect("this is the form of cargo metadata");
        assert_eq!(
            workspace.packages,
            [Package {
                name: "ndzarr-x".to_owned(),
                folder: "crates/ndzarr-x".to_owned(),
                published: true,
                description: "An x".to_owned(),
                missing: vec!["readme", "categories"],
                roots: vec!["crates/ndzarr-x/src/lib.rs".to_owned()],
                test_roots: ["t", "u"]
                    .map(|name| format!("crates/ndzarr-x/tests/{name}.rs"))
                    .to_vec(),
                n_test_programs: 1,
                dependencies: vec![
                    Dependency {
                        name: "bytes".to_owned(),
                        kind: SHIPPED,
                        optional: true
                    },
                    Dependency {
                        name: "t".to_owned(),
                        kind: DEV,
                        optional: false
                    },
                ],
            }]
        );
    }
}
