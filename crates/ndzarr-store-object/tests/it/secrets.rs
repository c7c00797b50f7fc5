//! No secret shows in an error or in `Debug`, whatever credentials fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ndzarr_store::{AsyncStore, Key};
use ndzarr_store::{Precondition, Prefix, StoreError, block_on};
use ndzarr_store_object::{Credentials, ObjectStore, RemoteOptions, Service};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};

use crate::it::scripted_server::{ScriptedServer, answer};
use crate::it::{Outcome, read};

/// Part of every secret here.
const SECRET: &str = "hidden";

type Make = fn(&str, &str, &RemoteOptions) -> Result<ObjectStore, StoreError>;

/// The messages of opening, reading, writing and listing, and of `Debug`.
fn messages(make: Make, options: &RemoteOptions) -> String {
    let mut messages = format!("{options:?} ");
    let mut note = |error: &StoreError| messages += &format!("{error} {error:?} ");
    match make(BUCKET, "", options) {
        Err(error) => note(&error),
        Ok(store) => {
            let key = Key::new("a").expect("a key");
            let put = |only_if| block_on(store.put(&key, &["value".into()], only_if));
            read(&store, "a").err().iter().for_each(&mut note);
            put(Precondition::None).err().iter().for_each(&mut note);
            put(Precondition::Absent).err().iter().for_each(&mut note);
            block_on(store.list_dir(&Prefix::root()))
                .err()
                .iter()
                .for_each(&mut note);
            block_on(store.erase_keys(std::slice::from_ref(&key)))
                .err()
                .iter()
                .for_each(&mut note);
            messages += &format!("{store:?} {}", store.name());
        }
    }
    messages
}

