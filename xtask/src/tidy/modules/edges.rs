//! Follows names to the files of their items.

use std::collections::BTreeSet;

use super::Modules;
use super::imports::Path;

/// How many imports a name is followed through.
const MAX_STEPS: usize = 16;

/// The item of a path, and the modules that re-export it along the path.
struct Found {
    module: usize,
    is_item: bool,
    through: Vec<usize>,
}

impl Modules {
    /// For each file those whose items it names. A re-export of an item of a module below is not an
    /// edge.
    pub(in crate::tidy) fn edges(&self) -> Vec<BTreeSet<usize>> {
        let mut edges = vec![BTreeSet::new(); self.files.len()];
        for (own, module) in self.modules.iter().enumerate() {
            for import in &module.imports {
                let is_used = module.paths.iter().any(|path| path[0] == import.name);
                let Some(found) = self.find(own, &import.path, MAX_STEPS) else {
                    continue;
                };
                if import.is_reexport && !is_used && self.is_below(found.module, own) {
                    continue;
                }
                // Other modules count once a path names an item of theirs.
                if found.is_item || import.name == "*" {
                    edges[module.file].extend(self.files_of(&found));
                }
            }
            for path in module.paths.iter().filter(|path| path.len() > 1) {
                let found = self
                    .find(own, path, MAX_STEPS)
                    .filter(|found| found.is_item);
                edges[module.file]
                    .extend(found.into_iter().flat_map(|found| self.files_of(&found)));
            }
            edges[module.file].remove(&module.file);
        }
        edges
    }

    fn files_of(&self, found: &Found) -> Vec<usize> {
        let passed = found.through.iter().chain([&found.module]);
        passed.map(|&module| self.modules[module].file).collect()
    }

    fn is_below(&self, mut module: usize, above: usize) -> bool {
        while module != above {
            let Some(parent) = self.modules[module].parent else {
                return false;
            };
            module = parent;
        }
        true
    }

    /// Where a path leads that stands in the module `at`; `None` for what is outside the crate.
    fn find(&self, at: usize, path: &[String], steps: usize) -> Option<Found> {
        let (first, rest) = path.split_first()?;
        let module = &self.modules[at];
        match first.as_str() {
            "crate" => self.below(0, rest, steps),
            "self" => self.below(at, rest, steps),
            "super" => {
                let parent = module.parent?;
                match rest.first().map(String::as_str) {
                    Some("super") => self.find(parent, rest, steps),
                    _ => self.below(parent, rest, steps),
                }
            }
            name => {
                let imports = || {
                    module
                        .imports
                        .iter()
                        .any(|import| import.name == name && import.path != path)
                };
                let is_known = module.children.contains_key(name) || imports();
                if is_known {
                    self.below(at, path, steps)
                } else {
                    None
                }
            }
        }
    }

    /// Where a path leads from a module on.
    fn below(&self, at: usize, path: &[String], steps: usize) -> Option<Found> {
        let found = |is_item| {
            Some(Found {
                module: at,
                is_item,
                through: Vec::new(),
            })
        };
        let Some((name, rest)) = path.split_first() else {
            return found(false);
        };
        let module = &self.modules[at];
        let import = module.imports.iter().find(|import| import.name == *name);
        // A function may have the name of the module that it is re-exported from.
        if let Some(&child) = module.children.get(name)
            && !(rest.is_empty() && import.is_some())
        {
            return self.below(child, rest, steps);
        }
        let steps = steps.checked_sub(1)?;
        if let Some(import) = import {
            let path: Path = import.path.iter().chain(rest).cloned().collect();
            let further = self.find(at, &path, steps);
            return if import.is_reexport {
                self.through(at, further)
            } else {
                further
            };
        }
        if !module.items.contains(name) {
            for glob in module.imports.iter().filter(|import| import.name == "*") {
                if let Some(Found {
                    module: from,
                    is_item: false,
                    ..
                }) = self.find(at, &glob.path, steps)
                    && from != at
                    && self.has(from, name)
                {
                    let further = self.below(from, path, steps);
                    return if glob.is_reexport {
                        self.through(at, further)
                    } else {
                        further
                    };
                }
            }
        }
        found(true)
    }

    /// What is found by a re-export of the module `at`: an item of it, if it comes from another
    /// crate.
    fn through(&self, at: usize, further: Option<Found>) -> Option<Found> {
        let mut found = further.unwrap_or(Found {
            module: at,
            is_item: true,
            through: Vec::new(),
        });
        // The root of a crate is a list of names for its users.
        if self.modules[at].parent.is_some() {
            found.through.push(at);
        }
        Some(found)
    }

