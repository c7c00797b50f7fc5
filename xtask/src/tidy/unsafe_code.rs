//! Where unsafe code is allowed, and the comments that it needs.

use super::layers::{Package, Workspace};
use super::lexer::{Comment, Lexed, Token, lex, starts_with};
use super::tree::Tree;
use super::violation::Violation;

/// Files and folders that may hold unsafe code.
const HOMES: [&str; 7] = [
    "crates/ndzarr-blosc/src/",
    "crates/ndzarr-zfp/src/stream.rs",
    "crates/ndzarr-array/src/raw.rs",
    "crates/ndzarr-pool/src/offer.rs",
    "crates/ndzarr-store-fs/src/syscalls/kernel_lease.rs",
    "crates/ndzarr-store-fs/src/syscalls/win32.rs",
    // Names for JavaScript, no unsafe block.
    "examples/browser/src/exports.rs",
];

/// The crates that consist of unsafe calls, and so do not forbid them at their root.
const FFI: [&str; 2] = ["ndzarr-blosc", "ndzarr-zfp"];

/// The crates with one file of unsafe code.
const MIXED: [&str; 4] = ["ndzarr-array", "ndzarr-pool", "ndzarr-store-fs", "browser"];

/// Checks every source file of the workspace.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in &workspace.packages {
        let folder = format!("{}/", package.folder);
        let paths: Vec<&str> = tree.with_ending(".rs").filter(|path| path.starts_with(&folder)).collect();
        let sources: Vec<(&str, String)> = paths.into_iter().map(|path| (path, tree.text(path))).collect();
        let lexed: Vec<(&str, Lexed<'_>)> = sources.iter().map(|(path, text)| (*path, lex(text))).collect();
        violations.extend(roots(package, &lexed));
        for (path, lexed) in &lexed {
            violations.extend(file(path, lexed));
        }
    }
    violations
}

