//! Support is claimed only with a test: entries of `docs/internals/support.md` without a comparison name
//! their tests, and each codec of `docs/formats.md` is on that page.

use super::tree::Tree;
use super::violation::Violation;
use crate::conformance::beyond;

const PAGE: &str = "docs/internals/support.md";
const FORMATS: &str = "docs/formats.md";
const ROWS: &str = "xtask/src/conformance/beyond.rs";

/// Checks both pages.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for row in beyond::TABLE {
        if row.tests.is_empty() {
            violations.push(Violation::new(ROWS, 1, format!("{} names no test", row.what)));
        }
        for test in row.tests.iter().filter(|test| !is_there(test, tree)) {
            violations.push(Violation::new(ROWS, 1, format!("{}: there is no test {test}", row.what)));
        }
    }
    let page = tree.text(PAGE);
    for (at, line) in tree.text(FORMATS).lines().enumerate() {
        for name in codecs(line).filter(|name| !page.contains(*name)) {
            violations.push(Violation::new(FORMATS, at + 1, format!("{name} is not in {PAGE}")));
        }
    }
    violations
}

/// Whether a case of `testdata/` or a function of a file is there.
fn is_there(test: &str, tree: &Tree) -> bool {
    match test.split_once("::") {
        Some((path, function)) => tree.text(path).contains(&format!("fn {function}(")),
        None => tree.exists(&format!("testdata/{test}/case.toml")),
    }
}

/// The names in a row of codecs, or in the list of ids.
fn codecs(line: &str) -> impl Iterator<Item = &str> {
    let row = line.strip_prefix("| ").and_then(|line| line.split_once("codecs |"));
    let of_elements = line.strip_prefix("| codecs of elements |");
    let list = of_elements.or(row.map(|(_, list)| list)).unwrap_or_default();
    let names = list.split([',', ';', '|', '(']).flat_map(|name| name.split(" and "));
    let names = names.map(|name| name.trim().trim_start_matches("numcodecs' "));
    // Names are single words in lower case; N5's block is in every cell of N5.
    names.filter(|name| {
        !name.is_empty() && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_codecs_are_read() {
        let of = |line| codecs(line).collect::<Vec<_>>();
        assert_eq!(
            of("| bytes→bytes codecs | gzip, lzma and xz, crc32c |"),
            ["gzip", "lzma", "xz", "crc32c"]
        );
        assert_eq!(
            of("| codecs of elements | numcodecs' delta, astype; cast_value |"),
            ["delta", "astype", "cast_value"]
        );
        assert_eq!(
            of("| array→bytes codecs | bytes, zfp (feature `zfp`, which wants cmake), N5 block |"),
            ["bytes", "zfp"]
        );
        assert!(of("| numbers | bool, int8 |").is_empty() && of("gzip, zlib").is_empty());
    }
}
