//! The modules of a crate, each a file, and which module names items of which other.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{Names, Path};

/// How many re-exports a name is followed through.
const MAX_REEXPORTS: usize = 16;

/// The modules of one crate.
#[derive(Debug, Default)]
pub(super) struct Modules(Vec<Module>);

#[derive(Debug)]
struct Module {
    /// The file.
    path: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    names: Names,
}

/// The target of a path.
enum Target {
    /// An item of the module.
    Item(usize),
    /// The module itself.
    Module(usize),
}

impl Modules {
    /// Follows the declarations from the root file of a crate; `text` gives the content of a file,
    /// if there is one.
    pub(super) fn of_crate(root: &str, text: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut modules = Self::default();
        if let Some(source) = text(root) {
            modules.add(root, None, &source, text);
        }
        modules
    }

    fn add(
        &mut self,
        path: &str,
        parent: Option<usize>,
        source: &str,
        text: &dyn Fn(&str) -> Option<String>,
    ) -> usize {
        let at = self.0.len();
        let names = Names::of(source);
        let declared = names.children.clone();
        self.0.push(Module { path: path.to_owned(), parent, children: BTreeMap::new(), names });
        let folder = match (parent, path.rsplit_once('/')) {
            (None, Some((folder, _))) => folder,
            _ => path.strip_suffix(".rs").unwrap_or(path),
        };
        for name in declared {
            let child = format!("{folder}/{name}.rs");
            if let Some(source) = text(&child) {
                let child = self.add(&child, Some(at), &source, text);
                self.0[at].children.insert(name, child);
            }
        }
        at
    }

    /// The files, in the order of the indices of [`edges`](Self::edges).
    pub(super) fn paths(&self) -> Vec<&str> {
        self.0.iter().map(|module| module.path.as_str()).collect()
    }

    /// For each module those whose items it names, other than to re-export them.
    pub(super) fn edges(&self) -> Vec<BTreeSet<usize>> {
        (0..self.0.len()).map(|at| self.named_by(at)).collect()
    }

    fn named_by(&self, at: usize) -> BTreeSet<usize> {
        let names = &self.0[at].names;
        let is_used = |name: &str| {
            names.words.contains(name)
                || names.paths.iter().any(|path| path.first().is_some_and(|p| p == name))
        };
        let imported = names.uses.iter().filter(|found| !found.is_reexport || is_used(&found.name));
        let mut to = BTreeSet::new();
        for found in imported {
            match self.target(at, &found.path, MAX_REEXPORTS) {
                Some(Target::Item(module)) => to.extend([module]),
                // Every item; other modules count once a path names an item of theirs.
                Some(Target::Module(module)) if found.name == "*" => to.extend([module]),
                _ => {}
            }
        }
        for path in &names.paths {
            if let Some(Target::Item(module)) = self.target(at, path, MAX_REEXPORTS) {
                to.insert(module);
            }
        }
        to.remove(&at);
        to
    }

