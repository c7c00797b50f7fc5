//! The source of a store's credentials, in the order that the users of each service know.

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "s3")]
use crate::credentials::container::Container;
#[cfg(feature = "s3")]
use crate::credentials::credential_process::CredentialProcess;
#[cfg(feature = "s3")]
use crate::settings::profile::Profile;
use crate::settings::setting::{self, Setting, Use};
use crate::settings::variables::Variables;

/// Settings by their names in object_store.
pub(crate) type Settings = Vec<(String, Setting)>;

/// A source of credentials.
#[derive(Debug)]
pub(crate) enum Source {
    /// Nothing is signed.
    Unsigned,
    /// Keys, or the settings with which object_store fetches credentials.
    Settings { settings: Settings, name: String },
    /// A program.
    #[cfg(feature = "s3")]
    Process(Arc<CredentialProcess>),
    /// The service of a container.
    #[cfg(feature = "s3")]
    Container(Container),
    /// The metadata service of the machine, if there is one.
    Machine { settings: Settings, name: String },
}

impl Source {
    /// The variables of these names that are set, as settings.
    fn settings(variables: Variables<'_>, names: &[&str]) -> Settings {
        let setting = |name: &&str| {
            Some((
                name.to_ascii_lowercase(),
                Setting::new(*name, variables.get(name)?),
            ))
        };
        names.iter().filter_map(setting).collect()
    }

    /// The first of these sets of variables that is complete.
    fn first(variables: Variables<'_>, sets: &[(&[&str], &[&str])]) -> Option<Self> {
        let (needed, others) = sets.iter().find(|(needed, _)| variables.has_all(needed))?;
        let settings = Self::settings(variables, &[*needed, *others].concat());
        Some(Self::Settings {
            settings,
            name: needed.join(" and "),
        })
    }
}

/// The domains of Amazon, Google and Microsoft. The credentials of their machines are only used for
/// their own stores, unless a variable names the metadata service.
const AMAZON: &[&str] = &["amazonaws.com", "amazonaws.com.cn", "api.aws"];
const GOOGLE: &[&str] = &["googleapis.com"];
const MICROSOFT: &[&str] = &[
    "core.windows.net",
    "core.chinacloudapi.cn",
    "core.usgovcloudapi.net",
];

