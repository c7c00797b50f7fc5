//! The constructors, one for each service.

use std::sync::Arc;
use std::time::Duration;

use ndzarr_store::{PerProcess, Prefix, StoreError};
use object_store::RetryConfig;

use crate::client::backend::Backend;
use crate::client::connector::{Connector, client_options};
#[cfg(feature = "s3")]
use crate::client::region::{self, Regional};
use crate::client::signing::Signing;
use crate::conditions::{self, Conditions};
use crate::credentials::fetched::Origin;
use crate::credentials::source::{self, Source};
use crate::errors::fault::{no_credentials, option_error, wrong_credentials};
use crate::opening::builder::{build, built, provided};
use crate::operations::write;
use crate::options::{Credentials, RemoteOptions};
use crate::requests::conflicts::Conflicts;
use crate::requests::hedge::Hedge;
#[cfg(feature = "http")]
use crate::settings::netrc;
#[cfg(feature = "s3")]
use crate::settings::profile::Profile;
use crate::settings::setting::{self, Setting, Use};
use crate::settings::variables::Variables;
use crate::store::{Inner, ObjectStore, Service};
use crate::unlisted::UnlistedNames;
use crate::unranged::UnrangedCache;

/// Attempts are counted and repeated by this crate, not by object_store.
fn no_retries() -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        retry_timeout: Duration::ZERO,
        ..RetryConfig::default()
    }
}

fn allows_http(endpoint: Option<&str>) -> bool {
    let scheme = endpoint.and_then(|url| url.split_once("://"));
    scheme.is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("http"))
}

/// Credentials of the options. Each setting has its name in object_store, its name for users, and a
/// value.
fn given(settings: &[(&str, &str, &str)]) -> Source {
    let setting =
        |(key, name, value): &(&str, &str, &str)| ((*key).to_owned(), Setting::new(*name, *value));
    Source::Settings {
        settings: settings.iter().map(setting).collect(),
        name: "the options".to_owned(),
    }
}

/// Checks the bucket and the settings that become parts of URLs. `name` is the name of the store in
/// errors.
fn check(bucket: &str, settings: &[(Option<&Setting>, Use)], name: &str) -> Result<(), StoreError> {
    let bucket =
        setting::check(bucket, Use::Name).map_err(|what| format!("the name of the bucket {what}"));
    let mut settings = settings
        .iter()
        .filter_map(|(setting, used)| setting.map(|setting| (setting, *used)));
    let checked =
        bucket.and_then(|()| settings.try_for_each(|(setting, used)| setting.check(used)));
    checked.map_err(|what| option_error(what, &name.replace(char::is_control, "")))
}

impl ObjectStore {
    fn new(
        backend: Backend,
        service: Service,
        name: &str,
        prefix: &str,
        options: &RemoteOptions,
        signing: Signing,
    ) -> Result<Self, StoreError> {
        if let Some(what) = &options.fault {
            return Err(option_error(what, name));
        }
        let hosts = match service {
            Service::S3 => conditions::AMAZON,
            Service::Gcs => conditions::GOOGLE,
            Service::Azure => conditions::MICROSOFT,
            Service::Http => &[],
        };
        let prefix = match prefix.trim_matches('/') {
            "" => String::new(),
            prefix => Prefix::new(format!("{prefix}/"))?.to_string(),
        };
        // With another endpoint, the name contains it after a plus: s3+http://…
        let conditions = Conditions::of(hosts, name.split_once('+').map(|(_, endpoint)| endpoint));
        Ok(Self(Arc::new(Inner {
            backend,
            service,
            name: format!("{name}/{prefix}").into(),
            prefix,
            limit: PerProcess::new(),
            conflicts: Conflicts::default(),
            max_value_bytes: if conditions.is_promised() {
                write::max_value_bytes(service)
            } else {
                None
            },
            conditions,
            hedge: options.hedge_after.map(Hedge::new),
            options: options.clone(),
            signing,
            unranged: UnrangedCache::default(),
            unlisted: UnlistedNames::default(),
        })))
    }

