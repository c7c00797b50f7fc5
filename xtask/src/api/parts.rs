//! The public parts of the items of a crate, from its sources as rustfmt lays them out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Signatures, fields, variants, derived and implemented traits, by the name of the item.
#[derive(Debug, Default)]
pub(super) struct Parts {
    items: BTreeMap<String, Vec<String>>,
    /// The public lines of macros, with the first words of the lines that they are called with.
    macros: Vec<(Vec<String>, Vec<String>)>,
}

/// A block at the edge of a file.
struct Block {
    /// The item that it belongs to.
    name: String,
    /// What stands before each part: the head of an `impl`.
    label: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Struct,
    Enum,
    Trait,
    Impl,
}

impl Parts {
    /// Those of the files of a folder that `takes` accepts by their path in it.
    pub(super) fn of(folder: &Path, takes: &dyn Fn(&str) -> bool) -> Result<Self, String> {
        let mut parts = Self::default();
        let mut pending: Vec<PathBuf> = vec![folder.to_owned()];
        while let Some(path) = pending.pop() {
            let Ok(entries) = fs::read_dir(&path) else {
                continue;
            };
            for entry in entries.flatten().map(|entry| entry.path()) {
                let inside = entry
                    .strip_prefix(folder)
                    .map_err(|error| error.to_string())?;
                if entry.is_dir() {
                    pending.push(entry);
                } else if entry.extension().is_some_and(|ending| ending == "rs")
                    && takes(&inside.to_string_lossy())
                {
                    let text = fs::read_to_string(&entry).map_err(|error| error.to_string())?;
                    parts.add(
                        text.split("\n#[cfg(test)]\nmod tests {")
                            .next()
                            .unwrap_or_default(),
                    );
                }
            }
        }
        Ok(parts)
    }

    /// The names of the types and traits that are defined here.
    pub(super) fn types(&self) -> impl Iterator<Item = String> {
        const KINDS: [&str; 4] = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
        let is_defined = |part: &String| KINDS.iter().any(|kind| part.starts_with(kind));
        self.items
            .iter()
            .filter(move |(_, parts)| parts.iter().any(is_defined))
            .map(|(name, _)| name.clone())
    }

    /// The parts of an item.
    pub(super) fn of_item(&self, name: &str) -> Vec<String> {
        let mut parts = self.items.get(name).cloned().unwrap_or_default();
        if parts.is_empty() {
            let by_macro = self
                .macros
                .iter()
                .find(|(_, calls)| calls.iter().any(|call| call == name));
            let lines = by_macro.map(|(lines, _)| &lines[..]).unwrap_or_default();
            parts.extend(lines.iter().map(|line| line.replace("$name", name)));
        }
        parts
    }

