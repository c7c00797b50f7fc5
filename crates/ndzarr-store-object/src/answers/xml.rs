//! The XML of answers, as a stream of the names and texts of elements.

use std::str;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

/// The greatest depth of nested elements; services need only a few.
const MAX_DEPTH: usize = 32;

/// How a document ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its root was closed.
    Whole,
    /// It is cut off, or not XML.
    Cut,
}

/// Passes on each element when it ends: the names from the root to it, and its text.
pub(crate) fn each_element(text: &str, mut take: impl FnMut(&[&str], String)) -> End {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    // Some servers do not escape ampersands.
    config.allow_dangling_amp = true;
    config.expand_empty_elements = true;
    let mut names: Vec<String> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    while let Ok(event) = reader.read_event() {
        let more = match &event {
            Event::Start(start) => {
                let name = start.local_name();
                match str::from_utf8(name.as_ref()) {
                    Ok(name) if names.len() < MAX_DEPTH => names.push(name.to_owned()),
                    _ => return End::Cut,
                }
                texts.push(String::new());
                continue;
            }
            Event::End(_) => {
                let Some(text) = texts.pop() else {
                    return End::Cut;
                };
                let path: Vec<&str> = names.iter().map(String::as_str).collect();
                take(&path, text);
                names.pop();
                if names.is_empty() {
                    return End::Whole;
                }
                continue;
            }
            Event::Eof => return End::Cut,
            Event::Text(text) => text.decode().ok(),
            Event::CData(text) => text.decode().ok(),
            Event::GeneralRef(entity) => match entity.resolve_char_ref() {
                Ok(Some(letter)) => Some(String::from(letter).into()),
                _ => entity
                    .decode()
                    .ok()
                    .map(|name| match resolve_predefined_entity(&name) {
                        Some(letter) => letter.into(),
                        None => format!("&{name};").into(),
                    }),
            },
            _ => continue,
        };
        let Some(more) = more else { return End::Cut };
        if let Some(text) = texts.last_mut() {
            text.push_str(&more);
        }
    }
    End::Cut
}

/// The text of the first element of this name, even if the document is not complete.
pub(crate) fn element(text: &str, name: &str) -> Option<String> {
    let mut found = None;
    each_element(text, |names, text| {
        if names.last() == Some(&name) {
            found.get_or_insert(text);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<(String, String)>, End) {
        let mut all = Vec::new();
        let end = each_element(text, |names, text| all.push((names.join("/"), text)));
        (all, end)
    }

    #[test]
    fn texts_are_as_they_are_meant() {
        for (inside, expected) in [
            ("a&amp;b&lt;&gt;&quot;&apos;", "a&b<>\"'"),
            ("&#233;&#x1F600;", "é😀"),
            ("<![CDATA[a&amp;<b>]]>", "a&amp;<b>"),
            ("a<![CDATA[/]]>b", "a/b"),
            ("a<!-- <k>c</k> -->b<?pi c?>", "ab"),
            (" a \r\n", " a \r\n"),
            ("a & b && c", "a & b && c"),
            ("&unknown;", "&unknown;"),
            ("", ""),
        ] {
            let (all, end) = read(&format!(
                "<?xml version=\"1.0\"?>\n<r xmlns=\"u\"><s:k a='1'>{inside}</s:k></r>\n"
            ));
            assert_eq!(end, End::Whole, "{inside}");
            assert_eq!(all[0], ("r/k".to_owned(), expected.to_owned()), "{inside}");
        }
        assert_eq!(read("<r><k/></r>").0[0], ("r/k".to_owned(), String::new()));
    }

    #[test]
    fn what_is_cut_or_no_document_is_not_whole() {
        let whole = "<r><k a=\"b\">c&amp;d<![CDATA[e]]></k><!-- f --></r>";
        assert_eq!(read(whole).1, End::Whole);
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]).1, End::Cut, "{}", &whole[..end]);
        }
        let deep = "<a>".repeat(1000);
        for text in [
            "",
            "text",
            "{}",
            "<r></k></r>",
            "</r>",
            "<html><br></html>",
            &deep,
        ] {
            assert_eq!(read(text).1, End::Cut, "{text}");
        }
        assert_eq!(
            element("<Error><Code>A</Code><Code>B</Code><Message>cut", "Code").as_deref(),
            Some("A")
        );
        assert_eq!(element("<Error><Message>cut", "Message"), None);
    }

    /// No entity is expanded that a document declares.
    #[test]
    fn declared_entities_stay_as_they_are() {
        let text = "<!DOCTYPE r [<!ENTITY a \"b\"><!ENTITY c SYSTEM \"file:///etc/passwd\">]><r>&a;&c;</r>";
        assert_eq!(
            read(text),
            (vec![("r".to_owned(), "&a;&c;".to_owned())], End::Whole)
        );
    }
}
