//! The declarations, imports and names of one source file, as far as circles of modules need them.

use std::collections::BTreeSet;

use super::super::lexer::{Kind, Token, lex, starts_with};
use super::super::tests_in_src::without_tests;

/// Segments as they are written, such as `["super", "chain", "CodecChain"]`.
pub(super) type Path = Vec<String>;

/// The names of a file outside its tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// `mod x;`
    pub(super) children: Vec<String>,
    /// Imports and re-exports.
    pub(super) uses: Vec<Use>,
    /// Paths of two segments and more in the code.
    pub(super) paths: BTreeSet<Path>,
    /// Every other word of the code, so that a re-export that the file uses itself is known.
    pub(super) words: BTreeSet<String>,
    /// Names of the items in the file.
    pub(super) items: BTreeSet<String>,
}

/// One name that a `use` brings in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) path: Path,
    /// The name in this file; `*` for all that are there.
    pub(super) name: String,
    /// Whether others can name it here: `pub use`, `pub(crate) use`.
    pub(super) is_reexport: bool,
}

/// Keywords in front of the name of an item.
const ITEMS: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "const", "static", "type", "macro_rules"];

impl Names {
    pub(super) fn of(source: &str) -> Self {
        let tokens = without_tests(&lex(source).tokens);
        let mut names = Self::default();
        let mut reader = Reader { tokens: &tokens, at: 0, inline: Vec::new(), depth: 0 };
        while reader.at < tokens.len() {
            reader.step(&mut names);
        }
        names
    }
}

struct Reader<'t, 's> {
    tokens: &'t [Token<'s>],
    at: usize,
    /// Depths of brackets at which inline modules began.
    inline: Vec<usize>,
    depth: usize,
}

