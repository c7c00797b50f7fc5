//! Options from the environment variables that the users of each service know.

use std::path::PathBuf;
use std::time::Duration;

use crate::credentials::source::{AWS, AWS_MORE, AZURE, AZURE_MORE, GOOGLE_MORE, GOOGLE_SETS};
use crate::options::{Credentials, RemoteOptions};
use crate::settings::setting::Setting;
use crate::settings::variables::Variables;
use crate::store::Service;

/// Sets an option to the value of a variable; `None` if the value is not valid.
type Set = fn(&mut RemoteOptions, &str) -> Option<()>;

/// Variables for every service, with a description of their valid values.
const GENERAL: [(&str, &str, Set); 7] = [
    (
        "NDZARR_CONNECT_TIMEOUT",
        "a number of seconds above 0",
        |options, text| {
            options.connect_timeout = seconds(text)?;
            Some(())
        },
    ),
    (
        "NDZARR_READ_TIMEOUT",
        "a number of seconds above 0",
        |options, text| {
            options.read_timeout = seconds(text)?;
            Some(())
        },
    ),
    (
        "NDZARR_RETRY_FOR",
        "a number of seconds, or 0",
        |options, text| {
            options.retry_for = if text == "0" {
                Duration::ZERO
            } else {
                seconds(text)?
            };
            Some(())
        },
    ),
    (
        "NDZARR_ATTEMPTS",
        "a number of attempts above 0",
        |options, text| {
            options.attempts = text.parse().ok().filter(|&attempts| attempts > 0)?;
            Some(())
        },
    ),
    (
        "NDZARR_REQUESTS_IN_FLIGHT",
        "a number of requests above 0",
        |options, text| {
            options.requests = text.parse().ok().filter(|&requests| requests > 0)?;
            Some(())
        },
    ),
    (
        "NDZARR_HEDGE_AFTER",
        "a number of seconds above 0",
        |options, text| {
            options.hedge_after = Some(seconds(text)?);
            Some(())
        },
    ),
    (
        "NDZARR_MISSING_IF_DENIED",
        "true or false",
        |options, text| {
            options.missing_if_denied = truth(text)?;
            Some(())
        },
    ),
];

fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|&seconds: &f64| seconds > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn truth(text: &str) -> Option<bool> {
    match &*text.to_ascii_lowercase() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Adds headers, each a line with a name, a colon and a value.
fn with_headers(mut options: RemoteOptions, lines: &str) -> RemoteOptions {
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let header = line
            .split_once(':')
            .map(|(name, value)| (name.trim(), value.trim()));
        match header.and_then(|(name, value)| options.clone().header(name, value).ok()) {
            Some(with_header) => options = with_header,
            None => {
                let what = "NDZARR_HTTP_HEADERS has a line that is not \"Name: value\"";
                options.fault.get_or_insert_with(|| what.to_owned());
            }
        }
    }
    options
}

