//! Settings with their names for users, and checks of their values: object_store panics over texts
//! that are not valid in a URL or a header.

use std::fmt;
use std::ops::Deref;

use http::Uri;
use reqwest::Url;

/// The most bytes of a setting in a URL or a header.
const MAX_LEN: usize = 16 << 10;

/// The use of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A URL of a service, to which paths are added.
    Endpoint,
    /// A complete URL, perhaps with a query.
    Url,
    /// A host, and perhaps a port.
    Host,
    /// A part of a host or of a path in a URL.
    Name,
    /// A header or a query.
    Text,
    /// The path of a file, or the text of one.
    File,
}

impl Use {
    /// The use that object_store makes of a setting of this name.
    pub(crate) fn of(key: &str) -> Self {
        match key {
            "aws_endpoint_url_sts"
            | "aws_metadata_endpoint"
            | "azure_authority_host"
            | "azure_msi_endpoint"
            | "identity_endpoint" => Self::Endpoint,
            "azure_tenant_id" | "azure_storage_tenant_id" => Self::Name,
            "aws_web_identity_token_file"
            | "azure_federated_token_file"
            | "google_application_credentials"
            | "google_service_account"
            | "google_service_account_path"
            | "google_service_account_key" => Self::File,
            _ => Self::Text,
        }
    }
}

/// A setting, which may be a secret.
#[derive(Clone)]
pub(crate) struct Setting {
    /// The name for users, such as that of a variable.
    pub(crate) name: String,
    pub(crate) value: String,
}

impl Setting {
    pub(crate) fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }

    /// Checks that its value is valid for this use.
    ///
    /// # Errors
    /// The name of the setting and what is wrong with it, without its value.
    pub(crate) fn check(&self, used: Use) -> Result<(), String> {
        check(&self.value, used).map_err(|what| format!("{} {what}", self.name))
    }
}

impl Deref for Setting {
    type Target = str;

    fn deref(&self) -> &str {
        &self.value
    }
}

/// Without the value.
impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Checks that a text is valid for this use.
///
/// # Errors
/// What is wrong with it, without the text.
pub(crate) fn check(text: &str, used: Use) -> Result<(), String> {
    match used {
        Use::File => Ok(()),
        Use::Text => check_text(text),
        Use::Name => check_text(text).and_then(|()| check_name(text)),
        Use::Host => check_url(&format!("http://{text}"), Use::Endpoint),
        Use::Endpoint | Use::Url => check_url(text, used),
    }
}

fn check_text(text: &str) -> Result<(), String> {
    let blank = |letter: char| letter == ' ' || letter == '\t';
    let what = match text {
        _ if text.ends_with(['\n', '\r']) => "ends in a line end: remove it",
        _ if text.contains(['\n', '\r']) => "has several lines",
        _ if text.starts_with(blank) || text.ends_with(blank) => {
            "begins or ends with a blank: remove it"
        }
        _ if text.contains(|letter: char| letter.is_ascii_control() && letter != '\t') => {
            "has a control character"
        }
        _ if !text.is_ascii() => "has a character that is not ASCII",
        _ if text.len() > MAX_LEN => "is too long",
        _ => return Ok(()),
    };
    Err(what.to_owned())
}

fn check_name(text: &str) -> Result<(), String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:$".contains(&byte);
    match text {
        "" => Err("is empty".to_owned()),
        "." | ".." => Err("is not a name".to_owned()),
        _ => match text.bytes().find(|byte| !is_allowed(*byte)) {
            Some(byte) => Err(format!(
                "has {:?}, which is not allowed in it",
                char::from(byte)
            )),
            None => Ok(()),
        },
    }
}

fn check_url(text: &str, used: Use) -> Result<(), String> {
    if has_user(text) {
        return Err("must not have a user name and password: give them by the options".to_owned());
    }
    check_text(text)?;
    let Some((scheme, _)) = text.split_once("://") else {
        return Err(format!("has no scheme: begin it with {}", schemes(text)));
    };
    if !["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return Err("must begin with https:// or http://".to_owned());
    }
    let url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
    let uri: Result<Uri, _> = text.parse();
    if uri.is_err() {
        return Err("is not a URL: it has a character that must be %-encoded".to_owned());
    }
    match used {
        Use::Endpoint if url.query().is_some() || url.fragment().is_some() => {
            Err("must not have a query or a fragment".to_owned())
        }
        _ => Ok(()),
    }
}

/// The possible schemes of a URL that has none, the most likely one first.
fn schemes(text: &str) -> &'static str {
    let is_loopback = ["localhost", "127.", "[::1]"]
        .iter()
        .any(|host| text.starts_with(host));
    if is_loopback {
        "http:// or https://"
    } else {
        "https:// or http://"
    }
}

/// Returns `true` if a text has a user name or a password, even if it is not a valid URL.
fn has_user(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority
        .split(['/', '\\', '?', '#'])
        .next()
        .unwrap_or_default();
    let has_user = |url: Url| !url.username().is_empty() || url.password().is_some();
    authority.contains('@') || Url::parse(url).is_ok_and(has_user)
}
