//! `derive(Structured)`, without a parser for all of Rust: it depends on nothing.
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
/// - `#[structured(crate = path)]` on the `struct` says where ndzarr is, if not at `::ndzarr`.
#[proc_macro_derive(Structured, attributes(structured))]
pub fn structured(input: TokenStream) -> TokenStream {
    expand(input).unwrap_or_else(|wrong| wrong.into_compile_error())
}

struct Wrong {
    at: Span,
    what: &'static str,
}

impl Wrong {
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

const ONLY: &str = "`Structured` is for structs with named fields and without generic parameters";

/// The call of `structured!` for a `struct`.
fn expand(input: TokenStream) -> Result<TokenStream, Wrong> {
    let mut tokens = input.into_iter().peekable();
    let attribute = attributes(&mut tokens)?;
    if let Some((_, at)) = &attribute.name {
        return Err(Wrong { at: *at, what: "a name is that of a field" });
    }
    visibility(&mut tokens);
    let only = |token: Option<TokenTree>| Wrong {
        at: token.map_or_else(Span::call_site, |token| token.span()),
        what: ONLY,
    };
    match tokens.next() {
        Some(TokenTree::Ident(word)) if word.to_string() == "struct" => {}
        other => return Err(only(other)),
    }
    let Some(name @ TokenTree::Ident(_)) = tokens.next() else { return Err(only(None)) };
    let fields = match tokens.next() {
        Some(TokenTree::Group(fields)) if fields.delimiter() == Delimiter::Brace => fields,
        other => return Err(only(other)),
    };
    let listed = list(fields.stream())?;
    if listed.is_empty() {
        return Err(only(Some(fields.into())));
    }
    let fields = Group::new(Delimiter::Brace, listed);
    let content: TokenStream = [name, fields.into()].into_iter().collect();
    let mut call = match attribute.path {
        Some(path) => path,
        None => "::ndzarr".parse().map_err(|_| only(None))?,
    };
    call.extend("::structured!".parse::<TokenStream>().map_err(|_| only(None))?);
    call.extend([TokenTree::from(Group::new(Delimiter::Brace, content))]);
    Ok(call)
}

/// The fields as `structured!` takes them.
fn list(fields: TokenStream) -> Result<TokenStream, Wrong> {
    let (mut tokens, mut out) = (fields.into_iter().peekable(), TokenStream::new());
    while tokens.peek().is_some() {
        let attribute = attributes(&mut tokens)?;
        if let Some(token) = attribute.path.and_then(|path| path.into_iter().next()) {
            return Err(Wrong { at: token.span(), what: "`crate` stands on the struct" });
        }
        visibility(&mut tokens);
        let name = match tokens.next() {
            Some(name @ TokenTree::Ident(_)) => name,
            other => {
                let at = other.map_or_else(Span::call_site, |token| token.span());
                return Err(Wrong { at, what: "a field begins with its name" });
            }
        };
        out.extend([name]);
        if let Some((text, at)) = attribute.name {
            out.extend([TokenTree::from(Ident::new("as", at)), text]);
        }
        // The colon and the type, up to a comma outside its angle brackets.
        let (mut depth, mut arrow) = (0_u32, false);
        for token in tokens.by_ref() {
            if let TokenTree::Punct(punct) = &token {
                match punct.as_char() {
                    ',' if depth == 0 => break,
                    '<' => depth += 1,
                    '>' if !arrow => depth = depth.saturating_sub(1),
                    _ => {}
                }
                arrow = punct.as_char() == '-';
            }
            out.extend([token]);
        }
        out.extend([TokenTree::from(Punct::new(',', Spacing::Alone))]);
    }
    Ok(out)
}

/// What the attributes of a struct or field say.
#[derive(Default)]
struct Attribute {
    path: Option<TokenStream>,
    name: Option<(TokenTree, Span)>,
}

fn attributes(tokens: &mut Tokens) -> Result<Attribute, Wrong> {
    let mut found = Attribute::default();
    while tokens.next_if(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '#')).is_some()
    {
        let Some(TokenTree::Group(attribute)) = tokens.next() else { break };
        let mut inside = attribute.stream().into_iter();
        let ours = matches!(inside.next(), Some(TokenTree::Ident(word)) if word.to_string() == "structured");
        if !ours {
            continue;
        }
        let wrong = Wrong {
            at: attribute.span(),
            what: "write `structured(name = \"…\")` on a field, or `structured(crate = path)` on the struct",
        };
        let Some(TokenTree::Group(given)) = inside.next() else { return Err(wrong) };
        let mut given = given.stream().into_iter();
        let (word, equals) = (given.next(), given.next());
        let is_given = matches!(&equals, Some(TokenTree::Punct(punct)) if punct.as_char() == '=');
        match word {
            Some(TokenTree::Ident(word)) if is_given && word.to_string() == "crate" => {
                found.path = Some(given.collect());
            }
            Some(TokenTree::Ident(word)) if is_given && word.to_string() == "name" => {
                let (text, comma) = (given.next().map(ungrouped), given.next());
                let is_end = match &comma {
                    None => true,
                    Some(TokenTree::Punct(punct)) => punct.as_char() == ',' && given.next().is_none(),
                    Some(_) => false,
                };
                match text {
                    Some(text @ TokenTree::Literal(_)) if is_end => {
                        if found.name.replace((text, word.span())).is_some() {
                            return Err(Wrong { at: word.span(), what: "a field has one name" });
                        }
                    }
                    _ => return Err(wrong),
                }
            }
            _ => return Err(wrong),
        }
    }
    Ok(found)
}

/// A token that a macro may have passed on as a group without delimiters.
fn ungrouped(token: TokenTree) -> TokenTree {
    let TokenTree::Group(group) = &token else { return token };
    let mut inside = group.stream().into_iter();
    match (group.delimiter(), inside.next(), inside.next()) {
        (Delimiter::None, Some(only), None) => ungrouped(only),
        _ => token,
    }
}

fn visibility(tokens: &mut Tokens) {
    // A macro passes `$vis` on as such a group, which may be empty.
    let is_passed_on =
        |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::None);
    if tokens.next_if(is_passed_on).is_some() {
        return;
    }
    let is_pub = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "pub");
    if tokens.next_if(is_pub).is_some() {
        let is_group = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
        tokens.next_if(is_group);
    }
}
