//! The modules of a crate, and which file names items of which other.

mod edges;
mod imports;

use std::collections::{BTreeMap, BTreeSet};

use super::tests_in_src::{closing, without_tests};
use super::tokens::{Kind, Token, tokens};
use imports::{Import, Path, leaves};

/// Keywords in front of the name of an item.
const ITEMS: [&str; 9] = [
    "fn",
    "struct",
    "enum",
    "union",
    "trait",
    "const",
    "static",
    "type",
    "macro_rules",
];

/// The modules of one crate.
#[derive(Debug, Default)]
pub(super) struct Modules {
    /// In the order of the indices of [`edges`](Self::edges).
    pub(super) files: Vec<String>,
    modules: Vec<Module>,
}

/// A module: a file, or a part of one in braces.
#[derive(Debug, Default)]
struct Module {
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    imports: Vec<Import>,
    /// Paths in the code, and single words.
    paths: BTreeSet<Path>,
    items: BTreeSet<String>,
}

impl Modules {
    /// Follows the declarations from the root file of a crate; `text` gives the content of a file,
    /// if there is one.
    pub(super) fn of_crate(root: &str, text: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut modules = Self::default();
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        modules.add_file(root, folder, None, text);
        modules
    }

    fn add_file(
        &mut self,
        path: &str,
        folder: &str,
        parent: Option<usize>,
        text: &dyn Fn(&str) -> Option<String>,
    ) -> Option<usize> {
        let source = text(path)?;
        let tokens = without_tests(&tokens(&source));
        self.files.push(path.to_owned());
        Some(self.add(self.files.len() - 1, folder, parent, &tokens, text))
    }

    fn add(
        &mut self,
        file: usize,
        folder: &str,
        parent: Option<usize>,
        tokens: &[Token<'_>],
        text: &dyn Fn(&str) -> Option<String>,
    ) -> usize {
        let own = self.modules.len();
        self.modules.push(Module {
            file,
            parent,
            ..Module::default()
        });
        let mut at = 0;
        while at < tokens.len() {
            let word = tokens[at];
            let next = tokens.get(at + 1).filter(|token| token.kind == Kind::Word);
            if let Some(name) = next.filter(|_| word.is("mod")) {
                let below = format!("{folder}/{}", name.text);
                let mut end = at + 2;
                let child = if tokens.get(end).is_some_and(|token| token.is("{")) {
                    let inside = end + 1;
                    end = closing(tokens, end).unwrap_or(tokens.len());
                    Some(self.add(file, &below, Some(own), &tokens[inside..end], text))
                } else {
                    self.add_file(&format!("{below}.rs"), &below, Some(own), text)
                };
                self.modules[own]
                    .children
                    .extend(child.map(|child| (name.text.to_owned(), child)));
                at = end + 1;
            } else if word.is("use") {
                let len = tokens[at..]
                    .iter()
                    .position(|token| token.is(";"))
                    .unwrap_or(tokens.len() - at);
                let tree: Vec<&str> = tokens[at + 1..at + len]
                    .iter()
                    .map(|token| token.text)
                    .collect();
                let is_reexport = at > 0 && (tokens[at - 1].is("pub") || tokens[at - 1].is(")"));
                let leaves = leaves(&tree.join(" ").replace(" : : ", "::"), &[]);
                self.modules[own]
                    .imports
                    .extend(leaves.into_iter().map(|(path, name)| Import {
                        path,
                        name,
                        is_reexport,
                    }));
                at += len;
            } else if word.kind == Kind::Word {
                if let Some(name) = next.filter(|_| ITEMS.contains(&word.text)) {
                    self.modules[own].items.insert(name.text.to_owned());
                }
                let mut path = vec![word.text.to_owned()];
                at += 1;
                while let [first, second, segment, ..] = &tokens[at..]
                    && first.is(":")
                    && second.is(":")
                    && segment.kind == Kind::Word
                {
                    path.push(segment.text.to_owned());
                    at += 3;
                }
                self.modules[own].paths.insert(path);
            } else {
                at += 1;
            }
        }
        own
    }
}
