//! The constructors, one for each service. Without credentials nothing is signed.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use ndzarr_store::{PerProcess, Prefix, StoreError};
use object_store::list::PaginatedListStore;
use object_store::{ClientOptions, RetryConfig};

use crate::conflicts::Conflicts;
use crate::options::{Credentials, RemoteOptions};
use crate::service::Connector;
use crate::store::{Inner, ObjectStore, Service};

/// Attempts are counted and repeated above object_store.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, ..RetryConfig::default() }
}

fn client_options(options: &RemoteOptions) -> ClientOptions {
    let is_plain = options.endpoint.as_deref().is_some_and(|url| url.starts_with("http://"));
    ClientOptions::new().with_allow_http(is_plain)
}

/// A fault of the options; object_store's errors of this kind have no secrets.
fn bad(what: impl ToString, name: &str) -> StoreError {
    StoreError::Other { action: "open", key: name.to_owned(), what: what.to_string() }
}

fn wrong_credentials(name: &str) -> StoreError {
    bad("the service has no credentials of this kind", name)
}

/// Variables as settings of a builder.
fn settings<K: FromStr>(variables: &[(String, String)], name: &str) -> Result<Vec<(K, String)>, StoreError> {
    let setting = |(variable, value): &(String, String)| {
        let key = variable.to_ascii_lowercase().parse();
        let key = key.map_err(|_| bad(format!("the service has no variable {variable}"), name))?;
        Ok((key, value.clone()))
    };
    variables.iter().map(setting).collect()
}

impl ObjectStore {
    fn new(
        store: Arc<dyn object_store::ObjectStore>,
        lists: Option<Arc<dyn PaginatedListStore>>,
        service: Service,
        name: &str,
        prefix: &str,
        options: &RemoteOptions,
    ) -> Result<Self, StoreError> {
        let prefix = match prefix.trim_matches('/') {
            "" => String::new(),
            prefix => Prefix::new(format!("{prefix}/"))?.to_string(),
        };
        let signs = !matches!(options.credentials, None | Some(Credentials::Anonymous));
        Ok(Self(Arc::new(Inner {
            store,
            lists,
            service,
            name: format!("{name}/{prefix}").into(),
            prefix,
            limit: PerProcess::new(),
            conflicts: Conflicts::default(),
            options: options.clone(),
            signs,
        })))
    }

    /// A bucket of Amazon S3, or of what speaks like it at an
    /// [`endpoint`](RemoteOptions::endpoint), below a prefix.
    ///
    /// # Errors
    /// The options do not fit the service. No request is made.
    #[cfg(feature = "s3")]
    pub fn s3(bucket: &str, prefix: &str, options: &RemoteOptions) -> Result<Self, StoreError> {
        let mut name = format!("s3://{bucket}");
        let mut builder = object_store::aws::AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(options.region.as_deref().unwrap_or("us-east-1"))
            .with_client_options(client_options(options))
            .with_retry(no_retries())
            .with_http_connector(Connector(options.clone()));
        if let Some(endpoint) = &options.endpoint {
            builder = builder.with_endpoint(endpoint);
            name = format!("s3+{}/{bucket}", endpoint.trim_end_matches('/'));
        }
        builder = match &options.credentials {
            None | Some(Credentials::Anonymous) => builder.with_skip_signature(true),
            Some(Credentials::Key { id, secret, session_token }) => {
                let builder = builder.with_access_key_id(id).with_secret_access_key(secret);
                match session_token {
                    Some(token) => builder.with_token(token),
                    None => builder,
                }
            }
            Some(Credentials::Variables(variables)) => settings(variables, &name)?
                .into_iter()
                .fold(builder, |builder, (key, value)| builder.with_config(key, value)),
            Some(_) => return Err(wrong_credentials(&name)),
        };
        let store = Arc::new(builder.build().map_err(|error| bad(error, &name))?);
        Self::new(store.clone(), Some(store), Service::S3, &name, prefix, options)
    }

