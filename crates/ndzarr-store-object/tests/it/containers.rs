//! Credentials of containers and virtual machines, from servers of this process.

use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

use ndzarr_store::StoreError;
use ndzarr_store_object::{ObjectStore, RemoteOptions, Service};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};
use ndzarr_testkit::{has_started, run_with_variables};

use crate::it::{Outcome, read};

const READ: Option<&[u8]> = Some(b"value");
/// On a busy machine an answer may take long.
const TIMEOUT: &str = "AWS_METADATA_SERVICE_TIMEOUT";
const KEY: &str = r#"{"AccessKeyId": "machine-id", "SecretAccessKey": "hidden", "Token": "machine-token",
    "Expiration": "2999-01-01T00:00:00Z"}"#;

fn server(dialect: Dialect) -> ObjectServer {
    let server = ObjectServer::start(dialect);
    server.objects().put("a", "value");
    server
}

fn open(variables: &[(&str, &str)]) -> Result<ObjectStore, StoreError> {
    // No other limit ends the wait for a service that does not answer.
    let options = RemoteOptions::from_environment(Service::S3, |name| {
        let set = variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned());
        set.or_else(|| (name == TIMEOUT).then(|| "600".to_owned()))
    });
    ObjectStore::s3(BUCKET, "", &options.read_timeout(Duration::from_secs(3600)))
}

/// A server that answers as the metadata service of EC2, version 2.
fn ec2() -> ObjectServer {
    ec2_with(KEY)
}

fn ec2_with(key: &str) -> ObjectServer {
    let service = ObjectServer::start(Dialect::S3);
    service.objects().make_bucket("latest");
    let folder = "/latest/meta-data/iam/security-credentials/";
    for (path, value) in [
        (folder.to_owned(), "reader"),
        (format!("{folder}reader"), key),
    ] {
        let mut stream = TcpStream::connect(service.address()).expect("it listens");
        let head = format!(
            "PUT {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            value.len()
        );
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(value.as_bytes()))
            .expect("it reads");
        let mut status = [0; 12];
        stream.read_exact(&mut status).expect("it answers");
        assert_eq!(&status, b"HTTP/1.1 200");
    }
    service.forget();
    service
}

#[test]
fn the_key_of_a_machine_signs() -> Outcome {
    let store = server(Dialect::S3);
    let service = ec2();
    let variables = [
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &*service.url()),
        ("AWS_ENDPOINT_URL", &store.url()),
    ];
    let opened = open(&variables)?;
    for _ in 0..3 {
        assert_eq!(read(&opened, "a")?.as_deref(), READ);
    }
    let seen = store.requests().pop().expect("there was one").request;
    assert!(
        seen.header("authorization")
            .is_some_and(|signed| signed.contains("Credential=machine-id/"))
    );
    assert_eq!(seen.header("x-amz-security-token"), Some("machine-token"));
    // A token, the role, its key.
    assert_eq!(service.traffic().requests, 3);
    Ok(())
}

/// object_store holds a lock while it fetches a key, in a thread that a child does not have.
#[cfg(unix)]
#[test]
fn a_child_that_is_forked_while_a_key_is_fetched_fetches_its_own() {
    use std::sync::mpsc;

    use fork::Fork;
    use futures_util::FutureExt;
    use ndzarr_store::AsyncStore;

    ndzarr_testkit::in_own_process!();
    let store = server(Dialect::S3);
    let service = ec2();
    service.faults([FaultRule::always(Fault::Hang).times(1)]);
    let variables = [
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &*service.url()),
        ("AWS_ENDPOINT_URL", &store.url()),
    ];
    let opened = open(&variables).expect("the settings are right");
    let fetch = crate::it::whole("a");
    let mut pending = opened.fetch(&fetch);
    assert!((&mut pending).now_or_never().is_none());
    while service.traffic().faults == 0 {
        std::thread::yield_now();
    }
    let child = match fork::fork().expect("the system has one more process") {
        Fork::Child => {
            let (sender, receiver) = mpsc::channel();
            let opened = opened.clone();
            let reader = std::thread::spawn(move || {
                sender.send(read(&opened, "a").is_ok_and(|value| value.as_deref() == READ))
            });
            let is_right = receiver.recv_timeout(Duration::from_secs(20));
            drop(reader);
            std::process::exit(i32::from(!is_right.unwrap_or_default()));
        }
        Fork::Parent(child) => child,
    };
    let status = fork::waitpid(child).expect("it is a child");
    assert_eq!(status, 0, "the child");
    let seen = store.requests().pop().expect("the child's").request;
    assert!(
        seen.header("authorization")
            .is_some_and(|signed| signed.contains("Credential=machine-id/"))
    );
}

