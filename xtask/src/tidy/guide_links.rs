//! Links of pages of the guide lead somewhere on GitHub and on docs.rs: a page names its targets as
//! files, below its text, and a list in front of it names them for rustdoc.

use std::collections::BTreeSet;

use super::tree::Tree;
use super::violation::Violation;

/// Sources that include pages, each with its list.
const LISTS: [(&str, &str); 3] = [
    (
        "crates/ndzarr/src/guide.rs",
        "crates/ndzarr/src/guide/links.txt",
    ),
    (
        "crates/ndzarr-cf/src/lib.rs",
        "crates/ndzarr-cf/src/guide-links.txt",
    ),
    (
        "crates/ndzarr-ome/src/lib.rs",
        "crates/ndzarr-ome/src/guide-links.txt",
    ),
];

/// Checks the pages and the lists.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (source, list) in LISTS {
        let known: BTreeSet<String> = labels(&tree.text(list))
            .into_iter()
            .map(|(_, label)| label)
            .collect();
        let mut used = BTreeSet::new();
        for page in pages(&tree.text(source)) {
            let text = tree.text(&page);
            violations.extend(inline(&text).into_iter().map(|line| {
                Violation::new(
                    &page,
                    line,
                    "write [text][label], with the file below the text",
                )
            }));
            for (line, label) in labels(&text) {
                if !known.contains(&label) {
                    violations.push(Violation::new(
                        &page,
                        line,
                        format!("[{label}] is not in {list}"),
                    ));
                }
                used.insert(label);
            }
        }
        let unused = known
            .difference(&used)
            .map(|label| format!("no page has a link [{label}]"));
        violations.extend(unused.map(|what| Violation::new(list, 1, what)));
    }
    violations
}

/// The pages that a source includes.
fn pages(source: &str) -> Vec<String> {
    let names = source
        .split("include_str!(\"../guide/")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    names.map(|name| format!("docs/guide/{name}")).collect()
}

/// The labels that a text defines, with their lines.
fn labels(text: &str) -> Vec<(usize, String)> {
    let definition = |line: &str| Some(line.strip_prefix('[')?.split_once("]: ")?.0.to_owned());
    (1..)
        .zip(text.lines())
        .filter_map(|(number, line)| Some((number, definition(line)?)))
        .collect()
}

/// The lines with a link to a file in place, outside code.
fn inline(text: &str) -> Vec<usize> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        in_code ^= line.starts_with("```");
        let targets = line.split("](").skip(1);
        let is_file = |target: &str| !target.starts_with("http") && !target.starts_with('#');
        if !in_code
            && targets
                .filter_map(|rest| rest.split(')').next())
                .any(is_file)
        {
            lines.push(number);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_place_are_found_outside_code() {
        let text = "[a](b.md)\n[a](https://b.c)\n```\n[a](b.md)\n```\n[a][b], [c](#d)\n";
        assert_eq!(inline(text), [1]);
    }

    #[test]
    fn labels_and_pages_are_found() {
        assert_eq!(labels("[a][b]\n\n[b#c]: b.md#c\n"), [(3, "b#c".to_owned())]);
        assert_eq!(
            pages("#[doc = include_str!(\"../guide/a.md\")]\npub mod a {}"),
            ["docs/guide/a.md"]
        );
    }
}
