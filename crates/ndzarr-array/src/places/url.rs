//! The grammar of URLs: a root, `s3://bucket/path`, and adapters after it, `|zip:path`,
//! `|zarr3:path`.

mod percent;
mod remote;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use ndzarr_metadata::Format;

use self::percent::percent_decoded;
pub(crate) use self::remote::Remote;
use crate::error::{Error, ErrorKind, Result};

/// What errors list.
const SCHEMES: &str = "s3, s3+http, s3+https, gs, gcs, az, abfs, abfss, http, https, file, memory";
const ADAPTERS: &str = "zip, zarr, zarr2, zarr3, n5, auto";

/// What a text means as a place, for the fuzz target: the root, the path in an archive, the format
/// and the path of the node. `None` is a local path. Nothing is opened.
///
/// # Errors
/// As for opening it.
pub fn meaning(text: &str) -> Result<Option<[String; 4]>> {
    let Some(url) = parse(Path::new(text))? else {
        return Ok(None);
    };
    let format = url
        .format
        .map_or_else(String::new, |format| format!("{format:?}"));
    Ok(Some([
        format!("{:?}", url.root),
        url.archive.unwrap_or_default(),
        format,
        url.node,
    ]))
}

/// A place as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) root: Root,
    /// The path in an archive, where the root is one.
    pub(crate) archive: Option<String>,
    pub(crate) format: Option<UrlFormat>,
    /// The path of the node from the root or the path in the archive, after a format.
    pub(crate) node: String,
}

impl Url {
    /// A local path.
    pub(crate) fn folder(path: PathBuf) -> Self {
        Self {
            root: Root::File(path),
            archive: None,
            format: None,
            node: String::new(),
        }
    }
}

/// Where a URL begins. Paths have no slash at either end. They are decoded, except those of web
/// servers, which may distinguish `%2F` from a slash.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Root {
    File(PathBuf),
    Memory {
        name: String,
        path: String,
    },
    /// A service, and what a client of it needs.
    Remote(Remote),
}

/// A format that a URL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlFormat {
    /// Any version of Zarr.
    Zarr,
    One(Format),
}

impl UrlFormat {
    pub(crate) fn allows(self, format: Format) -> bool {
        match self {
            Self::Zarr => format != Format::N5,
            Self::One(one) => format == one,
        }
    }
}

/// Parses what may be a URL. `None` is a local path without adapters.
///
/// # Errors
///
/// It is a URL, and not one of this grammar.
pub(crate) fn parse(path: &Path) -> Result<Option<Url>> {
    let Some(text) = path.to_str() else {
        return Ok(None);
    };
    let from_chain = from_chain(text)?;
    let text = from_chain.as_deref().unwrap_or(text);
    let refused = |why: &str| {
        Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("{:?}: {why}", shown(text)),
        ))
    };
    let Some((scheme, _)) = scheme(text) else {
        // A local path, whose bars belong to its names, except one before an adapter.
        let Some(at) = first_adapter(text) else {
            return Ok(None);
        };
        let root = Root::File(text[..at].into());
        let adapters = &text[at + 1..];
        return adapted(root, adapters.split('|'), |text| Some(text.to_owned()))
            .map_or_else(|why| refused(&why), |url| Ok(Some(url)));
    };
    if text.contains('#') {
        return refused(
            "URLs have no fragments here: name the format by an adapter, such as `|zarr3:`, and write # in names as %23",
        );
    }
    let mut parts = text.split('|');
    let root = match root(&scheme, parts.next().unwrap_or_default()) {
        Ok(root) => root,
        Err(Refused::Scheme) => {
            let what = format!(
                "ndzarr has no store for URLs of the scheme {scheme:?}; the known ones are {SCHEMES}. The chapter \
                 \"Extending\" of the guide shows how programs add others"
            );
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        Err(Refused::Because(why)) => return refused(why),
    };
    adapted(root, parts, percent_decoded).map_or_else(|why| refused(&why), |url| Ok(Some(url)))
}

