//! Where unsafe code is allowed. The compiler denies it elsewhere, and clippy asks for its
//! `// SAFETY:` comments (`[workspace.lints]` of Cargo.toml).

use super::tree::Tree;
use super::violation::Violation;

/// Files that may allow unsafe code.
const HOMES: [&str; 9] = [
    "crates/ndzarr-blosc/src/c_blosc.rs",
    "crates/ndzarr-blosc/src/compress.rs",
    "crates/ndzarr-blosc/src/shuffle.rs",
    "crates/ndzarr-zfp/src/stream.rs",
    "crates/ndzarr-array/src/tiles/raw.rs",
    "crates/ndzarr-pool/src/offer.rs",
    "crates/ndzarr-store-fs/src/system/syscalls/kernel_lease.rs",
    "crates/ndzarr-store-fs/src/system/syscalls/win32.rs",
    // Names for JavaScript, no unsafe block.
    "examples/browser/src/exports.rs",
];

/// Checks every source file.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for path in tree.with_ending(".rs").filter(|path| !HOMES.contains(path)) {
        let lines = allowing(&tree.text(path));
        violations.extend(
            lines
                .into_iter()
                .map(|line| Violation::new(path, line, "unsafe code has no place here")),
        );
    }
    violations
}

/// The lines with an attribute that allows unsafe code.
fn allowing(text: &str) -> Vec<usize> {
    let allows = |line: &str| {
        let attribute = line
            .trim_start()
            .strip_prefix('#')
            .map(|rest| rest.trim_start_matches('!'));
        attribute.is_some_and(|rest| {
            ["[allow(", "[expect(", "[warn("]
                .iter()
                .any(|level| rest.starts_with(level))
                && rest.contains("unsafe_code")
        })
    };
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| allows(line))
        .map(|(number, _)| number)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::allowing;

    #[test]
    fn attributes_that_allow_are_found() {
        let text = "#![forbid(unsafe_code)]\n#![allow(unsafe_code)]\n    #[expect(dead_code, unsafe_code)]\n// #[allow(unsafe_code)]\n";
        assert_eq!(allowing(text), [2, 3]);
    }
}
