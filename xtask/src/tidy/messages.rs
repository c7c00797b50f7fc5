//! Messages name nothing that only Rust has: the command line and Python print them as well.

use super::tokens::{Kind, Token, starts_with};

/// The lines of texts that name an item of Rust, with what they name. Attributes whose text is the
/// compiler's, and reasons of `expect`, are for those who write Rust.
pub(super) fn rust_names(tokens: &[Token<'_>]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_for_compiler(tokens, at) {
            while !tokens[at].is("]") && at + 1 < tokens.len() {
                at += 1;
            }
        }
        let token = &tokens[at];
        let is_reason = at >= 2 && starts_with(tokens, at - 2, &["expect", "("]);
        if token.kind == Kind::Str && token.text.contains(' ') && !is_reason {
            let names = token.text.split([' ', '\n', ',', ';']).filter_map(name);
            found.extend(names.map(|name| {
                (
                    token.line,
                    format!("{name}: say it in words that every front end has"),
                )
            }));
        }
        at += 1;
    }
    found
}

fn is_for_compiler(tokens: &[Token<'_>], at: usize) -> bool {
    ["diagnostic", "doc", "allow", "expect"]
        .iter()
        .any(|name| starts_with(tokens, at, &["#", "[", name]))
}

/// The word, if it is a path, a call without arguments, or a type or a name with `_` in backticks.
fn name(word: &str) -> Option<&str> {
    let word = word
        .trim_end_matches(['.', ':', ')', '"', '\\'])
        .trim_start_matches(['(', '"', '\\']);
    let is_ident = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let bare = word.trim_matches('`');
    let is_path = bare
        .split_once("::")
        .is_some_and(|(left, right)| is_ident(left) && is_ident(right));
    let is_call = bare.strip_suffix('(').is_some_and(is_ident);
    let is_quoted = word.starts_with('`') && word.ends_with('`') && is_ident(bare);
    let is_type =
        bare.starts_with(|c: char| c.is_ascii_uppercase()) && bare.contains(char::is_lowercase);
    (is_path || is_call || is_quoted && (is_type || bare.contains('_'))).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    fn lines(source: &str) -> Vec<usize> {
        rust_names(&tokens(source))
            .into_iter()
            .map(|(line, _)| line)
            .collect()
    }

    #[test]
    fn names_of_rust_are_found_in_messages() {
        assert_eq!(
            lines("\"choose Policy::Last\";\n\"overwrite() removes them\""),
            [1, 2]
        );
        assert_eq!(
            lines("f(\"implement `Store` or\",\n\"set `missing_if_denied`\")"),
            [1, 2]
        );
        assert_eq!(lines("#[error(\"see `Options::region`\")] A"), [1]);
        assert!(lines("\"`auto:` has no path, `ndzarr rm` removes `zip::` (a: b)\"").is_empty());
        assert!(
            lines("\"the data_type, the feature `zip`, `..` and None\"; \"Store::new\"").is_empty()
        );
    }

    #[test]
    fn what_only_the_compiler_says_may_name_them() {
        assert!(
            lines(
                "#[diagnostic::on_unimplemented(note = \"write `Vec<u64>` or `AnyArray` then\")]"
            )
            .is_empty()
        );
        assert!(lines("x.expect(\"`Lock` is held by this thread\")").is_empty());
    }
}
