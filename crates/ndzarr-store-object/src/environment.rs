//! Options from the environment variables that the users of each service know.

use crate::options::{Credentials, RemoteOptions};
use crate::store::Service;

/// The key of S3, or what object_store fetches a token with.
const AWS: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_ENDPOINT_URL_STS",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];
/// Each of these sets of variables is enough, as are those of the next two services.
const AWS_ENOUGH: &[&[&str]] = &[
    &["AWS_ACCESS_KEY_ID"],
    &["AWS_SECRET_ACCESS_KEY"],
    &["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"],
    &["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"],
    &["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"],
];
const GOOGLE: &[&str] = &[
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
];
const GOOGLE_ENOUGH: &[&[&str]] = &[
    &["GOOGLE_SERVICE_ACCOUNT"],
    &["GOOGLE_SERVICE_ACCOUNT_PATH"],
    &["GOOGLE_SERVICE_ACCOUNT_KEY"],
    &["GOOGLE_APPLICATION_CREDENTIALS"],
];
const AZURE: &[&str] = &[
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_CLIENT_ID",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_STORAGE_TENANT_ID",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_TENANT_ID",
    "AZURE_AUTHORITY_HOST",
    "AZURE_FEDERATED_TOKEN_FILE",
];
const AZURE_ENOUGH: &[&[&str]] = &[
    &["AZURE_STORAGE_ACCOUNT_KEY"],
    &["AZURE_STORAGE_ACCESS_KEY"],
    &["AZURE_STORAGE_SAS_KEY"],
    &["AZURE_STORAGE_SAS_TOKEN"],
    &["AZURE_STORAGE_CLIENT_SECRET"],
    &["AZURE_CLIENT_SECRET"],
    &["AZURE_FEDERATED_TOKEN_FILE"],
];

impl RemoteOptions {
    /// The options that environment variables give; `variable` looks one up, and an empty one is as
    /// good as none.
    ///
    /// | service | read |
    /// |---|---|
    /// | S3 | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, those of web identities and containers, `AWS_REGION`, `AWS_DEFAULT_REGION`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_SKIP_SIGNATURE` |
    /// | Google | `GOOGLE_SERVICE_ACCOUNT`, `_PATH` and `_KEY`, `GOOGLE_APPLICATION_CREDENTIALS`, `GOOGLE_BASE_URL`, `GOOGLE_SKIP_SIGNATURE` |
    /// | Azure | `AZURE_STORAGE_ACCOUNT_NAME` (or `_ACCOUNT`), `_ACCOUNT_KEY`, `_ACCESS_KEY`, `_SAS_TOKEN`, `_SAS_KEY`, `_ENDPOINT`; `AZURE_CLIENT_ID`, `_CLIENT_SECRET`, `_TENANT_ID`, `_AUTHORITY_HOST`, `_FEDERATED_TOKEN_FILE`; `AZURE_SKIP_SIGNATURE` |
    ///
    /// If they name no credentials, nothing is signed: neither profiles nor the metadata services of
    /// virtual machines are asked.
    ///
    /// ```
    /// use ndzarr_store_object::{RemoteOptions, Service};
    ///
    /// let options = RemoteOptions::from_environment(Service::S3, |name| std::env::var(name).ok());
    /// # let _ = options;
    /// ```
    pub fn from_environment(service: Service, variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
        let mut options = Self::new();
        let (known, enough, unsigned) = match service {
            Service::S3 => {
                options.region = first(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
                options.endpoint = first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
                (AWS, AWS_ENOUGH, "AWS_SKIP_SIGNATURE")
            }
            Service::Gcs => {
                options.endpoint = variable("GOOGLE_BASE_URL");
                (GOOGLE, GOOGLE_ENOUGH, "GOOGLE_SKIP_SIGNATURE")
            }
            Service::Azure => {
                options.account = first(&["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"]);
                options.endpoint = variable("AZURE_STORAGE_ENDPOINT");
                (AZURE, AZURE_ENOUGH, "AZURE_SKIP_SIGNATURE")
            }
            Service::Http => return options,
        };
        let is_yes = |text: String| ["1", "true", "yes", "on"].contains(&&*text.to_ascii_lowercase());
        options.credentials = if variable(unsigned).is_some_and(is_yes) {
            Some(Credentials::Anonymous)
        } else if enough.iter().any(|names| names.iter().all(|name| variable(name).is_some())) {
            let set = known.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
            Some(Credentials::Variables(set.collect()))
        } else {
            None
        };
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(service: Service, variables: &[(&str, &str)]) -> RemoteOptions {
        RemoteOptions::from_environment(service, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn named(options: &RemoteOptions) -> Vec<&str> {
        match &options.credentials {
            Some(Credentials::Variables(set)) => set.iter().map(|(name, _)| name.as_str()).collect(),
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
        assert_eq!(named(&found), ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);
        assert_eq!(found.region.as_deref(), Some("eu-west-2"));
        assert_eq!(found.endpoint.as_deref(), Some("http://special"));
        assert!(!format!("{found:?}").contains("hidden"));

        let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SKIP_SIGNATURE", "true")];
        assert!(matches!(options(Service::S3, &keys).credentials, Some(Credentials::Anonymous)));
        // Half of what a web identity needs would have the metadata service asked.
        assert!(options(Service::S3, &[("AWS_ROLE_ARN", "arn")]).credentials.is_none());
    }

    #[test]
    fn the_variables_of_google_and_azure() {
        let google = [("GOOGLE_APPLICATION_CREDENTIALS", "a.json"), ("GOOGLE_BASE_URL", "http://fake")];
        let found = options(Service::Gcs, &google);
        assert_eq!(named(&found), ["GOOGLE_APPLICATION_CREDENTIALS"]);
        assert_eq!(found.endpoint.as_deref(), Some("http://fake"));
        let azure = [("AZURE_STORAGE_ACCOUNT", "lab"), ("AZURE_STORAGE_SAS_TOKEN", "sig=a")];
        let found = options(Service::Azure, &azure);
        assert_eq!((named(&found), found.account.as_deref()), (vec!["AZURE_STORAGE_SAS_TOKEN"], Some("lab")));
        assert!(options(Service::Azure, &[("AZURE_CLIENT_ID", "id")]).credentials.is_none());
        assert!(options(Service::Gcs, &azure).credentials.is_none());
    }
}
