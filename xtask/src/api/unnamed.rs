//! Finds types in public signatures that users of the facade cannot name.

use std::collections::{BTreeMap, BTreeSet};

/// The types that stand in the list and are not among its items, each with the first line that has
/// it. `defined` are those that the workspace defines; others are in crates of the user's choice.
pub(super) fn unnamed(list: &str, defined: &BTreeSet<String>) -> BTreeMap<String, String> {
    let items = list
        .lines()
        .map(|line| line.split(": ").next().unwrap_or_default());
    let mut named: BTreeSet<&str> = items
        .map(|item| item.rsplit("::").next().unwrap_or_default())
        .collect();
    // Some have another name in their crate.
    named.extend(list.lines().filter_map(|line| {
        line.split_once(": pub struct ")?
            .1
            .split(['<', ' ', '('])
            .next()
    }));
    let mut found = BTreeMap::new();
    for line in list.lines() {
        for word in types(line) {
            if defined.contains(&word) && !named.contains(&word[..]) {
                found.entry(word).or_insert_with(|| line.to_owned());
            }
        }
    }
    found
}

/// The words of a line that may be types: neither of a derive, nor of a trait that is implemented,
/// nor the name of a variant, nor of an associated type.
fn types(line: &str) -> Vec<String> {
    let Some((_, part)) = line.split_once(": ") else {
        return Vec::new();
    };
    let signature = match part
        .strip_prefix("impl")
        .and_then(|rest| rest.split_once(": pub "))
    {
        Some((_, signature)) => signature,
        None if part.starts_with("impl") || part.starts_with('#') => return Vec::new(),
        None if part.starts_with(char::is_uppercase) => {
            part.trim_start_matches(char::is_alphanumeric)
        }
        None => part,
    };
    // What stands before a `=` is the name of an associated type.
    let signature = signature.replace(" = ", "= ");
    let mut words = Vec::new();
    let mut before = "";
    for word in signature.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
        let name = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let is_type = name.starts_with(char::is_uppercase) && name.len() > 1;
        let is_new = word.ends_with('=')
            || DEFINE.contains(&before)
            || before.starts_with(char::is_uppercase);
        if is_type && !is_new {
            words.push(name.to_owned());
        }
        // A path goes on after `::`, whose second half is a word without a name.
        before = match word {
            ":" => before,
            _ if word.ends_with(':') || DEFINE.contains(&name) => name,
            _ => "",
        };
    }
    words
}

/// Words before a name that a line defines.
const DEFINE: [&str; 5] = ["struct", "enum", "trait", "type", "const"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_signatures_are_found() {
        let list = "A\n\
                    A: #[derive(Derived)]\n\
                    A: impl A<Head>: pub fn f(&self, x: impl Into<First>) -> Result<second::Second, D::Larger>\n\
                    A: impl From<Implemented> for A\n\
                    m::B: Variant(Third, other::B)\n\
                    m::B: pub field: Option<Box<Fourth>>\n\
                    m::B: pub struct Own<T>\n\
                    m::B: type Output: Fifth\n\
                    m::B: fn f(future: &dyn Future<Output = ()>)";
        let defined = [
            "A",
            "B",
            "Derived",
            "Fifth",
            "First",
            "Fourth",
            "Head",
            "Implemented",
            "Larger",
            "Output",
            "Own",
            "Second",
            "Third",
            "Variant",
        ];
        let defined = defined.map(str::to_owned).into_iter().collect();
        let found: Vec<String> = unnamed(list, &defined).into_keys().collect();
        assert_eq!(found, ["Fifth", "First", "Fourth", "Second", "Third"]);
    }
}
