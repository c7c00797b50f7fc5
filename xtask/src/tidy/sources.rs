//! Rules on the code of the crates: no I/O in pure crates, reasons of `expect`, no changes of the
//! process. Clippy refuses `unwrap`, printing and unfinished code (`[workspace.lints]` of
//! Cargo.toml).

use super::messages::rust_names;
use super::tests_in_src::{test_modules, without_tests};
use super::tokens::{Kind, Token, starts_with, tokens};
use super::tree::Tree;
use super::violation::Violation;
use super::workspace::Workspace;

/// Crates that do no I/O of any kind.
const PURE: [&str; 5] = [
    "ndzarr-grid",
    "ndzarr-json",
    "ndzarr-model",
    "ndzarr-metadata",
    "ndzarr-codec",
];

/// Modules of the standard library that do I/O.
const IO: [&str; 3] = ["fs", "net", "process"];

/// The shortest text of an `expect` that can hold a reason, in bytes.
const MIN_REASON: usize = 12;

/// Names that change the process, which belongs to the program: panic hook, environment, allocator,
/// signals, the pool of rayon, loggers.
const PROCESS: [&str; 14] = [
    "set_hook",
    "take_hook",
    "set_var",
    "remove_var",
    "set_current_dir",
    "global_allocator",
    "sigaction",
    "signal_hook",
    "umask",
    "setrlimit",
    "build_global",
    "set_global_default",
    "set_logger",
    "set_boxed_logger",
];

/// Checks the sources of every crate.
pub(super) fn check(workspace: &Workspace, tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in &workspace.packages {
        let src = format!("{}/src/", package.folder);
        let folder = format!("{}/", package.folder);
        let files: Vec<(&str, String)> = tree
            .with_ending(".rs")
            .filter(|path| path.starts_with(&folder))
            .map(|path| (path, tree.text(path)))
            .collect();
        let for_tests: Vec<String> = files
            .iter()
            .flat_map(|(path, text)| test_modules(path, &tokens(text)))
            .collect();
        let is_for_tests = |path: &str| {
            !path.starts_with(&src)
                || for_tests
                    .iter()
                    .any(|module| path.starts_with(module.as_str()))
        };
        for (path, text) in &files {
            let tokens = tokens(text);
            let mut found = Vec::new();
            if !is_for_tests(path) {
                let code = without_tests(&tokens);
                found.extend(expectations(&code));
                if package.published {
                    found.extend(process(&code));
                }
                // What ndzarr-derive says is for those who write Rust.
                let is_printed = package.published && package.name != "ndzarr-derive";
                if is_printed || package.name == "ndzarr-cli" {
                    found.extend(rust_names(&code));
                }
                if PURE.contains(&package.name.as_str()) {
                    found.extend(io(&code));
                }
            }
            violations.extend(
                found
                    .into_iter()
                    .map(|(line, what)| Violation::new(path, line, what)),
            );
        }
    }
    violations
}

type Found = Vec<(usize, String)>;

/// `.expect(..)` without a reason.
fn expectations(tokens: &[Token<'_>]) -> Found {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        for name in ["expect", "expect_err"] {
            if starts_with(tokens, at, &[".", name, "("])
                && !tokens.get(at + 3).is_some_and(is_reason)
            {
                found.push((
                    token.line,
                    format!(".{name}(): say in a literal why it holds"),
                ));
            }
        }
    }
    found
}

fn is_reason(token: &Token<'_>) -> bool {
    token.kind == Kind::Str && token.text.len() >= MIN_REASON && token.text.contains(' ')
}

/// Names that change the process, and calls of C's `signal`.
fn process(tokens: &[Token<'_>]) -> Found {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_signal = at > 0 && starts_with(tokens, at - 1, &[":", "signal", "("]);
        if is_signal || PROCESS.iter().any(|name| token.is(name)) {
            found.push((
                token.line,
                format!("{}: a library does not change the process", token.text),
            ));
        }
    }
    found
}

/// Mentions of the standard library's I/O, in paths and in grouped imports.
fn io(tokens: &[Token<'_>]) -> Found {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if !starts_with(tokens, at, &["std", ":", ":"]) {
            continue;
        }
        let rest = &tokens[at + 3..];
        for module in heads(rest) {
            if IO.iter().any(|name| module.is(name)) {
                found.push((
                    module.line,
                    format!("std::{}: this crate does no I/O", module.text),
                ));
            }
        }
    }
    found
}

/// The first segment after `std::`, or that of every member of a group `{a, b::c, d::{e, f}}`.
fn heads<'t, 's>(rest: &'t [Token<'s>]) -> Vec<&'t Token<'s>> {
    let Some(first) = rest.first() else {
        return Vec::new();
    };
    if !first.is("{") {
        return vec![first];
    }
    let mut heads = Vec::new();
    let mut depth = 0;
    for (at, token) in rest.iter().enumerate() {
        match token.text {
            "{" if token.kind == Kind::Punct => depth += 1,
            "}" if token.kind == Kind::Punct => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && (token.is("{") || token.is(",")) {
            heads.extend(rest.get(at + 1));
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(found: Found) -> Vec<usize> {
        found.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn expectations_need_a_reason() {
        let check = |source| lines(expectations(&tokens(source)));
        assert_eq!(
            check("a.expect(\"the lock is held by this thread\"); // a.expect(\"\")"),
            NONE
        );
        assert_eq!(
            check("a.expect(\"\");\na.expect(&why);\na.expect(\"failed\")"),
            [1, 2, 3]
        );
    }

    #[test]
    fn changes_of_the_process_are_found() {
        let check = |source| lines(process(&tokens(source)));
        assert_eq!(
            check("std::panic::set_hook(h);\nlet p = ThreadPoolBuilder::new()\n.build_global();"),
            [1, 3]
        );
        assert_eq!(
            check("use std::env::{\nself, set_var};\n#[global_allocator]\nstatic A: B = B;"),
            [2, 3]
        );
        assert_eq!(
            check("unsafe { libc::signal(1, f) }\ntracing::subscriber::set_global_default(s)"),
            [1, 2]
        );
        assert_eq!(
            check("// set_var\nlet signal = x.signal(); std::env::var(\"set_hook\"); self.build()"),
            NONE
        );
    }

    #[test]
    fn io_is_found_in_paths_and_groups() {
        let check = |source| lines(io(&tokens(source)));
        assert_eq!(
            check("use std::fs;\nlet f = std::fs::File::open(p);\nuse std::net::{A, B};"),
            [1, 2, 3]
        );
        assert_eq!(
            check("use std::{\n  fmt,\n  fs::File,\n  collections::{fs, net},\n  process};"),
            [3, 5]
        );
        assert_eq!(
            check("use std::{fmt, sync::Arc};\n//! std::fs\nlet fs = 1; my::fs::f();"),
            NONE
        );
    }
}
