//! A page of a list, read from the XML itself: object_store refuses a page with a key that it does not
//! like, and takes the marker of a folder for a value.

use crate::told::Told;

/// Names as the service has them, from the root of the bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) keys: Vec<String>,
    /// The length of each value in bytes, if the page has it.
    pub(crate) sizes: Vec<Option<u64>>,
    pub(crate) prefixes: Vec<String>,
    /// What to ask for the next page with.
    pub(crate) next: Option<String>,
}

impl Page {
    /// Reads a `ListBucketResult` (S3, Google) or `EnumerationResults` (Azure).
    ///
    /// # Errors
    /// It is anything else, a part of one, or one that goes on and does not say how.
    pub(crate) fn read(text: &str) -> Result<Self, Told> {
        let azure = text.contains("<EnumerationResults");
        let end = if azure { "</EnumerationResults>" } else { "</ListBucketResult>" };
        if !text.trim_end().ends_with(end) {
            return Err(Told::passing("the answer is not a complete list"));
        }
        let [value, folder, name, prefix, size, next] = match azure {
            true => ["Blob", "BlobPrefix", "Name", "Name", "Content-Length", "NextMarker"],
            false => ["Contents", "CommonPrefixes", "Key", "Prefix", "Size", "NextContinuationToken"],
        };
        let named = |outer, inner| elements(text, outer).filter_map(move |it| element(it, inner)).collect();
        let next = element(text, next).filter(|next| !next.is_empty());
        if next.is_none() && element(text, "IsTruncated").is_some_and(|is| is.trim() == "true") {
            return Err(Told::last("the list goes on, but not where: the server does not know list-type=2"));
        }
        // With a hierarchical namespace Azure lists folders among the values.
        let is_folder = |it: &&str| azure && element(it, "ResourceType").as_deref() == Some("directory");
        let (keys, sizes) = elements(text, value)
            .filter(|it| !is_folder(it))
            .filter_map(|it| Some((element(it, name)?, element(it, size).and_then(|size| size.parse().ok()))))
            .unzip();
        Ok(Self { keys, sizes, prefixes: named(folder, prefix), next })
    }
}

/// The text of the first element of this name.
pub(crate) fn element(text: &str, name: &str) -> Option<String> {
    elements(text, name).next().map(unescaped)
}

/// What is between the tags of each element of this name.
pub(crate) fn elements<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, tag) = rest.split_once('<')?;
            rest = tag;
            let Some(after) = tag.strip_prefix(name) else { continue };
            if !after.starts_with(['>', ' ']) {
                continue;
            }
            let (attributes, inside) = after.split_once('>')?;
            rest = inside;
            if attributes.ends_with('/') {
                continue;
            }
            let end = inside.find(&format!("</{name}>"))?;
            rest = &inside[end..];
            return Some(&inside[..end]);
        }
    })
}

/// No name of a character is longer, with its semicolon. More is not looked at: a list may have many `&`.
const LONGEST: usize = 12;

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after.bytes().take(LONGEST).position(|byte| byte == b';');
        let known = end.and_then(|end| Some((character(&after[..end])?, &after[end + 1..])));
        match known {
            Some((character, after)) => {
                out.push(character);
                rest = after;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rs_17_rs_18_a_page_has_the_names_as_they_are() {
        let page = Page::read(
            "<?xml version=\"1.0\"?><ListBucketResult><Prefix>a/</Prefix><NextContinuationToken>x&amp;y\
             </NextContinuationToken><Contents><Key>a//b</Key><Size>1</Size></Contents><Contents><Key>a/c/</Key>\
             </Contents><Contents><Key>&lt;&#233;&#x1F600;&gt;</Key></Contents><CommonPrefixes><Prefix>a/d/</Prefix>\
             </CommonPrefixes></ListBucketResult>",
        )
        .expect("it is complete");
        assert_eq!(page.keys, ["a//b", "a/c/", "<é😀>"]);
        assert_eq!(page.sizes, [Some(1), None, None]);
        assert_eq!(page.prefixes, ["a/d/"]);
        assert_eq!(page.next.as_deref(), Some("x&y"));
        let page = Page::read(
            "<EnumerationResults><Blobs><Blob><Name>a</Name><Properties>\
             <Content-Length>23</Content-Length></Properties></Blob><BlobPrefix><Name>b/</Name></BlobPrefix></Blobs>\
             <NextMarker/></EnumerationResults>",
        );
        let expected =
            Page { keys: vec!["a".into()], sizes: vec![Some(23)], prefixes: vec!["b/".into()], next: None };
        assert_eq!(page.expect("it is complete"), expected);
    }

    #[test]
    fn rs_18_a_folder_of_azure_is_not_among_the_values() {
        let blob = |name: &str, kind: &str| {
            format!(
                "<Blob><Name>{name}</Name><Properties><Content-Length>0</Content-Length>\
                 <ResourceType>{kind}</ResourceType></Properties></Blob>"
            )
        };
        let blobs = blob("a", "directory") + &blob("a/b", "file");
        let page = Page::read(&format!("<EnumerationResults><Blobs>{blobs}</Blobs></EnumerationResults>"));
        assert_eq!(page.expect("it is complete").keys, ["a/b"]);
    }

    #[test]
    fn a_list_of_ampersands_takes_the_time_of_its_length() {
        // Each that looked at all that follows would take hours.
        let name = "&".repeat(4 << 20);
        let page = format!("<ListBucketResult><Contents><Key>{name}</Key></Contents></ListBucketResult>");
        assert!(Page::read(&page).expect("it is complete").keys == [name]);
    }

    #[test]
    fn rs_13_a_part_of_a_page_is_none() {
        let whole = "<ListBucketResult><Contents><Key>a&amp;b</Key></Contents></ListBucketResult>\n";
        assert_eq!(Page::read(whole).expect("it is complete").keys, ["a&b"]);
        for end in 0..whole.len() - 1 {
            assert!(Page::read(&whole[..end]).is_err());
        }
        assert!(Page::read("<html>Welcome to our network</html>").is_err());
    }
}
