//! The secrets of a request. If a service repeats one of them, errors do not quote its text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Uri};

use crate::errors::message::quoted;
use crate::options::{Credentials, RemoteOptions};

/// Takes the place of a text that repeats a secret.
const LEFT_OUT: &str = "(left out, since it repeats a secret of the request)";
/// A text repeats a secret if it has this number of its letters and digits in a row.
const MATCH_LEN: usize = 8;
/// A secret with fewer letters and digits could be any word, and is not looked for.
const MIN_LEN: usize = 3;

/// Headers whose values may be shown; `*` matches any ending.
const PUBLIC_HEADERS: &[&str] = &[
    "accept*",
    "cache-control",
    "connection",
    "content-*",
    "date",
    "expect",
    "host",
    "if-*",
    "metadata*",
    "range",
    "transfer-encoding",
    "user-agent",
    "x-amz-checksum*",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-meta-*",
    "x-amz-request-payer",
    "x-aws-ec2-metadata-token-ttl-seconds",
    "x-goog-if-*",
    "x-goog-meta-*",
    "x-goog-user-project",
    "x-ms-blob-*",
    "x-ms-client-request-id",
    "x-ms-date",
    "x-ms-delete-*",
    "x-ms-meta-*",
    "x-ms-range",
    "x-ms-version",
];

/// Parameters of queries and forms whose values may be shown: those of lists and uploads, of signed
/// URLs, and of requests for tokens.
const PUBLIC_PARAMETERS: &[&str] = &[
    "action",
    "api-version",
    "client_assertion_type",
    "client_id",
    "comp",
    "continuation-token",
    "delete",
    "delimiter",
    "durationseconds",
    "encoding-type",
    "generation",
    "grant_type",
    "include",
    "list-type",
    "marker",
    "max-keys",
    "maxresults",
    "partnumber",
    "prefix",
    "resource",
    "restype",
    "rolearn",
    "rolesessionname",
    "scope",
    "se",
    "sip",
    "sp",
    "spr",
    "sr",
    "srt",
    "ss",
    "st",
    "start-after",
    "sv",
    "uploadid",
    "uploads",
    "version",
    "versionid",
    "x-amz-algorithm",
    "x-amz-date",
    "x-amz-expires",
    "x-amz-signedheaders",
];

