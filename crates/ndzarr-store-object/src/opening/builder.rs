//! One trait for the builders of object_store, and stores with credentials from any source.

use std::str::FromStr;
use std::sync::Arc;

use ndzarr_store::{PerProcess, StoreError};
use object_store::CredentialProvider;
use object_store::list::PaginatedListStore;

use crate::client::signing::Signing;
use crate::credentials::fetched::{GuardedProvider, Make, Origin, malformed};
use crate::credentials::source::{Settings, Source};
use crate::errors::fault::{no_credentials, option_error, wrong_credentials};
use crate::options::RemoteOptions;
use crate::settings::setting::{Setting, Use};

/// Checks settings, and makes them those of a builder.
fn with_settings<B: Builder>(mut builder: B, settings: Settings) -> Result<B, String> {
    for (name, setting) in settings {
        let key: B::Key = name
            .parse()
            .map_err(|_| format!("object_store has no setting {name}"))?;
        setting.check(Use::of(&name))?;
        builder = builder.set(key, setting.value);
    }
    Ok(builder)
}

/// A builder of object_store, whatever its service.
pub(crate) trait Builder: Clone + Send + Sync + 'static {
    type Store: object_store::ObjectStore + PaginatedListStore;
    type Credential: Send + Sync + 'static;
    type Key: FromStr;
    /// The credential for signatures that are removed before the request is sent.
    fn none() -> Self::Credential;
    /// The texts of a credential that go into a header or a query, with their names for users.
    fn texts(credential: &Self::Credential) -> Vec<(&'static str, &str)>;
    fn unsigned(self) -> Self;
    fn set(self, key: Self::Key, value: String) -> Self;
    fn provided(self, by: Arc<dyn CredentialProvider<Credential = Self::Credential>>) -> Self;
    fn build(self) -> object_store::Result<Self::Store>;
    fn provider(store: &Self::Store) -> Arc<dyn CredentialProvider<Credential = Self::Credential>>;
}

