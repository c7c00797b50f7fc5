//! Phrases that pages and comments do not use, each with what to write instead.

use super::tree::Tree;
use super::violation::Violation;

/// In lower case.
const RETIRED: &[(&str, &str)] = &[
    ("as the case may be", "say when which holds"),
    ("be it that", "even if"),
    ("lie about", "are wrong, are close to"),
    ("lies about", "is wrong, is close to"),
    ("made anew", "rewritten, created again"),
    ("nobody", "no thread, no writer, or the passive"),
    ("nobody's", "belongs to no array, is free"),
    ("one's own", "custom"),
    ("passed over", "ignored, skipped"),
    ("side by side", "concurrently, next to each other"),
    ("so many", "this many, a number of"),
    ("somebody", "another process, a caller"),
    ("told of", "reported"),
    ("vouch", "trusted, untrusted"),
    ("what of", "the part of it that"),
    ("whoever", "a caller that, a program that"),
];

/// Written by programs.
const GENERATED: &[&str] = &["docs/internals/support.md", "docs/internals/records/"];

/// Checks every page and the comments of every source file.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    let starts =
        |path: &str, folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    for path in tree
        .with_ending(".md")
        .filter(|path| !starts(path, GENERATED))
    {
        violations.extend(found(path, &page(&tree.text(path))));
    }
    for path in tree.with_ending(".rs") {
        violations.extend(found(path, &comments(&tree.text(path))));
    }
    violations
}

/// Lines of prose with their numbers.
type Prose = Vec<(usize, String)>;

/// The lines of a page outside code blocks.
fn page(text: &str) -> Prose {
    let mut in_code = false;
    let mut prose = Prose::new();
    for (at, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        if !in_code && !fence {
            prose.push((at + 1, line.trim().to_lowercase()));
        }
    }
    prose
}

/// The comments that have lines of their own.
fn comments(text: &str) -> Prose {
    let lines = text.lines().enumerate();
    let comments =
        lines.filter_map(|(at, line)| Some((at + 1, line.trim_start().strip_prefix("//")?)));
    comments
        .map(|(at, line)| (at, line.trim_matches(['/', '!', ' ']).to_lowercase()))
        .collect()
}

fn found(path: &str, prose: &Prose) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (at, (line, text)) in prose.iter().enumerate() {
        // A phrase may go on in the next line.
        let next = prose.get(at + 1).filter(|(number, _)| *number == line + 1);
        let both = format!("{text} {}", next.map_or("", |(_, text)| text));
        for (phrase, instead) in RETIRED {
            if begins(&both, phrase).any(|start| start < text.len()) {
                violations.push(Violation::new(
                    path,
                    *line,
                    format!("\"{phrase}\": write {instead}"),
                ));
            }
        }
    }
    violations
}

/// Where a phrase begins in a text, as whole words.
fn begins<'t>(text: &'t str, phrase: &'t str) -> impl Iterator<Item = usize> {
    text.match_indices(phrase)
        .map(|(start, _)| start)
        .filter(move |&start| {
            let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
            !text[..start].ends_with(is_word) && !text[start + phrase.len()..].starts_with(is_word)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_in_prose_alone() {
        let lines = |prose: Prose| {
            found("a", &prose)
                .into_iter()
                .map(|v| v.line)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lines(page("Told of it.\n```\nnobody\n```\nbe it\nthat\n")),
            [1, 5]
        );
        assert_eq!(
            lines(comments(
                "/// Nobody's\nlet nobody = 1;\n    // so\n    // many\n"
            )),
            [1, 3]
        );
        assert!(lines(page("somewhat of, foretold of, what offers")).is_empty());
        assert!(lines(comments("// so\n\n// many")).is_empty());
    }
}
