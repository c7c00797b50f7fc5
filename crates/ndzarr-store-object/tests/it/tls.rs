//! HTTPS: trusted certificates, and errors about others.

use std::env;
use std::time::Duration;

use ndzarr_store::{AsyncStore, StoreError, block_on};
use ndzarr_store_object::{ObjectStore, RemoteOptions, Service};
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};
use ndzarr_testkit::{has_started, run_with_variables};
use rustls::crypto::CryptoProvider;

use crate::it::tls_server::{Authority, TlsServer};
use crate::it::{Outcome, read};

/// A last year in which certificates of tests are valid.
const YEAR: i32 = 2999;

#[test]
fn a_root_certificate_of_the_options_is_trusted() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let authority = Authority::new();
    let tls = TlsServer::start(&server, &authority, "127.0.0.1", YEAR);
    server.objects().put("a", "value");
    let options = RemoteOptions::new().endpoint(tls.url());
    let trusting = options.clone().root_certificate(authority.der());
    assert_eq!(
        read(&ObjectStore::s3(BUCKET, "", &trusting)?, "a")?.as_deref(),
        Some(&b"value"[..])
    );
    // The same server as a web server.
    let web = RemoteOptions::new().root_certificate(authority.der());
    let web = ObjectStore::http(&format!("{}/{BUCKET}", tls.url()), &web)?;
    assert_eq!(read(&web, "a")?.as_deref(), Some(&b"value"[..]));

    server.forget();
    let error = read(&ObjectStore::s3(BUCKET, "", &options)?, "a").expect_err("it is not trusted");
    let text = error.to_string();
    assert!(
        text.contains("an authority that is not trusted") && text.contains("SSL_CERT_FILE"),
        "{text}"
    );
    // Another attempt would find the same.
    assert!(matches!(error, StoreError::Other { .. }), "{error:?}");
    assert_eq!(server.traffic().requests, 0);
    Ok(())
}

/// Other systems do not read the file that this variable names.
#[cfg(all(unix, not(target_vendor = "apple")))]
#[test]
fn the_certificates_of_ssl_cert_file_are_trusted() -> Outcome {
    if has_started() {
        let options = RemoteOptions::from_environment(Service::S3, |name| env::var(name).ok());
        assert_eq!(
            read(&ObjectStore::s3(BUCKET, "", &options)?, "a")?.as_deref(),
            Some(&b"value"[..])
        );
        return Ok(());
    }
    let server = ObjectServer::start(Dialect::S3);
    let authority = Authority::new();
    let tls = TlsServer::start(&server, &authority, "127.0.0.1", YEAR);
    server.objects().put("a", "value");
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), authority.pem()).expect("it is writable");
    let path = file.path().to_str().expect("it is ASCII");
    let variables = [("SSL_CERT_FILE", path), ("AWS_ENDPOINT_URL", &tls.url())];
    run_with_variables(
        "it::tls::the_certificates_of_ssl_cert_file_are_trusted",
        &variables,
    );
    assert_eq!(server.traffic().requests, 1);
    Ok(())
}

/// Small containers have no certificates.
#[cfg(all(unix, not(target_vendor = "apple")))]
#[test]
fn a_machine_without_certificates_reaches_plain_http_and_https_once_it_has_some() -> Outcome {
    if has_started() {
        let variable = |name: &str| env::var(name).expect("it is set");
        let value = |endpoint: &str| {
            let options = RemoteOptions::new()
                .endpoint(variable(endpoint))
                .retry_for(Duration::ZERO);
            read(&ObjectStore::s3(BUCKET, "", &options)?, "a")
        };
        assert_eq!(value("PLAIN")?.as_deref(), Some(&b"value"[..]));
        let error = value("SECURE").expect_err("no authority is known");
        assert!(
            error.to_string().to_lowercase().contains("certificate"),
            "{error}"
        );
        std::fs::copy(variable("LATER"), variable("SSL_CERT_FILE")).expect("they are files");
        assert_eq!(value("SECURE")?.as_deref(), Some(&b"value"[..]));
        return Ok(());
    }
    let server = ObjectServer::start(Dialect::S3);
    let authority = Authority::new();
    let tls = TlsServer::start(&server, &authority, "127.0.0.1", YEAR);
    server.objects().put("a", "value");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("it is ASCII")
            .to_owned()
    };
    std::fs::write(path("none"), "").expect("it is writable");
    std::fs::write(path("later"), authority.pem()).expect("it is writable");
    let variables = [
        ("SSL_CERT_FILE", &*path("none")),
        ("LATER", &*path("later")),
        ("PLAIN", &*server.url()),
        ("SECURE", &*tls.url()),
    ];
    let test =
        "it::tls::a_machine_without_certificates_reaches_plain_http_and_https_once_it_has_some";
    run_with_variables(test, &variables);
    Ok(())
}

#[test]
fn wrong_certificates_are_errors_that_say_why() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let authority = Authority::new();
    for (host, year, part) in [
        ("data.example.org", YEAR, "is not for 127.0.0.1, but for"),
        ("data.example.org", YEAR, "data.example.org"),
        (
            "127.0.0.1",
            2020,
            "the certificate of the server has expired",
        ),
    ] {
        let tls = TlsServer::start(&server, &authority, host, year);
        let options = RemoteOptions::new()
            .endpoint(tls.url())
            .root_certificate(authority.der());
        let store = ObjectStore::s3(BUCKET, "", &options)?;
        let error = read(&store, "a").expect_err("the certificate is wrong");
        assert!(error.to_string().contains(part), "{error}");
        assert!(
            matches!(error, StoreError::Other { .. }),
            "one attempt is enough: {error:?}"
        );
        let error = block_on(store.list_dir(&ndzarr_store::Prefix::root()))
            .expect_err("the certificate is wrong");
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(server.traffic().requests, 0);
    let tls = TlsServer::start_as_authority(&server, &authority, "127.0.0.1");
    let options = RemoteOptions::new()
        .endpoint(tls.url())
        .root_certificate(authority.der());
    let error =
        read(&ObjectStore::s3(BUCKET, "", &options)?, "a").expect_err("it is that of an authority");
    assert!(
        error
            .to_string()
            .contains("basicConstraints=critical,CA:FALSE"),
        "{error}"
    );
    assert!(
        matches!(error, StoreError::Other { .. }),
        "one attempt is enough: {error:?}"
    );
    Ok(())
}

#[test]
fn rs_26_no_provider_is_installed_and_one_that_is_stays() -> Outcome {
    if !has_started() {
        run_with_variables(
            "it::tls::rs_26_no_provider_is_installed_and_one_that_is_stays",
            &[],
        );
        return Ok(());
    }
    let server = ObjectServer::start(Dialect::S3);
    let authority = Authority::new();
    let tls = TlsServer::start(&server, &authority, "127.0.0.1", YEAR);
    server.objects().put("a", "value");
    let options = RemoteOptions::new()
        .endpoint(tls.url())
        .root_certificate(authority.der());
    let reads = || read(&ObjectStore::s3(BUCKET, "", &options)?, "a");
    assert!(reads()?.is_some());
    assert!(CryptoProvider::get_default().is_none());

    // A program's own provider, with which no connection would be made.
    let useless = CryptoProvider {
        cipher_suites: Vec::new(),
        ..rustls::crypto::ring::default_provider()
    };
    useless.install_default().expect("it is the first");
    assert!(reads()?.is_some());
    assert!(
        CryptoProvider::get_default().is_some_and(|provider| provider.cipher_suites.is_empty())
    );
    Ok(())
}