    fn has(&self, at: usize, name: &str) -> bool {
        let module = &self.modules[at];
        module.items.contains(name) || module.imports.iter().any(|import| import.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edges of a crate of these files, as `from -> to`.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let text = |path: &str| {
            files
                .iter()
                .find(|(name, _)| path == format!("src/{name}"))
                .map(|(_, text)| (*text).to_owned())
        };
        let modules = Modules::of_crate("src/lib.rs", &text);
        let name = |at: usize| {
            modules.files[at]
                .trim_start_matches("src/")
                .trim_end_matches(".rs")
        };
        let edges = modules.edges();
        let all = edges
            .iter()
            .enumerate()
            .flat_map(|(from, to)| to.iter().map(move |&to| (from, to)));
        all.map(|(from, to)| format!("{} -> {}", name(from), name(to)))
            .collect()
    }

    #[test]
    fn imports_and_paths_are_edges() {
        assert_eq!(
            edges(&[
                ("lib.rs", "mod a; mod b; mod c;"),
                ("a.rs", "use crate::b::B; // crate::c::g"),
                ("b.rs", "pub struct B; fn f() { crate::c::g() }"),
                (
                    "c.rs",
                    "pub fn g() { std::mem::drop(1); other::h(\"crate::a::b\") }"
                ),
            ]),
            ["a -> b", "b -> c"]
        );
    }

    #[test]
    fn names_are_followed_through_the_root() {
        let root = "mod a; mod b; mod open; pub use b::*; pub use open::open;";
        let edges = |a| {
            let b = "mod c; pub struct B; pub(crate) fn d() {}";
            let c = "pub struct C;";
            edges(&[
                ("lib.rs", root),
                ("a.rs", a),
                ("b.rs", b),
                ("b/c.rs", c),
                ("open.rs", "pub fn open() {}"),
            ])
        };
        assert_eq!(edges("use crate::b::c::C;"), ["a -> b/c"]);
        assert_eq!(edges("use crate::{B, open};"), ["a -> b", "a -> open"]);
        assert_eq!(edges("use crate::b; fn f() { b::d(); }"), ["a -> b"]);
    }

    #[test]
    fn a_module_that_reexports_is_named_too() {
        assert_eq!(
            edges(&[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::{C, Foreign};"),
                (
                    "b.rs",
                    "mod c; pub(crate) use c::C; pub(crate) use other::Foreign;"
                ),
                ("b/c.rs", "pub struct C;"),
            ]),
            ["a -> b", "a -> b/c"]
        );
        // The items that one module re-exports of another one next to it.
        assert_eq!(
            edges(&[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "pub(crate) use crate::b::B;"),
                ("b.rs", "pub struct B;")
            ]),
            ["a -> b"]
        );
    }

    #[test]
    fn to_declare_and_reexport_is_no_edge() {
        let child = ("a.rs", "use super::Root; pub struct A;");
        assert_eq!(
            edges(&[("lib.rs", "mod a; pub use a::A; struct Root;"), child]),
            ["a -> lib"]
        );
        let both = ["lib -> a", "a -> lib"];
        assert_eq!(
            edges(&[("lib.rs", "mod a; pub use a::A; struct Root(A);"), child]),
            both
        );
        assert_eq!(
            edges(&[("lib.rs", "mod a; struct Root(a::A);"), child]),
            both
        );
        assert_eq!(
            edges(&[("lib.rs", "mod a; use a::A; struct Root;"), child]),
            both
        );
    }

    #[test]
    fn what_a_child_takes_from_its_parent_s_imports_is_where_it_stands() {
        assert_eq!(
            edges(&[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "mod child; use crate::b::B;"),
                (
                    "a/child.rs",
                    "use super::B; fn f() { super::super::b::g() }"
                ),
                ("b.rs", "pub struct B; pub fn g() {}"),
            ]),
            ["a -> b", "a/child -> b"]
        );
    }

    #[test]
    fn modules_within_a_file_are_part_of_it() {
        let a = "struct A; mod inner { use super::A; use super::super::b::B; fn f() { crate::c::d() } }";
        assert_eq!(
            edges(&[
                ("lib.rs", "mod a; mod b; mod c;"),
                ("a.rs", a),
                ("b.rs", "pub struct B;"),
                ("c.rs", "")
            ]),
            ["a -> b", "a -> c"]
        );
    }

    #[test]
    fn tests_and_other_crates_are_no_edges() {
        assert!(
            edges(&[
                ("lib.rs", "mod a; mod b; #[cfg(test)] mod tests;"),
                (
                    "a.rs",
                    "use other::b::B; #[cfg(test)] mod tests { use crate::b::B; }"
                ),
                ("b.rs", "pub struct B; // crate::a"),
                ("tests.rs", "use crate::{a, b::B}; fn f() { a::g() }"),
            ])
            .is_empty()
        );
    }
}
