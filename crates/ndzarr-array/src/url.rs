//! Turns `file:` URLs into local paths.

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// The folder of a path or a `file:` URL (RFC 8089).
pub(crate) fn local_path(path: &Path) -> Result<PathBuf> {
    let Some((scheme, rest)) = path.to_str().and_then(|text| text.split_once("://")) else {
        return Ok(path.to_owned());
    };
    if scheme.is_empty() || !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    {
        return Ok(path.to_owned());
    }
    if !scheme.eq_ignore_ascii_case("file") {
        let what = format!(
            "ndzarr has no store for URLs of the scheme {scheme:?}: implement `Store` or `AsyncStore`, as the chapter \
             \"Extending\" of the guide shows, and open the array in it"
        );
        return Err(Error::new(ErrorKind::Unsupported, what));
    }
    let local = rest.strip_prefix("localhost").unwrap_or(rest);
    if !local.starts_with('/') {
        let what = format!("the file URL of {:?} names another machine or no absolute path", path.display());
        return Err(Error::new(ErrorKind::InvalidArgument, what));
    }
    percent_decoded(local).map(PathBuf::from).ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, format!("{:?} is not a valid URL", path.display()))
    })
}

pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let digits = tail.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_file_urls() {
        let local =
            |text: &str| local_path(Path::new(text)).map(|path| path.to_string_lossy().into_owned()).ok();
        for (text, path) in
            [("a/b", "a/b"), ("/a b", "/a b"), ("file:///a%20b/c", "/a b/c"), ("file://localhost/a", "/a")]
        {
            assert_eq!(local(text).as_deref(), Some(path), "{text}");
        }
        for text in [
            "s3://bucket/a",
            "https://host/a",
            "file://host/a",
            "file:///a%zz",
            "file:///a%2",
            "file:///a%+f",
        ] {
            assert_eq!(local(text), None, "{text}");
        }
    }
}