    /// A bucket of Amazon S3, or of what speaks like it at an
    /// [`endpoint`](RemoteOptions::endpoint), below a prefix. If no region is given for a bucket at
    /// Amazon, the first request asks for it.
    ///
    /// # Errors
    /// If the options do not fit the service, or a profile cannot be read. No request is made.
    #[cfg(feature = "s3")]
    pub fn s3(bucket: &str, prefix: &str, options: &RemoteOptions) -> Result<Self, StoreError> {
        let mut name = format!("s3://{bucket}");
        let mut region = options.region.clone();
        let mut endpoint = options.endpoint.clone();
        let source = match &options.credentials {
            None | Some(Credentials::Anonymous) => Ok(Source::Unsigned),
            Some(Credentials::Key {
                id,
                secret,
                session_token,
            }) => {
                let mut settings = vec![
                    ("aws_access_key_id", "the id of the key", &**id),
                    ("aws_secret_access_key", "the secret of the key", &**secret),
                ];
                let token = session_token.as_deref();
                settings
                    .extend(token.map(|token| ("aws_session_token", "the session token", token)));
                Ok(given(&settings))
            }
            Some(Credentials::Variables(set)) => {
                let profile = Profile::find(Variables(set));
                if let Ok(profile) = &profile {
                    region = region.or_else(|| profile.setting("region"));
                    endpoint = endpoint.or_else(|| profile.setting("endpoint_url"));
                }
                source::aws(Variables(set), &profile, endpoint.as_deref())
            }
            Some(_) => return Err(wrong_credentials(&name)),
        };
        let source = source.map_err(|what| no_credentials(what, &name))?;
        let settings = [
            (endpoint.as_ref(), Use::Endpoint),
            (region.as_ref(), Use::Name),
        ];
        check(bucket, &settings, &name)?;
        let signing = Signing::new(!matches!(source, Source::Unsigned));
        let connector = Connector::new(options, endpoint.as_deref(), &signing);
        let mut builder = object_store::aws::AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(region.as_deref().unwrap_or(region::DEFAULT))
            .with_request_payer(options.requester_pays)
            .with_client_options(client_options(allows_http(endpoint.as_deref())))
            .with_retry(no_retries())
            .with_http_connector(connector.clone());
        if let Some(endpoint) = &endpoint {
            builder = builder.with_endpoint(&endpoint.value);
            name = format!("s3+{}/{bucket}", endpoint.trim_end_matches('/'));
        }
        let builder = match source {
            Source::Process(process) => {
                let origin = Origin::Named(process.name().to_owned());
                provided(builder, process, origin, &signing)
            }
            Source::Container(container) => {
                let origin = Origin::Named(container.name().to_owned());
                let from = container
                    .provider(&connector)
                    .map_err(|error| option_error(error, &name))?;
                provided(builder, from, origin, &signing)
            }
            source => built(builder, source, options, &signing, &name)?,
        };
        let is_region_unknown = region.is_none() && endpoint.is_none();
        let regional = is_region_unknown.then(|| Regional::new(bucket, builder.clone(), connector));
        // Not every service that speaks like Amazon has "DeleteObjects".
        let mut single_eraser = None;
        if endpoint.is_some() {
            single_eraser = Some(build(
                builder.clone().with_disable_bulk_delete(true),
                &name,
            )?);
        }
        let backend = Backend::new(build(builder, &name)?);
        let backend = backend
            .in_region(regional)
            .with_single_eraser(single_eraser);
        Self::new(backend, Service::S3, &name, prefix, options, signing)
    }

    /// A bucket of Google Cloud Storage, below a prefix.
    ///
    /// # Errors
    /// If the options do not fit the service. No request is made.
    #[cfg(feature = "gcs")]
    pub fn gcs(bucket: &str, prefix: &str, options: &RemoteOptions) -> Result<Self, StoreError> {
        use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder};