/// The service is asked again minutes before a key expires, and may fail then.
#[test]
fn a_key_signs_until_it_expires_whatever_becomes_of_the_metadata_service() -> Outcome {
    let expires = SystemTime::UNIX_EPOCH
        .elapsed()
        .expect("it is later")
        .as_secs()
        + 200;
    let expires = chrono::DateTime::from_timestamp(expires as i64, 0)
        .expect("a time")
        .to_rfc3339();
    for fault in [Fault::Reset, Fault::Status(503), Fault::Status(404)] {
        let store = server(Dialect::S3);
        let service = ec2_with(&KEY.replace("2999-01-01T00:00:00Z", &expires));
        let variables = [
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &*service.url()),
            ("AWS_ENDPOINT_URL", &store.url()),
        ];
        let opened = open(&variables)?;
        assert_eq!(read(&opened, "a")?.as_deref(), READ);
        service.faults([FaultRule::always(fault.clone())]);
        while service.traffic().faults == 0 {
            assert_eq!(read(&opened, "a")?.as_deref(), READ);
        }
        // A store that is opened now has no key. The machine has one, so nothing is read without
        // it.
        let error = read(&open(&variables)?, "a")
            .expect_err("it is asked in vain")
            .to_string();
        assert!(
            error.contains("there are no credentials from the metadata service"),
            "{error}"
        );
        service.heal();
        assert_eq!(read(&opened, "a")?.as_deref(), READ);
        for seen in store.requests() {
            let signed = seen.request.header("authorization").unwrap_or_default();
            assert!(
                signed.contains("Credential=machine-id/"),
                "{fault:?}: {signed:?}"
            );
        }
        assert_eq!(read(&open(&variables)?, "a")?.as_deref(), READ);
        let seen = store.requests().pop().expect("there was one").request;
        assert!(seen.header("authorization").is_some(), "{fault:?}");
    }
    Ok(())
}

#[test]
fn rs_27_a_metadata_service_that_does_not_answer_is_asked_once_and_not_for_long() -> Outcome {
    let store = server(Dialect::S3);
    let service = ec2();
    service.faults([FaultRule::always(Fault::Hang)]);
    let variables = [
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &*service.url()),
        ("AWS_ENDPOINT_URL", &store.url()),
        (TIMEOUT, ""),
    ];
    for _ in 0..3 {
        assert_eq!(read(&open(&variables)?, "a")?.as_deref(), READ);
    }
    assert_eq!(service.traffic().requests, 1);
    for seen in store.requests() {
        for name in [
            "authorization",
            "x-amz-date",
            "x-amz-content-sha256",
            "x-amz-security-token",
        ] {
            assert_eq!(seen.request.header(name), None);
        }
    }
    store.faults([FaultRule::always(Fault::Status(403))]);
    let error = read(&open(&variables)?, "a")
        .expect_err("it is denied")
        .to_string();
    assert!(
        error.contains("nothing was signed, for lack of credentials"),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_metadata_service_without_a_role_signs_nothing_and_a_busy_one_is_an_error() -> Outcome {
    let store = server(Dialect::S3);
    for status in [403, 404] {
        let service = ec2();
        service.faults([FaultRule::always(Fault::Status(status)).of(&["GET"])]);
        let variables = [
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &*service.url()),
            ("AWS_ENDPOINT_URL", &store.url()),
        ];
        assert_eq!(read(&open(&variables)?, "a")?.as_deref(), READ, "{status}");
    }
    store.forget();
    let service = ec2();
    service.faults([FaultRule::always(Fault::Status(503))]);
    let variables = [
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &*service.url()),
        ("AWS_ENDPOINT_URL", &store.url()),
    ];
    let error = read(&open(&variables)?, "a")
        .expect_err("it is busy")
        .to_string();
    assert!(
        error.contains("the metadata service of EC2") && error.contains("503"),
        "{error}"
    );
    // Once it answers, it is asked again.
    service.heal();
    assert_eq!(read(&open(&variables)?, "a")?.as_deref(), READ);
    assert_eq!(store.traffic().requests, 1);
    Ok(())
}

