//! Every trap of docs/internals/traps.md is named by a test, and every trap that a test names is in
//! there.

use std::collections::BTreeMap;

use super::tree::Tree;
use super::violation::Violation;

const LIST: &str = "docs/internals/traps.md";

/// Begins the outcome of a trap that no test can name.
const OUT_OF_REACH: &str = "out of reach: ";

/// Checks the list against the names of functions and the `traps` of cases.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    // The trap and a place that names it.
    let mut named = BTreeMap::new();
    let ours = |path: &&str| path.starts_with("crates/") || *path == "xtask/src/features.rs";
    let rust = tree
        .with_ending(".rs")
        .filter(ours)
        .map(|path| (path, "fn "));
    let python = tree
        .with_ending(".py")
        .filter(ours)
        .map(|path| (path, "def "));
    for (path, keyword) in rust.chain(python) {
        for (at, line) in tree.text(path).lines().enumerate() {
            for trap in in_function(line, keyword) {
                named
                    .entry(trap)
                    .or_insert_with(|| (path.to_owned(), at + 1));
            }
        }
    }
    let cases = tree
        .paths()
        .iter()
        .filter(|p| p.starts_with("testdata/") && p.ends_with("/case.toml"));
    for path in cases {
        for (at, line) in tree.text(path).lines().enumerate() {
            for trap in in_case(line) {
                named.entry(trap).or_insert_with(|| (path.clone(), at + 1));
            }
        }
    }
    rules(&tree.text(LIST), &named)
}

fn rules(list: &str, named: &BTreeMap<String, (String, usize)>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut listed = BTreeMap::new();
    for (at, line) in list.lines().enumerate() {
        let item = line
            .strip_prefix("- ")
            .and_then(|item| item.split_once(':'));
        let Some((trap, outcome)) = item.filter(|(trap, _)| is_trap(trap)) else {
            continue;
        };
        let outcome = outcome.trim();
        let out_of_reach = outcome.starts_with(OUT_OF_REACH);
        if outcome.is_empty() {
            violations.push(Violation::new(
                LIST,
                at + 1,
                format!("{trap} has no outcome"),
            ));
        }
        if out_of_reach == named.contains_key(trap) {
            let what = if out_of_reach {
                "is out of reach, and a test names it"
            } else {
                "has no test that names it"
            };
            violations.push(Violation::new(LIST, at + 1, format!("{trap} {what}")));
        }
        if listed.insert(trap, at + 1).is_some() {
            violations.push(Violation::new(
                LIST,
                at + 1,
                format!("{trap} is listed twice"),
            ));
        }
    }
    for (trap, (path, line)) in named
        .iter()
        .filter(|(trap, _)| !listed.contains_key(trap.as_str()))
    {
        violations.push(Violation::new(
            path,
            *line,
            format!("{trap} is not in {LIST}"),
        ));
    }
    violations
}

/// True if this is a number like `V2-T04` or `PY-22`.
fn is_trap(text: &str) -> bool {
    let Some((family, item)) = text.split_once('-') else {
        return false;
    };
    let number = match family {
        "V2" | "V3" | "D3" => item.strip_prefix('T'),
        "RS" | "CLI" | "OME" | "PY" => Some(item),
        _ => None,
    };
    number.is_some_and(|number| number.len() == 2 && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The traps in the name of a function: `v2_t03_t04_…` are two, `v2_t14_v3_t11_…` as well;
/// `test_py22_…` is one of Python.
fn in_function(line: &str, keyword: &str) -> Vec<String> {
    let Some(name) = line
        .trim_start()
        .split_once(keyword)
        .and_then(|(_, rest)| rest.split('(').next())
    else {
        return Vec::new();
    };
    let mut family = None;
    let mut traps = Vec::new();
    for word in name.split('_') {
        match (word, family) {
            ("v2" | "v3" | "d3" | "rs" | "cli" | "ome", _) => family = Some(word),
            (word, family) => {
                let joined = word.strip_prefix("py").map(|number| ("py", number));
                let Some((family, item)) = joined.or(family.map(|family| (family, word))) else {
                    continue;
                };
                let trap = format!("{family}-{item}").to_uppercase();
                traps.extend(is_trap(&trap).then_some(trap));
            }
        }
    }
    traps
}

/// The traps in the line of a case.toml.
fn in_case(line: &str) -> Vec<String> {
    let Some(list) = line.strip_prefix("traps = [") else {
        return Vec::new();
    };
    list.split('"')
        .filter(|text| is_trap(text))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_cases_name_traps() {
        assert_eq!(
            in_function("    fn v2_t14_v3_t11_t12_zero() {", "fn "),
            ["V2-T14", "V3-T11", "V3-T12"]
        );
        assert_eq!(
            in_function("fn a_delta_that_does_not_fit_v2_t50() {", "fn "),
            ["V2-T50"]
        );
        assert_eq!(
            in_function("fn ome_07_ome_21_lists() {", "fn "),
            ["OME-07", "OME-21"]
        );
        assert_eq!(
            in_function("fn rs_42_of_one_name_the_last_counts() {", "fn "),
            ["RS-42"]
        );
        assert!(in_function("fn t50_of_no_format() {", "fn ").is_empty());
        assert!(in_function("// v2_t50 is elsewhere", "fn ").is_empty());
        assert_eq!(
            in_function("def test_py22_py26_axes(folder: str) -> None:", "def "),
            ["PY-22", "PY-26"]
        );
        assert!(in_function("def test_py3_is_a_version() -> None:", "def ").is_empty());
        assert!(in_function("    # of test_py22_axes(", "def ").is_empty());
        assert_eq!(in_case(r#"traps = ["V2-T04", "V2-091"]"#), ["V2-T04"]);
        assert!(in_case(r#"note = "V2-T04""#).is_empty());
    }

    #[test]
    fn both_sides_are_complete() {
        let named = |traps: &[&str]| {
            traps
                .iter()
                .map(|trap| ((*trap).to_owned(), ("a.rs".to_owned(), 1)))
                .collect::<BTreeMap<_, _>>()
        };
        let list = "- V2-T01: yes\n- V2-T02: out of reach: no such store\n";
        assert!(rules(list, &named(&["V2-T01"])).is_empty());
        assert_eq!(rules(list, &named(&[])).len(), 1);
        assert_eq!(rules(list, &named(&["V2-T01", "V2-T02"])).len(), 1);
        assert_eq!(rules(list, &named(&["V2-T01", "V3-T01"])).len(), 1);
        assert_eq!(
            rules("- V2-T01:\n- V2-T01: a", &named(&["V2-T01"])).len(),
            2
        );
    }
}