/// Sets of variables: the needed ones, and the optional ones.
type Sets = &'static [(&'static [&'static str], &'static [&'static str])];

impl RemoteOptions {
    /// The options of environment variables. `variable` looks up a variable; an empty one counts as
    /// not set.
    ///
    /// | service | read |
    /// |---|---|
    /// | every one | `NDZARR_CONNECT_TIMEOUT`, `NDZARR_READ_TIMEOUT`, `NDZARR_RETRY_FOR`, `NDZARR_HEDGE_AFTER` (seconds), `NDZARR_ATTEMPTS`, `NDZARR_REQUESTS_IN_FLIGHT`, `NDZARR_MISSING_IF_DENIED` |
    /// | web servers | `NDZARR_HTTP_HEADERS`: lines of `Name: value`; unless one is `Authorization`, the password in the file `NETRC`, or `~/.netrc` |
    /// | S3 | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`; those of web identities; `AWS_PROFILE`, `AWS_CONFIG_FILE`, `AWS_SHARED_CREDENTIALS_FILE`; those of containers; `AWS_EC2_METADATA_DISABLED`, `AWS_EC2_METADATA_SERVICE_ENDPOINT`; `AWS_REGION`, `AWS_DEFAULT_REGION`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_REQUEST_PAYER` (`requester`), `AWS_SKIP_SIGNATURE` |
    /// | Google | `GOOGLE_SERVICE_ACCOUNT`, `_PATH` and `_KEY`, `GOOGLE_APPLICATION_CREDENTIALS`, `CLOUDSDK_CONFIG`, `GCE_METADATA_HOST`, `NO_GCE_CHECK`, `GOOGLE_BASE_URL`, `GOOGLE_CLOUD_QUOTA_PROJECT`, `GOOGLE_SKIP_SIGNATURE` |
    /// | Azure | `AZURE_STORAGE_ACCOUNT_NAME` (or `_ACCOUNT`), `_ACCOUNT_KEY`, `_ACCESS_KEY`, `_SAS_TOKEN`, `_SAS_KEY`, `_TOKEN`, `_ENDPOINT`; `AZURE_CLIENT_ID`, `_CLIENT_SECRET`, `_TENANT_ID`, `_AUTHORITY_HOST`, `_FEDERATED_TOKEN_FILE`; `AZURE_USE_AZURE_CLI`, `AZURE_MSI_ENDPOINT`; `AZURE_SKIP_SIGNATURE` |
    ///
    /// The constructor of the store takes the first of these credentials that exist:
    ///
    /// - S3: the key; the web identity; the profile (keys, `credential_process`, or AWS's own
    ///   program where the profile needs a login or another role, even if it also has keys); the
    ///   container; the machine;
    /// - Google: the service account; `GOOGLE_APPLICATION_CREDENTIALS` or the file of gcloud; the
    ///   machine;
    /// - Azure: the key, SAS or token; the client's secret; the workload identity; `az`, if
    ///   `AZURE_USE_AZURE_CLI` asks for it; the machine.
    ///
    /// The machine's metadata service is asked at the first request, for 3 s at most (or 3 times
    /// `AWS_METADATA_SERVICE_TIMEOUT` or `GCE_METADATA_TIMEOUT`, in seconds) and once for the
    /// process, if the endpoint is the provider's own or a variable names the service. If it does
    /// not answer, nothing is signed. Set `AWS_SKIP_SIGNATURE`, or that of the other service, for
    /// public data.
    ///
    /// An invalid value of a variable is an error of the store's constructor.
    ///
    /// ```
    /// use ndzarr::store::{RemoteOptions, Service};
    ///
    /// let options = RemoteOptions::from_environment(Service::S3, |name| std::env::var(name).ok());
    /// # let _ = options;
    /// ```
    pub fn from_environment(service: Service, variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let first = |names: &[&'static str]| {
            names
                .iter()
                .find_map(|name| Some(Setting::new(*name, variable(name)?)))
        };
        let mut options = Self::new();
        for (name, what, set) in GENERAL {
            if let Some(text) = variable(name)
                && set(&mut options, &text).is_none()
            {
                options
                    .fault
                    .get_or_insert_with(|| format!("{name} is not {what}"));
            }
        }
        let seconds = first(&["AWS_METADATA_SERVICE_TIMEOUT", "GCE_METADATA_TIMEOUT"]);
        if let Some(seconds) = seconds.and_then(|seconds| seconds.value.parse().ok()) {
            options.metadata_timeout = Duration::from_secs(seconds);
        }
        let (sets, more, unsigned): (Sets, _, _) = match service {
            Service::S3 => {
                options.region = first(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
                options.endpoint = first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
                if let Some(payer) = variable("AWS_REQUEST_PAYER") {
                    let pays = if payer == "requester" {
                        Some(true)
                    } else {
                        truth(&payer)
                    };
                    match pays {
                        Some(pays) => options.requester_pays = pays,
                        None => {
                            let what = "AWS_REQUEST_PAYER is not requester, true or false";
                            options.fault.get_or_insert_with(|| what.to_owned());
                        }
                    }
                }
                (AWS, AWS_MORE, "AWS_SKIP_SIGNATURE")
            }
            Service::Gcs => {
                options.endpoint = first(&["GOOGLE_BASE_URL"]);
                if let Some(project) = variable("GOOGLE_CLOUD_QUOTA_PROJECT") {
                    match options.clone().header("x-goog-user-project", &project) {
                        Ok(with_header) => options = with_header,
                        Err(_) => {
                            options.fault =
                                Some("GOOGLE_CLOUD_QUOTA_PROJECT is not a project".to_owned());
                        }
                    }
                }
                (GOOGLE_SETS, GOOGLE_MORE, "GOOGLE_SKIP_SIGNATURE")
            }
            Service::Azure => {
                options.account = first(&["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"]);
                options.endpoint = first(&["AZURE_STORAGE_ENDPOINT"]);
                (AZURE, AZURE_MORE, "AZURE_SKIP_SIGNATURE")
            }
            Service::Http => {
                if let Some(headers) = variable("NDZARR_HTTP_HEADERS") {
                    options = with_headers(options, &headers);
                }
                options.netrc = variable("NETRC").map(PathBuf::from).or_else(|| {
                    let name = if cfg!(windows) { "_netrc" } else { ".netrc" };
                    let home = variable("HOME").or_else(|| variable("USERPROFILE"))?;
                    Some(PathBuf::from(home).join(name))
                });
                return options;
            }
        };
        let names = sets
            .iter()
            .flat_map(|(needed, others)| needed.iter().chain(*others));
        let mut set: Vec<(String, String)> = Vec::new();
        for name in names.chain(more).chain([&unsigned]) {
            if let Some(value) =
                variable(name).filter(|_| set.iter().all(|(known, _)| known != name))
            {
                set.push(((*name).to_owned(), value));
            }
        }
        let is_unsigned = Variables(&set).is_yes(unsigned);
        options.credentials = Some(if is_unsigned {
            Credentials::Anonymous
        } else {
            Credentials::Variables(set)
        });
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(service: Service, variables: &[(&str, &str)]) -> RemoteOptions {
        RemoteOptions::from_environment(service, |name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    fn named(options: &RemoteOptions) -> Vec<&str> {
        match &options.credentials {
            Some(Credentials::Variables(set)) => {
                set.iter().map(|(name, _)| name.as_str()).collect()
            }
            _ => Vec::new(),
        }
    }

    #[test]
    fn the_variables_of_amazon() {
        let found = options(
            Service::S3,
            &[
                ("AWS_ACCESS_KEY_ID", "id"),
                ("AWS_SECRET_ACCESS_KEY", "hidden"),
                ("AWS_SESSION_TOKEN", ""),
                ("AWS_DEFAULT_REGION", "eu-west-1"),
                ("AWS_REGION", "eu-west-2"),
                ("AWS_ENDPOINT_URL", "http://general"),
                ("AWS_ENDPOINT_URL_S3", "http://special"),
            ],
        );
        assert_eq!(
            named(&found),
            ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
        );
        assert_eq!(found.region.as_deref(), Some("eu-west-2"));
        assert_eq!(found.endpoint.as_deref(), Some("http://special"));
        assert!(!format!("{found:?}").contains("hidden"));

        let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SKIP_SIGNATURE", "true")];
        assert!(matches!(
            options(Service::S3, &keys).credentials,
            Some(Credentials::Anonymous)
        ));
    }

    #[test]
    fn limits_go_for_every_service() {
        let set = [
            ("NDZARR_CONNECT_TIMEOUT", "0.5"),
            ("NDZARR_READ_TIMEOUT", "3"),
            ("NDZARR_RETRY_FOR", "0"),
            ("NDZARR_ATTEMPTS", "2"),
            ("NDZARR_REQUESTS_IN_FLIGHT", "7"),
            ("NDZARR_HEDGE_AFTER", "0.2"),
            ("NDZARR_MISSING_IF_DENIED", "True"),
            ("AWS_REQUEST_PAYER", "requester"),
        ];
        for service in [Service::S3, Service::Gcs, Service::Azure, Service::Http] {
            let found = options(service, &set);
            assert_eq!(found.connect_timeout, Duration::from_millis(500));
            assert_eq!(found.read_timeout, Duration::from_secs(3));
            assert_eq!(found.retry_for, Duration::ZERO);
            assert_eq!((found.attempts, found.requests), (2, 7));
            assert_eq!(found.hedge_after, Some(Duration::from_millis(200)));
            assert!(found.missing_if_denied && found.fault.is_none());
            assert_eq!(found.requester_pays, service == Service::S3);
        }
        for (name, value) in [
            ("NDZARR_CONNECT_TIMEOUT", "soon"),
            ("NDZARR_READ_TIMEOUT", "0"),
            ("NDZARR_RETRY_FOR", "-1"),
            ("NDZARR_ATTEMPTS", "0"),
            ("NDZARR_REQUESTS_IN_FLIGHT", "many"),
            ("NDZARR_HEDGE_AFTER", "NaN"),
            ("NDZARR_MISSING_IF_DENIED", "perhaps"),
            ("AWS_REQUEST_PAYER", "me"),
        ] {
            let fault = options(Service::S3, &[(name, value)])
                .fault
                .unwrap_or_default();
            assert!(fault.starts_with(name), "{fault}");
        }
    }

    #[test]
    fn headers_go_to_web_servers_only() {
        let set = [(
            "NDZARR_HTTP_HEADERS",
            "Authorization: Bearer a:b\n\nX-Key:1\n",
        )];
        let found = options(Service::Http, &set);
        assert_eq!(found.fault, None);
        assert_eq!(
            found
                .headers
                .get("authorization")
                .map(|value| value.as_bytes()),
            Some(&b"Bearer a:b"[..])
        );
        assert_eq!(
            found.headers.get("x-key").map(|value| value.as_bytes()),
            Some(&b"1"[..])
        );
        assert!(!format!("{found:?}").contains("Bearer"));
        for service in [Service::S3, Service::Gcs, Service::Azure] {
            assert!(options(service, &set).headers.is_empty());
        }
        for wrong in ["Authorization", "A b: c", "A: \u{1}", ": c"] {
            let fault = options(Service::Http, &[("NDZARR_HTTP_HEADERS", wrong)])
                .fault
                .unwrap_or_default();
            assert!(
                fault.contains("Name: value") && !fault.contains("A b"),
                "{wrong}: {fault}"
            );
        }
    }

    #[test]
    fn the_variables_of_google_and_azure() {
        let google = [
            ("GOOGLE_APPLICATION_CREDENTIALS", "a.json"),
            ("GOOGLE_BASE_URL", "http://fake"),
        ];
        let found = options(Service::Gcs, &google);
        assert_eq!(named(&found), ["GOOGLE_APPLICATION_CREDENTIALS"]);
        assert_eq!(found.endpoint.as_deref(), Some("http://fake"));
        let azure = [
            ("AZURE_STORAGE_ACCOUNT", "lab"),
            ("AZURE_STORAGE_SAS_TOKEN", "sig=a"),
        ];
        let found = options(Service::Azure, &azure);
        assert_eq!(
            (named(&found), found.account.as_deref()),
            (vec!["AZURE_STORAGE_SAS_TOKEN"], Some("lab"))
        );
        assert!(named(&options(Service::Gcs, &azure)).is_empty());
    }
}
