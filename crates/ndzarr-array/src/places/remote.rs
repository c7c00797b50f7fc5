//! Opens buckets and web servers, with options from the environment or the caller.

use std::fmt;
use std::sync::Arc;

use ndzarr_store::AsyncStore;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
use ndzarr_store_object::{ObjectStore, RemoteOptions, Service};

use crate::error::{Error, ErrorKind, Result};
use crate::places::url::Remote;

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
type Change = dyn Fn(RemoteOptions) -> RemoteOptions + Send + Sync;

/// Where credentials, endpoints and other options come from.
#[derive(Clone, Default)]
pub(crate) enum Environment {
    /// The variables of the process.
    #[default]
    Process,
    /// Variables that the caller gives instead.
    Variables(Arc<Lookup>),
    /// What the caller makes of the options that the process's variables give.
    #[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
    Changed(Arc<Change>),
}

impl Environment {
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        match self {
            Self::Variables(lookup) => lookup(name),
            Self::Process => std::env::var(name).ok(),
            #[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
            Self::Changed(_) => std::env::var(name).ok(),
        }
    }
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
impl Environment {
    #[cfg(any(feature = "s3", feature = "gcs", feature = "http"))]
    fn options(&self, service: Service) -> RemoteOptions {
        self.changed(RemoteOptions::from_environment(service, |name| {
            self.variable(name)
        }))
    }

    fn changed(&self, options: RemoteOptions) -> RemoteOptions {
        match self {
            Self::Changed(change) => change(options),
            Self::Process | Self::Variables(_) => options,
        }
    }
}

/// Without values.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "the environment",
            Self::Variables(_) => "variables of the caller",
            #[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
            Self::Changed(_) => "options of the caller",
        })
    }
}

/// The store that is rooted at a URL's path: nothing is read or written above it.
pub(crate) fn open(root: &Remote, environment: &Environment) -> Result<Arc<dyn AsyncStore>> {
    #[cfg(not(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http")))]
    let _ = environment;
    match root {
        #[cfg(feature = "s3")]
        Remote::S3 {
            endpoint,
            bucket,
            path,
        } => {
            let mut options = environment.options(Service::S3);
            if let Some(endpoint) = endpoint {
                options = options.endpoint(endpoint);
            }
            Ok(Arc::new(ObjectStore::s3(bucket, path, &options)?))
        }
        #[cfg(feature = "gcs")]
        Remote::Gcs { bucket, path } => Ok(Arc::new(ObjectStore::gcs(
            bucket,
            path,
            &environment.options(Service::Gcs),
        )?)),
        #[cfg(feature = "azure")]
        Remote::Azure {
            account,
            container,
            path,
        } => {
            let variable = |name: &str| environment.variable(name);
            let mut options = environment.changed(azure(account.as_deref(), variable));
            if let Some(account) = account {
                options = options.account(account);
            }
            Ok(Arc::new(ObjectStore::azure(container, path, &options)?))
        }
        #[cfg(feature = "http")]
        Remote::Http { base, path, query } => {
            let query = query
                .as_ref()
                .map(|query| format!("?{query}"))
                .unwrap_or_default();
            let url = format!("{base}/{}{query}", encoded(path));
            Ok(Arc::new(ObjectStore::http(
                &url,
                &environment.options(Service::Http),
            )?))
        }
        #[allow(unreachable_patterns, reason = "with every feature")]
        root => {
            let what = format!(
                "{root:?} needs the feature `{}`, which this build does not have",
                root.feature()
            );
            Err(Error::new(ErrorKind::Unsupported, what))
        }
    }
}

/// What the environment says of an account; the key of another one stays where it is.
#[cfg(feature = "azure")]
fn azure(account: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> RemoteOptions {
    let options = RemoteOptions::from_environment(Service::Azure, &variable);
    let Some(account) = account else {
        return options;
    };
    let names = ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"];
    let configured = names
        .iter()
        .filter_map(|name| variable(name))
        .find(|name| !name.is_empty());
    let is_own = configured.is_none_or(|configured| configured == account);
    let of_account =
        |name: &str| variable(name).filter(|_| is_own || !name.starts_with("AZURE_STORAGE_"));
    RemoteOptions::from_environment(Service::Azure, of_account).account(account)
}

/// A path in a URL as it was written, but for what no URL can have.
#[cfg(feature = "http")]
fn encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~%/!$&'()*+,;=:@".contains(&byte) {
            true => encoded.push(byte.into()),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(all(test, feature = "azure", feature = "http"))]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_an_account_is_for_this_account() {
        let variable = |name: &str| {
            let known = [
                ("AZURE_STORAGE_ACCOUNT_NAME", "mine"),
                ("AZURE_STORAGE_ACCOUNT_KEY", "a2V5"),
            ];
            known
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let signs = |account| {
            format!("{:?}", azure(account, variable)).contains("AZURE_STORAGE_ACCOUNT_KEY")
        };
        assert!(signs(None) && signs(Some("mine")) && !signs(Some("theirs")));
    }

    #[test]
    fn paths_stay_as_they_were_written() {
        assert_eq!(
            encoded("a b/é%2F+%C3%a9\\[@"),
            "a%20b/%C3%A9%2F+%C3%a9%5C%5B@"
        );
    }
}
