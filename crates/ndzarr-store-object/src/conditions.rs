//! Whether a service checks the conditions of puts. Those who made them say so; an endpoint of others is
//! tried out at the first such put, since some ignore conditions and overwrite.

use ndzarr_store::PerProcess;
use tokio::sync::OnceCell;

/// The hosts of the services that promise it.
const PROVIDERS: [&str; 4] = [".amazonaws.com", ".amazonaws.com.cn", ".googleapis.com", ".core.windows.net"];

/// Whether conditions are checked, once it is known.
#[derive(Debug)]
pub(crate) struct Conditions {
    is_promised: bool,
    found: PerProcess<OnceCell<bool>>,
}

impl Conditions {
    /// Of a service at this URL; `None` is the provider's own.
    pub(crate) fn of(endpoint: Option<&str>) -> Self {
        let host = |url: &str| reqwest::Url::parse(url).ok()?.host_str().map(|host| format!(".{host}"));
        let is_own = |url: &str| {
            let host = host(url).unwrap_or_default();
            PROVIDERS.iter().any(|provider| host.ends_with(provider))
        };
        Self { is_promised: endpoint.is_none_or(is_own), found: PerProcess::new() }
    }

    pub(crate) fn known(&self) -> Option<bool> {
        if self.is_promised { Some(true) } else { self.cell().get().copied() }
    }

    pub(crate) fn cell(&self) -> &OnceCell<bool> {
        self.found.get(|_| OnceCell::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_known_by_their_hosts() {
        for own in [
            None,
            Some("https://s3.eu-central-1.amazonaws.com"),
            Some("https://bucket.s3.cn-north-1.amazonaws.com.cn/"),
            Some("https://storage.googleapis.com"),
            Some("https://lab.blob.core.windows.net"),
        ] {
            assert_eq!(Conditions::of(own).known(), Some(true), "{own:?}");
        }
        for other in
            ["http://127.0.0.1:9000", "https://amazonaws.com.example.org", "https://xamazonaws.com", "?"]
        {
            assert_eq!(Conditions::of(Some(other)).known(), None, "{other}");
        }
    }
}
