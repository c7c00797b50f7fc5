//! Opens buckets and web servers, with credentials from the environment.

use std::fmt;
use std::sync::Arc;

use ndzarr_store::AsyncStore;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
use ndzarr_store_object::{ObjectStore, RemoteOptions, Service};

use crate::error::{Error, ErrorKind, Result};
use crate::url::Remote;

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where variables with credentials and endpoints come from: by default, the process's environment.
#[derive(Clone, Default)]
pub(crate) struct Environment(Option<Arc<Lookup>>);

impl Environment {
    pub(crate) fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(lookup)))
    }

    #[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
    fn get(&self, name: &str) -> Option<String> {
        match &self.0 {
            Some(lookup) => lookup(name),
            None => std::env::var(name).ok(),
        }
    }
}

/// Without values.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "variables of the caller" } else { "the environment" })
    }
}

/// The store that is rooted at a URL's path: nothing is read or written above it.
pub(crate) fn open(root: &Remote, environment: &Environment) -> Result<Arc<dyn AsyncStore>> {
    #[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
    let variable = |name: &str| environment.get(name);
    #[cfg(not(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http")))]
    let _ = environment;
    match root {
        #[cfg(feature = "s3")]
        Remote::S3 { endpoint, bucket, path } => {
            let mut options = RemoteOptions::from_environment(Service::S3, variable);
            if let Some(endpoint) = endpoint {
                options = options.endpoint(endpoint);
            }
            Ok(Arc::new(ObjectStore::s3(bucket, path, &options)?))
        }
        #[cfg(feature = "gcs")]
        Remote::Gcs { bucket, path } => {
            let options = RemoteOptions::from_environment(Service::Gcs, variable);
            Ok(Arc::new(ObjectStore::gcs(bucket, path, &options)?))
        }
        #[cfg(feature = "azure")]
        Remote::Azure { account, container, path } => {
            Ok(Arc::new(ObjectStore::azure(container, path, &azure(account.as_deref(), variable))?))
        }
        #[cfg(feature = "http")]
        Remote::Http { base, path, query } => {
            let query = query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
            let url = format!("{base}/{}{query}", encoded(path));
            Ok(Arc::new(ObjectStore::http(&url, &RemoteOptions::from_environment(Service::Http, variable))?))
        }
        #[allow(unreachable_patterns, reason = "with every feature")]
        root => {
            let what =
                format!("{root:?} needs the feature `{}`, which this build does not have", root.feature());
            Err(Error::new(ErrorKind::Unsupported, what))
        }
    }
}

/// What the environment says of an account; the key of another one stays where it is.
#[cfg(feature = "azure")]
fn azure(account: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> RemoteOptions {
    let options = RemoteOptions::from_environment(Service::Azure, &variable);
    let Some(account) = account else { return options };
    let names = ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"];
    let configured = names.iter().filter_map(|name| variable(name)).find(|name| !name.is_empty());
    let is_own = configured.is_none_or(|configured| configured == account);
    let of_account = |name: &str| variable(name).filter(|_| is_own || !name.starts_with("AZURE_STORAGE_"));
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
            let known = [("AZURE_STORAGE_ACCOUNT_NAME", "mine"), ("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")];
            known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let signs = |account| format!("{:?}", azure(account, variable)).contains("AZURE_STORAGE_ACCOUNT_KEY");
        assert!(signs(None) && signs(Some("mine")) && !signs(Some("theirs")));
    }

    #[test]
    fn paths_stay_as_they_were_written() {
        assert_eq!(encoded("a b/é%2F+%C3%a9\\[@"), "a%20b/%C3%A9%2F+%C3%a9%5C%5B@");
    }
}
