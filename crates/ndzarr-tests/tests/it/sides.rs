//! The blocking and the asynchronous calls have the same names, and their number is limited.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The public calls of each type, by its name.
type Calls = BTreeMap<String, BTreeSet<String>>;

/// The name of the type in an inherent `impl` line, and true if it is on the asynchronous side;
/// `None` for a block that both sides share.
fn implemented(line: &str) -> Option<(String, Option<bool>)> {
    let head = line.strip_prefix("impl")?.strip_suffix('{')?.trim();
    if head.contains(" for ") {
        return None;
    }
    let mut depth = 0;
    let end_of_generics = head.char_indices().find(|&(_, c)| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0
    });
    let start = if head.starts_with('<') {
        end_of_generics?.0 + 1
    } else {
        0
    };
    let of = head[start..].trim();
    let name = of.split('<').next()?.trim().to_owned();
    // What arrays of any type have is apart from what only those of a Rust type have.
    let name = if name == "ArrayIn" {
        of.split([',', '>']).next()?.to_owned()
    } else {
        name
    };
    let is_shared = of.ends_with(", M>") || of.ends_with("<M>");
    Some((name, (!is_shared).then(|| of.contains("Asynchronous"))))
}

/// Adds the calls of a source file to those of its sides.
fn collect(text: &str, sides: &mut [Calls; 2]) {
    let mut of: Option<(String, Option<bool>)> = None;
    for line in text.lines() {
        match line {
            "}" => of = None,
            line if line.starts_with("impl") => of = implemented(line),
            line => {
                let Some((name, side)) = &of else { continue };
                let call = line
                    .strip_prefix("    pub ")
                    .map(|call| call.trim_start_matches("async "));
                let Some(call) = call.and_then(|call| call.strip_prefix("fn ")) else {
                    continue;
                };
                let call = call.split(['(', '<']).next().unwrap_or_default().to_owned();
                for at in [0, 1] {
                    if side.is_none_or(|side| usize::from(side) == at) {
                        sides[at]
                            .entry(name.clone())
                            .or_default()
                            .insert(call.clone());
                    }
                }
            }
        }
    }
}

/// The calls of the blocking and of the asynchronous side.
fn sides() -> [Calls; 2] {
    let mut sides = [Calls::new(), Calls::new()];
    sources().iter().for_each(|text| collect(text, &mut sides));
    sides
}

/// The sources of ndzarr-array.
fn sources() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../ndzarr-array/src")];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                sources.push(fs::read_to_string(path).expect("a source"));
            }
        }
    }
    sources
}

/// What serves both sides, as a type or as two.
const OF_BOTH: [&str; 13] = [
    "AnyNode",
    "Appender",
    "ArrayBuilder",
    "ArrayIn<Any",
    "ArrayIn<E",
    "ArrayIn<T",
    "Child",
    "GroupBuilder",
    "GroupIn",
    "N5Blocks",
    "OpenOptions",
    "ShardWriter",
    "Units",
];

#[test]
fn both_sides_have_the_same_calls() {
    let [blocking, asynchronous] = sides();
    assert!(
        blocking["ArrayIn<T"].contains("read") && blocking["ArrayIn<Any"].contains("read_bytes")
    );
    assert!(
        blocking["ArrayIn<E"].contains("resize") && blocking["GroupIn"].contains("walk"),
        "{blocking:?}"
    );
    for name in OF_BOTH {
        assert!(blocking.contains_key(name), "{name}");
        assert_eq!(blocking.get(name), asynchronous.get(name), "{name}");
    }
    for name in asynchronous.keys() {
        assert!(OF_BOTH.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn no_type_has_too_many_calls() {
    let [blocking, _] = sides();
    // What a user of each type sees. Untyped arrays have the calls of an array, and those for
    // bytes.
    for (parts, most) in [
        (&["ArrayInfo", "ArrayIn<E", "ArrayIn<T"][..], 40),
        (&["ArrayInfo", "ArrayIn<E", "ArrayIn<Any"], 48),
        (&["GroupInfo", "GroupIn"], 25),
    ] {
        let calls: BTreeSet<String> = parts
            .iter()
            .flat_map(|part| blocking[*part].clone())
            .collect();
        assert!(
            calls.len() <= most,
            "{parts:?} have {}: {calls:?}",
            calls.len()
        );
    }
}
