//! Proxies that the environment names.

use std::env;

use ndzarr_store_object::{Credentials, ObjectStore, RemoteOptions, Service};
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};
use ndzarr_testkit::{has_started, run_with_variables};

use crate::it::scripted_server::ScriptedServer;
use crate::it::{Outcome, read};

/// The server takes the place of a proxy: it gets the requests that clients send to one, and
/// refuses them.
#[test]
fn rs_28_proxies_lead_to_hosts_and_never_to_this_machine() -> Outcome {
    const TEST: &str = "it::proxies::rs_28_proxies_lead_to_hosts_and_never_to_this_machine";
    let once = || RemoteOptions::new().retry_for(std::time::Duration::ZERO);
    if has_started() {
        let url = env::var("DATA_URL").expect("the test sets it");
        let found = read(&ObjectStore::http(&url, &once())?, "a").ok().flatten();
        assert_eq!(
            found.is_some(),
            env::var_os("DIRECT").is_some(),
            "{found:?}"
        );
        if url.starts_with("https") {
            let signed = once()
                .endpoint(&url)
                .credentials(Credentials::key("an-id", "hidden"));
            assert!(read(&ObjectStore::s3(BUCKET, "", &signed)?, "a").is_err());
        }
        return Ok(());
    }
    let proxy = ObjectServer::start(Dialect::Http);
    let run = |url: &str, more: &[(&str, &str)]| {
        let proxy = proxy.url();
        run_with_variables(
            TEST,
            &[
                &[
                    ("DATA_URL", url),
                    ("HTTP_PROXY", &proxy),
                    ("HTTPS_PROXY", &proxy),
                ],
                more,
            ]
            .concat(),
        );
    };
    let seen = || -> Vec<(String, String)> {
        let seen = proxy
            .requests()
            .into_iter()
            .map(|seen| (seen.request.method, seen.request.target))
            .collect();
        proxy.forget();
        seen
    };
    let pair = |method: &str, target: &str| (method.to_owned(), target.to_owned());
    // No resolver knows these names.
    run("http://data.invalid/b", &[]);
    assert_eq!(seen(), [pair("GET", "http://data.invalid/b/a")]);

    run("https://data.invalid", &[]);
    let headers: Vec<_> = proxy
        .requests()
        .into_iter()
        .flat_map(|seen| seen.request.headers)
        .collect();
    assert!(
        headers
            .iter()
            .all(|(name, value)| name != "authorization" && !value.contains("an-id")),
        "{headers:?}"
    );
    assert_eq!(
        seen(),
        [
            pair("CONNECT", "data.invalid:443"),
            pair("CONNECT", "data.invalid:443")
        ]
    );

    run("http://data.invalid", &[("NO_PROXY", "data.invalid")]);
    assert_eq!(seen(), []);

    let server = ObjectServer::start(Dialect::Http);
    server.objects().put("a", "value");
    for url in [
        server.url(),
        format!("http://localhost:{}", server.address().port()),
    ] {
        run(&url, &[("DIRECT", "")]);
        assert_eq!(seen(), []);
    }
    assert_eq!(server.traffic().requests, 2);
    Ok(())
}

#[test]
fn the_token_of_a_container_goes_through_no_proxy() {
    const TEST: &str = "it::proxies::the_token_of_a_container_goes_through_no_proxy";
    if has_started() {
        let options = RemoteOptions::from_environment(Service::S3, |name| env::var(name).ok());
        let store = ObjectStore::s3(BUCKET, "", &options).expect("the options fit");
        let error = read(&store, "a").expect_err("the proxy refuses");
        assert!(error.to_string().contains("HTTP status 400"), "{error}");
        return;
    }
    let [proxy, service] = [(); 2].map(|()| ObjectServer::start(Dialect::Http));
    service.objects().put(
        "creds",
        r#"{"AccessKeyId": "an-id", "SecretAccessKey": "a-secret"}"#,
    );
    let variables = [
        ("HTTP_PROXY", &*proxy.url()),
        ("AWS_ENDPOINT_URL", "http://data.invalid"),
        (
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            &format!("{}/creds", service.url()),
        ),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "a-token"),
    ];
    run_with_variables(TEST, &variables);
    let for_credentials = service.requests();
    assert_eq!(for_credentials.len(), 1);
    assert_eq!(
        for_credentials[0].request.header("authorization"),
        Some("a-token")
    );
    let seen = proxy.requests();
    assert_eq!(seen.len(), 1);
    assert_eq!(
        seen[0].request.target,
        format!("http://data.invalid/{BUCKET}/a")
    );
    assert!(
        seen[0]
            .request
            .header("authorization")
            .is_some_and(|signed| signed.contains("=an-id/"))
    );
}

#[test]
fn a_proxy_that_wants_a_password_is_asked_once() -> Outcome {
    const TEST: &str = "it::proxies::a_proxy_that_wants_a_password_is_asked_once";
    if has_started() {
        for url in ["http://data.invalid", "https://data.invalid"] {
            let error =
                read(&ObjectStore::http(url, &RemoteOptions::new())?, "a").expect_err("it refuses");
            assert!(
                error
                    .to_string()
                    .contains("the proxy wants a name and a password"),
                "{error}"
            );
        }
        return Ok(());
    }
    let proxy = ScriptedServer::always("407 Proxy Authentication Required", "");
    run_with_variables(
        TEST,
        &[("HTTP_PROXY", &*proxy.url()), ("HTTPS_PROXY", &proxy.url())],
    );
    // One for each URL.
    assert_eq!(proxy.n_requests(), 2);
    Ok(())
}
