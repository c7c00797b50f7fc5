//! No circles of modules within a crate, except for a list that may only shrink.

use std::collections::BTreeSet;

use super::modules::Modules;
use super::tree::Tree;
use super::violation::Violation;
use super::workspace::Workspace;

/// Existing circles, as `folder: file file …: reason`, one a line; `#` starts a comment.
const LIST: &str = "xtask/tidy-circles.txt";

/// Files that name items of each other, directly or through others of them; each from the folder of
/// its crate's sources.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Circle {
    /// Where the sources of the crate are.
    pub(super) folder: String,
    /// In order.
    pub(super) files: Vec<String>,
}

/// Checks every crate against the list.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Violation> {
    compare(&circles(workspace, tree), &tree.text(LIST))
}

/// The circles of all crates, in order.
pub(super) fn circles(workspace: &Workspace, tree: &Tree) -> Vec<Circle> {
    let known: BTreeSet<&str> = tree.with_ending(".rs").collect();
    let text = |path: &str| known.contains(path).then(|| tree.text(path));
    let mut circles = Vec::new();
    for root in workspace.packages.iter().flat_map(|package| &package.roots) {
        let modules = Modules::of_crate(root, &text);
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        for members in components(&modules.edges()) {
            let file = |at: usize| {
                modules.files[at][folder.len()..]
                    .trim_start_matches('/')
                    .to_owned()
            };
            let mut files: Vec<String> = members.into_iter().map(file).collect();
            files.sort();
            circles.push(Circle {
                folder: folder.to_owned(),
                files,
            });
        }
    }
    circles.sort();
    circles
}

/// The sets of two nodes and more that all lead to each other.
fn components(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..edges.len()).map(|from| reached(edges, from)).collect();
    let mut components = Vec::new();
    let mut done = BTreeSet::new();
    for from in 0..edges.len() {
        if !done.contains(&from) && reached[from].contains(&from) {
            let members: Vec<usize> = reached[from]
                .iter()
                .copied()
                .filter(|&to| reached[to].contains(&from))
                .collect();
            done.extend(members.iter().copied());
            components.push(members);
        }
    }
    components
}

/// The nodes that one or more steps lead to.
fn reached(edges: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<usize> = edges[from].iter().copied().collect();
    while let Some(at) = waiting.pop() {
        if reached.insert(at) {
            waiting.extend(&edges[at]);
        }
    }
    reached
}

/// Circles that the list lacks, and lines of the list that differ from the sources.
fn compare(circles: &[Circle], list: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut allowed = Vec::new();
    for (at, line) in list.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut parts = line.splitn(3, ": ");
        let folder = parts.next().unwrap_or_default().to_owned();
        let mut files: Vec<String> = parts
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        files.sort();
        if parts.next().unwrap_or_default().trim().len() < 20 {
            violations.push(Violation::new(LIST, at + 1, "a circle without a reason"));
        }
        let circle = Circle { folder, files };
        if !circles.contains(&circle) {
            let what = "there is no circle of exactly these files: remove the line, or the files that were cut";
            violations.push(Violation::new(LIST, at + 1, what));
        }
        allowed.push(circle);
    }
    for circle in circles.iter().filter(|circle| !allowed.contains(circle)) {
        let Circle { folder, files } = circle;
        let path = format!("{folder}/{}", files[0]);
        let what = format!("a circle of modules: {}", files.join(" "));
        violations.push(Violation::new(&path, 1, what));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(edges: &[&[usize]]) -> Vec<Vec<usize>> {
        components(
            &edges
                .iter()
                .map(|to| to.iter().copied().collect())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn modules_that_lead_to_each_other_are_a_circle() {
        assert!(of(&[&[1, 2], &[2], &[]]).is_empty());
        assert_eq!(of(&[&[1], &[0], &[0]]), [[0, 1]]);
        assert_eq!(
            of(&[&[1], &[2], &[0], &[4], &[3, 0]]),
            [vec![0, 1, 2], vec![3, 4]]
        );
    }

    #[test]
    fn the_list_holds_the_circles_that_are_there_and_no_others() {
        let circle = Circle {
            folder: "a/src".to_owned(),
            files: vec!["b.rs".to_owned(), "c.rs".to_owned()],
        };
        let check = |circles: &[Circle], list| {
            compare(circles, list)
                .into_iter()
                .map(|found| (found.path, found.line))
                .collect::<Vec<_>>()
        };
        let line = "# circles\na/src: c.rs b.rs: to be cut: b gets a file of its own\n";
        let listed = |line| vec![(LIST.to_owned(), line)];
        assert!(check(std::slice::from_ref(&circle), line).is_empty() && check(&[], "").is_empty());
        assert_eq!(check(&[], line), listed(2));
        assert_eq!(
            check(std::slice::from_ref(&circle), ""),
            [("a/src/b.rs".to_owned(), 1)]
        );
        assert_eq!(
            check(std::slice::from_ref(&circle), "a/src: b.rs c.rs: because"),
            listed(1)
        );

        let mut grown = circle;
        grown.files.push("d.rs".to_owned());
        assert_eq!(
            check(&[grown], line),
            [("a/src/b.rs".to_owned(), 1), (LIST.to_owned(), 2)]
                .into_iter()
                .rev()
                .collect::<Vec<_>>()
        );
    }
}
