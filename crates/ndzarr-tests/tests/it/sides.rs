//! The blocking and the asynchronous calls have the same names, and their number is limited.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The public calls of each type, by its name.
type Calls = BTreeMap<String, BTreeSet<String>>;

/// The name of the type in an inherent `impl` line, and whether it is on the asynchronous side;
/// `None` for a block that both sides share.
fn implemented(line: &str, file_is_asynchronous: bool) -> Option<(String, Option<bool>)> {
    let head = line.strip_prefix("impl")?.strip_suffix('{')?.trim();
    if head.contains(" for ") {
        return None;
    }
    let mut depth = 0;
    let end_of_generics = head.char_indices().find(|&(_, c)| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0
    });
    let start = if head.starts_with('<') { end_of_generics?.0 + 1 } else { 0 };
    let of = head[start..].trim();
    let name = of.split('<').next()?.trim().to_owned();
    // What arrays of any type have is apart from what only those of a Rust type have.
    let name = if name == "Array" { of.split([',', '>']).next()?.to_owned() } else { name };
    let is_shared = of.ends_with(", M>") || of.ends_with("<M>");
    let is_asynchronous = file_is_asynchronous || of.contains("Asynchronous");
    Some((name, (!is_shared).then_some(is_asynchronous)))
}

/// Adds the calls of a source file to those of its sides.
fn collect(text: &str, is_asynchronous: bool, sides: &mut [Calls; 2]) {
    let mut of: Option<(String, Option<bool>)> = None;
    for line in text.lines() {
        match line {
            "}" => of = None,
            line if line.starts_with("impl") => of = implemented(line, is_asynchronous),
            line => {
                let Some((name, side)) = &of else { continue };
                let call = line.strip_prefix("    pub ").map(|call| call.trim_start_matches("async "));
                let Some(call) = call.and_then(|call| call.strip_prefix("fn ")) else { continue };
                let call = call.split(['(', '<']).next().unwrap_or_default().to_owned();
                for at in [0, 1] {
                    if side.is_none_or(|side| usize::from(side) == at) {
                        sides[at].entry(name.clone()).or_default().insert(call.clone());
                    }
                }
            }
        }
    }
}

fn sides() -> [Calls; 2] {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ndzarr-array/src");
    let mut sides = [Calls::new(), Calls::new()];
    let shared = [
        "array",
        "any_array",
        "appender",
        "builder",
        "group",
        "group_builder",
        "n5_block",
        "node",
        "open_options",
        "shard_writer",
        "units",
    ];
    let read = |name: &str| fs::read_to_string(sources.join(format!("{name}.rs"))).expect("a source");
    shared.iter().for_each(|name| collect(&read(name), false, &mut sides));
    for name in ["array", "any_array", "group"] {
        collect(&read(&format!("asynchronous/{name}")), true, &mut sides);
    }
    sides
}

#[test]
fn both_have_the_same_calls() {
    let [blocking, asynchronous] = sides();
    assert!(blocking["Array<T"].contains("read") && blocking["AnyArray"].contains("read_bytes"));
    assert!(blocking["Array<E"].contains("resize") && blocking["Group"].contains("walk"), "{blocking:?}");
    for (name, calls) in &blocking {
        assert_eq!(Some(calls), asynchronous.get(name), "{name}");
    }
    assert_eq!(blocking.len(), asynchronous.len());
}

#[test]
fn they_are_not_too_many() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ndzarr-array/src");
    let sides = sides();
    let mut of_infos = [Calls::new(), Calls::new()];
    for file in ["about.rs", "array_selections.rs"] {
        let source = fs::read_to_string(sources.join(file)).expect("a source");
        collect(&source, false, &mut of_infos);
    }
    // What a user of each type meets. `AnyArray` has the calls of an array, and those for bytes.
    for (parts, most) in [
        (&["Core", "Array<E", "Array<T"][..], 40),
        (&["Core", "Array<E", "AnyArray"], 48),
        (&["GroupCore", "Group"], 25),
    ] {
        let of = |part: &&str| of_infos[0].get(*part).or(sides[0].get(*part)).expect("it has calls").clone();
        let calls: BTreeSet<String> = parts.iter().flat_map(of).collect();
        assert!(calls.len() <= most, "{parts:?} have {}: {calls:?}", calls.len());
    }
}
