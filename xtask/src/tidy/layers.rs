//! Which crate may depend on which: the picture of ARCHITECTURE.md, proved from `cargo metadata`.

use super::tree::Tree;
use super::violation::Violation;
use super::workspace::{DependencyKind, Package, Workspace};

/// Crates of the workspace that a crate may name.
enum May {
    Name(&'static [&'static str]),
    NameAny,
}

/// The allowed edges, lowest layer first. A new one comes with a change of the picture in
/// ARCHITECTURE.md.
const LAYERS: &[(&str, May)] = &[
    ("ndzarr-grid", May::Name(&[])),
    ("ndzarr-json", May::Name(&[])),
    ("ndzarr-derive", May::Name(&[])),
    ("ndzarr-store", May::Name(&[])),
    ("ndzarr-pool", May::Name(&["ndzarr-store"])),
    ("ndzarr-blosc", May::Name(&[])),
    ("ndzarr-deflate", May::Name(&[])),
    ("ndzarr-zfp", May::Name(&[])),
    ("ndzarr-model", May::Name(&["ndzarr-grid", "ndzarr-json"])),
    ("ndzarr-store-fs", May::Name(&["ndzarr-store"])),
    (
        "ndzarr-store-zip",
        May::Name(&["ndzarr-store", "ndzarr-store-fs"]),
    ),
    ("ndzarr-store-object", May::Name(&["ndzarr-store"])),
    (
        "ndzarr-metadata",
        May::Name(&["ndzarr-json", "ndzarr-model"]),
    ),
    (
        "ndzarr-codec",
        May::Name(&[
            "ndzarr-json",
            "ndzarr-model",
            "ndzarr-blosc",
            "ndzarr-deflate",
            "ndzarr-zfp",
        ]),
    ),
    (
        "ndzarr-engine",
        May::Name(&[
            "ndzarr-grid",
            "ndzarr-model",
            "ndzarr-codec",
            "ndzarr-store",
            "ndzarr-pool",
        ]),
    ),
    (
        "ndzarr-array",
        May::Name(&[
            "ndzarr-engine",
            "ndzarr-json",
            "ndzarr-metadata",
            "ndzarr-codec",
            "ndzarr-grid",
            "ndzarr-model",
            "ndzarr-store",
            "ndzarr-store-fs",
            "ndzarr-store-object",
            "ndzarr-store-zip",
        ]),
    ),
    ("ndzarr", May::NameAny),
    ("ndzarr-cf", May::Name(&["ndzarr"])),
    (
        "ndzarr-cli",
        May::Name(&[
            "ndzarr",
            "ndzarr-metadata",
            "ndzarr-model",
            "ndzarr-ome",
            "ndzarr-store-fs",
        ]),
    ),
    ("ndzarr-ome", May::Name(&["ndzarr"])),
    ("ndzarr-python", May::Name(&["ndzarr", "ndzarr-ome"])),
    ("ndzarr-testkit", May::NameAny),
    ("ndzarr-conformance", May::NameAny),
    ("ndzarr-orders", May::NameAny),
    ("ndzarr-tests", May::NameAny),
    ("examples", May::NameAny),
    ("browser", May::NameAny),
    ("xtask", May::Name(&[])),
];

/// Edges that exist only with a feature: without it, a build does not include the crate.
const OPTIONAL: &[(&str, &str)] = &[
    ("ndzarr-array", "ndzarr-store-fs"),
    ("ndzarr-array", "ndzarr-store-object"),
    ("ndzarr-array", "ndzarr-store-zip"),
    ("ndzarr-codec", "ndzarr-zfp"),
    ("ndzarr-store-zip", "ndzarr-store-fs"),
];

/// Crates that the tests and examples of every crate may also name: the helpers of tests, and the
/// facade.
const FOR_TESTS: [&str; 2] = ["ndzarr-testkit", "ndzarr"];

/// Crates that stand above the facade: what follows does not bind them.
const ABOVE: &[&str] = &[
    "ndzarr-cli",
    "ndzarr-python",
    "ndzarr-testkit",
    "ndzarr-conformance",
    "ndzarr-orders",
    "ndzarr-tests",
    "examples",
    "browser",
    "xtask",
];

