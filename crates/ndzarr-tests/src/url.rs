//! Places as text: URLs with adapters, and local paths. Nothing is opened.

/// Memory limit for an input.
pub const MAX_BYTES: usize = 8 << 20;

/// Texts to begin with.
pub const EXAMPLES: [&str; 18] = [
    "s3://bucket/a/b",
    "s3+http://host:9000/bucket/a|zip:b|zarr3:c",
    "gs://bucket/a%20b%2Fc",
    "abfss://container@account.dfs.core.windows.net/a",
    "az://container/a|n5:",
    "https://user@host/a?token=b",
    "http://[::1]:80/a.zip|zip:",
    "memory://name/a|auto:",
    "file:///a/b",
    "file://localhost/C:/a",
    "zip::s3://bucket/a.zip",
    "zip://in::https://host/a.zip?b",
    "C:\\a|zip:b",
    "a|b.zip|zip:c",
    "x://y#z",
    "a//b/../c/.",
    "%",
    "é/日本",
];

/// Runs an input.
pub fn check(data: &[u8]) {
    // WebAssembly has no paths, and so no URLs.
    #[cfg(not(target_family = "wasm"))]
    if let Ok(text) = std::str::from_utf8(data) {
        meanings::check(text);
    }
    #[cfg(target_family = "wasm")]
    let _ = data;
}

#[cfg(not(target_family = "wasm"))]
mod meanings {
    use ndzarr_array::url::meaning;

    /// What must never show.
    const SECRET: &str = "s3cr3t";

    pub(super) fn check(text: &str) {
        // Whatever it is, it has a meaning or an error.
        drop(meaning(text));
        hides_secrets(text);
        for (scheme, shown) in [
            ("s3://b/", "s3://b/"),
            ("gs://b/", "gs://b/"),
            ("az://b/", "az://b/"),
            ("https://h/", "https://h/"),
        ] {
            let url = format!("{scheme}{}", encoded(text));
            match (expected(text), meaning(&url)) {
                (Some(path), Ok(Some([root, archive, format, node]))) => {
                    // Web servers are asked for what was written.
                    let path = if scheme == "https://h/" {
                        encoded(path)
                    } else {
                        path.to_owned()
                    };
                    assert_eq!(root, format!("Remote({shown}{path})"), "{url}");
                    assert_eq!((&*archive, &*format, &*node), ("", "", ""), "{url}");
                }
                (None, Err(_)) => {}
                (expected, found) => panic!("{url}: {found:?} instead of {expected:?}"),
            }
        }
        let url = format!("memory://m/a|zip:{0}|zarr3:{0}", encoded(text));
        match (expected(text), meaning(&url)) {
            (Some(path), Ok(Some([_, archive, format, node]))) => {
                assert_eq!(
                    (archive, &*format, node),
                    (path.to_owned(), "One(Zarr3)", path.to_owned()),
                    "{url}"
                );
            }
            (None, Err(_)) => {}
            (expected, found) => panic!("{url}: {found:?} instead of {expected:?}"),
        }
    }

    /// The path that an encoded text means; `None` if it is refused.
    fn expected(text: &str) -> Option<&str> {
        let path = text.strip_suffix('/').unwrap_or(text);
        let is_bad = |part: &str| matches!(part, "" | "." | "..");
        (path.is_empty() || !path.split('/').any(is_bad)).then_some(path)
    }

    /// Everything but slashes, so that nothing has a meaning of its own.
    fn encoded(text: &str) -> String {
        text.bytes()
            .map(|byte| {
                if byte == b'/' {
                    "/".to_owned()
                } else {
                    format!("%{byte:02X}")
                }
            })
            .collect()
    }

    /// Neither queries nor passwords show in the meaning of a URL, or in its error.
    fn hides_secrets(text: &str) {
        let text = text.replace(['?', '#', '@', '|'], "");
        if text.contains(SECRET) {
            return;
        }
        for url in [
            format!("https://h/{text}?key={SECRET}"),
            format!("https://h/{text}?key={SECRET}|zip:a|n5:b"),
            format!("https://user:{SECRET}@h/{text}"),
            format!("s3+http://user:{SECRET}@h/b/{text}"),
            format!("s3://b/{text}?key={SECRET}"),
            format!("zip::https://h/{text}?key={SECRET}"),
        ] {
            let text = match meaning(&url) {
                Ok(meaning) => format!("{meaning:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!text.contains(SECRET), "{url}: {text}");
        }
    }
}