/// Each library and program forbids unsafe code at its root.
fn roots(package: &Package, lexed: &[(&str, Lexed<'_>)]) -> Vec<Violation> {
    if FFI.contains(&package.name.as_str()) {
        return Vec::new();
    }
    // `ndarray::s![]` does not compile under `forbid`.
    let src = format!("{}/src/", package.folder);
    let uses_s = lexed.iter().any(|(path, lexed)| path.starts_with(&src) && uses_s_macro(&lexed.tokens));
    let levels: &[&str] =
        if uses_s || MIXED.contains(&package.name.as_str()) { &["forbid", "deny"] } else { &["forbid"] };
    let says_so = |path: &str| {
        let tokens = lexed.iter().find(|(known, _)| *known == path).map(|(_, lexed)| &lexed.tokens[..]);
        levels.iter().any(|level| has_level(tokens.unwrap_or_default(), level))
    };
    let silent = package.roots.iter().filter(|root| !says_so(root));
    silent
        .map(|root| Violation::new(root, 1, format!("must say #![{}(unsafe_code)]", levels.join(" or "))))
        .collect()
}

fn has_level(tokens: &[Token<'_>], level: &str) -> bool {
    (0..tokens.len()).any(|at| {
        starts_with(tokens, at, &["#", "!", "[", level, "("])
            && tokens[at + 5..].iter().take_while(|token| !token.is(")")).any(|token| token.is("unsafe_code"))
    })
}

fn uses_s_macro(tokens: &[Token<'_>]) -> bool {
    (0..tokens.len()).any(|at| starts_with(tokens, at, &["s", "!", "["]))
}

/// Unsafe code only in allowed places, and each block with the reason why it is sound.
fn file(path: &str, lexed: &Lexed<'_>) -> Vec<Violation> {
    let at_home = HOMES.iter().any(|home| path.starts_with(home));
    let mut violations = Vec::new();
    for (at, token) in lexed.tokens.iter().enumerate().filter(|(_, token)| token.is("unsafe")) {
        if !at_home {
            violations.push(Violation::new(path, token.line, "unsafe code has no place here"));
            continue;
        }
        let needs_reason = lexed.tokens.get(at + 1).is_some_and(|next| next.is("{") || next.is("impl"));
        if needs_reason && !has_reason(lexed, at) {
            violations.push(Violation::new(
                path,
                token.line,
                "an unsafe block needs a SAFETY comment above it",
            ));
        }
    }
    violations
}

/// Whether a SAFETY comment is right above the statement with the token `at`, or inside it before
/// the token.
fn has_reason(lexed: &Lexed<'_>, at: usize) -> bool {
    let ends = |token: &Token<'_>| [";", "{", "}"].iter().any(|end| token.is(end));
    let first = lexed.tokens[..at].iter().rposition(ends).map_or(0, |end| end + 1);
    let mut top = lexed.tokens[first].line;
    // Comments on the lines directly above belong to the statement, however many they are.
    while let Some(above) = lexed.comments.iter().find(|comment| comment.last_line + 1 == top) {
        top = above.first_line;
    }
    let belongs = |comment: &&Comment<'_>| (top..=lexed.tokens[at].line).contains(&comment.first_line);
    // A comment behind the end of the statement before, on that line, is not above.
    lexed.comments.iter().filter(belongs).any(|comment| comment.text.contains("SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(path: &str, source: &str) -> Vec<usize> {
        file(path, &lex(source)).into_iter().map(|violation| violation.line).collect()
    }

    const HOME: &str = "crates/ndzarr-blosc/src/lib.rs";

    #[test]
    fn unsafe_code_stays_at_home() {
        assert_eq!(lines("crates/ndzarr-array/src/tile.rs", "\nfn f() { unsafe { g() } }"), [2]);
        assert_eq!(lines("crates/ndzarr-array/src/raw.rs", "// SAFETY: none\nunsafe { g() }"), NONE);
        assert_eq!(lines("crates/ndzarr-array/tests/raw.rs", "unsafe fn f() {}"), [1]);
    }

    #[test]
    fn talking_of_it_is_no_unsafe_code() {
        let source = "#![forbid(unsafe_code)] // unsafe\nconst A: &str = \"unsafe {}\"; /* unsafe */";
        assert_eq!(lines("crates/ndzarr-grid/src/lib.rs", source), NONE);
    }

    #[test]
    fn blocks_need_a_reason_right_above() {
        assert_eq!(lines(HOME, "f();\nlet a = unsafe { g() };"), [2]);
        assert_eq!(
            lines(HOME, "// SAFETY: `g` takes anything,\n// even this.\nlet a =\n    unsafe { g() };"),
            NONE
        );
        assert_eq!(lines(HOME, "let a = f(\n    // SAFETY: fine\n    unsafe { g() },\n);"), NONE);
        assert_eq!(lines(HOME, "// SAFETY: fine\nlet a = unsafe { g() };\nlet b = unsafe { g() };"), [3]);
        assert_eq!(lines(HOME, "// SAFETY: fine\n\nunsafe { g() }"), [3]);
        assert_eq!(lines(HOME, "// SAFETY: fine\nunsafe impl Send for A {}"), NONE);
        assert_eq!(lines(HOME, "unsafe extern \"C\" { fn g(); }"), NONE);
    }

    #[test]
    fn roots_forbid_or_deny() {
        let lacks = |name: &str, source: &str| {
            let root = format!("crates/{name}/src/lib.rs");
            let package = Package {
                name: name.to_owned(),
                folder: format!("crates/{name}"),
                roots: vec![root.clone()],
                ..Package::default()
            };
            roots(&package, &[(&root, lex(source))]).len()
        };
        assert_eq!(lacks("ndzarr-grid", "#![forbid(unsafe_code)]"), 0);
        assert_eq!(lacks("ndzarr-grid", "#![forbid(missing_docs, unsafe_code)]"), 0);
        assert_eq!(lacks("ndzarr-grid", "//! #![forbid(unsafe_code)]"), 1);
        assert_eq!(lacks("ndzarr-grid", "#![deny(unsafe_code)]"), 1);
        assert_eq!(lacks("ndzarr-testkit", "#![deny(unsafe_code)] fn f() { a.slice(s![.., 1]); }"), 0);
        assert_eq!(lacks("ndzarr-array", "#![deny(unsafe_code)]"), 0);
        assert_eq!(lacks("ndzarr-blosc", ""), 0);
    }
}