/// Foreign crates that only these crates may ship with, and why.
const CONFINED: &[(&str, &[&str], &str)] = &[
    (
        "tokio",
        &["ndzarr-store-object"],
        "only ndzarr-store-object names a runtime",
    ),
    (
        "object_store",
        &["ndzarr-store-object"],
        "only ndzarr-store-object names object_store",
    ),
    (
        "http",
        &["ndzarr-store-object"],
        "only ndzarr-store-object speaks HTTP",
    ),
    (
        "http-body",
        &["ndzarr-store-object"],
        "only ndzarr-store-object speaks HTTP",
    ),
    (
        "reqwest",
        &["ndzarr-store-object"],
        "only ndzarr-store-object speaks HTTP",
    ),
    (
        "rustls",
        &["ndzarr-store-object"],
        "only ndzarr-store-object speaks TLS",
    ),
    (
        "rustls-platform-verifier",
        &["ndzarr-store-object"],
        "only ndzarr-store-object speaks TLS",
    ),
    (
        "ring",
        &["ndzarr-store-object"],
        "only ndzarr-store-object speaks TLS",
    ),
    (
        "ndarray",
        &["ndzarr-array", "ndzarr"],
        "only ndzarr-array knows ndarray",
    ),
    (
        "rayon",
        &[],
        "a thread that waits in rayon runs other tasks of its caller meanwhile, under the locks it holds",
    ),
    (
        "libdeflater",
        &["ndzarr-deflate"],
        "only ndzarr-deflate calls libdeflate",
    ),
    (
        "blosc-src",
        &["ndzarr-blosc"],
        "only ndzarr-blosc calls c-blosc",
    ),
    ("zfp-sys", &["ndzarr-zfp"], "only ndzarr-zfp calls zfp"),
];

/// Foreign crates that no crate names, not even for tests.
const BANNED: &[(&str, &str)] = &[
    ("opendal", "object_store covers what is needed"),
    (
        "memmap2",
        "a mapped file that is truncated is undefined behaviour",
    ),
    ("async-trait", "async traits return boxed futures by hand"),
    (
        "openssl",
        "it does not build with cargo and a C compiler alone",
    ),
    ("native-tls", "one TLS stack is enough: rustls with ring"),
    (
        "aws-lc-rs",
        "it does not build with cargo and a C compiler alone",
    ),
];

/// Proves the edges.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in &workspace.packages {
        let manifest = package.manifest();
        let text = tree.text(&manifest);
        violations.extend(broken_edges(package).into_iter().map(|(dependency, what)| {
            Violation::new(&manifest, line_of(&text, &dependency), what)
        }));
    }
    violations
}

/// The dependencies of a crate that are not allowed, with the reason.
fn broken_edges(package: &Package) -> Vec<(String, String)> {
    let name = &package.name;
    let Some((_, may)) = LAYERS.iter().find(|(known, _)| known == name) else {
        let what =
            format!("{name} is not in the layers (xtask/src/tidy/layers.rs, ARCHITECTURE.md)");
        return vec![("name".to_owned(), what)];
    };
    let mut broken = Vec::new();
    for dependency in &package.dependencies {
        let to = &dependency.name;
        let dev = dependency.kind == DependencyKind::Dev;
        if is_ours(to) {
            let for_tests = dev && FOR_TESTS.contains(&to.as_str()) && name != "xtask";
            let allowed = match may {
                May::NameAny => true,
                May::Name(names) => for_tests || names.contains(&to.as_str()),
            };
            if !allowed {
                broken.push((to.clone(), format!("{name} must not depend on {to}")));
            }
            if OPTIONAL.contains(&(name, to)) && !dev && !dependency.optional {
                broken.push((
                    to.clone(),
                    format!("{name} must depend on {to} only behind a feature"),
                ));
            }
        } else if name == "ndzarr-grid" && !dev {
            broken.push((to.clone(), "ndzarr-grid has no dependency".to_owned()));
        }
        if let Some((_, why)) = BANNED.iter().find(|(banned, _)| banned == to) {
            broken.push((to.clone(), format!("{to} is not used here: {why}")));
        }
        let confined = CONFINED.iter().find(|(confined, ..)| confined == to);
        if let Some((_, homes, why)) = confined
            && !dev
            && !homes.contains(&name.as_str())
            && !ABOVE.contains(&name.as_str())
        {
            broken.push((to.clone(), format!("{name} must not depend on {to}: {why}")));
        }
    }
    broken
}

