//! The form of `testdata/`.

use std::collections::BTreeMap;

use super::tree::Tree;
use super::violation::Violation;

const FAMILIES: [&str; 7] = ["zarr2", "zarr3", "draft", "n5", "bad", "cf", "regression"];

/// The limit of a file of a case: 200 KB.
const MAX_BYTES: u64 = 200_000;

/// Checks `testdata/`.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let files = tree
        .paths()
        .iter()
        .filter(|path| path.starts_with("testdata/"));
    rules(files.map(|path| (path.as_str(), tree.byte_len(path))))
}

fn rules<'p>(files: impl Iterator<Item = (&'p str, u64)>) -> Vec<Violation> {
    let mut violations = Vec::new();
    // True if a case has its case.toml; and one of its files, for messages.
    let mut cases: BTreeMap<(&str, &str), (bool, &str)> = BTreeMap::new();
    for (path, byte_len) in files {
        let Some(below) = path
            .strip_prefix("testdata/")
            .filter(|below| *below != "README.md")
        else {
            continue;
        };
        let mut segments = below.splitn(3, '/');
        match (segments.next(), segments.next(), segments.next()) {
            (Some(family), Some(case), Some(file)) if FAMILIES.contains(&family) => {
                let (has_toml, _) = cases.entry((family, case)).or_insert((false, path));
                *has_toml |= file == "case.toml";
                if byte_len > MAX_BYTES {
                    let what =
                        format!("{byte_len} bytes, more than {MAX_BYTES}: keep the case smaller");
                    violations.push(Violation::new(path, 1, what));
                }
            }
            _ => violations.push(Violation::new(
                path,
                1,
                "is not in testdata/<family>/<case>/",
            )),
        }
    }
    for ((family, case), (has_toml, path)) in cases {
        if !has_toml {
            violations.push(Violation::new(
                path,
                1,
                format!("testdata/{family}/{case} has no case.toml"),
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_belongs_to_a_case() {
        let broken = |files: &[(&'static str, u64)]| rules(files.iter().copied()).len();
        assert_eq!(
            broken(&[("testdata/README.md", 1), ("testdata/n5/a/case.toml", 1)]),
            0
        );
        assert_eq!(
            broken(&[
                ("testdata/n5/a/case.toml", 1),
                ("testdata/n5/a/store/0/0", 200_000)
            ]),
            0
        );
        assert_eq!(
            broken(&[
                ("testdata/n5/a/case.toml", 1),
                ("testdata/n5/a/store/0/0", 200_001)
            ]),
            1
        );
        assert_eq!(
            broken(&[
                ("testdata/n5/a/store/0/0", 1),
                ("testdata/n5/a/store/case.toml", 1)
            ]),
            1
        );
        assert_eq!(broken(&[("testdata/n5/notes.txt", 1)]), 1);
        assert_eq!(broken(&[("testdata/zarr1/a/case.toml", 1)]), 1);
        assert_eq!(broken(&[("testdata/make.py", 1)]), 1);
    }
}