/// A URL for an error: without its query, and without a user's name and password.
fn shown(text: &str) -> String {
    let (head, query) = text
        .split_once('?')
        .map_or((text, ""), |(head, _)| (head, "?…"));
    let head = match head.split_once("://") {
        Some((scheme, rest)) if !scheme.starts_with("abfs") => {
            let end = rest.find('/').unwrap_or(rest.len());
            match rest[..end].rfind('@') {
                Some(at) => format!("{scheme}://…{}", &rest[at..]),
                None => head.to_owned(),
            }
        }
        _ => head.to_owned(),
    };
    head + query
}

/// The scheme, in lower case, and what follows its colon. One letter is a drive.
fn scheme(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let scheme = scheme.to_ascii_lowercase();
    (is_scheme && (rest.starts_with("//") || (scheme == "file" && rest.starts_with('/'))))
        .then_some((scheme, rest))
}

/// The URL that a chain of fsspec means: `zip::s3://b/a.zip`, `zip://in::s3://b/a.zip`.
fn from_chain(text: &str) -> Result<Option<String>> {
    let Some((outer, inner)) = text.split_once("::") else {
        return Ok(None);
    };
    let (name, path) = outer.split_once("://").unwrap_or((outer, ""));
    let is_word = name.len() > 1
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-_".contains(&byte));
    // A file may be called `a::b`.
    if !is_word || scheme(inner.split("::").last().unwrap_or_default()).is_none() {
        return Ok(None);
    }
    if name != "zip" || inner.contains("::") {
        let what = format!(
            "chains of URLs with {name:?} are not supported; only `zip::` before one URL is"
        );
        return Err(Error::new(ErrorKind::Unsupported, what));
    }
    Ok(Some(format!("{inner}|zip:{path}")))
}

enum Refused {
    Scheme,
    Because(&'static str),
}

/// Parses what stands before the adapters.
fn root(scheme: &str, text: &str) -> std::result::Result<Root, Refused> {
    let rest = text[scheme.len() + 1..].strip_prefix("//");
    let (rest, query) = match rest.unwrap_or_default().split_once('?') {
        Some((rest, query)) if matches!(scheme, "http" | "https") => (rest, Some(query.to_owned())),
        Some(_) if scheme != "file" => {
            return Err(Refused::Because(
                "only http and https have a query: write ? in names as %3F",
            ));
        }
        _ => (rest.unwrap_or_default(), None),
    };
    let (first, written) = rest.split_once('/').unwrap_or((rest, ""));
    Ok(match scheme {
        "file" => Root::File(file(text).map_err(Refused::Because)?),
        "memory" => Root::Memory {
            name: percent_decoded(first).ok_or(Refused::Because("not a name"))?,
            path: path(written)?,
        },
        "s3" => Root::Remote(Remote::S3 {
            endpoint: None,
            bucket: bucket(first)?,
            path: path(written)?,
        }),
        "gs" | "gcs" => Root::Remote(Remote::Gcs {
            bucket: bucket(first)?,
            path: path(written)?,
        }),
        "az" => Root::Remote(Remote::Azure {
            account: None,
            container: bucket(first)?,
            path: path(written)?,
        }),
        "abfs" | "abfss" => {
            let account = first.split_once('@').and_then(|(container, host)| {
                Some((container, host.strip_suffix(".dfs.core.windows.net")?))
            });
            let (container, account) = account.ok_or(Refused::Because(
                "it is written container@account.dfs.core.windows.net/path",
            ))?;
            Root::Remote(Remote::Azure {
                account: Some(bucket(account)?),
                container: bucket(container)?,
                path: path(written)?,
            })
        }
        "http" | "https" => {
            path(written)?;
            let base = format!("{scheme}://{}", host(first)?);
            let path = written.trim_end_matches('/').to_owned();
            Root::Remote(Remote::Http { base, path, query })
        }
        "s3+http" | "s3+https" => {
            let path = path(written)?;
            let (name, path) = path.split_once('/').unwrap_or((&path, ""));
            let endpoint = Some(format!("{}://{}", &scheme[3..], host(first)?));
            Root::Remote(Remote::S3 {
                endpoint,
                bucket: bucket(name)?,
                path: path.to_owned(),
            })
        }
        _ => return Err(Refused::Scheme),
    })
}

/// The path of a URL, decoded.
fn path(written: &str) -> std::result::Result<String, Refused> {
    let path = percent_decoded(written)
        .ok_or("percent signs are followed by two hexadecimal digits, and mean UTF-8");
    path.and_then(plain).map_err(Refused::Because)
}

/// The name of a bucket, container or account.
fn bucket(name: &str) -> std::result::Result<String, Refused> {
    if name.is_empty() || !name.bytes().all(|byte| is_of_name(byte) || byte == b'$') {
        let why = "the name of the bucket is missing or has letters that no bucket has";
        return Err(Refused::Because(why));
    }
    Ok(name.to_owned())
}

/// A host, which may have a port.
fn host(host: &str) -> std::result::Result<String, Refused> {
    if !host.is_empty()
        && host
            .bytes()
            .all(|byte| is_of_name(byte) || b":[]".contains(&byte))
    {
        return Ok(host.to_owned());
    }
    if host.contains('@') {
        let why = "a URL must not have a user name and password: give credentials in code or by the environment (for \
                   web servers NDZARR_HTTP_HEADERS)";
        return Err(Refused::Because(why));
    }
    Err(Refused::Because("the host is missing or not valid"))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._".contains(&byte)
}

/// The folder of a `file:` URL (RFC 8089).
fn file(text: &str) -> std::result::Result<PathBuf, &'static str> {
    let rest = &text["file:".len()..];
    let local = match rest.strip_prefix("//") {
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
        None => rest,
    };
    if !local.starts_with('/') {
        return Err("it names another machine or no absolute path");
    }
    let local = percent_decoded(local).ok_or("it is not a valid URL")?;
    Ok(if cfg!(windows) {
        on_drive(&local)
    } else {
        &local
    }
    .into())
}

