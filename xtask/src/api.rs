//! `cargo xtask api`: the list of the public API of the facade, so that every change of it shows in
//! a diff.

mod exports;
mod parts;
mod unnamed;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::Args as ClapArgs;

use self::exports::{Export, exports};
use self::parts::Parts;
use self::unnamed::unnamed;
use crate::python;

/// Where the list is.
const LIST: &str = "crates/ndzarr/public-api.txt";

/// More items are not promised. Every type of a public signature is one of them.
const MOST: usize = 242;

/// The crates whose types can stand in its signatures.
const BELOW: [&str; 10] = [
    "ndzarr-array",
    "ndzarr-codec",
    "ndzarr-engine",
    "ndzarr-grid",
    "ndzarr-metadata",
    "ndzarr-model",
    "ndzarr-store",
    "ndzarr-store-fs",
    "ndzarr-store-object",
    "ndzarr-store-zip",
];

/// The part of a crate that the facade re-exports as a module.
const ASYNCHRONOUS: &str = "ndzarr-array/asynchronous";

/// Compare the list of the public API with the sources.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// Rewrite the list.
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
    let listed: BTreeSet<&str> = listed.lines().collect();
    let found: BTreeSet<&str> = found.lines().collect();
    let mut changes = String::new();
    for line in listed.difference(&found) {
        let _ = writeln!(changes, "- {line}");
    }
    for line in found.difference(&listed) {
        let _ = writeln!(changes, "+ {line}");
    }
    if changes.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the public API is not that of {LIST}; `cargo xtask api --write`:\n{changes}"
    ))
}

/// The list, a line for each item and each of its public parts.
fn list(root: &Path) -> Result<String, String> {
    let read = |path: &str| {
        fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
    };
    let mut items = exports(&read("crates/ndzarr/src/lib.rs")?, "", "ndzarr");
    items.retain(|export| export.public != "asynchronous");
    items.extend(exports(
        &read("crates/ndzarr-array/src/asynchronous.rs")?,
        "asynchronous::",
        ASYNCHRONOUS,
    ));
    items.sort();
    items.dedup();
    if items.len() > MOST {
        return Err(format!(
            "the facade has {} items, more than {MOST}",
            items.len()
        ));
    }
    let mut sources = Sources {
        root,
        crates: BTreeMap::new(),
    };
    let mut out = String::new();
    for Export { public, from, name } in &items {
        let _ = writeln!(out, "{public}");
        for part in sources.parts(from, name)? {
            let _ = writeln!(out, "{public}: {part}");
        }
    }
    let unnamed = unnamed(&out, &sources.types()?);
    if unnamed.is_empty() {
        return Ok(out);
    }
    let lines: String = unnamed
        .iter()
        .map(|(name, line)| format!("\n{name}: {line}"))
        .collect();
    Err(format!(
        "users of the facade cannot name these types of public signatures:{lines}"
    ))
}

/// The crates of the workspace, read when they are first needed.
struct Sources<'r> {
    root: &'r Path,
    crates: BTreeMap<String, (Vec<Export>, Parts)>,
}

impl Sources<'_> {
    /// The public types of all crates below the facade.
    fn types(&mut self) -> Result<BTreeSet<String>, String> {
        let mut types = BTreeSet::new();
        for name in BELOW {
            types.extend(self.of_crate(name)?.1.types());
        }
        Ok(types)
    }

    /// The public parts of an item, which its crate may have from another one; none of a foreign
    /// crate's.
    fn parts(&mut self, from: &str, name: &str) -> Result<Vec<String>, String> {
        let (exports, parts) = self.of_crate(from)?;
        let export = exports.iter().find(|export| export.public == name);
        match export.cloned() {
            Some(export) if export.from != from => self.parts(&export.from, &export.name),
            export => {
                // The root of a crate may give an item another name.
                let own = export.map_or(name.to_owned(), |export| export.name);
                let mut parts = parts.of_item(&own);
                parts.sort();
                parts.dedup();
                Ok(parts)
            }
        }
    }

    fn of_crate(&mut self, name: &str) -> Result<&(Vec<Export>, Parts), String> {
        if !self.crates.contains_key(name) {
            let (package, module) = name.split_once('/').unwrap_or((name, ""));
            let folder = self.root.join("crates").join(package).join("src");
            let library = fs::read_to_string(folder.join("lib.rs")).unwrap_or_default();
            let exports = if module.is_empty() {
                exports(&library, "", name)
            } else {
                Vec::new()
            };
            let inside = ASYNCHRONOUS
                .split_once('/')
                .map_or("", |(_, module)| module);
            let parts = Parts::of(&folder, &|path| {
                path.starts_with(inside) != module.is_empty()
            })?;
            self.crates.insert(name.to_owned(), (exports, parts));
        }
        self.crates
            .get(name)
            .ok_or_else(|| format!("no crate {name}"))
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
    fn every_function_for_a_codec_is_exported() {
        let root = python::repository();
        let codecs =
            fs::read_to_string(root.join("crates/ndzarr-array/src/codec.rs")).expect("the codecs");
        let list = list(&root).expect("a list");
        let functions = codecs
            .lines()
            .filter_map(|line| line.strip_prefix("pub fn ")?.split_once('('));
        let functions: Vec<String> = functions
            .map(|(name, _)| format!("codec::{name}"))
            .collect();
        assert!(functions.len() > 10, "{functions:?}");
        for name in functions {
            assert!(list.lines().any(|line| line == name), "{name}");
        }
    }

    /// What the facade re-exports through two crates, from a module of another name, by a macro,
    /// and as a macro.
    #[test]
    fn items_are_followed_to_where_they_are_defined() {
        let list = list(&python::repository()).expect("a list");
        for line in [
            "ConcurrentUpdate: Merge",
            "ChunkEdges: impl ChunkEdges: pub fn max(&self) -> u64",
            "ArrayInfo: impl ArrayInfo: pub fn shape(&self) -> &[u64]",
            "Float8E5M2: pub fn to_bits(self) -> u8",
            "store::StoreError: Io { action: &'static str, key: String, source: Arc<std::io::Error> }",
        ] {
            assert!(list.lines().any(|listed| listed == line), "{line}");
        }
        let items: BTreeSet<&str> = list
            .lines()
            .filter_map(|line| line.split(": ").next())
            .collect();
        let bare = |item: &&&str| !list.contains(&format!("\n{item}: "));
        let bare: Vec<&str> = items.iter().filter(bare).copied().collect();
        // What is defined outside of the workspace, and a derive.
        assert_eq!(
            bare,
            [
                "Structured",
                "ndarray",
                "store::BoxFuture",
                "store::BoxStream",
                "store::bytes"
            ]
        );
    }
}