fn is_ours(name: &str) -> bool {
    name == "ndzarr" || name.starts_with("ndzarr-")
}

/// The line of a manifest that names a dependency; 1 where none does.
fn line_of(manifest: &str, name: &str) -> usize {
    let names = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with([' ', '.', '=']))
            || line.contains(&format!("package = \"{name}\""))
    };
    manifest.lines().position(names).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Dependency;
    use super::*;

    fn edges(name: &str, dependencies: &[(&str, DependencyKind, bool)]) -> Vec<String> {
        let dependencies = dependencies
            .iter()
            .map(|&(name, kind, optional)| Dependency {
                name: name.to_owned(),
                kind,
                optional,
            })
            .collect();
        let package = Package {
            name: name.to_owned(),
            dependencies,
            ..Package::default()
        };
        broken_edges(&package)
            .into_iter()
            .map(|(dependency, _)| dependency)
            .collect()
    }

    const SHIPPED: DependencyKind = DependencyKind::Shipped;
    const DEV: DependencyKind = DependencyKind::Dev;

    #[test]
    fn edges_down_are_allowed_and_edges_up_are_not() {
        assert!(
            edges(
                "ndzarr-codec",
                &[("ndzarr-model", SHIPPED, false), ("zstd", SHIPPED, true)]
            )
            .is_empty()
        );
        assert_eq!(
            edges("ndzarr-codec", &[("ndzarr-metadata", SHIPPED, false)]),
            ["ndzarr-metadata"]
        );
        assert_eq!(
            edges("ndzarr-engine", &[("ndzarr-store-fs", SHIPPED, true)]),
            ["ndzarr-store-fs"]
        );
        assert_eq!(edges("xtask", &[("ndzarr", DEV, false)]), ["ndzarr"]);
        assert_eq!(edges("ndzarr-new", &[]), ["name"]);
    }

    #[test]
    fn tests_may_name_the_testkit_and_no_upper_layer() {
        assert!(
            edges(
                "ndzarr-store-fs",
                &[("ndzarr-testkit", DEV, false), ("ndzarr", DEV, false)]
            )
            .is_empty()
        );
        assert_eq!(
            edges("ndzarr-store-fs", &[("ndzarr-testkit", SHIPPED, false)]),
            ["ndzarr-testkit"]
        );
        assert_eq!(
            edges("ndzarr-store-fs", &[("ndzarr", SHIPPED, false)]),
            ["ndzarr"]
        );
        assert_eq!(
            edges("ndzarr-grid", &[("ndzarr-array", DEV, false)]),
            ["ndzarr-array"]
        );
    }

    #[test]
    fn the_file_system_is_behind_a_feature() {
        assert!(edges("ndzarr-array", &[("ndzarr-store-fs", SHIPPED, true)]).is_empty());
        assert_eq!(
            edges("ndzarr-array", &[("ndzarr-store-fs", SHIPPED, false)]),
            ["ndzarr-store-fs"]
        );
    }

    #[test]
    fn foreign_crates_stay_where_they_belong() {
        assert_eq!(
            edges("ndzarr-engine", &[("tokio", SHIPPED, true)]),
            ["tokio"]
        );
        assert!(edges("ndzarr-engine", &[("tokio", DEV, false)]).is_empty());
        assert!(edges("ndzarr-store-object", &[("tokio", SHIPPED, false)]).is_empty());
        assert_eq!(
            edges("ndzarr-engine", &[("ndarray", SHIPPED, false)]),
            ["ndarray"]
        );
        assert_eq!(edges("ndzarr", &[("memmap2", DEV, false)]), ["memmap2"]);
        assert_eq!(
            edges("ndzarr-grid", &[("serde", SHIPPED, false)]),
            ["serde"]
        );
        assert!(edges("ndzarr-grid", &[("proptest", DEV, false)]).is_empty());
    }

    #[test]
    fn the_line_is_that_of_the_dependency() {
        let manifest = "[dependencies]\nbytes.workspace = true\nndzarr-store = { path = \"x\" }\n";
        assert_eq!(line_of(manifest, "ndzarr-store"), 3);
        assert_eq!(line_of(manifest, "ndzarr"), 1);
        assert_eq!(line_of("xz2 = { package = \"liblzma\" }", "liblzma"), 1);
    }
}
