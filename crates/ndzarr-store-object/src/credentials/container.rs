//! Credentials of AWS from the service of a container. object_store only supports tokens from
//! files, and would send them through a proxy and to any host.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryStreamExt};
use http::HeaderValue;
use http::header::AUTHORIZATION;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use object_store::client::{HttpClient, HttpConnector, HttpRequest, HttpRequestBody};

use crate::client::connector::{Connector, client_options, metadata_options};
use crate::credentials::expiring::{CredentialCache, ExpiringCredential};
use crate::errors::message::OwnError;
use crate::settings::variables::Variables;

const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";

/// The services of ECS and EKS, which speak plain HTTP.
const SERVICES: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];

/// The service of a container.
pub(crate) struct Container {
    /// The variable that names it.
    name: &'static str,
    url: http::Uri,
    token: Token,
}

enum Token {
    None,
    Given(HeaderValue),
    /// The file is read for each request, since it changes.
    File(PathBuf),
}

/// Without the token, which is a secret.
impl fmt::Debug for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Container").field(&self.name).finish()
    }
}

impl Container {
    /// The service that variables name.
    ///
    /// # Errors
    /// If the token may not be sent to the URL, or is not valid in a header.
    pub(crate) fn find(variables: Variables<'_>) -> Result<Option<Self>, String> {
        let (name, url) = match (variables.get(RELATIVE), variables.get(FULL)) {
            (Some(path), _) => (RELATIVE, format!("http://{}{path}", SERVICES[0])),
            (None, Some(url)) => (FULL, url.to_owned()),
            (None, None) => return Ok(None),
        };
        let what = "must be an https URL, or name this machine or the service of ECS or EKS";
        let url = trusted(&url).ok_or_else(|| format!("{name} {what}"))?;
        let token = match (variables.get(TOKEN_FILE), variables.get(TOKEN)) {
            (Some(path), _) => Token::File(path.into()),
            (None, Some(token)) => {
                Token::Given(header(token).map_err(|what| format!("{TOKEN} {what}"))?)
            }
            (None, None) => Token::None,
        };
        Ok(Some(Self { name, url, token }))
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The provider of its credentials.
    ///
    /// # Errors
    /// If no HTTP client can be made.
    pub(crate) fn provider(
        self,
        connector: &Connector,
    ) -> object_store::Result<Arc<ContainerCredentials>> {
        let is_local = self.url.scheme_str() == Some("http");
        let options = if is_local {
            metadata_options()
        } else {
            client_options(false)
        };
        let client = connector.connect(&options)?;
        Ok(Arc::new(ContainerCredentials {
            container: self,
            client,
            cache: CredentialCache::default(),
        }))
    }

    async fn token(&self) -> Result<Option<HeaderValue>, String> {
        let path = match &self.token {
            Token::None => return Ok(None),
            Token::Given(token) => return Ok(Some(token.clone())),
            Token::File(path) => path.clone(),
        };
        let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await;
        let read = read.map_err(|_| "its thread ended".to_owned())?;
        let token =
            read.map_err(|error| format!("{TOKEN_FILE} cannot be read: {}", error.kind()))?;
        let token =
            header(token.trim_end()).map_err(|what| format!("what {TOKEN_FILE} names {what}"))?;
        Ok(Some(token))
    }
}

fn header(token: &str) -> Result<HeaderValue, &'static str> {
    let mut value = HeaderValue::from_str(token).map_err(|_| "is not valid in a header")?;
    value.set_sensitive(true);
    Ok(value)
}

/// The URL, if its host may get the token and may answer with credentials, by the rule of AWS's
/// tools.
fn trusted(url: &str) -> Option<http::Uri> {
    let url = reqwest::Url::parse(url).ok()?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_local = || match host.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback() || SERVICES.contains(&host),
        Err(_) => host == "localhost",
    };
    let is_trusted = url.username().is_empty()
        && url.password().is_none()
        && match url.scheme() {
            "https" => true,
            "http" => is_local(),
            _ => false,
        };
    if !is_trusted {
        return None;
    }
    // The text as it was parsed here: another parser might find another host in the original one.
    url.as_str().parse().ok()
}

