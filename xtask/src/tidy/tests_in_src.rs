//! Tests within the code: `#[cfg(test)]` items and modules.

use super::tokens::{Token, starts_with};

/// The tokens that are compiled outside tests.
pub(super) fn without_tests<'s>(tokens: &[Token<'s>]) -> Vec<Token<'s>> {
    let mut code = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if let Some(after) = test_attribute(tokens, at) {
            if tokens[at + 1].is("!") {
                return Vec::new();
            }
            at = item_end(tokens, after);
        } else {
            code.push(tokens[at]);
            at += 1;
        }
    }
    code
}

/// Path prefixes of modules that are only for tests: for `#[cfg(test)] mod tests;` in `src/a.rs`
/// these are `src/a/tests.rs` and `src/a/tests/`.
pub(super) fn test_modules(path: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let folder = match path.rsplit_once('/') {
        Some((folder, "lib.rs" | "main.rs")) => folder,
        _ => path.strip_suffix(".rs").unwrap_or(path),
    };
    let mut modules = Vec::new();
    for after in (0..tokens.len()).filter_map(|at| test_attribute(tokens, at)) {
        let item = &tokens[after..item_end(tokens, after)];
        if let [.., module, name, end] = item
            && module.is("mod")
            && end.is(";")
        {
            modules.push(format!("{folder}/{}.rs", name.text));
            modules.push(format!("{folder}/{}/", name.text));
        }
    }
    modules
}

/// Where the attribute at `at` ends, if it is one that keeps its item for tests.
fn test_attribute(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let open = [at + 1, at + 2]
        .into_iter()
        .find(|&open| starts_with(tokens, open, &["[", "cfg", "("]))
        .filter(|&open| tokens[at].is("#") && (open == at + 1 || tokens[at + 1].is("!")))?;
    let end = closing(tokens, open)?;
    let condition = &tokens[open + 3..end];
    let for_tests = condition.iter().any(|token| token.is("test"))
        && !condition
            .iter()
            .any(|token| token.is("not") || token.is("any"));
    for_tests.then_some(end + 1)
}

/// Where the item that starts at `at`, perhaps with more attributes, ends.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    while starts_with(tokens, at, &["#", "["]) {
        at = closing(tokens, at + 1).map_or(tokens.len(), |end| end + 1);
    }
    while let Some(token) = tokens.get(at) {
        if token.is(";") {
            return at + 1;
        }
        if token.is("{") {
            return closing(tokens, at).map_or(tokens.len(), |end| end + 1);
        }
        if token.is("}") {
            return at;
        }
        at = if token.is("(") || token.is("[") {
            closing(tokens, at).map_or(tokens.len(), |end| end + 1)
        } else {
            at + 1
        };
    }
    tokens.len()
}

/// The index of the bracket that closes the one at `open`.
pub(super) fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if ["(", "[", "{"].iter().any(|bracket| token.is(bracket)) {
            depth += 1;
        } else if [")", "]", "}"].iter().any(|bracket| token.is(bracket)) {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    fn code(source: &str) -> String {
        let texts: Vec<&str> = without_tests(&tokens(source))
            .iter()
            .map(|token| token.text)
            .collect();
        texts.join(" ")
    }

    #[test]
    fn items_for_tests_are_left_out() {
        assert_eq!(
            code("a; #[cfg(test)] mod tests { fn f() { g() } } b"),
            "a ; b"
        );
        assert_eq!(
            code("#[cfg(test)] #[allow(x)] fn f(a: [u8; 2]) -> u8 { 1 } b"),
            "b"
        );
        assert_eq!(code("#[cfg(all(test, unix))] use a::b; c"), "c");
        assert_eq!(code("#![cfg(test)] fn f() {}"), "");
    }

    #[test]
    fn other_items_stay() {
        assert_eq!(
            code("#[cfg(not(test))] fn f() {}"),
            "# [ cfg ( not ( test ) ) ] fn f ( ) { }"
        );
        assert_eq!(
            code("#[cfg(any(test, fuzzing))] a;"),
            "# [ cfg ( any ( test , fuzzing ) ) ] a ;"
        );
        assert_eq!(code("#[test] a"), "# [ test ] a");
    }

    #[test]
    fn modules_for_tests_are_known_by_their_declaration() {
        let modules = |path| test_modules(path, &tokens("#[cfg(test)]\nmod oracle;\nmod b;"));
        assert_eq!(
            modules("crates/a/src/lib.rs"),
            ["crates/a/src/oracle.rs", "crates/a/src/oracle/"]
        );
        assert_eq!(
            modules("crates/a/src/read.rs"),
            ["crates/a/src/read/oracle.rs", "crates/a/src/read/oracle/"]
        );
    }
}
