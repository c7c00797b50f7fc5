//! Relative links in Markdown lead to files that exist.

use super::tree::Tree;
use super::violation::Violation;

/// Checks every Markdown file.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for path in tree.with_ending(".md") {
        for (line, target) in links(&tree.text(path)) {
            match resolve(path, &target) {
                Some(file) if tree.exists(&file) => {}
                _ => violations.push(Violation::new(
                    path,
                    line,
                    format!("the target of the link to {target} does not exist"),
                )),
            }
        }
    }
    violations
}

/// The relative targets of a Markdown text, without fragment and title, with their lines.
fn links(markdown: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (at, line) in markdown.lines().enumerate() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if fence.is_some() || mark.is_some() {
            continue;
        }
        let text = without_code(line);
        let inline = text.match_indices("](").filter_map(|(open, _)| text[open + 2..].split(')').next());
        let definition = text.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        for target in inline.chain(definition.map(|(_, target)| target)) {
            let target = target.split_whitespace().next().unwrap_or_default();
            let target = target.trim_matches(['<', '>']).split('#').next().unwrap_or_default();
            // `https:`, `mailto:` and rustdoc paths (`ndzarr::Array`) are not relative.
            if !target.is_empty() && !target.contains(':') {
                found.push((at + 1, target.to_owned()));
            }
        }
    }
    found
}

/// A line without its `code`.
fn without_code(line: &str) -> String {
    let pieces: Vec<&str> = line.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return line.to_owned();
    }
    // Every second piece is code. A placeholder stays, so that a link's text is not empty.
    pieces.iter().enumerate().map(|(i, piece)| if i % 2 == 0 { *piece } else { "code" }).collect()
}

/// The file that a link in `from` names, from the root; `None` where it leads out of the
/// repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut segments: Vec<&str> = match target.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => from.rsplit_once('/').map(|(folder, _)| folder.split('/').collect()).unwrap_or_default(),
    };
    for segment in target.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            segment => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(markdown: &str) -> Vec<String> {
        links(markdown).into_iter().map(|(_, target)| target).collect()
    }

    #[test]
    fn relative_targets_are_found() {
        assert_eq!(targets("see [a](docs/a.md#top \"title\") and [`b`](../b.md)"), ["docs/a.md", "../b.md"]);
        assert_eq!(targets("[a]: docs/a.md\n"), ["docs/a.md"]);
        assert!(targets("[a](https://x.y/z) [b](#here) [c](mailto:x@y) [d](ndzarr::Array)").is_empty());
    }

    #[test]
    fn code_is_not_looked_at() {
        assert!(targets("```text\n[a](b.md)\n```\n`[a](b.md)`\n").is_empty());
        assert_eq!(links("```\n```\n[a](b.md)"), [(3, "b.md".to_owned())]);
    }

    #[test]
    fn targets_are_resolved_from_the_file() {
        assert_eq!(resolve("docs/decisions/a.md", "../formats.md").as_deref(), Some("docs/formats.md"));
        assert_eq!(resolve("README.md", "./docs/").as_deref(), Some("docs"));
        assert_eq!(resolve("README.md", "../x"), None);
    }
}
