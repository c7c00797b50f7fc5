//! Rust source as a list of tokens, so that no rule mistakes a comment or a string for code.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier or keyword.
    Word,
    /// A string literal; its text is what stands between the quotes.
    Str,
    /// One character of punctuation, or a bracket.
    Punct,
    /// A number, character, lifetime or raw identifier.
    Other,
}

/// A token of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
    /// Where it starts, from 1.
    pub(super) line: usize,
}

impl Token<'_> {
    /// True if this is the word or the punctuation character `text`.
    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Punct) && self.text == text
    }
}

/// True if the tokens from `at` on are these words and punctuation characters.
pub(super) fn starts_with(tokens: &[Token<'_>], at: usize, texts: &[&str]) -> bool {
    texts
        .iter()
        .enumerate()
        .all(|(i, text)| tokens.get(at + i).is_some_and(|token| token.is(text)))
}

/// The tokens of a source file; none of a text that the compiler rejects.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    if let Ok(stream) = source.parse() {
        append(stream, source, &mut tokens);
    }
    // Otherwise the crate keeps the text of each file.
    proc_macro2::extra::invalidate_current_thread_spans();
    tokens
}

fn append<'s>(stream: TokenStream, source: &'s str, tokens: &mut Vec<Token<'s>>) {
    let token = |kind, span: Span| Token {
        kind,
        text: &source[span.byte_range()],
        line: span.start().line,
    };
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(word) => {
                let token = token(Kind::Word, word.span());
                // `r#unsafe` is a name, not the keyword.
                let kind = if token.text.starts_with("r#") {
                    Kind::Other
                } else {
                    Kind::Word
                };
                tokens.push(Token { kind, ..token });
            }
            TokenTree::Literal(literal) => {
                let token = token(Kind::Other, literal.span());
                tokens.push(match between_quotes(token.text) {
                    Some(text) => Token {
                        kind: Kind::Str,
                        text,
                        ..token
                    },
                    None => token,
                });
            }
            TokenTree::Punct(mark) if mark.as_char() == '\'' => {
                // A lifetime.
                tokens.extend(trees.next().map(|name| token(Kind::Other, name.span())));
            }
            TokenTree::Punct(mark) => {
                let token = token(Kind::Punct, mark.span());
                if token.text.starts_with('/') && token.text.len() > 1 {
                    // A comment that is documentation: `#`, perhaps `!`, and a group.
                    while !matches!(trees.next(), None | Some(TokenTree::Group(_))) {}
                } else {
                    tokens.push(token);
                }
            }
            TokenTree::Group(group) => {
                let has_brackets = group.delimiter() != Delimiter::None;
                tokens.extend(has_brackets.then(|| token(Kind::Punct, group.span_open())));
                append(group.stream(), source, tokens);
                tokens.extend(has_brackets.then(|| token(Kind::Punct, group.span_close())));
            }
        }
    }
}

/// The text of a string literal, of bytes and raw ones too.
fn between_quotes(literal: &str) -> Option<&str> {
    let (prefix, text) = literal.split_once('"')?;
    let is_string = prefix
        .trim_end_matches('#')
        .chars()
        .all(|c| "bcr".contains(c));
    let text = text.trim_end_matches('#').strip_suffix('"')?;
    is_string.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        tokens(source)
            .iter()
            .filter(|token| token.kind == Kind::Word)
            .map(|token| token.text)
            .collect()
    }

    #[test]
    fn comments_and_strings_are_no_code() {
        assert_eq!(
            words("// unsafe\nlet a = \"unsafe \\\" unsafe\"; /* unsafe /* x */ unsafe */ end"),
            ["let", "a", "end"]
        );
        assert_eq!(
            words("//! unsafe\n/// unsafe\nfn f() {} /** unsafe */ fn g() {}"),
            ["fn", "f", "fn", "g"]
        );
        assert_eq!(
            words("b\"unsafe\" r#\"unsafe \" unsafe\"# br\"\\\" c\"unsafe\" end"),
            ["end"]
        );
        assert_eq!(words("r#unsafe end"), ["end"]);
    }

    #[test]
    fn characters_are_told_from_lifetimes() {
        assert_eq!(
            words("fn f<'a>(x: &'a str) -> char { '\"' }"),
            ["fn", "f", "x", "str", "char"]
        );
        assert_eq!(words("'\\'' 'x' b'\\\\' '\\u{1F600}' 'static end"), ["end"]);
    }

    #[test]
    fn strings_are_what_stands_between_their_quotes() {
        let of = |source| {
            tokens(source)
                .iter()
                .map(|token| (token.kind, token.text))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of("\"a b\" r#\"c\"d\"# b\"\" '\"'"),
            [
                (Kind::Str, "a b"),
                (Kind::Str, "c\"d"),
                (Kind::Str, ""),
                (Kind::Other, "'\"'"),
            ]
        );
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let lines = tokens("\"é\nb\"\n/* c\nd */ end { \n}");
        assert_eq!(
            lines.iter().map(|token| token.line).collect::<Vec<_>>(),
            [1, 4, 4, 5]
        );
    }
}
