//! `derive(Structured)`. It parses only the part of Rust that it needs, and so has no dependencies.
#![forbid(unsafe_code)]

use std::iter::Peekable;

use proc_macro::token_stream::IntoIter;
use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// Makes a `struct` with named fields an element of arrays of structures. Its field names are those
/// of the stored structure, which may have them in another order, with padding, and in either byte
/// order. The fields may be numbers, dates, text of fixed length, other such structures, and Rust
/// arrays of these. The `struct` may have any layout in memory.
///
/// - `#[structured(name = "naif id")]` on a field gives its name in the array.
/// - `#[structured(crate = path)]` on the `struct` gives the path of ndzarr, if it is not
///   `::ndzarr`.
#[proc_macro_derive(Structured, attributes(structured))]
pub fn structured(input: TokenStream) -> TokenStream {
    expand(input).unwrap_or_else(|error| error.into_compile_error())
}

/// A compile error.
struct Error {
    at: Span,
    what: &'static str,
}

impl Error {
    fn into_compile_error(self) -> TokenStream {
        let mut text = TokenTree::from(proc_macro::Literal::string(self.what));
        text.set_span(self.at);
        let mut tokens = [
            TokenTree::from(Ident::new("compile_error", self.at)),
            Punct::new('!', Spacing::Alone).into(),
            Group::new(Delimiter::Brace, text.into()).into(),
        ];
        tokens.iter_mut().for_each(|token| token.set_span(self.at));
        tokens.into_iter().collect()
    }
}

type Tokens = Peekable<IntoIter>;

const UNSUPPORTED: &str =
    "`Structured` is for structs with named fields and without generic parameters";

/// The call of `structured!` for a `struct`.
fn expand(input: TokenStream) -> Result<TokenStream, Error> {
    let mut tokens = input.into_iter().peekable();
    let attribute = attributes(&mut tokens)?;
    if let Some((_, at)) = &attribute.name {
        return Err(Error {
            at: *at,
            what: "a name is that of a field",
        });
    }
    skip_visibility(&mut tokens);
    let unsupported = |token: Option<TokenTree>| Error {
        at: token.map_or_else(Span::call_site, |token| token.span()),
        what: UNSUPPORTED,
    };
    match tokens.next() {
        Some(TokenTree::Ident(word)) if word.to_string() == "struct" => {}
        other => return Err(unsupported(other)),
    }
    let Some(name @ TokenTree::Ident(_)) = tokens.next() else {
        return Err(unsupported(None));
    };
    let fields = match tokens.next() {
        Some(TokenTree::Group(fields)) if fields.delimiter() == Delimiter::Brace => fields,
        other => return Err(unsupported(other)),
    };
    let listed = field_list(fields.stream())?;
    if listed.is_empty() {
        return Err(unsupported(Some(fields.into())));
    }
    let fields = Group::new(Delimiter::Brace, listed);
    let content: TokenStream = [name, fields.into()].into_iter().collect();
    let mut call = match attribute.path {
        Some(path) => path,
        None => "::ndzarr".parse().map_err(|_| unsupported(None))?,
    };
    call.extend(
        "::structured!"
            .parse::<TokenStream>()
            .map_err(|_| unsupported(None))?,
    );
    call.extend([TokenTree::from(Group::new(Delimiter::Brace, content))]);
    Ok(call)
}