    /// Where a path leads that stands in the module `at`; `None` for what is outside the crate.
    fn target(&self, at: usize, path: &[String], reexports: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.below(0, rest, reexports),
            "self" => self.below(at, rest, reexports),
            "super" => {
                let mut module = self.0[at].parent?;
                let mut rest = rest;
                while let Some(("super", more)) = rest.split_first().map(|(s, more)| (s.as_str(), more)) {
                    (module, rest) = (self.0[module].parent?, more);
                }
                self.below(module, rest, reexports)
            }
            name => {
                let module = &self.0[at];
                let is_known = module.children.contains_key(name)
                    || module.names.uses.iter().any(|found| found.name == name && found.path != path);
                if is_known { self.below(at, path, reexports) } else { None }
            }
        }
    }

    /// Where a path leads from a module on.
    fn below(&self, at: usize, path: &[String], reexports: usize) -> Option<Target> {
        let Some((name, rest)) = path.split_first() else { return Some(Target::Module(at)) };
        let module = &self.0[at];
        let child = module.children.get(name).copied();
        // A function may have the name of the module that it is re-exported from.
        if let Some(child) = child
            && !(rest.is_empty() && self.import(at, name).is_some())
        {
            return self.below(child, rest, reexports);
        }
        if let Some(import) = self.import(at, name) {
            if reexports == 0 {
                return None;
            }
            let path: Path = import.iter().chain(rest).cloned().collect();
            return self.target(at, &path, reexports - 1);
        }
        if !module.names.items.contains(name) && reexports > 0 {
            let globs = module.names.uses.iter().filter(|found| found.name == "*");
            for glob in globs {
                if let Some(Target::Module(from)) = self.target(at, &glob.path, reexports - 1)
                    && from != at
                    && self.has(from, name)
                {
                    return self.below(from, path, reexports - 1);
                }
            }
        }
        Some(Target::Item(at))
    }

    fn import(&self, at: usize, name: &str) -> Option<&Path> {
        let found = self.0[at].names.uses.iter().find(|found| found.name == name)?;
        Some(&found.path)
    }

    fn has(&self, at: usize, name: &str) -> bool {
        self.0[at].names.items.contains(name) || self.import(at, name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edges of a crate of these files, as `from -> to`.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let text = |path: &str| {
            files.iter().find(|(name, _)| path == format!("src/{name}")).map(|(_, text)| (*text).to_owned())
        };
        let modules = Modules::of_crate("src/lib.rs", &text);
        let paths = modules.paths();
        let name = |at: usize| paths[at].trim_start_matches("src/").trim_end_matches(".rs");
        let edges = modules.edges();
        let all = edges.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |&to| (from, to)));
        all.map(|(from, to)| format!("{} -> {}", name(from), name(to))).collect()
    }

    #[test]
    fn imports_and_paths_are_edges() {
        assert_eq!(
            edges(&[
                ("lib.rs", "mod a; mod b; mod c;"),
                ("a.rs", "use crate::b::B;"),
                ("b.rs", "pub struct B; fn f() { crate::c::g() }"),
                ("c.rs", "pub fn g() { std::mem::drop(1); other::h() }"),
            ]),
            ["a -> b", "b -> c"]
        );
    }

    #[test]
    fn names_are_followed_through_reexports() {
        let root = "mod a; mod b; mod open; pub use b::*; pub use open::open;";
        let b = ("b.rs", "mod c; pub use c::C; pub struct B;");
        let edges = |a| {
            edges(&[
                ("lib.rs", root),
                ("a.rs", a),
                b,
                ("b/c.rs", "pub struct C;"),
                ("open.rs", "pub fn open() {}"),
            ])
        };
        assert_eq!(edges("use crate::b::C;"), ["a -> b/c"]);
        assert_eq!(edges("use crate::C;"), ["a -> b/c"]);
        assert_eq!(edges("use crate::{B, open};"), ["a -> b", "a -> open"]);
        assert_eq!(edges("use crate::b; fn f() { b::C; }"), ["a -> b/c"]);
    }

    #[test]
    fn to_declare_and_reexport_is_no_edge() {
        let child = ("a.rs", "use super::Root; pub struct A;");
        assert_eq!(edges(&[("lib.rs", "mod a; pub use a::A; struct Root;"), child]), ["a -> lib"]);
        let both = ["lib -> a", "a -> lib"];
        assert_eq!(edges(&[("lib.rs", "mod a; pub use a::A; struct Root(A);"), child]), both);
        assert_eq!(edges(&[("lib.rs", "mod a; struct Root(a::A);"), child]), both);
        assert_eq!(edges(&[("lib.rs", "mod a; use a::A; struct Root;"), child]), both);
    }

    #[test]
    fn what_a_child_takes_from_its_parent_s_imports_is_where_it_stands() {
        assert_eq!(
            edges(&[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "mod child; use crate::b::B;"),
                ("a/child.rs", "use super::B; fn f() { super::super::b::g() }"),
                ("b.rs", "pub struct B; pub fn g() {}"),
            ]),
            ["a -> b", "a/child -> b"]
        );
    }

    #[test]
    fn tests_and_other_crates_are_no_edges() {
        assert!(
            edges(&[
                ("lib.rs", "mod a; mod b; #[cfg(test)] mod tests;"),
                ("a.rs", "use other::b::B; #[cfg(test)] mod tests { use crate::b::B; }"),
                ("b.rs", "pub struct B; // crate::a"),
                ("tests.rs", "use crate::{a, b::B}; fn f() { a::g() }"),
            ])
            .is_empty()
        );
    }
}