/// Credentials that are fetched when they are needed, and again before they expire.
pub(crate) struct ContainerCredentials {
    container: Container,
    client: HttpClient,
    cache: CredentialCache,
}

impl fmt::Debug for ContainerCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ContainerCredentials")
    }
}

fn failed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> object_store::Error {
    object_store::Error::Generic {
        store: "S3",
        source: source.into(),
    }
}

impl ContainerCredentials {
    async fn fetch(&self) -> object_store::Result<ExpiringCredential> {
        let own_error = |what: String| failed(OwnError::lasting(what));
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = self.container.url.clone();
        let token = self.container.token().await.map_err(own_error)?;
        request
            .headers_mut()
            .extend(token.map(|token| (AUTHORIZATION, token)));
        let answer = self.client.execute(request).await.map_err(failed)?;
        if !answer.status().is_success() {
            return Err(failed("the service refuses"));
        }
        let parts: Vec<_> = answer
            .into_body()
            .bytes_stream()
            .try_collect()
            .await
            .map_err(failed)?;
        let now = SystemTime::now();
        let document = serde_json::from_slice(&parts.concat());
        let document =
            document.map_err(|_| own_error("the answer is not a JSON document".to_owned()))?;
        ExpiringCredential::read(&document, "the answer", "Token", now).map_err(own_error)
    }
}

impl CredentialProvider for ContainerCredentials {
    type Credential = AwsCredential;

    fn get_credential<'s, 'f>(&'s self) -> BoxFuture<'f, object_store::Result<Arc<AwsCredential>>>
    where
        's: 'f,
        Self: 'f,
    {
        self.cache.get(self.fetch()).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(set: &[(&str, &str)]) -> Result<Option<Container>, String> {
        let set: Vec<_> = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Container::find(Variables(&set))
    }

    #[test]
    fn tokens_go_to_this_machine_to_services_of_aws_and_by_https() {
        for (url, expected) in [
            ("http://127.0.0.1:80/a", true),
            ("http://[::1]/a", true),
            ("http://localhost/a", true),
            ("http://169.254.170.23/v1/credentials", true),
            ("http://[fd00:ec2::23]/v1/credentials", true),
            ("https://example.org/a", true),
            ("http://example.org/a", false),
            ("http://169.254.169.254/a", false),
            ("http://127.0.0.1.example.org/", false),
            ("http://127.0.0.1@example.org/", false),
            ("http://example.org\\@127.0.0.1/", false),
            ("https://user:hidden@example.org/", false),
            ("ftp://localhost/", false),
            ("file:///etc/passwd", false),
            ("hidden", false),
            // An empty variable counts as not set.
            ("", true),
        ] {
            let container = find(&[(FULL, url), (TOKEN, "a token")]);
            assert_eq!(container.is_ok(), expected, "{url}");
            assert!(
                container
                    .err()
                    .is_none_or(|error| !error.contains("hidden")),
                "{url}"
            );
        }
        for path in ["@example.org/", ".example.org/", ":80@example.org/"] {
            assert!(find(&[(RELATIVE, path)]).is_err(), "{path}");
        }
    }

    #[test]
    fn variables_name_a_service_and_a_token() {
        assert!(find(&[(TOKEN, "a token")]).is_ok_and(|found| found.is_none()));
        let found = find(&[(RELATIVE, "/v2/a"), (FULL, "http://localhost")]);
        let found = found.expect("it is well-formed").expect("there is one");
        assert_eq!(
            (found.name, &*found.url.to_string()),
            (RELATIVE, "http://169.254.170.2/v2/a")
        );
        let found =
            find(&[(FULL, "http://127.0.0.1\\@example.org/")]).expect("its host is this machine");
        assert_eq!(found.expect("there is one").url.host(), Some("127.0.0.1"));
        let error = find(&[(FULL, "http://localhost"), (TOKEN, "hidden\r\nHost: a")])
            .expect_err("two lines");
        assert!(
            error.contains(TOKEN) && !error.contains("hidden"),
            "{error}"
        );
        let found =
            find(&[(FULL, "http://localhost"), (TOKEN, "hidden")]).expect("it is well-formed");
        assert!(!format!("{found:?}").contains("hidden"));
    }
}