macro_rules! builder {
    ($feature:literal, $builder:ty, $store:ty, $credential:ty, $key:ty, $none:expr, $texts:expr) => {
        #[cfg(feature = $feature)]
        impl Builder for $builder {
            type Store = $store;
            type Credential = $credential;
            type Key = $key;
            fn none() -> $credential {
                $none
            }
            fn texts(credential: &$credential) -> Vec<(&'static str, &str)> {
                let texts: fn(&$credential) -> Vec<(&'static str, &str)> = $texts;
                texts(credential)
            }
            fn unsigned(self) -> Self {
                // Some requests look for credentials even if nothing is signed.
                let none = object_store::StaticCredentialProvider::new(Self::none());
                self.with_skip_signature(true)
                    .with_credentials(Arc::new(none))
            }
            fn set(self, key: $key, value: String) -> Self {
                self.with_config(key, value)
            }
            fn provided(self, by: Arc<dyn CredentialProvider<Credential = $credential>>) -> Self {
                self.with_credentials(by)
            }
            fn build(self) -> object_store::Result<$store> {
                self.build()
            }
            fn provider(store: &$store) -> Arc<dyn CredentialProvider<Credential = $credential>> {
                Arc::clone(store.credentials())
            }
        }
    };
}

builder!(
    "s3",
    object_store::aws::AmazonS3Builder,
    object_store::aws::AmazonS3,
    object_store::aws::AwsCredential,
    object_store::aws::AmazonS3ConfigKey,
    object_store::aws::AwsCredential {
        key_id: String::new(),
        secret_key: String::new(),
        token: None
    },
    |credential| {
        vec![
            ("the id of the key", &*credential.key_id),
            ("the secret of the key", &*credential.secret_key),
            (
                "the session token",
                credential.token.as_deref().unwrap_or_default(),
            ),
        ]
    }
);
builder!(
    "gcs",
    object_store::gcp::GoogleCloudStorageBuilder,
    object_store::gcp::GoogleCloudStorage,
    object_store::gcp::GcpCredential,
    object_store::gcp::GoogleConfigKey,
    object_store::gcp::GcpCredential {
        bearer: String::new()
    },
    |credential| vec![("the token", &*credential.bearer)]
);
builder!(
    "azure",
    object_store::azure::MicrosoftAzureBuilder,
    object_store::azure::MicrosoftAzure,
    object_store::azure::AzureCredential,
    object_store::azure::AzureConfigKey,
    object_store::azure::AzureCredential::BearerToken(String::new()),
    |credential| match credential {
        object_store::azure::AzureCredential::BearerToken(token) => vec![("the token", &**token)],
        object_store::azure::AzureCredential::SASToken(pairs) => {
            pairs
                .iter()
                .flat_map(|(name, value)| [name, value])
                .map(|text| ("the SAS", &**text))
                .collect()
        }
        // It makes signatures, and is not sent.
        object_store::azure::AzureCredential::AccessKey(_) => Vec::new(),
    }
);

/// A builder whose credentials come from a source.
pub(crate) fn built<B: Builder>(
    builder: B,
    source: Source,
    options: &RemoteOptions,
    signing: &Signing,
    name: &str,
) -> Result<B, StoreError> {
    let unsigned = || builder.clone().unsigned();
    let (settings, origin) = match source {
        Source::Unsigned => return Ok(unsigned()),
        Source::Settings { settings, name } => (settings, Origin::Named(name)),
        Source::Machine { settings, name } => (
            settings,
            Origin::Machine(name, 3 * options.metadata_timeout),
        ),
        #[cfg(feature = "s3")]
        Source::Process(_) | Source::Container(_) => return Err(wrong_credentials(name)),
    };
    let configured =
        with_settings(builder.clone(), settings).map_err(|what| option_error(what, name))?;
    let from = match configured.clone().build() {
        Ok(store) => B::provider(&store),
        // If it fails without credentials, too, the other options are the reason. Otherwise the
        // credentials are, and the text of the error is not used, since it may quote them.
        Err(error) => {
            build(unsigned(), name)?;
            let (Origin::Named(origin) | Origin::Machine(origin, _)) = origin;
            let reason = malformed(&error);
            return Err(no_credentials(
                format!("the credentials of {origin} cannot be used: {reason}"),
                name,
            ));
        }
    };
    let builder_for_children = configured.clone();
    let first = Arc::clone(&from);
    let make = move || match builder_for_children.clone().build() {
        Ok(store) => B::provider(&store),
        Err(_) => Arc::clone(&first),
    };
    Ok(guarded(configured, from, Box::new(make), origin, signing))
}

/// A builder with this provider, which serves forked children as well.
pub(crate) fn provided<B: Builder>(
    builder: B,
    from: Arc<dyn CredentialProvider<Credential = B::Credential>>,
    origin: Origin,
    signing: &Signing,
) -> B {
    let same = Arc::clone(&from);
    guarded(
        builder,
        from,
        Box::new(move || Arc::clone(&same)),
        origin,
        signing,
    )
}

fn guarded<B: Builder>(
    builder: B,
    from: Arc<dyn CredentialProvider<Credential = B::Credential>>,
    make: Make<B::Credential>,
    origin: Origin,
    signing: &Signing,
) -> B {
    let check = |credential: &B::Credential| {
        let mut texts = B::texts(credential).into_iter();
        texts.try_for_each(|(name, text)| Setting::new(name, text).check(Use::Text))
    };
    builder.provided(Arc::new(GuardedProvider {
        from: PerProcess::with_value(from),
        make,
        origin,
        signing: signing.clone(),
        none: Arc::new(B::none()),
        check,
        last: PerProcess::new(),
    }))
}

/// Builds the store; `name` is its name in errors.
pub(crate) fn build<B: Builder>(builder: B, name: &str) -> Result<Arc<B::Store>, StoreError> {
    Ok(Arc::new(
        builder.build().map_err(|error| option_error(error, name))?,
    ))
}