#[test]
fn a_container_has_its_own_service() -> Outcome {
    let store = server(Dialect::S3);
    let service = ObjectServer::start(Dialect::Http);
    service.objects().put("creds", KEY);
    let token = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(token.path(), "a-pod").expect("it is writable");
    let url = format!("{}/creds", service.url());
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*url),
        (
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            token.path().to_str().expect("it is ASCII"),
        ),
        ("AWS_ENDPOINT_URL", &store.url()),
    ];
    assert_eq!(read(&open(&variables)?, "a")?.as_deref(), READ);
    let seen = store.requests().pop().expect("there was one").request;
    assert!(
        seen.header("authorization")
            .is_some_and(|signed| signed.contains("Credential=machine-id/"))
    );
    assert_eq!(
        service.requests()[0].request.header("authorization"),
        Some("a-pod")
    );

    // Absent credentials are an error, not a missing value.
    service.objects().erase("creds");
    let error = read(&open(&variables)?, "a")
        .expect_err("no credentials")
        .to_string();
    assert!(
        error.contains("no credentials from AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        "{error}"
    );
    assert!(error.contains("404") && !error.contains("a-pod"), "{error}");
    assert_eq!(store.traffic().requests, 1);
    Ok(())
}

#[test]
fn the_token_of_a_container_may_be_in_a_variable_or_missing() -> Outcome {
    let store = server(Dialect::S3);
    let service = ObjectServer::start(Dialect::Http);
    service.objects().put("creds", KEY);
    let url = format!("{}/creds", service.url());
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*url),
        ("AWS_ENDPOINT_URL", &store.url()),
    ];
    const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
    for (token, expected) in [("a-hidden-token", Some("a-hidden-token")), ("", None)] {
        service.forget();
        let opened = open(&[variables[0], variables[1], (TOKEN, token)])?;
        for _ in 0..3 {
            assert_eq!(read(&opened, "a")?.as_deref(), READ);
        }
        let seen = store.requests().pop().expect("there was one").request;
        assert!(
            seen.header("authorization")
                .is_some_and(|signed| signed.contains("Credential=machine-id/"))
        );
        assert_eq!(seen.header("x-amz-security-token"), Some("machine-token"));
        let [fetched] = &service.requests()[..] else {
            panic!("the credentials are cached")
        };
        assert_eq!(fetched.request.header("authorization"), expected);
    }
    store.forget();
    for (document, part) in [
        ("hidden", "not a JSON document"),
        (r#"{"AccessKeyId": "hidden"}"#, "no SecretAccessKey"),
        (&*KEY.replace("2999", "1999"), "has expired"),
    ] {
        service.objects().put("creds", document.to_owned());
        let error = read(
            &open(&[variables[0], variables[1], (TOKEN, "hidden")])?,
            "a",
        )
        .expect_err(part);
        let text = format!("{error} {error:?}");
        assert!(
            text.contains("AWS_CONTAINER_CREDENTIALS_FULL_URI") && text.contains(part),
            "{text}"
        );
        assert!(!text.contains("hidden"), "{text}");
    }
    for fault in [
        Fault::EndlessBody,
        Fault::GzipBomb,
        Fault::RedirectTo(store.url()),
        Fault::Status(403),
    ] {
        service.faults([FaultRule::always(fault.clone())]);
        let error = read(
            &open(&[variables[0], variables[1], (TOKEN, "hidden")])?,
            "a",
        )
        .expect_err("a fault");
        assert!(
            !format!("{error} {error:?}").contains("hidden"),
            "{fault:?}"
        );
    }
    assert_eq!(
        store.traffic().requests,
        0,
        "nothing is read without credentials, or goes elsewhere"
    );
    Ok(())
}