    /// Adds those of a file.
    fn add(&mut self, text: &str) {
        self.add_macros(text);
        let mut block: Option<Block> = None;
        let mut statement = String::new();
        let mut attributes = Vec::new();
        let mut hidden = false;
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.starts_with("//") {
                continue;
            }
            if trimmed.starts_with('#') {
                hidden |= trimmed == "#[doc(hidden)]";
                let is_listed = ["#[non_exhaustive", "#[derive("]
                    .iter()
                    .any(|start| trimmed.starts_with(start));
                if is_listed && line == trimmed {
                    attributes.push(trimmed.to_owned());
                }
                continue;
            }
            let is_top = !line.starts_with([' ', '}', ')', '/']) && !line.is_empty();
            if is_top || !statement.is_empty() && block.is_none() {
                hidden = false;
                push(&mut statement, trimmed);
                if trimmed.ends_with(['{', ';', '}']) {
                    let head = std::mem::take(&mut statement);
                    block = self.head(head.trim(), std::mem::take(&mut attributes));
                }
                continue;
            }
            if line == "}" {
                block = None;
                continue;
            }
            let Some(Block { name, label, kind }) = &block else {
                continue;
            };
            let depth = line.len() - line.trim_start().len();
            let begins = depth == 4
                && match kind {
                    Kind::Trait => ["fn ", "type ", "const "]
                        .iter()
                        .any(|word| trimmed.starts_with(word)),
                    Kind::Enum => trimmed.starts_with(char::is_uppercase),
                    Kind::Struct | Kind::Impl => trimmed.starts_with("pub "),
                };
            if !begins && statement.is_empty() {
                continue;
            }
            push(&mut statement, trimmed);
            let ends = match kind {
                Kind::Struct | Kind::Enum => depth == 4 && trimmed.ends_with(','),
                // The value of a constant may have blocks.
                Kind::Trait | Kind::Impl if is_constant(&statement) => trimmed.ends_with(';'),
                Kind::Trait | Kind::Impl => trimmed.ends_with(['{', ';', '}']),
            };
            if ends {
                let part = format!("{label}{}", finished(&std::mem::take(&mut statement)));
                if !std::mem::take(&mut hidden) {
                    self.items.entry(name.clone()).or_default().push(part);
                }
            }
        }
    }

    /// What a line at the edge of a file begins.
    fn head(&mut self, head: &str, attributes: Vec<String>) -> Option<Block> {
        let signature = finished(head);
        for kind in [
            "struct", "enum", "trait", "fn", "async fn", "const fn", "type",
        ] {
            let Some(rest) = head.strip_prefix(&format!("pub {kind} ")) else {
                continue;
            };
            let name = first_word(rest);
            let parts = self.items.entry(name.clone()).or_default();
            parts.extend(attributes);
            parts.push(without_private(&signature));
            let kind = match kind {
                "struct" => Kind::Struct,
                "enum" => Kind::Enum,
                "trait" => Kind::Trait,
                _ => return None,
            };
            return head.ends_with('{').then(|| Block {
                name,
                label: String::new(),
                kind,
            });
        }
        let rest = head.strip_prefix("impl")?;
        let mut depth = 0;
        let end = rest.char_indices().find(|&(_, c)| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0
        })?;
        let of = if rest.starts_with('<') {
            &rest[end.0 + 1..]
        } else {
            rest
        };
        match of.split_once(" for ") {
            Some((_, of)) => {
                let name = first_word(of.trim_start_matches('&'));
                self.items.entry(name).or_default().push(signature);
                None
            }
            None => {
                let name = first_word(of);
                let label = format!("{signature}: ");
                head.ends_with('{').then_some(Block {
                    name,
                    label,
                    kind: Kind::Impl,
                })
            }
        }
    }

    /// Adds the macros of a file: those for users as items, those that define items by their calls.
    fn add_macros(&mut self, text: &str) {
        let mut exported = false;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(name) = line
                .strip_prefix("macro_rules! ")
                .and_then(|rest| rest.strip_suffix(" {"))
            else {
                exported = line == "#[macro_export]";
                continue;
            };
            let body = lines
                .by_ref()
                .take_while(|line| *line != "}")
                .map(str::trim);
            if exported {
                let arms = body
                    .filter_map(|line| line.strip_suffix(" => {"))
                    .filter(|arm| arm.starts_with('('));
                // Arms that begin with an `@` are for the macro itself.
                let arms = arms.filter(|arm| !arm.starts_with("(@"));
                self.items
                    .entry(name.to_owned())
                    .or_default()
                    .extend(arms.map(str::to_owned));
                continue;
            }
            let starts = ["pub ", "impl ", "impl<", "#[derive("];
            let public = body.filter(|line| starts.iter().any(|start| line.starts_with(start)));
            let public: Vec<String> = public
                .map(finished)
                .map(|line| without_private(&line))
                .collect();
            let (_, calls) = text
                .split_once(&format!("\n{name}! {{\n"))
                .unwrap_or_default();
            let calls = calls.lines().take_while(|line| *line != "}");
            let calls = calls
                .map(|line| first_word(line.trim()))
                .filter(|word| !word.is_empty())
                .collect();
            if public.iter().any(|line| line.starts_with("pub struct ")) {
                self.macros.push((public, calls));
            }
        }
    }
}