        let mut name = format!("gs://{bucket}");
        let endpoint = options.endpoint.as_deref();
        check(bucket, &[(options.endpoint.as_ref(), Use::Endpoint)], &name)?;
        let mut bearer = None;
        let source = match &options.credentials {
            None | Some(Credentials::Anonymous) => Source::Unsigned,
            Some(Credentials::ServiceAccount(json)) => {
                given(&[("google_service_account_key", "the service account", json)])
            }
            Some(Credentials::Bearer(token)) => {
                setting::check(token, Use::Text)
                    .map_err(|what| option_error(format!("the token {what}"), &name))?;
                bearer = Some(GcpCredential {
                    bearer: token.clone(),
                });
                Source::Unsigned
            }
            Some(Credentials::Variables(set)) => source::google(Variables(set), endpoint)
                .map_err(|what| no_credentials(what, &name))?,
            Some(_) => return Err(wrong_credentials(&name)),
        };
        let endpoint_of_file = source::base_url(&source).filter(|_| endpoint.is_none());
        check(bucket, &[(endpoint_of_file.as_ref(), Use::Endpoint)], &name)?;
        let signing = Signing::new(bearer.is_some() || !matches!(source, Source::Unsigned));
        let mut builder = GoogleCloudStorageBuilder::new()
            .with_bucket_name(bucket)
            .with_client_options(client_options(allows_http(endpoint)))
            .with_retry(no_retries())
            .with_http_connector(Connector::new(options, endpoint, &signing));
        if let Some(endpoint) = endpoint {
            builder = builder.with_base_url(endpoint);
            name = format!("gs+{}/{bucket}", endpoint.trim_end_matches('/'));
        }
        let builder = match bearer {
            Some(bearer) => {
                let provider = object_store::StaticCredentialProvider::new(bearer);
                let origin = Origin::Named("the options".to_owned());
                provided(builder, Arc::new(provider), origin, &signing)
            }
            None => built(builder, source, options, &signing, &name)?,
        };
        let backend = Backend::new(build(builder, &name)?);
        Self::new(backend, Service::Gcs, &name, prefix, options, signing)
    }

    /// A container of Azure Blob Storage, below a prefix. The
    /// [`account`](RemoteOptions::account) is needed.
    ///
    /// # Errors
    /// If the options do not fit the service. No request is made.
    #[cfg(feature = "azure")]
    pub fn azure(
        container: &str,
        prefix: &str,
        options: &RemoteOptions,
    ) -> Result<Self, StoreError> {
        let account = options.account.as_deref();
        let account = account.ok_or_else(|| option_error("the account is not given", container))?;
        let mut name = format!("az://{account}/{container}");
        let endpoint = options.endpoint.as_deref();
        let settings = [
            (options.endpoint.as_ref(), Use::Endpoint),
            (options.account.as_ref(), Use::Name),
        ];
        check(container, &settings, &name)?;
        let source = match &options.credentials {
            None | Some(Credentials::Anonymous) => Source::Unsigned,
            Some(Credentials::AccountKey(key)) => {
                given(&[("azure_storage_account_key", "the account key", key)])
            }
            Some(Credentials::Bearer(token)) => {
                given(&[("azure_storage_token", "the token", token)])
            }
            Some(Credentials::Variables(set)) => source::azure(Variables(set), endpoint)
                .map_err(|what| no_credentials(what, &name))?,
            Some(_) => return Err(wrong_credentials(&name)),
        };
        let signing = Signing::new(!matches!(source, Source::Unsigned));
        let mut builder = object_store::azure::MicrosoftAzureBuilder::new()
            .with_account(account)
            .with_container_name(container)
            .with_client_options(client_options(allows_http(endpoint)))
            .with_retry(no_retries())
            .with_http_connector(Connector::new(options, endpoint, &signing));
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint.to_owned());
            name = format!("az+{}/{container}", endpoint.trim_end_matches('/'));
        }
        let backend = Backend::new(build(
            built(builder, source, options, &signing, &name)?,
            &name,
        )?);
        Self::new(backend, Service::Azure, &name, prefix, options, signing)
    }

    /// The values below a URL of a web server, read only. They cannot be listed.
    ///
    /// # Errors
    /// If the text is not a URL. No request is made.
    #[cfg(feature = "http")]
    pub fn http(url: &str, options: &RemoteOptions) -> Result<Self, StoreError> {
        setting::check(url, Use::Url)
            .map_err(|what| option_error(format!("the URL {what}"), "a web server"))?;
        // A query may be a secret.
        let name = url
            .split(['?', '#'])
            .next()
            .unwrap_or_default()
            .trim_end_matches('/');
        let signing = Signing::new(false);
        let options = &with_password(options.clone(), url)?;
        let store = object_store::http::HttpBuilder::new()
            .with_url(url)
            .with_client_options(client_options(allows_http(Some(url))))
            .with_retry(no_retries())
            .with_http_connector(Connector::new(options, Some(url), &signing))
            .build()
            .map_err(|_| option_error("this is not the URL of a web server", name))?;
        Self::new(
            Backend::unlisted(Arc::new(store)),
            Service::Http,
            name,
            "",
            options,
            signing,
        )
    }
}

/// Adds the password that the user's file has for the host of a web server, unless the options have
/// an `Authorization` header.
#[cfg(feature = "http")]
fn with_password(options: RemoteOptions, url: &str) -> Result<RemoteOptions, StoreError> {
    if options.headers.contains_key(http::header::AUTHORIZATION) {
        return Ok(options);
    }
    let host = url
        .parse::<http::Uri>()
        .ok()
        .and_then(|uri| uri.host().map(str::to_owned));
    let text = options
        .netrc
        .as_ref()
        .and_then(|file| std::fs::read_to_string(file).ok());
    match text
        .zip(host)
        .and_then(|(text, host)| netrc::authorization(&text, &host))
    {
        Some(value) => options.header("authorization", &value),
        None => Ok(options),
    }
}