impl Reader<'_, '_> {
    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(text))
    }

    fn word(&self, at: usize) -> Option<&str> {
        self.tokens.get(at).filter(|token| token.kind == Kind::Word).map(|token| token.text)
    }

    fn step(&mut self, names: &mut Names) {
        if starts_with(self.tokens, self.at, &["use"]) {
            return self.declaration(names);
        }
        let Some(word) = self.word(self.at).map(str::to_owned) else {
            if self.is(self.at, "{") {
                self.depth += 1;
            } else if self.is(self.at, "}") {
                self.depth = self.depth.saturating_sub(1);
                self.inline.pop_if(|began| *began == self.depth);
            }
            self.at += 1;
            return;
        };
        if word == "mod" && self.word(self.at + 1).is_some() {
            let name = self.word(self.at + 1).map(str::to_owned).into_iter();
            if self.is(self.at + 2, ";") {
                names.children.extend(name);
            } else {
                names.items.extend(name);
                self.inline.push(self.depth);
            }
            self.at += 2;
            return;
        }
        if ITEMS.contains(&word.as_str()) {
            let name = self.at + 1 + usize::from(self.is(self.at + 1, "!"));
            names.items.extend(self.word(name).map(str::to_owned));
        }
        let mut path = vec![word];
        self.at += 1;
        while starts_with(self.tokens, self.at, &[":", ":"]) {
            let Some(segment) = self.word(self.at + 2) else { break };
            path.push(segment.to_owned());
            self.at += 3;
        }
        if path.len() == 1 {
            names.words.extend(path);
        } else {
            names.paths.extend(self.within_file(path));
        }
    }

    /// Reads `use …;`.
    fn declaration(&mut self, names: &mut Names) {
        let before = self.at.checked_sub(1);
        let is_reexport = before.is_some_and(|at| self.is(at, "pub") || self.is(at, ")"));
        self.at += 1;
        self.tree(&Path::new(), is_reexport, names);
    }

    /// Reads what may follow a path in a `use`: segments, a group, `*`, or `as` with a name.
    fn tree(&mut self, prefix: &Path, is_reexport: bool, names: &mut Names) {
        let mut path = prefix.clone();
        loop {
            if self.is(self.at, ":") {
                self.at += 1;
            } else if self.is(self.at, "{") {
                self.at += 1;
                while self.at < self.tokens.len() && !self.is(self.at, "}") {
                    self.tree(&path, is_reexport, names);
                    self.at += usize::from(self.is(self.at, ","));
                }
                self.at += 1;
                return;
            } else if self.is(self.at, "as") {
                let name = self.word(self.at + 1).unwrap_or("_").to_owned();
                self.at += 2;
                return self.bring(path, name, is_reexport, names);
            } else if self.is(self.at, "*") {
                self.at += 1;
                return self.bring(path, "*".to_owned(), is_reexport, names);
            } else if let Some(word) = self.word(self.at) {
                path.push(word.to_owned());
                self.at += 1;
            } else {
                let name = path.last().cloned().unwrap_or_default();
                if !self.is(self.at, ",") && !self.is(self.at, "}") {
                    self.at += 1;
                }
                return self.bring(path, name, is_reexport, names);
            }
        }
    }

    fn bring(&self, mut path: Path, mut name: String, is_reexport: bool, names: &mut Names) {
        // `use a::{self}` names the module.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
            if name == "self" {
                name = path.last().cloned().unwrap_or_default();
            }
        }
        if let Some(path) = self.within_file(path) {
            names.uses.push(Use { path, name, is_reexport });
        }
    }

    /// A path as the file itself would write it: a module that stands in the file has one `super`
    /// more. `None` for paths that stay within the file.
    fn within_file(&self, mut path: Path) -> Option<Path> {
        let n_super = path.iter().take_while(|segment| *segment == "super").count();
        let inline = self.inline.len();
        if inline == 0 || path[0] == "crate" {
            return Some(path);
        }
        if n_super < inline {
            return None;
        }
        path.drain(..inline);
        if n_super == inline {
            path.insert(0, "self".to_owned());
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(source: &str) -> Vec<(String, String, bool)> {
        let uses = Names::of(source).uses.into_iter();
        uses.map(|found| (found.path.join("::"), found.name, found.is_reexport)).collect()
    }

    fn paths(source: &str) -> Vec<String> {
        Names::of(source).paths.into_iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn imports_are_taken_apart() {
        let found = |path: &str, name: &str, is_reexport| (path.to_owned(), name.to_owned(), is_reexport);
        assert_eq!(uses("use a::b;"), [found("a::b", "b", false)]);
        assert_eq!(
            uses("use crate::{a::{self, B, c::*}, D as E};\nuse super::F as _;"),
            [
                found("crate::a", "a", false),
                found("crate::a::B", "B", false),
                found("crate::a::c", "*", false),
                found("crate::D", "E", false),
                found("super::F", "_", false),
            ]
        );
        assert_eq!(
            uses("pub use a::B;\npub(crate) use c::D;\nfn f() { use e::F; }"),
            [found("a::B", "B", true), found("c::D", "D", true), found("e::F", "F", false)]
        );
    }

    #[test]
    fn paths_are_found_in_code_alone() {
        assert_eq!(
            paths("let a: crate::b::C = super::d::<u8>(x); // crate::e::F\n\"crate::g\"; h.i()"),
            ["crate::b::C", "super::d"]
        );
        assert!(paths("#[cfg(test)] mod tests { use super::*; fn f() { crate::a::b() } }").is_empty());
    }

    #[test]
    fn modules_within_the_file_are_part_of_it() {
        let source = "mod inner { use super::a; use super::super::B; fn f() { g::h(); crate::c::d() } }
            fn i() { j::k(); }";
        let names = Names::of(source);
        assert_eq!(paths(source), ["crate::c::d", "j::k"]);
        let uses: Vec<String> = names.uses.iter().map(|found| found.path.join("::")).collect();
        assert_eq!(uses, ["self::a", "super::B"]);
        assert!(names.children.is_empty() && names.items.contains("inner"));
    }

    #[test]
    fn items_and_children_are_known() {
        let names = Names::of("mod a; pub struct B; macro_rules! c { () => {} } #[cfg(test)] mod tests;");
        assert_eq!(names.children, ["a"]);
        assert_eq!(names.items.iter().collect::<Vec<_>>(), ["B", "c"]);
    }
}