/// The secrets of a request, as letters and digits.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// The secrets of the options, of the headers and the query of a request, and of a form in its
    /// body.
    pub(crate) fn of(options: &[String], headers: &HeaderMap, uri: &Uri, form: &[u8]) -> Self {
        let mut secrets = Self::default();
        for secret in options {
            secrets.add(secret);
        }
        for (name, value) in headers
            .iter()
            .filter(|(name, _)| !is_public(name.as_str(), PUBLIC_HEADERS))
        {
            let value = String::from_utf8_lossy(value.as_bytes());
            secrets.add(if *name == AUTHORIZATION {
                signature(&value)
            } else {
                &value
            });
        }
        secrets.add_parameters(uri.query().unwrap_or_default());
        secrets.add_parameters(&String::from_utf8_lossy(form));
        secrets
    }

    fn add_parameters(&mut self, query: &str) {
        for value in secret_parameters(query) {
            self.add(value);
        }
    }

    fn add(&mut self, secret: &str) {
        let bare = letters_and_digits(&unescaped(secret));
        if bare.len() < MIN_LEN {
            return;
        }
        if bare.len() >= MATCH_LEN {
            // In base64, at each of three positions in a longer text, and in hexadecimal digits.
            let bytes = secret.as_bytes();
            for n_before in 0..3 {
                let text = [vec![0; n_before], bytes.to_vec()].concat();
                let encoded = STANDARD.encode(text);
                // The first and the last letters also depend on the neighbouring bytes.
                let inside = encoded
                    .get(4..encoded.len().saturating_sub(4))
                    .unwrap_or_default();
                self.0.push(letters_and_digits(inside));
            }
            self.0
                .push(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        self.0.push(bare);
    }

    /// Returns `true` if a text contains a part of a secret, however it is written.
    fn is_in(&self, text: &str) -> bool {
        let text = unescaped(text);
        let bare = letters_and_digits(&text);
        let parts: Vec<&[u8]> = bare.as_bytes().windows(MATCH_LEN).collect();
        let words = || text.split(|letter: char| !letter.is_ascii_alphanumeric());
        self.0.iter().any(|secret| {
            if secret.len() >= MATCH_LEN {
                let mut own_parts = secret.as_bytes().windows(MATCH_LEN);
                own_parts.any(|own| parts.contains(&own))
            } else {
                bare == *secret || words().any(|word| word.eq_ignore_ascii_case(secret))
            }
        })
    }

    /// A text of the service as errors may quote it.
    pub(crate) fn quoted(&self, text: &str) -> String {
        let quoted = quoted(text);
        if self.is_in(&quoted) {
            LEFT_OUT.to_owned()
        } else {
            quoted
        }
    }
}

/// The secrets of options.
pub(crate) fn of_options(options: &RemoteOptions) -> Vec<String> {
    match &options.credentials {
        None | Some(Credentials::Anonymous) => Vec::new(),
        Some(Credentials::Key {
            secret,
            session_token,
            ..
        }) => [secret].into_iter().chain(session_token).cloned().collect(),
        Some(Credentials::AccountKey(secret) | Credentials::Bearer(secret)) => vec![secret.clone()],
        Some(Credentials::ServiceAccount(document)) => secrets_of_document(document),
        Some(Credentials::Variables(set)) => set
            .iter()
            .flat_map(|(name, value)| secrets_of_variable(name, value))
            .collect(),
    }
}

fn secrets_of_variable(name: &str, value: &str) -> Vec<String> {
    let is_secret = ["SECRET", "TOKEN", "_KEY", "IDENTITY_HEADER"]
        .iter()
        .any(|part| name.contains(part));
    match name {
        _ if name.ends_with("_FILE") || name.ends_with("_ID") || !is_secret => Vec::new(),
        "GOOGLE_SERVICE_ACCOUNT_KEY" => secrets_of_document(value),
        _ if name.contains("_SAS_") => secret_parameters(value.trim_start_matches('?'))
            .map(str::to_owned)
            .collect(),
        _ => vec![value.to_owned()],
    }
}

/// The secrets in the JSON of a service account: the text between the quotes after each of their
/// names.
fn secrets_of_document(document: &str) -> Vec<String> {
    let secret = |name: &&str| {
        let (_, after) = document.split_once(&format!("\"{name}\""))?;
        after.split('"').nth(1).map(str::to_owned)
    };
    ["private_key", "client_secret", "refresh_token"]
        .iter()
        .filter_map(secret)
        .collect()
}

/// The values of those parameters of a query that may be secrets.
fn secret_parameters(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter_map(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or(("", parameter));
        (!is_public(&name.to_ascii_lowercase(), PUBLIC_PARAMETERS)).then_some(value)
    })
}

fn is_public(name: &str, public: &[&str]) -> bool {
    public.iter().any(|known| match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == *known,
    })
}

/// The secret part of a header: the token, or the signature. The rest names a key, a date and a
/// region, which services mention in their errors.
fn signature(authorization: &str) -> &str {
    let (scheme, rest) = authorization.split_once(' ').unwrap_or(("", authorization));
    let after = |mark: &str| {
        rest.rsplit_once(mark)
            .map_or(rest, |(_, signature)| signature)
    };
    match scheme {
        "AWS4-HMAC-SHA256" => after("Signature="),
        "SharedKey" | "SharedKeyLite" => after(":"),
        _ => rest,
    }
}