#[test]
fn headers_of_the_caller_go_to_no_service_for_credentials() -> Outcome {
    let store = server(Dialect::S3);
    let service = ec2();
    let variables = [
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.url()),
        ("AWS_ENDPOINT_URL", store.url()),
        (TIMEOUT, "600".to_owned()),
    ];
    let options = RemoteOptions::from_environment(Service::S3, |name| {
        variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.clone())
    });
    let opened = ObjectStore::s3(BUCKET, "", &options.header("x-lab-password", "a-password")?)?;
    assert_eq!(read(&opened, "a")?.as_deref(), READ);
    let seen = store.requests().remove(0).request;
    assert_eq!(seen.header("x-lab-password"), Some("a-password"));
    assert!(seen.header("authorization").is_some());
    assert!(
        service
            .requests()
            .iter()
            .all(|seen| seen.request.header("x-lab-password").is_none())
    );
    Ok(())
}

#[test]
fn machines_of_google_and_azure_have_tokens() -> Outcome {
    const TEST: &str = "it::containers::machines_of_google_and_azure_have_tokens";
    if has_started() {
        let google = RemoteOptions::from_environment(Service::Gcs, |name| env::var(name).ok());
        assert_eq!(
            read(&ObjectStore::gcs(BUCKET, "", &google)?, "a")?.as_deref(),
            READ
        );
        let azure = RemoteOptions::from_environment(Service::Azure, |name| env::var(name).ok());
        assert_eq!(
            read(&ObjectStore::azure(BUCKET, "", &azure)?, "a")?.as_deref(),
            READ
        );
        return Ok(());
    }
    let service = ObjectServer::start(Dialect::Http);
    let token = r#"{"access_token": "a-token", "expires_in": 3600, "expires_on": "32503680000", "token_type": "Bearer"}"#;
    service.objects().put(
        "computeMetadata/v1/instance/service-accounts/default/token",
        token,
    );
    service.objects().put("msi", token);
    let [google, azure] = [server(Dialect::Gcs), server(Dialect::Azure)];
    let [host, msi] = [
        service.address().to_string(),
        format!("{}/msi", service.url()),
    ];
    let variables = [
        (TIMEOUT, "600"),
        ("GCE_METADATA_HOST", &*host),
        ("GOOGLE_BASE_URL", &google.url()),
        ("AZURE_MSI_ENDPOINT", &msi),
        ("AZURE_STORAGE_ACCOUNT_NAME", "lab"),
        ("AZURE_STORAGE_ENDPOINT", &azure.url()),
    ];
    run_with_variables(TEST, &variables);
    for server in [&google, &azure] {
        assert_eq!(
            server.requests()[0].request.header("authorization"),
            Some("Bearer a-token")
        );
    }
    // Without the service nothing is signed.
    service
        .objects()
        .erase("computeMetadata/v1/instance/service-accounts/default/token");
    service.objects().erase("msi");
    google.forget();
    azure.forget();
    run_with_variables(TEST, &variables);
    for server in [&google, &azure] {
        assert_eq!(server.requests()[0].request.header("authorization"), None);
    }
    Ok(())
}
