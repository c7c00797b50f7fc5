//! `cargo xtask api`: the list of the public API of the facade, so that every change of it shows in a diff.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;

use crate::python;

/// Where the list is.
const LIST: &str = "crates/ndzarr/public-api.txt";

/// More items are not promised.
const MOST: usize = 150;

/// Compare the list of the public API with the sources.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// Write the list anew.
    #[arg(long)]
    write: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let root = python::repository();
    let found = list(&root)?;
    let path = root.join(LIST);
    if args.write {
        return fs::write(&path, found).map_err(|error| format!("{LIST}: {error}"));
    }
    let listed = fs::read_to_string(&path).map_err(|error| format!("{LIST}: {error}"))?;
    compare(&listed, &found)
}

fn compare(listed: &str, found: &str) -> Result<(), String> {
    let (listed, found): (BTreeSet<&str>, BTreeSet<&str>) =
        (listed.lines().collect(), found.lines().collect());
    let mut changes = String::new();
    for line in listed.difference(&found) {
        let _ = writeln!(changes, "- {line}");
    }
    for line in found.difference(&listed) {
        let _ = writeln!(changes, "+ {line}");
    }
    match changes.is_empty() {
        true => Ok(()),
        false => Err(format!("the public API is not that of {LIST}; `cargo xtask api --write`:\n{changes}")),
    }
}

/// A re-exported item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Export {
    /// As users write it, without `ndzarr::`.
    public: String,
    /// The crate that it comes from, and its name there.
    from: String,
    name: String,
}

/// The list, a line for each item and each of its public parts.
fn list(root: &Path) -> Result<String, String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let mut exports = exports(&read("crates/ndzarr/src/lib.rs")?, "");
    exports.retain(|export| export.public != "asynchronous");
    exports.extend(self::exports(&read("crates/ndzarr-array/src/asynchronous.rs")?, "asynchronous::"));
    exports.sort();
    exports.dedup();
    if exports.len() > MOST {
        return Err(format!("the facade has {} items, more than {MOST}", exports.len()));
    }
    let mut crates: BTreeMap<String, Parts> = BTreeMap::new();
    let mut out = String::new();
    for export in &exports {
        let Export { public, from, name } = export;
        if !crates.contains_key(from) {
            crates.insert(from.clone(), Parts::of_crate(&root.join("crates").join(from))?);
        }
        let _ = writeln!(out, "{public}");
        let library = read(&format!("crates/{from}/src/lib.rs")).unwrap_or_default();
        let name = renamed(&library, name);
        let sources = crates.get(from).into_iter();
        let mut parts: Vec<&String> = sources.filter_map(|parts| parts.0.get(&name)).flatten().collect();
        parts.sort();
        parts.dedup();
        for part in parts {
            let _ = writeln!(out, "{public}: {part}");
        }
    }
    Ok(out)
}

/// The name that an item has in its own module, where the root of its crate gives it another.
fn renamed(library: &str, name: &str) -> String {
    let end = format!(" as {name};");
    let own = library.lines().find_map(|line| line.strip_suffix(&end)?.rsplit("::").next());
    own.unwrap_or(name).to_owned()
}

/// The items that a file re-exports or defines as types; inline modules are followed.
fn exports(text: &str, module: &str) -> Vec<Export> {
    let mut found = Vec::new();
    let (mut inline, mut pending) = (String::new(), String::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with("//") || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(" {")) {
            inline = format!("{name}::");
        } else if line == "}" {
            inline.clear();
        } else if line.starts_with("pub use ") || line.starts_with("pub type ") || !pending.is_empty() {
            pending.push_str(line);
            pending.push(' ');
            if line.ends_with(';') {
                found.extend(statement(&std::mem::take(&mut pending), &format!("{module}{inline}")));
            }
        }
    }
    found
}

/// The items of a `pub use` or `pub type`.
fn statement(text: &str, module: &str) -> Vec<Export> {
    let text = text.trim().trim_end_matches(';');
    let own = |name: &str| Export {
        public: format!("{module}{name}"),
        from: "ndzarr-array".to_owned(),
        name: name.to_owned(),
    };
    if let Some(alias) = text.strip_prefix("pub type ") {
        let name = alias.split(['<', ' ', '=']).next().unwrap_or_default();
        return vec![own(name)];
    }
    let path = text.trim_start_matches("pub use ");
    let (from, names) = match path.split_once("::{") {
        Some((from, names)) => (from, names.trim_end_matches('}').to_owned()),
        None => match path.rsplit_once("::") {
            Some((from, name)) => (from, name.to_owned()),
            None => (path, path.to_owned()),
        },
    };
    let from = from.split("::").next().unwrap_or_default().replace('_', "-");
    let from = match from.strip_prefix("ndzarr-") {
        Some(_) => from,
        // Of the file's own modules.
        None if from == "ndarray" => from,
        None if module.is_empty() => "ndzarr-store".to_owned(),
        None => "ndzarr-array".to_owned(),
    };
    let export = |name: &str| {
        let name = name.trim();
        Export { public: format!("{module}{name}"), from: from.clone(), name: name.to_owned() }
    };
    names.split(',').filter(|name| !name.trim().is_empty()).map(export).collect()
}