/// The letters and digits of a text, in small letters.
fn letters_and_digits(text: &str) -> String {
    let letters = text.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// A text without the escapes of URLs, JSON and XML, which may be nested.
fn unescaped(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..3 {
        let once = unescaped_once(&text);
        if once == text {
            break;
        }
        text = once;
    }
    text
}

fn unescaped_once(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match escape(rest) {
            Some((code, byte_len)) => {
                match u8::try_from(code) {
                    Ok(byte) => bytes.push(byte),
                    Err(_) => bytes.extend(
                        char::from_u32(code)
                            .map(String::from)
                            .unwrap_or_default()
                            .bytes(),
                    ),
                }
                rest = &rest[byte_len..];
            }
            None => {
                bytes.extend(first.to_string().bytes());
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The code of the escape that a text begins with, and its length: `%41`, `\x41`, `\u0041`, `&#65;`
/// or `&#x41;`.
fn escape(text: &str) -> Option<(u32, usize)> {
    let hex = |from: usize, n: usize| {
        let digits = text.get(from..from + n)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some((
            u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?,
            from + n,
        ))
    };
    match text.as_bytes() {
        [b'%', ..] => hex(1, 2),
        [b'\\', b'x', ..] => hex(2, 2),
        [b'\\', b'u', ..] => hex(2, 4),
        [b'&', b'#', ..] => {
            let (number, _) = text[2..].split_once(';')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            Some((code.ok()?, 2 + number.len() + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfi";

    fn secrets() -> Secrets {
        let mut headers = HeaderMap::new();
        headers.insert("x-lab-password", HeaderValue::from_static(SECRET));
        headers.insert("x-amz-date", HeaderValue::from_static("20261129T010203Z"));
        let authorization = "AWS4-HMAC-SHA256 Credential=AKID/20261129/eu-west-1/s3/aws4_request, \
                             SignedHeaders=host, Signature=fe5f80f77d5fa3beca038a248ff027d0";
        headers.insert(AUTHORIZATION, HeaderValue::from_static(authorization));
        let uri = Uri::from_static(
            "http://a/b?prefix=volumes/experiment&sig=c2lnbmF0dXJl%2B&sv=2024-11-04",
        );
        Secrets::of(
            &["the-options".to_owned(), "tok".to_owned()],
            &headers,
            &uri,
            b"scope=everything&client_secret=formsecret1",
        )
    }

    #[test]
    fn texts_that_repeat_a_secret_are_left_out() {
        let secrets = secrets();
        let in_base64 = |before: &str| STANDARD.encode(format!("{before}{SECRET} and more"));
        let spread: String = SECRET.chars().map(|letter| format!("{letter} ")).collect();
        for text in [
            SECRET.to_owned(),
            format!("your headers: {{'x-lab-password': '{SECRET}'}}"),
            SECRET.to_ascii_uppercase(),
            SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            SECRET
                .bytes()
                .map(|byte| format!("%25{byte:02x}"))
                .collect(),
            SECRET
                .bytes()
                .map(|byte| format!("\\u{byte:04x}"))
                .collect(),
            SECRET.bytes().map(|byte| format!("&#{byte};")).collect(),
            SECRET.bytes().map(|byte| format!("{byte:02x}")).collect(),
            in_base64(""),
            in_base64("a"),
            in_base64("ab"),
            spread,
            // A part of the secret, as at the end of a text that is cut off.
            format!("it was {}", &SECRET[4..16]),
            "sig=c2lnbmF0dXJl%2B".to_owned(),
            "c2lnbmF0dXJl+".to_owned(),
            "FE5F80F77D5FA3BECA038A248FF027D0".to_owned(),
            "formsecret1".to_owned(),
            "the options: theOptions".to_owned(),
            "Bearer tok".to_owned(),
        ] {
            assert_eq!(secrets.quoted(&text), LEFT_OUT, "{text}");
        }
    }

    #[test]
    fn other_texts_are_quoted_as_they_are() {
        let secrets = secrets();
        for text in [
            "The authorization header is malformed; the region 'eu-west-1' is wrong; expecting 'us-east-1'",
            "The request of 20261129T010203Z has expired",
            "AKID is not allowed to list volumes/experiment",
            "The specified key does not exist, says a tokenizer",
            "it asks for everything of version 2024-11-04",
            "50% of \\u, &#; and %zz",
            "",
        ] {
            assert_eq!(secrets.quoted(text), text);
        }
        assert_eq!(Secrets::default().quoted(SECRET), SECRET);
    }
}