fn is_below(endpoint: Option<&str>, domains: &[&str]) -> bool {
    let Some(endpoint) = endpoint else {
        return true;
    };
    let host = reqwest::Url::parse(endpoint)
        .ok()
        .and_then(|url| url.host_str().map(str::to_owned));
    let host = host.unwrap_or_default();
    domains.iter().any(|domain| {
        host.strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// Variables besides those of the sets that follow.
pub(crate) const AWS_MORE: &[&str] = &[
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "HOME",
    "USERPROFILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
];
/// Sets of variables, the first complete one of which is used. The second part of each is optional.
pub(crate) const AWS: &[(&[&str], &[&str])] = &[
    (
        &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
        &["AWS_SESSION_TOKEN"],
    ),
    (
        &["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"],
        &["AWS_ROLE_SESSION_NAME", "AWS_ENDPOINT_URL_STS"],
    ),
];
pub(crate) const GOOGLE_MORE: &[&str] = &[
    "CLOUDSDK_CONFIG",
    "APPDATA",
    "HOME",
    "NO_GCE_CHECK",
    "GCE_METADATA_HOST",
    "GCE_METADATA_ROOT",
    "GCE_METADATA_IP",
];
pub(crate) const GOOGLE_SETS: &[(&[&str], &[&str])] = &[
    (&["GOOGLE_SERVICE_ACCOUNT"], &[]),
    (&["GOOGLE_SERVICE_ACCOUNT_PATH"], &[]),
    (&["GOOGLE_SERVICE_ACCOUNT_KEY"], &[]),
    (&["GOOGLE_APPLICATION_CREDENTIALS"], &[]),
];
const AZURE_IDENTITY: &[&str] = &["AZURE_MSI_ENDPOINT", "IDENTITY_ENDPOINT"];
/// The secret in requests to the managed identity of an app.
const AZURE_HEADER: &str = "IDENTITY_HEADER";
pub(crate) const AZURE_MORE: &[&str] = &[AZURE_IDENTITY[0], AZURE_IDENTITY[1], AZURE_HEADER];
pub(crate) const AZURE: &[(&[&str], &[&str])] = &[
    (&["AZURE_STORAGE_ACCOUNT_KEY"], &[]),
    (&["AZURE_STORAGE_ACCESS_KEY"], &[]),
    (&["AZURE_STORAGE_SAS_KEY"], &[]),
    (&["AZURE_STORAGE_SAS_TOKEN"], &[]),
    (&["AZURE_STORAGE_TOKEN"], &[]),
    (
        &[
            "AZURE_STORAGE_CLIENT_SECRET",
            "AZURE_STORAGE_CLIENT_ID",
            "AZURE_STORAGE_TENANT_ID",
        ],
        &["AZURE_AUTHORITY_HOST"],
    ),
    (
        &["AZURE_CLIENT_SECRET", "AZURE_CLIENT_ID", "AZURE_TENANT_ID"],
        &["AZURE_AUTHORITY_HOST"],
    ),
    (
        &[
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_CLIENT_ID",
            "AZURE_TENANT_ID",
        ],
        &["AZURE_AUTHORITY_HOST"],
    ),
    (&["AZURE_USE_AZURE_CLI"], &[]),
];

/// The source for S3: variables, the profile, the container, the machine.
///
/// # Errors
///
/// If the profile is needed and cannot be read, or the variables cannot be used.
#[cfg(feature = "s3")]
pub(crate) fn aws(
    variables: Variables<'_>,
    profile: &Result<Profile, String>,
    endpoint: Option<&str>,
) -> Result<Source, String> {
    if let Some(source) = Source::first(variables, AWS) {
        return Ok(source);
    }
    for half in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        if variables.get(half).is_some() {
            return Err(format!(
                "{half} is half a key: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY go together"
            ));
        }
    }
    if let Some(source) = of_profile(profile.as_ref().map_err(String::clone)?) {
        return Ok(source);
    }
    if let Some(container) = Container::find(variables)? {
        return Ok(Source::Container(container));
    }
    let metadata = variables.get("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    if variables.is_yes("AWS_EC2_METADATA_DISABLED")
        || (metadata.is_none() && !is_below(endpoint, AMAZON))
    {
        return Ok(Source::Unsigned);
    }
    let mut settings = Settings::new();
    if let Some(url) = metadata {
        let mut setting = Setting::new("AWS_EC2_METADATA_SERVICE_ENDPOINT", url);
        setting.check(Use::Endpoint)?;
        setting
            .value
            .truncate(setting.value.trim_end_matches('/').len());
        settings.push(("aws_metadata_endpoint".to_owned(), setting));
    }
    let name = format!(
        "the metadata service of EC2 {}",
        metadata.unwrap_or_default()
    );
    Ok(Source::Machine { settings, name })
}

/// The credentials of a profile, if it has any.
#[cfg(feature = "s3")]
fn of_profile(profile: &Profile) -> Option<Source> {
    let settings = |names: &[(&str, &str)]| -> Settings {
        let setting = |(from, to): &(&str, &str)| Some(((*to).to_owned(), profile.setting(from)?));
        names.iter().filter_map(setting).collect()
    };
    let has = |name: &&str| profile.get(name).is_some();
    let name = format!("the profile {:?}", profile.name());
    let key = [
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
    ];
    // If the profile has a role, its key only serves to obtain the role.
    let has_role = has(&"role_arn");
    if !has_role && key[..2].iter().any(has) {
        let settings = settings(&key.map(|name| (name, name)));
        return Some(Source::Settings { settings, name });
    }
    if let Some(command) = profile.get("credential_process")
        && !has_role
    {
        return Some(Source::Process(CredentialProcess::new(&name, command)));
    }
    if ["role_arn", "web_identity_token_file"].iter().all(has) {
        let names = [
            ("role_arn", "aws_role_arn"),
            ("web_identity_token_file", "aws_web_identity_token_file"),
            ("role_session_name", "aws_role_session_name"),
        ];
        let settings = settings(&names);
        return Some(Source::Settings { settings, name });
    }
    if !["sso_session", "sso_start_url", "role_arn", "login_session"]
        .iter()
        .any(has)
    {
        return None;
    }
    // AWS's own program signs in, assumes roles, and prints the credentials that it gets.
    let words = [
        "aws",
        "configure",
        "export-credentials",
        "--format",
        "process",
        "--profile",
        profile.name(),
    ];
    Some(Source::Process(CredentialProcess::of_words(
        &name,
        words.map(str::to_owned).into(),
    )))
}

/// The source for Google.
///
/// # Errors
///
/// If the variables cannot be used.
pub(crate) fn google(variables: Variables<'_>, endpoint: Option<&str>) -> Result<Source, String> {
    if let Some(source) = Source::first(variables, GOOGLE_SETS) {
        return Ok(source);
    }
    if let Some(path) = gcloud_file(variables).filter(|path| path.exists()) {
        let name = format!("{}, the file of gcloud", path.display());
        let setting = Setting::new(&name, path.display().to_string());
        let settings = vec![("google_application_credentials".to_owned(), setting)];
        return Ok(Source::Settings { settings, name });
    }
    let metadata = ["GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"];
    let metadata: Vec<_> = metadata
        .iter()
        .filter_map(|name| Some((name, variables.get(name)?)))
        .collect();
    if variables.is_yes("NO_GCE_CHECK") || (metadata.is_empty() && !is_below(endpoint, GOOGLE)) {
        return Ok(Source::Unsigned);
    }
    // They are only checked here: object_store reads the variables itself.
    for (name, host) in &metadata {
        setting::check(host, Use::Host).map_err(|what| format!("{name} {what}"))?;
    }
    let host = metadata.first().map(|(_, host)| *host).unwrap_or_default();
    let name = format!("the metadata service of Compute Engine {host}");
    Ok(Source::Machine {
        settings: Settings::new(),
        name,
    })
}

/// The endpoint that the document of a service account names, which object_store uses unless
/// another one is given.
#[cfg(feature = "gcs")]
pub(crate) fn base_url(source: &Source) -> Option<Setting> {
    let Source::Settings { settings, name } = source else {
        return None;
    };
    let document = settings.iter().find_map(|(key, setting)| match &**key {
        "google_service_account_key" => Some(setting.value.clone().into_bytes()),
        "google_service_account" | "google_service_account_path" => {
            std::fs::read(&setting.value).ok()
        }
        _ => None,
    });
    let document: serde_json::Value = serde_json::from_slice(&document?).ok()?;
    Some(Setting::new(
        format!("gcs_base_url of {name}"),
        document.get("gcs_base_url")?.as_str()?,
    ))
}

/// The file that `gcloud auth application-default login` writes.
fn gcloud_file(variables: Variables<'_>) -> Option<PathBuf> {
    let folder = match (
        variables.get("CLOUDSDK_CONFIG"),
        variables.get("APPDATA").filter(|_| cfg!(windows)),
    ) {
        (Some(folder), _) => PathBuf::from(folder),
        (None, Some(data)) => Path::new(data).join("gcloud"),
        (None, None) => Path::new(variables.get("HOME")?).join(".config/gcloud"),
    };
    Some(folder.join("application_default_credentials.json"))
}

/// The source for Azure.
///
/// # Errors
///
/// If the variables cannot be used.
pub(crate) fn azure(variables: Variables<'_>, endpoint: Option<&str>) -> Result<Source, String> {
    if let Some(source) = Source::first(variables, AZURE) {
        return Ok(source);
    }
    let metadata = AZURE_IDENTITY.iter().find_map(|name| variables.get(name));
    if metadata.is_none() && !is_below(endpoint, MICROSOFT) {
        return Ok(Source::Unsigned);
    }
    // It is only checked here: object_store reads the variable itself.
    let header = variables.get(AZURE_HEADER).unwrap_or_default();
    setting::check(header, Use::Text).map_err(|what| format!("{AZURE_HEADER} {what}"))?;
    let settings = Source::settings(variables, &[AZURE_IDENTITY, &["AZURE_CLIENT_ID"]].concat());
    let name = format!("the managed identity {}", metadata.unwrap_or_default());
    Ok(Source::Machine { settings, name })
}

#[cfg(all(test, feature = "s3", feature = "gcs", feature = "azure"))]
mod tests {
    use super::*;

    fn settings(source: Source) -> Option<Vec<String>> {
        match source {
            Source::Settings { settings, .. } => {
                Some(settings.into_iter().map(|(name, _)| name).collect())
            }
            _ => None,
        }
    }

    fn variables(names: &[&str]) -> Vec<(String, String)> {
        names
            .iter()
            .map(|name| ((*name).to_owned(), "a".to_owned()))
            .collect()
    }

    #[test]
    fn the_first_complete_set_counts() {
        let names_used = |names: &[&str]| {
            let set = variables(names);
            let source = aws(
                Variables(&set),
                &Ok(Profile::default()),
                Some("http://127.0.0.1:1"),
            );
            settings(source.expect("no profile is needed"))
        };
        let key = [
            "AWS_ROLE_ARN",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
        ];
        let expected = ["aws_access_key_id", "aws_secret_access_key"];
        assert_eq!(names_used(&key).expect("keys come first"), expected);
        let expected = ["aws_web_identity_token_file", "aws_role_arn"];
        assert_eq!(names_used(&key[..2]).expect("a web identity"), expected);
        // An incomplete set is not used.
        assert_eq!(names_used(&["AWS_ROLE_ARN"]), None);
        let set = variables(&["AZURE_CLIENT_SECRET", "AZURE_CLIENT_ID", "AZURE_TENANT_ID"]);
        let expected = ["azure_client_secret", "azure_client_id", "azure_tenant_id"];
        let source = azure(Variables(&set), None).expect("they are valid");
        assert_eq!(settings(source).expect("a client's secret"), expected);
    }

    #[test]
    fn rs_27_credentials_of_machines_are_for_the_stores_of_their_owner() {
        let none = Vec::new();
        let use_machine = |endpoint| {
            let aws = aws(Variables(&none), &Ok(Profile::default()), endpoint)
                .expect("no profile is needed");
            let google = google(Variables(&none), endpoint).expect("nothing is set");
            let azure = azure(Variables(&none), endpoint).expect("nothing is set");
            [aws, google, azure].map(|source| matches!(source, Source::Machine { .. }))
        };
        assert_eq!(use_machine(None), [true; 3]);
        assert_eq!(
            use_machine(Some("https://s3.eu-west-1.amazonaws.com")),
            [true, false, false]
        );
        assert_eq!(
            use_machine(Some("https://storage.googleapis.com/")),
            [false, true, false]
        );
        assert_eq!(
            use_machine(Some("https://lab.blob.core.windows.net")),
            [false, false, true]
        );
        for other in [
            "http://127.0.0.1:9000",
            "https://amazonaws.com.example.org",
            "https://notamazonaws.com",
            "no URL",
        ] {
            assert_eq!(use_machine(Some(other)), [false; 3], "{other}");
        }
        let endpoint = (
            "AWS_EC2_METADATA_SERVICE_ENDPOINT".to_owned(),
            "http://127.0.0.1:1".to_owned(),
        );
        let set = vec![endpoint];
        let aws_of = |set: &Vec<(String, String)>| {
            aws(
                Variables(set),
                &Ok(Profile::default()),
                Some("http://127.0.0.1"),
            )
            .expect("no profile")
        };
        assert!(matches!(aws_of(&set), Source::Machine { .. }));
        let set = vec![
            set[0].clone(),
            ("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned()),
        ];
        assert!(matches!(aws_of(&set), Source::Unsigned));
    }
}