/// The public parts of the items of a crate by their names: signatures, fields, variants.
#[derive(Debug, Default)]
struct Parts(BTreeMap<String, Vec<String>>);

impl Parts {
    fn of_crate(folder: &Path) -> Result<Self, String> {
        let mut parts = Self::default();
        let mut pending: Vec<PathBuf> = vec![folder.join("src")];
        while let Some(path) = pending.pop() {
            let Ok(entries) = fs::read_dir(&path) else { continue };
            for entry in entries.flatten().map(|entry| entry.path()) {
                if entry.is_dir() {
                    pending.push(entry);
                } else if entry.extension().is_some_and(|ending| ending == "rs") {
                    let text = fs::read_to_string(&entry).map_err(|error| error.to_string())?;
                    parts.add(text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default());
                }
            }
        }
        Ok(parts)
    }

    /// Adds those of a file, as rustfmt lays it out.
    fn add(&mut self, text: &str) {
        let (mut block, mut statement): (Option<(String, String)>, String) = (None, String::new());
        for line in text.lines() {
            let is_top = !line.starts_with([' ', '}', ')', '/', '#']) && !line.is_empty();
            let trimmed = line.trim();
            if trimmed.starts_with("//") || trimmed.starts_with('#') {
                continue;
            }
            if is_top || !statement.is_empty() && block.is_none() {
                statement.push_str(trimmed);
                statement.push(' ');
                if trimmed.ends_with(['{', ';', '}']) {
                    let head = std::mem::take(&mut statement);
                    block = self.head(head.trim());
                }
                continue;
            }
            if line == "}" {
                block = None;
                continue;
            }
            let Some((name, kind)) = &block else { continue };
            let depth = line.len() - line.trim_start().len();
            let begins = depth == 4
                && match kind.as_str() {
                    "trait" => ["fn ", "type ", "const "].iter().any(|word| trimmed.starts_with(word)),
                    "enum" => trimmed.starts_with(char::is_uppercase),
                    _ => trimmed.starts_with("pub "),
                };
            if begins || !statement.is_empty() {
                statement.push_str(trimmed);
                statement.push(' ');
                let is_item = matches!(kind.as_str(), "struct" | "enum");
                if trimmed.ends_with(['{', ';']) || (is_item && trimmed.ends_with(',')) {
                    let part = statement.trim().trim_end_matches([' ', '{', ';', ',']).to_owned();
                    let part = match kind.strip_prefix("impl ") {
                        Some(of) => format!("{of}: {part}"),
                        None => part,
                    };
                    self.0.entry(name.clone()).or_default().push(part);
                    statement.clear();
                }
            }
        }
    }

    /// What a line at the edge of a file begins: the name of the type, and the kind of the block.
    fn head(&mut self, head: &str) -> Option<(String, String)> {
        let words =
            |text: &str| text.split(['<', ' ', '(', ':', ';', '=']).next().unwrap_or_default().to_owned();
        let signature = head.trim_end_matches([' ', '{', ';']).to_owned();
        for kind in ["struct", "enum", "trait", "fn", "async fn", "type"] {
            let Some(rest) = head.strip_prefix(&format!("pub {kind} ")) else { continue };
            let name = words(rest);
            self.0.entry(name.clone()).or_default().push(signature);
            let has_parts = head.ends_with('{') && !kind.ends_with("fn");
            return has_parts.then(|| (name, kind.to_owned()));
        }
        let rest = head.strip_prefix("impl")?;
        let mut depth = 0;
        let end = rest.char_indices().find(|&(_, c)| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0
        })?;
        let of = if rest.starts_with('<') { &rest[end.0 + 1..] } else { rest };
        let of = of.trim().trim_end_matches([' ', '{', '}']).to_owned();
        match of.split_once(" for ") {
            Some((implemented, of)) => {
                let name = words(of.trim_start_matches('&'));
                let line = format!("impl {implemented} for {of}");
                self.0.entry(name).or_default().push(line);
                None
            }
            None => Some((words(&of), format!("impl {of}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_api_is_the_listed_one() {
        run(&Args { write: false }).unwrap_or_else(|changes| panic!("{changes}"));
    }

    #[test]
    fn items_and_their_parts_are_found() {
        let exports = exports(
            "pub use ndzarr_array::{\n    A, B,\n};\npub mod m {\n    pub use ndzarr_store::c;\n}\n",
            "",
        );
        let names: Vec<(&str, &str)> =
            exports.iter().map(|export| (&export.public[..], &export.from[..])).collect();
        assert_eq!(names, [("A", "ndzarr-array"), ("B", "ndzarr-array"), ("m::c", "ndzarr-store")]);
        let mut parts = Parts::default();
        parts.add("pub struct A<T> {\n    pub x: u8,\n    y: T,\n}\n\nimpl<T: Into<u8>> A<T> {\n    /// Doc.\n    pub fn f(\n        &self,\n    ) -> u8 {\n        1\n    }\n\n    fn g() {}\n}\n\nimpl Copy for A<u8> {}\n");
        let expected =
            ["pub struct A<T>", "pub x: u8", "A<T>: pub fn f( &self, ) -> u8", "impl Copy for A<u8>"];
        assert_eq!(parts.0["A"], expected);
    }
}
