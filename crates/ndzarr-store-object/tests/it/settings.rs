//! Mistakes in settings: each is an error that names the setting, and never its value.

use std::fmt::Write;

use ndzarr_store::StoreError;
use ndzarr_store_object::{Credentials, ObjectStore, RemoteOptions, Service};
use ndzarr_testkit::object_server::BUCKET;

use crate::it::read;
use crate::it::scripted_server::ScriptedServer;

/// Part of every secret here.
const SECRET: &str = "hidden";

const KEY: [(&str, &str); 4] = [
    ("AWS_ACCESS_KEY_ID", "an-id"),
    ("AWS_SECRET_ACCESS_KEY", SECRET),
    ("AWS_REGION", "us-east-1"),
    ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
];
const AZURE: [(&str, &str); 2] = [
    ("AZURE_STORAGE_ACCOUNT_NAME", "lab"),
    ("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:9"),
];

fn open(service: Service, options: &RemoteOptions) -> Result<ObjectStore, StoreError> {
    match service {
        Service::S3 => ObjectStore::s3(BUCKET, "", options),
        Service::Gcs => ObjectStore::gcs(BUCKET, "", options),
        Service::Azure => ObjectStore::azure(BUCKET, "", options),
        _ => panic!("{service:?} has no variables"),
    }
}