/// Adds a line to a statement.
fn push(statement: &mut String, line: &str) {
    statement.push_str(line);
    statement.push(' ');
}

fn is_constant(statement: &str) -> bool {
    let rest = statement.trim_start_matches("pub ").strip_prefix("const ");
    rest.is_some_and(|rest| {
        !["fn ", "unsafe fn "]
            .iter()
            .any(|word| rest.starts_with(word))
    })
}

/// A statement on one line, without what follows its signature.
fn finished(statement: &str) -> String {
    let statement = statement
        .trim()
        .trim_end_matches("{}")
        .trim_end_matches([' ', '{', ';', ',']);
    statement
        .replace("( ", "(")
        .replace(", )", ")")
        .replace(", }", " }")
}

fn first_word(text: &str) -> String {
    let text = text.trim_start();
    text.split(['<', ' ', '(', ':', ';', '=', ',', '{', '/', '#'])
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The head of a struct, with `_` for the private fields of a tuple.
fn without_private(head: &str) -> String {
    let is_tuple = head.starts_with("pub struct ") && head.ends_with(')');
    let Some((start, fields)) = head.split_once('(').filter(|_| is_tuple) else {
        return head.to_owned();
    };
    let mut depth = 0;
    let parts = fields.trim_end_matches(')').split(|c| {
        depth += i32::from("<([".contains(c)) - i32::from(">)]".contains(c));
        c == ',' && depth == 0
    });
    let public = parts.map(str::trim).map(|field| {
        if field.starts_with("pub ") {
            field
        } else {
            "_"
        }
    });
    format!("{start}({})", public.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Parts {
        let mut parts = Parts::default();
        parts.add(text);
        parts
    }

    #[test]
    fn signatures_are_one_line_each() {
        let parts = parts(
            "#[derive(Clone)]\npub struct A<T> {\n    pub x: u8,\n    y: T,\n}\n\nimpl<T: Into<u8>> A<T> {\n    /// Doc.\n    pub fn f(\n        &self,\n    ) -> u8 {\n        1\n    }\n\n    fn g() {}\n}\n\nimpl Copy for A<u8> {}\n",
        );
        let expected = [
            "#[derive(Clone)]",
            "pub struct A<T>",
            "pub x: u8",
            "impl<T: Into<u8>> A<T>: pub fn f(&self) -> u8",
            "impl Copy for A<u8>",
        ];
        assert_eq!(parts.of_item("A"), expected);
    }

    #[test]
    fn variants_have_their_fields() {
        let parts = parts(
            "#[non_exhaustive]\npub enum E {\n    /// Doc.\n    A,\n    B { x: u8 },\n    C {\n        /// Doc.\n        x: u8,\n        y: Vec<u8>,\n    },\n    D(u8),\n}\npub struct P(Box<(u8, u8)>, pub u8);\n",
        );
        let expected = [
            "#[non_exhaustive]",
            "pub enum E",
            "A",
            "B { x: u8 }",
            "C { x: u8, y: Vec<u8> }",
            "D(u8)",
        ];
        assert_eq!(parts.of_item("E"), expected);
        assert_eq!(parts.of_item("P"), ["pub struct P(_, pub u8)"]);
    }

    #[test]
    fn macros_stand_for_what_they_define() {
        let parts = parts(
            "macro_rules! number {\n    ($name:ident) => {\n        pub struct $name(u8);\n\n        impl $name {\n            pub fn get(self) -> u8 {\n                self.0\n            }\n        }\n    };\n}\nnumber! {\n    /// Doc.\n    One, 1;\n    Two, 2;\n}\n#[macro_export]\nmacro_rules! own {\n    ($x:ident) => {\n        $x\n    };\n    (@inner $x:ident) => {\n        $x\n    };\n}\n",
        );
        assert_eq!(
            parts.of_item("Two"),
            ["pub struct Two(_)", "impl Two", "pub fn get(self) -> u8"]
        );
        assert_eq!(parts.of_item("own"), ["($x:ident)"]);
        assert!(parts.of_item("Doc").is_empty());
    }
}
