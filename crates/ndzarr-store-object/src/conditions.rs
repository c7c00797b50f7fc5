//! Conditions of puts. The three providers promise to check them; another service is tried out at
//! the first such put, since some ignore conditions and overwrite.

use ndzarr_store::PerProcess;
use tokio::sync::OnceCell;

/// The hosts of the providers, each of which checks conditions in its own protocol. In that of
/// another one it may not: Google ignores those of S3.
pub(crate) const AMAZON: &[&str] = &[".amazonaws.com", ".amazonaws.com.cn"];
pub(crate) const GOOGLE: &[&str] = &[".googleapis.com"];
pub(crate) const MICROSOFT: &[&str] = &[".core.windows.net"];

/// What is known about whether a service checks conditions.
#[derive(Debug)]
pub(crate) struct Conditions {
    is_promised: bool,
    found: PerProcess<OnceCell<bool>>,
}

impl Conditions {
    /// Of a service at this URL, in the protocol of the provider that has these hosts. `None` is
    /// the provider itself.
    pub(crate) fn of(hosts: &[&str], endpoint: Option<&str>) -> Self {
        let host = |url: &str| {
            reqwest::Url::parse(url)
                .ok()?
                .host_str()
                .map(|host| format!(".{host}"))
        };
        let is_own = |url: &str| {
            let host = host(url).unwrap_or_default();
            hosts.iter().any(|own| host.ends_with(own))
        };
        Self {
            is_promised: endpoint.is_none_or(is_own),
            found: PerProcess::new(),
        }
    }

    /// Returns `true` if the service is the provider's own.
    pub(crate) fn is_promised(&self) -> bool {
        self.is_promised
    }

    /// The answer, if it is known without a trial.
    pub(crate) fn known(&self) -> Option<bool> {
        if self.is_promised {
            Some(true)
        } else {
            self.cell().get().copied()
        }
    }

    /// The result of the trial.
    pub(crate) fn cell(&self) -> &OnceCell<bool> {
        self.found.get(|_| OnceCell::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_provider_is_known_by_the_host_of_its_own_service() {
        let urls = [
            (AMAZON, "https://s3.eu-central-1.amazonaws.com"),
            (AMAZON, "https://bucket.s3.cn-north-1.amazonaws.com.cn/"),
            (GOOGLE, "https://storage.googleapis.com"),
            (MICROSOFT, "https://lab.blob.core.windows.net"),
        ];
        for hosts in [AMAZON, GOOGLE, MICROSOFT] {
            assert_eq!(Conditions::of(hosts, None).known(), Some(true), "{hosts:?}");
            for (own, url) in urls {
                let promised = (hosts == own).then_some(true);
                assert_eq!(
                    Conditions::of(hosts, Some(url)).known(),
                    promised,
                    "{hosts:?} {url}"
                );
            }
            for other in [
                "http://127.0.0.1:9000",
                "https://amazonaws.com.example.org",
                "https://xamazonaws.com",
                "?",
            ] {
                assert_eq!(Conditions::of(hosts, Some(other)).known(), None, "{other}");
            }
        }
    }
}