    /// A bucket of Google Cloud Storage, below a prefix.
    ///
    /// # Errors
    /// The options do not fit the service. No request is made.
    #[cfg(feature = "gcs")]
    pub fn gcs(bucket: &str, prefix: &str, options: &RemoteOptions) -> Result<Self, StoreError> {
        use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder};

        let mut name = format!("gs://{bucket}");
        let mut builder = GoogleCloudStorageBuilder::new()
            .with_bucket_name(bucket)
            .with_client_options(client_options(options))
            .with_retry(no_retries())
            .with_http_connector(Connector(options.clone()));
        if let Some(endpoint) = &options.endpoint {
            builder = builder.with_base_url(endpoint);
            name = format!("gs+{}/{bucket}", endpoint.trim_end_matches('/'));
        }
        let bearer = |builder: GoogleCloudStorageBuilder, token: &str| {
            let credential = GcpCredential { bearer: token.to_owned() };
            let provider = object_store::StaticCredentialProvider::new(credential);
            builder.with_credentials(Arc::new(provider))
        };
        builder = match &options.credentials {
            // Puts look for credentials in any case: here they find an empty token, and no request goes
            // to the metadata service.
            None | Some(Credentials::Anonymous) => bearer(builder.with_skip_signature(true), ""),
            Some(Credentials::ServiceAccount(json)) => builder.with_service_account_key(json),
            Some(Credentials::Bearer(token)) => bearer(builder, token),
            Some(Credentials::Variables(variables)) => settings(variables, &name)?
                .into_iter()
                .fold(builder, |builder, (key, value)| builder.with_config(key, value)),
            Some(_) => return Err(wrong_credentials(&name)),
        };
        let store = Arc::new(builder.build().map_err(|error| bad(error, &name))?);
        Self::new(store.clone(), Some(store), Service::Gcs, &name, prefix, options)
    }

    /// A container of Azure Blob Storage, below a prefix. The
    /// [`account`](RemoteOptions::account) is needed.
    ///
    /// # Errors
    /// The options do not fit the service. No request is made.
    #[cfg(feature = "azure")]
    pub fn azure(container: &str, prefix: &str, options: &RemoteOptions) -> Result<Self, StoreError> {
        let account = options.account.as_deref();
        let account = account.ok_or_else(|| bad("the account is not given", container))?;
        let mut name = format!("az://{account}/{container}");
        let mut builder = object_store::azure::MicrosoftAzureBuilder::new()
            .with_account(account)
            .with_container_name(container)
            .with_client_options(client_options(options))
            .with_retry(no_retries())
            .with_http_connector(Connector(options.clone()));
        if let Some(endpoint) = &options.endpoint {
            builder = builder.with_endpoint(endpoint.clone());
            name = format!("az+{}/{container}", endpoint.trim_end_matches('/'));
        }
        builder = match &options.credentials {
            None | Some(Credentials::Anonymous) => builder.with_skip_signature(true),
            Some(Credentials::AccountKey(key)) => builder.with_access_key(key),
            Some(Credentials::Bearer(token)) => builder.with_bearer_token_authorization(token),
            Some(Credentials::Variables(variables)) => settings(variables, &name)?
                .into_iter()
                .fold(builder, |builder, (key, value)| builder.with_config(key, value)),
            Some(_) => return Err(wrong_credentials(&name)),
        };
        let store = Arc::new(builder.build().map_err(|error| bad(error, &name))?);
        Self::new(store.clone(), Some(store), Service::Azure, &name, prefix, options)
    }

    /// What is below a URL of a web server, read only. It cannot be listed.
    ///
    /// # Errors
    /// The text is not a URL. No request is made.
    #[cfg(feature = "http")]
    pub fn http(url: &str, options: &RemoteOptions) -> Result<Self, StoreError> {
        // A query may be a secret.
        let name = url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let plain = url.starts_with("http://");
        let store = object_store::http::HttpBuilder::new()
            .with_url(url)
            .with_client_options(ClientOptions::new().with_allow_http(plain))
            .with_retry(no_retries())
            .with_http_connector(Connector(options.clone()))
            .build()
            .map_err(|_| bad("this is not the URL of a web server", name))?;
        Self::new(Arc::new(store), None, Service::Http, name, "", options)
    }
}
