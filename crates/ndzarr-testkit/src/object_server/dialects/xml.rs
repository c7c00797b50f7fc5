//! The subset of XML that the services use.

/// Text as the content of an element.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' | '\n' | '\t' => out.push_str(&format!("&#{};", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out
}

/// `<name>text</name>`, escaped.
pub(crate) fn element(name: &str, text: impl ToString) -> String {
    format!("<{name}>{}</{name}>", escaped(&text.to_string()))
}

/// The contents of all elements of this name, in order, as they stand in the document.
pub(crate) fn contents<'x>(xml: &'x str, name: &str) -> Vec<&'x str> {
    let open = format!("<{name}>");
    let close = format!("</{name}>");
    let mut found = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find(&open) {
        rest = &rest[at + open.len()..];
        let Some(end) = rest.find(&close) else { break };
        found.push(&rest[..end]);
        rest = &rest[end + close.len()..];
    }
    found
}

/// The content of the first element of this name, with its entities resolved.
pub(crate) fn text(xml: &str, name: &str) -> Option<String> {
    contents(xml, name).first().map(|text| unescaped(text))
}

pub(crate) fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (entity, after) = after.split_once(';').unwrap_or((after, ""));
        let code = entity
            .strip_prefix('#')
            .map(|code| match code.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => code.parse(),
            });
        match entity {
            "amp" => out.push('&'),
            "lt" => out.push('<'),
            "gt" => out.push('>'),
            "quot" => out.push('"'),
            "apos" => out.push('\''),
            _ => out.extend(code.and_then(Result::ok).and_then(char::from_u32)),
        }
        rest = after;
    }
    out + rest
}
