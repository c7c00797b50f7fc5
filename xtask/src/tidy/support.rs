//! Support is claimed only with a test: features of `docs/internals/support.md` without a
//! comparison name their tests, and each codec of `docs/formats.md` is on that page.

use super::tree::Tree;
use super::violation::Violation;

const PAGE: &str = "docs/internals/support.md";
const FORMATS: &str = "docs/formats.md";

/// The heads of the table of features that are not compared.
const HEADS: &str = "| | ndzarr | why | tested by |";

/// Checks both pages.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let page = tree.text(PAGE);
    let mut violations: Vec<Violation> = untested(&page, &|test| exists(test, tree))
        .into_iter()
        .map(|(line, what)| Violation::new(PAGE, line, what))
        .collect();
    for (at, line) in tree.text(FORMATS).lines().enumerate() {
        for name in codecs(line).filter(|name| !page.contains(*name)) {
            violations.push(Violation::new(
                FORMATS,
                at + 1,
                format!("{name} is not in {PAGE}"),
            ));
        }
    }
    violations
}

/// Rows whose tests are missing, with their lines.
fn untested(page: &str, exists: &dyn Fn(&str) -> bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let lines = page
        .lines()
        .enumerate()
        .skip_while(|(_, line)| *line != HEADS)
        .skip(2);
    let mut n_rows = 0;
    for (at, row) in lines.take_while(|(_, line)| line.starts_with('|')) {
        n_rows += 1;
        let tests = row
            .trim_end_matches([' ', '|'])
            .rsplit(" | ")
            .next()
            .unwrap_or_default();
        let tests: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        if tests.is_empty() {
            found.push((at + 1, "names no test".to_owned()));
        }
        let missing = tests.into_iter().filter(|test| !exists(test));
        found.extend(missing.map(|test| (at + 1, format!("there is no test {test}"))));
    }
    if n_rows == 0 {
        found.push((1, format!("has no rows below {HEADS}")));
    }
    found
}

/// True if a case of `testdata/` or a function of a file exists.
fn exists(test: &str, tree: &Tree) -> bool {
    match test.split_once("::") {
        Some((path, function)) => tree.text(path).contains(&format!("fn {function}(")),
        None => tree.exists(&format!("testdata/{test}/case.toml")),
    }
}

/// The names in a row of codecs, or in the list of ids.
fn codecs(line: &str) -> impl Iterator<Item = &str> {
    let row = line
        .strip_prefix("| ")
        .and_then(|line| line.split_once("codecs |"));
    let of_elements = line.strip_prefix("| codecs of elements |");
    let list = of_elements
        .or(row.map(|(_, list)| list))
        .unwrap_or_default();
    let names = list
        .split([',', ';', '|', '('])
        .flat_map(|name| name.split(" and "));
    let names = names.map(|name| name.trim().trim_start_matches("numcodecs' "));
    // Names are single words in lower case; N5's block is in every cell of N5.
    names.filter(|name| {
        !name.is_empty()
            && name
                .bytes()
                .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_name_tests_that_exist() {
        let check = |rows: &str| {
            let page = format!("# Page\n\n{HEADS}\n|---|---|---|---|\n{rows}\n");
            untested(&page, &|test| test == "n5/a")
                .into_iter()
                .map(|(line, _)| line)
                .collect::<Vec<_>>()
        };
        assert!(check("| `a` | RW | why | `n5/a` |").is_empty());
        assert_eq!(
            check(
                "| `a` | RW | why | `n5/a` |\n| b | RW | why |  |\n| c | R | d | `n5/b`, `n5/a` |"
            ),
            [6, 7]
        );
        assert_eq!(check(""), [1]);
    }

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