/// Options from these variables; the last one of a name is used.
fn of(service: Service, sets: &[&[(&str, &str)]]) -> RemoteOptions {
    let variables: Vec<(&str, &str)> = sets.concat();
    RemoteOptions::from_environment(service, |name| {
        let found = variables.iter().rev().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

/// The error of opening a store, checked to have no secret.
fn error(service: Service, sets: &[&[(&str, &str)]]) -> String {
    let options = of(service, sets);
    let error = open(service, &options).expect_err(&format!("{sets:?}"));
    let mut text = error.to_string();
    assert!(!text.contains(['\n', '\r']), "{text:?}");
    write!(text, " {error:?} {options:?}").expect("a string takes all");
    assert!(!text.contains(SECRET), "{text}");
    error.to_string()
}

/// A service, the name of the setting that is wrong, and the other settings.
type Case<'c> = (Service, &'c str, &'c [(&'c str, &'c str)]);

#[test]
fn malformed_urls_are_errors_that_name_the_variable() {
    let texts = [
        ("localhost:9000", "has no scheme: begin it with http://"),
        ("127.0.0.1:9", "has no scheme: begin it with http://"),
        ("s3.example.org", "has no scheme: begin it with https://"),
        ("http:\\\\127.0.0.1", "has no scheme"),
        ("ftp://127.0.0.1", "must begin with https:// or http://"),
        ("http://127.0.0.1:9\n", "ends in a line end"),
        ("http://127.0.0.1:9\r", "ends in a line end"),
        ("http://127.0.0.1:9\r\n", "ends in a line end"),
        ("http://127.0.0.1:9 ", "begins or ends with a blank"),
        (" http://127.0.0.1:9", "begins or ends with a blank"),
        ("http://127.0.0.1:9\t", "begins or ends with a blank"),
        ("http://127.0.0.1\n:9", "has several lines"),
        (
            "http://127.0.0.1:99999",
            "is not a URL: invalid port number",
        ),
        ("http://127.0.0.1:port", "is not a URL: invalid port number"),
        ("http://", "is not a URL: empty host"),
        ("http://a host", "is not a URL"),
        ("http://127.0.0.1:9/a b", "%-encoded"),
        ("http://127.0.0.1:9/\u{e9}", "is not ASCII"),
        ("http://127.0.0.1:9/\u{1}", "control character"),
        (
            "http://127.0.0.1:9/?a=b",
            "must not have a query or a fragment",
        ),
        (
            "http://127.0.0.1:9/#a",
            "must not have a query or a fragment",
        ),
        (
            "http://user:hidden@127.0.0.1",
            "must not have a user name and password",
        ),
    ];
    let client = [
        ("AZURE_CLIENT_ID", "a"),
        ("AZURE_CLIENT_SECRET", SECRET),
        ("AZURE_TENANT_ID", "b"),
    ];
    let web = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/no/such/file"),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/a"),
    ];
    let none: [(&str, &str); 0] = [];
    let account = &AZURE[..1];
    let cases: [Case<'_>; 9] = [
        (Service::S3, "AWS_ENDPOINT_URL", &KEY),
        (Service::S3, "AWS_ENDPOINT_URL_S3", &KEY),
        (Service::S3, "AWS_ENDPOINT_URL_STS", &web),
        (Service::S3, "AWS_EC2_METADATA_SERVICE_ENDPOINT", &none),
        (Service::Gcs, "GOOGLE_BASE_URL", &none),
        (Service::Azure, "AZURE_STORAGE_ENDPOINT", account),
        (
            Service::Azure,
            "AZURE_AUTHORITY_HOST",
            &[&client[..], account].concat(),
        ),
        (Service::Azure, "AZURE_MSI_ENDPOINT", account),
        (Service::Azure, "IDENTITY_ENDPOINT", account),
    ];
    for (service, name, others) in cases {
        for (text, expected) in texts {
            let error = error(service, &[others, &[(name, text)]]);
            assert!(
                error.contains(name) && error.contains(expected),
                "{text:?}: {error}"
            );
        }
    }
    // The library adds the scheme to these.
    for (host, expected) in [
        ("a host", "is not a URL"),
        ("127.0.0.1:99999", "port"),
        ("a\n", "line end"),
    ] {
        for name in ["GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"] {
            let error = error(Service::Gcs, &[&[(name, host)]]);
            assert!(error.contains(name) && error.contains(expected), "{error}");
        }
    }
}

#[test]
fn texts_that_no_header_can_have_are_errors_that_name_the_variable() {
    let client = [
        ("AZURE_CLIENT_ID", "a"),
        ("AZURE_CLIENT_SECRET", SECRET),
        ("AZURE_TENANT_ID", "b"),
    ];
    let client = [&client[..], &AZURE].concat();
    let identity = [&AZURE[..], &[("IDENTITY_ENDPOINT", "http://127.0.0.1:9")]].concat();
    let cases: [Case<'_>; 16] = [
        (Service::S3, "AWS_ACCESS_KEY_ID", &KEY),
        (Service::S3, "AWS_SECRET_ACCESS_KEY", &KEY),
        (Service::S3, "AWS_SESSION_TOKEN", &KEY),
        (Service::S3, "AWS_REGION", &KEY),
        (
            Service::S3,
            "AWS_DEFAULT_REGION",
            &[&KEY[..2], &KEY[3..]].concat(),
        ),
        (Service::Azure, "AZURE_STORAGE_ACCOUNT_NAME", &AZURE),
        (Service::Azure, "AZURE_STORAGE_ACCOUNT", &AZURE[1..]),
        (Service::Azure, "AZURE_STORAGE_ACCOUNT_KEY", &AZURE),
        (Service::Azure, "AZURE_STORAGE_ACCESS_KEY", &AZURE),
        (Service::Azure, "AZURE_STORAGE_TOKEN", &AZURE),
        (Service::Azure, "AZURE_STORAGE_SAS_TOKEN", &AZURE),
        (Service::Azure, "AZURE_STORAGE_SAS_KEY", &AZURE),
        (Service::Azure, "AZURE_CLIENT_ID", &client),
        (Service::Azure, "AZURE_CLIENT_SECRET", &client),
        (Service::Azure, "AZURE_TENANT_ID", &client),
        (Service::Azure, "IDENTITY_HEADER", &identity),
    ];
    for (service, name, others) in cases {
        for (end, expected) in [
            ("\n", "ends in a line end"),
            ("\r", "ends in a line end"),
            ("\r\n", "ends in a line end"),
            ("\nb", "has several lines"),
            (" ", "begins or ends with a blank"),
            ("\u{1}", "has a control character"),
            ("\u{e9}", "is not ASCII"),
        ] {
            // The account is a part of the store's name, so it is no secret.
            let text = if name.contains("STORAGE_ACCOUNT") && !name.ends_with("KEY") {
                "lab"
            } else {
                SECRET
            };
            let error = error(service, &[others, &[(name, &format!("{text}{end}"))]]);
            assert!(
                error.contains(name) && error.contains(expected),
                "{name} {end:?}: {error}"
            );
        }
    }
    for (service, name, others) in [
        (Service::S3, "AWS_REGION", &KEY[..]),
        (Service::Azure, "AZURE_STORAGE_ACCOUNT_NAME", &AZURE),
    ] {
        for text in ["us/east", "us east", "us?east", "..", "us#east", "us%east"] {
            let error = error(service, &[others, &[(name, text)]]);
            assert!(error.contains(name), "{text}: {error}");
        }
    }
}

#[test]
fn mistakes_in_code_and_in_names_of_buckets_are_errors() {
    let options = || {
        RemoteOptions::new()
            .account("lab")
            .endpoint("http://127.0.0.1:9")
    };
    let key = |id: &str, secret: &str, token: &str| Credentials::Key {
        id: id.into(),
        secret: secret.into(),
        session_token: Some(token.into()),
    };
    for (service, options, expected) in [
        (
            Service::S3,
            options().endpoint("localhost:9000"),
            "the endpoint has no scheme",
        ),
        (
            Service::S3,
            options().region("us-east-1\n"),
            "the region ends in a line end",
        ),
        (Service::S3, options().region(""), "the region is empty"),
        (
            Service::S3,
            options().credentials(key("a\n", SECRET, "b")),
            "the id of the key ends",
        ),
        (
            Service::S3,
            options().credentials(key("a", "hidden\n", "b")),
            "the secret of the key ends",
        ),
        (
            Service::S3,
            options().credentials(key("a", SECRET, "hidden\n")),
            "the session token ends",
        ),
        (
            Service::Gcs,
            options().credentials(Credentials::Bearer("hidden\n".into())),
            "the token ends",
        ),
        (
            Service::Azure,
            options().credentials(Credentials::Bearer("hidden\n".into())),
            "the token ends",
        ),
        (
            Service::Azure,
            options().credentials(Credentials::AccountKey("a\n".into())),
            "the account key ends",
        ),
        (
            Service::Azure,
            options().account("lab\n"),
            "the account ends in a line end",
        ),
        (
            Service::Gcs,
            RemoteOptions::new().credentials(Credentials::ServiceAccount(
                r#"{"gcs_base_url": "localhost:1", "private_key": "hidden"}"#.into(),
            )),
            "gcs_base_url of the options has no scheme",
        ),
    ] {
        let error = open(service, &options).expect_err(expected).to_string();
        assert!(
            error.contains(expected) && !error.contains(SECRET),
            "{error}"
        );
    }
    for bucket in ["", "a b", "a\n", "a/b", "..", "a?b", "a#b", "a%b", "\u{e9}"] {
        for make in [ObjectStore::s3, ObjectStore::gcs, ObjectStore::azure] {
            let error = make(bucket, "", &options()).expect_err(bucket).to_string();
            assert!(error.contains("the name of the bucket"), "{error}");
        }
    }
    for url in [
        "localhost:9000/a",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:9/a\n",
        "ftp://a",
    ] {
        let error = ObjectStore::http(url, &RemoteOptions::new())
            .expect_err(url)
            .to_string();
        assert!(error.contains("the URL "), "{error}");
    }
}

#[test]
fn unusual_valid_settings_are_accepted() {
    for (service, sets) in [
        (
            Service::S3,
            [
                &KEY[..],
                &[("AWS_ENDPOINT_URL", "HTTP://127.0.0.1:9/below/here/")],
            ],
        ),
        (
            Service::S3,
            [&KEY[..], &[("AWS_ENDPOINT_URL", "https://[::1]:9000")]],
        ),
        (
            Service::S3,
            [&KEY[..], &[("AWS_SESSION_TOKEN", "a+/=b c\td|{}")]],
        ),
        (Service::S3, [&KEY[..], &[("AWS_REGION", "auto")]]),
        (
            Service::Azure,
            [
                &AZURE[..],
                &[("AZURE_STORAGE_SAS_TOKEN", "?sv=2024-11-04&sig=a%2Bb%3D")],
            ],
        ),
        (
            Service::Gcs,
            [
                &[("GCE_METADATA_HOST", "metadata.example.org:8080")][..],
                &[],
            ],
        ),
    ] {
        let opened = open(service, &of(service, &sets));
        assert!(opened.is_ok(), "{sets:?}: {opened:?}");
    }
    let options = RemoteOptions::new().endpoint("http://127.0.0.1:9");
    assert!(ObjectStore::s3("tenant:bucket_1.example.org", "", &options).is_ok());
    assert!(ObjectStore::azure("$web", "", &options.account("lab")).is_ok());
}

/// Credentials from a program, a file or a service are checked like those of the environment.
#[cfg(unix)]
#[test]
fn credentials_that_are_fetched_and_cannot_be_sent_are_errors() -> Result<(), StoreError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let home = folder.path().to_str().expect("it is UTF-8");
    let aws = folder.path().join(".aws");
    std::fs::create_dir(&aws).expect("it is writable");
    let process = r#"printf '{"Version":1,"AccessKeyId":"a","SecretAccessKey":"b","SessionToken":"hidden\\n"}'"#;
    let text = format!(
        "[odd]\r\naws_access_key_id = a\r\naws_secret_access_key = b\r\naws_session_token = hidden\u{1}\r\n\
                        [fine]\r\naws_access_key_id = a\r\naws_secret_access_key = hidden\r\nregion = us-east-1\r\n\
                        [far]\r\naws_access_key_id = a\r\naws_secret_access_key = hidden\r\nregion = us east\r\n\
                        [none]\r\naws_access_key_id = a\r\naws_secret_access_key = hidden\r\nendpoint_url = localhost:1\r\n\
                        [program]\r\ncredential_process = {process}\r\n"
    );
    std::fs::write(aws.join("credentials"), text).expect("it is writable");
    let endpoint = ("AWS_ENDPOINT_URL", "http://127.0.0.1:9");
    let of_profile = |name: &str| of(Service::S3, &[&[("HOME", home), ("AWS_PROFILE", name)]]);
    for (name, expected) in [
        (
            "odd",
            "aws_session_token of the profile \"odd\" has a control character",
        ),
        ("far", "region of the profile \"far\" has ' '"),
        ("none", "endpoint_url of the profile \"none\" has no scheme"),
    ] {
        let error = open(Service::S3, &of_profile(name))
            .expect_err(name)
            .to_string();
        assert!(
            error.contains(expected) && !error.contains(SECRET),
            "{error}"
        );
    }
    assert!(open(Service::S3, &of_profile("fine")).is_ok());

    let program = of(
        Service::S3,
        &[&[("HOME", home), ("AWS_PROFILE", "program"), endpoint]],
    );
    let error = read(&open(Service::S3, &program)?, "a")
        .expect_err("its token has a line end")
        .to_string();
    let expected = "there are no credentials from the profile \"program\": the session token ends in a line end";
    assert!(
        error.contains(expected) && !error.contains(SECRET),
        "{error}"
    );

    let body = r#"{"AccessKeyId":"a\r","SecretAccessKey":"hidden","Token":"hidden"}"#;
    let container = ScriptedServer::always("200 OK", body);
    let url = container.url();
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*url),
        ("HOME", home),
        endpoint,
    ];
    let error = read(&open(Service::S3, &of(Service::S3, &[&variables]))?, "a");
    let error = error.expect_err("its key has a line end").to_string();
    assert!(
        error.contains("the id of the key ends in a line end") && !error.contains(SECRET),
        "{error}"
    );
    Ok(())
}

/// A portal that answers in the place of a machine's metadata service.
#[test]
fn pages_of_a_portal_are_no_credentials_of_the_machine() -> Result<(), StoreError> {
    let empty = tempfile::tempdir().expect("a temporary folder");
    let home = empty.path().to_str().expect("it is UTF-8");
    for body in [
        "<html>\nWelcome to our network</html>",
        "a\r\nb: c",
        "\u{e9}",
        "",
    ] {
        let portal = ScriptedServer::always("200 OK", body);
        let url = portal.url();
        let variables = [
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &*url),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
            ("HOME", home),
        ];
        let store = open(
            Service::S3,
            &of(Service::S3, &[&variables]).retry_for(std::time::Duration::ZERO),
        )?;
        // Nothing is signed then, and nothing listens at the endpoint.
        let error = read(&store, "a").expect_err("nothing listens");
        assert!(
            matches!(error, StoreError::Unavailable { .. }),
            "{body:?}: {error:?}"
        );
    }
    Ok(())
}
