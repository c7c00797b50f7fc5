//! Rust source as tokens and comments: just enough that no rule mistakes a comment or a string for
//! code.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier or keyword.
    Word,
    /// A string literal; its text is what stands between the quotes.
    Str,
    /// One character of punctuation.
    Punct,
    /// A number, character or lifetime.
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
    /// Whether this is the word or the punctuation character `text`.
    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Punct) && self.text == text
    }
}

/// A comment, documentation included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comment<'s> {
    pub(super) text: &'s str,
    pub(super) first_line: usize,
    pub(super) last_line: usize,
}

/// A source file taken apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Lexed<'s> {
    pub(super) tokens: Vec<Token<'s>>,
    pub(super) comments: Vec<Comment<'s>>,
}

/// Whether the tokens from `at` on are these words and punctuation characters.
pub(super) fn starts_with(tokens: &[Token<'_>], at: usize, texts: &[&str]) -> bool {
    texts.iter().enumerate().all(|(i, text)| tokens.get(at + i).is_some_and(|token| token.is(text)))
}

/// Splits a source file into tokens. Text that does not lex gives arbitrary tokens; the compiler
/// rejects it.
pub(super) fn lex(source: &str) -> Lexed<'_> {
    let mut lexer = Lexer { source, at: 0, line: 1, lexed: Lexed::default() };
    while lexer.at < source.len() {
        lexer.step();
    }
    lexer.lexed
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    line: usize,
    lexed: Lexed<'s>,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    /// Goes on by `len` bytes, which end at a character's boundary, and counts their lines.
    fn take(&mut self, len: usize) -> &'s str {
        let text = &self.rest()[..len.min(self.rest().len())];
        self.line += text.bytes().filter(|&byte| byte == b'\n').count();
        self.at += text.len();
        text
    }

    fn push(&mut self, kind: Kind, line: usize, text: &'s str) {
        self.lexed.tokens.push(Token { kind, text, line });
    }

    fn step(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        let line = self.line;
        if first.is_whitespace() {
            self.take(first.len_utf8());
        } else if rest.starts_with("//") {
            let text = self.take(rest.find('\n').unwrap_or(rest.len()));
            self.comment(line, text);
        } else if rest.starts_with("/*") {
            let text = self.take(block_comment_len(rest));
            self.comment(line, text);
        } else if first == '"' {
            self.string(line, 0);
        } else if first == '\'' {
            self.quote(line);
        } else if first.is_ascii_digit() {
            let text = self.take(number_len(rest));
            self.push(Kind::Other, line, text);
        } else if is_word(first) {
            self.word(line);
        } else {
            let text = self.take(first.len_utf8());
            self.push(Kind::Punct, line, text);
        }
    }

    fn comment(&mut self, first_line: usize, text: &'s str) {
        self.lexed.comments.push(Comment { text, first_line, last_line: self.line });
    }

    /// A word, or what its first letters announce: a string of bytes, a raw string, a raw
    /// identifier.
    fn word(&mut self, line: usize) {
        let rest = self.rest();
        let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(len);
        let hashes = after.bytes().take_while(|&byte| byte == b'#').count();
        match word {
            "b" | "c" if after.starts_with('"') => self.string(line, len),
            "b" if after.starts_with('\'') => {
                self.take(len);
                self.quote(line);
            }
            "r" | "br" | "cr" if after[hashes..].starts_with('"') => {
                let start = len + hashes + 1;
                let end_mark = format!("\"{}", &after[..hashes]);
                let end = rest[start..].find(&end_mark).map_or(rest.len(), |n| start + n);
                let text = &rest[start..end];
                self.take(end + end_mark.len());
                self.push(Kind::Str, line, text);
            }
            "r" if hashes == 1 && after[1..].starts_with(is_word) => {
                self.take(2);
                let rest = self.rest();
                let text = self.take(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
                // `r#unsafe` is a name, not the keyword.
                self.push(Kind::Other, line, text);
            }
            _ => {
                self.take(len);
                self.push(Kind::Word, line, word);
            }
        }
    }

    /// A string with escapes behind a prefix of `prefix` bytes.
    fn string(&mut self, line: usize, prefix: usize) {
        let rest = self.rest();
        let start = prefix + 1;
        let end = start + closing(&rest[start..], '"');
        let text = &rest[start..end];
        self.take(end + 1);
        self.push(Kind::Str, line, text);
    }

    /// A character or a lifetime.
    fn quote(&mut self, line: usize) {
        let rest = self.rest();
        let mut chars = rest.chars().skip(1);
        let (first, second) = (chars.next(), chars.next());
        let len = if first != Some('\\') && second != Some('\'') {
            let tail = &rest[1..];
            1 + tail.find(|c| !is_word(c)).unwrap_or(tail.len())
        } else {
            closing(&rest[1..], '\'') + 2
        };
        let text = self.take(len);
        self.push(Kind::Other, line, text);
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Bytes before the closing quote that no backslash escapes.
fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at,
            _ => {}
        }
    }
    text.len()
}

fn block_comment_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// `1..2` and `1.max(2)` end before the dot.
fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let dot = bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        if !(dot || bytes[at] == b'_' || bytes[at].is_ascii_alphanumeric()) {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        lex(source).tokens.iter().filter(|token| token.kind == Kind::Word).map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_strings_are_no_code() {
        assert_eq!(
            words("// unsafe\nlet a = \"unsafe \\\" unsafe\"; /* unsafe /* x */ unsafe */ end"),
            ["let", "a", "end"]
        );
        assert_eq!(words("b\"unsafe\" r#\"unsafe \" unsafe\"# br\"\\\" c\"unsafe\" end"), ["end"]);
        assert_eq!(words("r#unsafe end"), ["end"]);
    }

    #[test]
    fn characters_are_told_from_lifetimes() {
        assert_eq!(words("fn f<'a>(x: &'a str) -> char { '\"' }"), ["fn", "f", "x", "str", "char"]);
        assert_eq!(words("'\\'' 'x' b'\\\\' '\\u{1F600}' 'static end"), ["end"]);
        assert_eq!(words("'é' end"), ["end"]);
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let lexed = lex("\"a\nb\"\n/* c\nd */ end");
        assert_eq!(lexed.tokens.iter().map(|token| token.line).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(lexed.comments, [Comment { text: "/* c\nd */", first_line: 3, last_line: 4 }]);
    }

    #[test]
    fn ranges_are_not_fractions() {
        let texts: Vec<&str> = lex("0..1.5e3").tokens.iter().map(|token| token.text).collect();
        assert_eq!(texts, ["0", ".", ".", "1.5e3"]);
    }

    #[test]
    fn an_open_end_does_not_panic() {
        for source in ["\"", "'", "/*", "r#\"", "b'", "'\\", "r#", "é"] {
            lex(source);
        }
    }
}