fn of(service: Service, variables: &[(&str, &str)]) -> RemoteOptions {
    RemoteOptions::from_environment(service, |name| {
        variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn rs_39_no_secret_shows_when_the_service_refuses() -> Outcome {
    // `aGlkZGVu` is the same in base64.
    let variables = |set: &[(&str, &str)]| {
        Credentials::Variables(
            set.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    };
    let session = Credentials::Key {
        id: "an-id".into(),
        secret: SECRET.into(),
        session_token: Some("hidden-token".into()),
    };
    let sas = "sv=2024-11-04&sig=aGlkZGVu&se=2999-01-01";
    let cases: [(Dialect, Make, Credentials); 7] = [
        (
            Dialect::S3,
            ObjectStore::s3,
            Credentials::key("an-id", SECRET),
        ),
        (Dialect::S3, ObjectStore::s3, session),
        (
            Dialect::Gcs,
            ObjectStore::gcs,
            Credentials::Bearer(SECRET.into()),
        ),
        (
            Dialect::Azure,
            ObjectStore::azure,
            Credentials::AccountKey("aGlkZGVu".into()),
        ),
        (
            Dialect::Azure,
            ObjectStore::azure,
            Credentials::Bearer(SECRET.into()),
        ),
        (
            Dialect::Azure,
            ObjectStore::azure,
            variables(&[("AZURE_STORAGE_SAS_TOKEN", sas)]),
        ),
        (
            Dialect::S3,
            ObjectStore::s3,
            variables(&[
                ("AWS_ACCESS_KEY_ID", "an-id"),
                ("AWS_SECRET_ACCESS_KEY", SECRET),
            ]),
        ),
    ];
    for (dialect, make, credentials) in cases {
        let server = ObjectServer::start(dialect);
        for fault in [
            Fault::Status(403),
            Fault::Status(401),
            Fault::Reset,
            Fault::RedirectCircle,
            Fault::NoEtag,
        ] {
            server.faults([FaultRule::always(fault)]);
            let options = RemoteOptions::new()
                .endpoint(server.url())
                .account("lab")
                .credentials(credentials.clone());
            let options = options
                .retry_for(std::time::Duration::ZERO)
                .header("x-lab-password", SECRET)?;
            let messages = messages(make, &options);
            assert!(
                !messages.contains(SECRET) && !messages.contains("aGlkZGVu"),
                "{messages}"
            );
        }
        // The test would prove nothing if the requests had no secrets.
        let seen = server.requests().remove(0).request;
        assert!(seen.header("authorization").is_some() || seen.query("sig").is_some());
    }
    Ok(())
}

#[test]
fn rs_39_no_secret_shows_when_credentials_are_malformed() {
    let server = ObjectServer::start(Dialect::Azure);
    let account = |options: RemoteOptions| options.account("lab").endpoint(server.url());
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let path = file.path().to_str().expect("it is ASCII");
    let key = r#"{"type": "service_account", "private_key": "hidden", "private_key_id": "hidden",
        "client_email": "hidden", "token_uri": "hidden"}"#;
    let cases: Vec<(Make, RemoteOptions, &str)> = vec![
        (
            ObjectStore::azure,
            account(RemoteOptions::new().credentials(Credentials::AccountKey("hidden!".into()))),
            "well-formed",
        ),
        (
            ObjectStore::azure,
            account(of(
                Service::Azure,
                &[("AZURE_STORAGE_SAS_TOKEN", "hidden%FF")],
            )),
            "AZURE_STORAGE_SAS_TOKEN",
        ),
        (
            ObjectStore::gcs,
            RemoteOptions::new().credentials(Credentials::ServiceAccount("\"hidden\"".into())),
            "well-formed",
        ),
        (
            ObjectStore::gcs,
            RemoteOptions::new().credentials(Credentials::ServiceAccount(key.into())),
            "well-formed",
        ),
        (
            ObjectStore::gcs,
            of(
                Service::Gcs,
                &[("GOOGLE_SERVICE_ACCOUNT_KEY", "[\"hidden\"]")],
            ),
            "GOOGLE_SERVICE_ACCOUNT_KEY",
        ),
        (
            ObjectStore::gcs,
            of(Service::Gcs, &[("GOOGLE_APPLICATION_CREDENTIALS", path)]),
            "GOOGLE_APPLICATION_CREDENTIALS",
        ),
        (
            ObjectStore::gcs,
            of(Service::Gcs, &[("GOOGLE_SERVICE_ACCOUNT", "/no/such/file")]),
            "not found",
        ),
    ];
    std::fs::write(file.path(), "{\"type\": \"hidden\"}").expect("it is writable");
    for (make, options, part) in cases {
        let error = make(BUCKET, "", &options).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
        let messages = messages(make, &options);
        assert!(!messages.contains(SECRET), "{messages}");
    }
}

#[test]
fn rs_39_no_secret_shows_when_a_token_is_refused() -> Outcome {
    // Neither answers like a service for tokens.
    let sts = ObjectServer::start(Dialect::S3);
    let server = ObjectServer::start(Dialect::Azure);
    let token = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(token.path(), SECRET).expect("it is writable");
    let path = token.path().to_str().expect("it is ASCII");
    let authority = crate::it::tls_server::Authority::new();
    let tls = crate::it::tls_server::TlsServer::start(&sts, &authority, "127.0.0.1", 2999);
    let web = |sts: &str| {
        let variables = [
            ("AWS_WEB_IDENTITY_TOKEN_FILE", path),
            ("AWS_ROLE_ARN", "arn:aws:iam::1:role/a"),
            ("AWS_ENDPOINT_URL_STS", sts),
            ("AWS_ENDPOINT_URL", &server.url()),
        ];
        of(Service::S3, &variables).root_certificate(authority.der())
    };
    let messages_of_web = messages(ObjectStore::s3, &web(&tls.url()));
    assert!(
        messages_of_web.contains("AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN"),
        "{messages_of_web}"
    );
    assert!(!messages_of_web.contains(SECRET), "{messages_of_web}");
    // The token was sent, but only through TLS.
    assert!(
        sts.requests()
            .iter()
            .any(|seen| seen.request.query("WebIdentityToken").as_deref() == Some(SECRET))
    );
    sts.forget();
    let messages_in_plain = messages(ObjectStore::s3, &web(&sts.url()));
    assert!(!messages_in_plain.contains(SECRET), "{messages_in_plain}");
    assert_eq!(sts.traffic().requests, 0);

    let client = [
        ("AZURE_CLIENT_ID", "an-id"),
        ("AZURE_CLIENT_SECRET", SECRET),
        ("AZURE_TENANT_ID", "a-tenant"),
        ("AZURE_AUTHORITY_HOST", &*sts.url()),
        ("AZURE_STORAGE_ACCOUNT_NAME", "lab"),
        ("AZURE_STORAGE_ENDPOINT", &server.url()),
    ];
    let messages = messages(ObjectStore::azure, &of(Service::Azure, &client));
    assert!(
        messages.contains("there are no credentials from AZURE_CLIENT_SECRET"),
        "{messages}"
    );
    assert!(!messages.contains(SECRET), "{messages}");
    assert_eq!(server.traffic().requests, 0);
    Ok(())
}

#[test]
fn rs_39_a_name_and_password_in_a_url_are_refused_and_not_quoted() {
    for url in [
        "https://user:hidden@127.0.0.1:1",
        "http://hidden@127.0.0.1:1/a?b",
        "https:user:hidden@127.0.0.1",
        "https:/hidden@127.0.0.1",
        "user:hidden@127.0.0.1",
    ] {
        let error = ObjectStore::http(url, &RemoteOptions::new()).expect_err(url);
        assert!(!format!("{error} {error:?}").contains(SECRET), "{error}");
        assert!(error.to_string().contains("name and password"), "{error}");
        let makes: [Make; 3] = [ObjectStore::s3, ObjectStore::gcs, ObjectStore::azure];
        for make in makes {
            let options = RemoteOptions::new().account("lab").endpoint(url);
            let error = make(BUCKET, "", &options).expect_err(url).to_string();
            assert!(error.contains("name and password"), "{error}");
            let messages = messages(make, &options);
            assert!(!messages.contains(SECRET), "{messages}");
        }
    }
}

/// Ways to write a text.
const FORMS: [fn(&str) -> String; 6] = [
    str::to_owned,
    |text| text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
    |text| text.bytes().map(|byte| format!("&amp;#{byte};")).collect(),
    |text| text.bytes().map(|byte| format!("\\u{byte:04x}")).collect(),
    |text| {
        text.chars()
            .map(|letter| format!("{letter}&#10;"))
            .collect()
    },
    |text| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text),
];

#[test]
fn rs_39_no_secret_shows_that_a_service_repeats() -> Outcome {
    // Only these letters occur in every form of all of them.
    let token = "s3cr3tt0k3nOFtheUSER";
    let session = Credentials::Key {
        id: "an-id".into(),
        secret: "n0tS3ntAtAll".into(),
        session_token: Some(token.into()),
    };
    let sas = (
        "AZURE_STORAGE_SAS_TOKEN".to_owned(),
        format!("sv=2024-11-04&sig={token}"),
    );
    let sas = Credentials::Variables(vec![sas]);
    let cases: [(Make, Option<Credentials>); 5] = [
        (ObjectStore::s3, Some(session)),
        (ObjectStore::gcs, Some(Credentials::Bearer(token.into()))),
        (ObjectStore::azure, Some(Credentials::Bearer(token.into()))),
        (ObjectStore::azure, Some(sas)),
        (ObjectStore::s3, None),
    ];
    for form in FORMS {
        for (make, credentials) in &cases {
            let has_repeated = Arc::new(AtomicBool::new(false));
            let repeated = Arc::clone(&has_repeated);
            let server = ScriptedServer::start(move |head, _| {
                let line = head
                    .lines()
                    .find(|line| line.contains(token))
                    .unwrap_or_default();
                repeated.fetch_or(!line.is_empty(), Ordering::SeqCst);
                let line = form(line);
                let body =
                    format!("<Error><Code>{line}</Code><Message>you sent {line}</Message></Error>");
                answer(
                    &format!(
                        "400 No\r\nx-amz-request-id: {}\r\nx-ms-error-code: {token}",
                        "a"
                    ),
                    &body,
                )
            });
            let mut options = RemoteOptions::new().endpoint(server.url()).account("lab");
            options = match credentials {
                Some(credentials) => options.credentials(credentials.clone()),
                None => options.header("x-lab-password", token)?,
            };
            let messages = messages(*make, &options.retry_for(Duration::ZERO));
            assert!(has_repeated.load(Ordering::SeqCst), "nothing was repeated");
            for part in [token, &form(token), &token[..10], &form(&token[3..12])] {
                assert!(!messages.contains(part), "{part} of {messages}");
            }
            assert!(messages.contains("repeats a secret"), "{messages}");
        }
    }
    // What is not secret is quoted.
    let server = ScriptedServer::always(
        "400 No",
        "<Error><Code>Odd</Code><Message>the date is odd</Message></Error>",
    );
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .credentials(Credentials::key("an-id", token));
    assert!(messages(ObjectStore::s3, &options).contains("Odd, the date is odd"));
    Ok(())
}

#[test]
fn rs_39_no_secret_shows_that_a_service_for_tokens_repeats() {
    let authority = ScriptedServer::start(|_, body| {
        answer(
            "400 No",
            &format!("<Error><Code>invalid</Code><Message>{body}</Message></Error>"),
        )
    });
    let secret = "s3cr3tOFtheCL1ENT";
    let client = [
        ("AZURE_CLIENT_ID", "an-id"),
        ("AZURE_CLIENT_SECRET", secret),
        ("AZURE_TENANT_ID", "a-tenant"),
        ("AZURE_AUTHORITY_HOST", &*authority.url()),
        ("AZURE_STORAGE_ACCOUNT_NAME", "lab"),
        ("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:9"),
    ];
    let messages = messages(ObjectStore::azure, &of(Service::Azure, &client));
    assert!(
        messages.contains("repeats a secret") && !messages.contains(secret),
        "{messages}"
    );
}