/// The fields in the syntax of `structured!`.
fn field_list(fields: TokenStream) -> Result<TokenStream, Error> {
    let mut tokens = fields.into_iter().peekable();
    let mut out = TokenStream::new();
    while tokens.peek().is_some() {
        let attribute = attributes(&mut tokens)?;
        if let Some(token) = attribute.path.and_then(|path| path.into_iter().next()) {
            return Err(Error {
                at: token.span(),
                what: "`crate` stands on the struct",
            });
        }
        skip_visibility(&mut tokens);
        let name = match tokens.next() {
            Some(name @ TokenTree::Ident(_)) => name,
            other => {
                let at = other.map_or_else(Span::call_site, |token| token.span());
                return Err(Error {
                    at,
                    what: "a field begins with its name",
                });
            }
        };
        out.extend([name]);
        if let Some((text, at)) = attribute.name {
            out.extend([TokenTree::from(Ident::new("as", at)), text]);
        }
        // The colon and the type, up to a comma outside its angle brackets. The `>` of `->` closes
        // none.
        let mut depth = 0_u32;
        let mut is_after_minus = false;
        for token in tokens.by_ref() {
            if let TokenTree::Punct(punct) = &token {
                match punct.as_char() {
                    ',' if depth == 0 => break,
                    '<' => depth += 1,
                    '>' if !is_after_minus => depth = depth.saturating_sub(1),
                    _ => {}
                }
                is_after_minus = punct.as_char() == '-';
            }
            out.extend([token]);
        }
        out.extend([TokenTree::from(Punct::new(',', Spacing::Alone))]);
    }
    Ok(out)
}

/// The content of the attributes of a struct or field.
#[derive(Default)]
struct Attribute {
    path: Option<TokenStream>,
    name: Option<(TokenTree, Span)>,
}

/// Takes the attributes, and returns the content of those of this derive.
fn attributes(tokens: &mut Tokens) -> Result<Attribute, Error> {
    let mut found = Attribute::default();
    while tokens
        .next_if(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '#'))
        .is_some()
    {
        let Some(TokenTree::Group(attribute)) = tokens.next() else {
            break;
        };
        let mut inside = attribute.stream().into_iter();
        let is_structured = matches!(inside.next(), Some(TokenTree::Ident(word)) if word.to_string() == "structured");
        if !is_structured {
            continue;
        }
        let syntax_error = Error {
            at: attribute.span(),
            what: "write `structured(name = \"…\")` on a field, or `structured(crate = path)` on the struct",
        };
        let Some(TokenTree::Group(given)) = inside.next() else {
            return Err(syntax_error);
        };
        let mut given = given.stream().into_iter();
        let word = given.next();
        let equals = given.next();
        let has_value = matches!(&equals, Some(TokenTree::Punct(punct)) if punct.as_char() == '=');
        match word {
            Some(TokenTree::Ident(word)) if has_value && word.to_string() == "crate" => {
                found.path = Some(given.collect());
            }
            Some(TokenTree::Ident(word)) if has_value && word.to_string() == "name" => {
                let text = given.next().map(ungrouped);
                let comma = given.next();
                let is_end = match &comma {
                    None => true,
                    Some(TokenTree::Punct(punct)) => {
                        punct.as_char() == ',' && given.next().is_none()
                    }
                    Some(_) => false,
                };
                match text {
                    Some(text @ TokenTree::Literal(_)) if is_end => {
                        if found.name.replace((text, word.span())).is_some() {
                            return Err(Error {
                                at: word.span(),
                                what: "a field has one name",
                            });
                        }
                    }
                    _ => return Err(syntax_error),
                }
            }
            _ => return Err(syntax_error),
        }
    }
    Ok(found)
}

/// A token that a macro may have passed on as a group without delimiters.
fn ungrouped(token: TokenTree) -> TokenTree {
    let TokenTree::Group(group) = &token else {
        return token;
    };
    let mut inside = group.stream().into_iter();
    match (group.delimiter(), inside.next(), inside.next()) {
        (Delimiter::None, Some(only), None) => ungrouped(only),
        _ => token,
    }
}

/// Skips the visibility of a struct or field.
fn skip_visibility(tokens: &mut Tokens) {
    // A macro passes `$vis` on as such a group, which may be empty.
    let is_passed_on = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::None);
    if tokens.next_if(is_passed_on).is_some() {
        return;
    }
    let is_pub =
        |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "pub");
    if tokens.next_if(is_pub).is_some() {
        let is_group = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
        tokens.next_if(is_group);
    }
}