/// A drive of Windows has a slash before it in a URL, and none in a path.
fn on_drive(local: &str) -> &str {
    match local.as_bytes() {
        [b'/', drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic() => &local[1..],
        _ => local,
    }
}

/// A path without a slash at its end.
fn plain(path: String) -> std::result::Result<String, &'static str> {
    let path = path.strip_suffix('/').map(str::to_owned).unwrap_or(path);
    let is_bad = |part: &str| matches!(part, "" | "." | "..");
    if !path.is_empty() && path.split('/').any(is_bad) {
        Err("paths have no parts that are empty, . or ..")
    } else {
        Ok(path)
    }
}

/// The bar before the first adapter of a local path.
fn first_adapter(text: &str) -> Option<usize> {
    let bars = text.match_indices('|').map(|(at, _)| at);
    bars.into_iter().find(|at| {
        let name = text[at + 1..].split(':').next().unwrap_or_default();
        text[at + 1..].contains(':') && ADAPTERS.split(", ").any(|known| known == name)
    })
}

/// Adds the adapters to a root.
fn adapted<'p>(
    root: Root,
    adapters: impl Iterator<Item = &'p str>,
    decode: impl Fn(&'p str) -> Option<String>,
) -> std::result::Result<Url, String> {
    let mut url = Url {
        root,
        archive: None,
        format: None,
        node: String::new(),
    };
    let mut is_last = false;
    for adapter in adapters {
        if is_last {
            return Err(format!(
                "nothing can follow the format, but there is {adapter:?}"
            ));
        }
        let (name, path) = adapter.split_once(':').unwrap_or((adapter, ""));
        let path = decode(path).ok_or("it is not a valid URL")?;
        let path = plain(path)?;
        match name {
            "zip" if url.archive.is_some() => {
                return Err("nothing can follow the path in an archive but a format".to_owned());
            }
            "zip" => url.archive = Some(path),
            "auto" if path.is_empty() => is_last = true,
            "auto" => return Err("`auto:` has no path".to_owned()),
            "zarr" | "zarr2" | "zarr3" | "n5" => {
                is_last = true;
                url.node = path;
                url.format = Some(match name {
                    "zarr2" => UrlFormat::One(Format::Zarr2),
                    "zarr3" => UrlFormat::One(Format::Zarr3),
                    "n5" => UrlFormat::One(Format::N5),
                    _ => UrlFormat::Zarr,
                });
            }
            _ => {
                return Err(format!(
                    "unknown adapter {name:?}; the known ones are {ADAPTERS}"
                ));
            }
        }
    }
    Ok(url)
}
