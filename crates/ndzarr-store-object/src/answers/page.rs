//! A page of a list, read from the XML itself: object_store refuses a whole page for a key that it
//! does not accept, and takes the marker of a folder for a value.

use crate::answers::xml::{End, each_element};
use crate::errors::message::OwnError;

/// Names as the service has them, from the root of the bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) keys: Vec<String>,
    /// The length of each value in bytes, if the page has it.
    pub(crate) sizes: Vec<Option<u64>>,
    pub(crate) prefixes: Vec<String>,
    /// The token that requests the next page.
    pub(crate) next: Option<String>,
}

/// An entry of a list that is being read.
#[derive(Default)]
struct Entry {
    name: Option<String>,
    size: Option<u64>,
    is_folder: bool,
}

impl Page {
    /// Reads a `ListBucketResult` (S3, Google) or `EnumerationResults` (Azure).
    ///
    /// # Errors
    /// If the text is not a complete page, or another page follows and there is no token for it.
    pub(crate) fn read(text: &str) -> Result<Self, OwnError> {
        let mut page = Self::default();
        let mut entry = Entry::default();
        let mut is_list = false;
        let mut is_truncated = false;
        let mut has_nameless = false;
        let end = each_element(text, |names, text| match names {
            ["ListBucketResult"] | ["EnumerationResults"] => is_list = true,
            ["ListBucketResult", "IsTruncated"] => is_truncated = text.trim() == "true",
            ["ListBucketResult", "NextContinuationToken"]
            | ["EnumerationResults", "NextMarker"] => {
                page.next = Some(text).filter(|next| !next.is_empty());
            }
            [_, "CommonPrefixes", "Prefix"] | [_, "Blobs", "BlobPrefix", "Name"] => {
                page.prefixes.push(text)
            }
            [_, "Contents", "Key"] | [_, "Blobs", "Blob", "Name"] => entry.name = Some(text),
            [_, "Contents", "Size"] | [_, "Blobs", "Blob", "Properties", "Content-Length"] => {
                entry.size = text.trim().parse().ok();
            }
            // With a hierarchical namespace Azure lists folders among the values.
            [_, "Blobs", "Blob", "Properties", "ResourceType"] => {
                entry.is_folder = text == "directory"
            }
            [_, "Contents"] | [_, "Blobs", "Blob"] => match std::mem::take(&mut entry) {
                Entry {
                    is_folder: true, ..
                } => {}
                Entry {
                    name: Some(name),
                    size,
                    ..
                } => {
                    page.keys.push(name);
                    page.sizes.push(size);
                }
                Entry { name: None, .. } => has_nameless = true,
            },
            _ => {}
        });
        if end == End::Cut || !is_list {
            return Err(OwnError::passing("the answer is not a complete list"));
        }
        if has_nameless {
            return Err(OwnError::lasting("an entry of the list has no name"));
        }
        if page.next.is_none() && is_truncated {
            return Err(OwnError::lasting(
                "the list goes on, but not where: the server does not know list-type=2",
            ));
        }
        Ok(page)
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
        let expected = Page {
            keys: vec!["a".into()],
            sizes: vec![Some(23)],
            prefixes: vec!["b/".into()],
            next: None,
        };
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
        let page = Page::read(&format!(
            "<EnumerationResults><Blobs>{blobs}</Blobs></EnumerationResults>"
        ));
        assert_eq!(page.expect("it is complete").keys, ["a/b"]);
    }

    #[test]
    fn a_list_of_ampersands_takes_the_time_of_its_length() {
        // If each one looked at everything after it, this would take hours.
        let name = "&".repeat(4 << 20);
        let page =
            format!("<ListBucketResult><Contents><Key>{name}</Key></Contents></ListBucketResult>");
        assert!(Page::read(&page).expect("it is complete").keys == [name]);
    }

    #[test]
    fn rs_13_a_part_of_a_page_is_none() {
        let whole =
            "<ListBucketResult><Contents><Key>a&amp;b</Key></Contents></ListBucketResult>\n";
        assert_eq!(Page::read(whole).expect("it is complete").keys, ["a&b"]);
        for end in 0..whole.len() - 1 {
            assert!(Page::read(&whole[..end]).is_err());
        }
        assert!(Page::read("<html>Welcome to our network</html>").is_err());
    }

    #[test]
    fn names_in_cdata_are_names_and_an_entry_without_one_is_an_error() {
        let page =
            |inside: &str| Page::read(&format!("<ListBucketResult>{inside}</ListBucketResult>"));
        let cdata = "<Contents><Key><![CDATA[a/c/0]]></Key><Size><![CDATA[7]]></Size></Contents>\
                     <CommonPrefixes><Prefix><![CDATA[b/]]></Prefix></CommonPrefixes>";
        let read = page(cdata).expect("it is complete");
        assert_eq!(
            (read.keys, read.sizes, read.prefixes),
            (vec!["a/c/0".into()], vec![Some(7)], vec!["b/".into()])
        );
        assert!(
            page("<Contents><Size>7</Size></Contents>")
                .expect_err("it has no key")
                .is_final
        );
        // A key of an entry is not that of another element.
        let owner = "<Contents><Key>a</Key><Owner><Key>b</Key></Owner></Contents>";
        assert_eq!(page(owner).expect("it is complete").keys, ["a"]);
    }
}
