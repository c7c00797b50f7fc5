//! The headers that another host gets after a redirect.

use ndzarr_store::{AsyncStore, Fetch, Fetched, Key, Of, StoreError, Want, block_on};
use ndzarr_store_object::{Credentials, ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};

type Make = fn(&str, &str, &RemoteOptions) -> Result<ObjectStore, StoreError>;

#[test]
fn credentials_and_own_headers_stay_with_their_host() -> Result<(), StoreError> {
    let key = Credentials::Key {
        id: "an-id".into(),
        secret: "a-secret".into(),
        session_token: Some("a-session".into()),
    };
    let cases: [(Dialect, Make, Credentials, &[&str]); 3] = [
        (
            Dialect::S3,
            ObjectStore::s3,
            key,
            &["authorization", "x-amz-security-token"],
        ),
        (
            Dialect::Gcs,
            ObjectStore::gcs,
            Credentials::Bearer("a-token".into()),
            &["authorization"],
        ),
        (
            Dialect::Azure,
            ObjectStore::azure,
            Credentials::AccountKey("a2V5".into()),
            &["authorization"],
        ),
    ];
    for (dialect, make, credentials, secrets) in cases {
        let [own, other] = [ObjectServer::start(dialect), ObjectServer::start(dialect)];
        own.faults([FaultRule::always(Fault::RedirectTo(other.url()))]);
        // The second redirect does not leave the other host.
        other.faults([FaultRule::always(Fault::RedirectTo(other.url())).times(1)]);
        other.objects().put("a", "value");
        let options = RemoteOptions::new()
            .endpoint(own.url())
            .account("lab")
            .credentials(credentials)
            .header("x-lab-password", "a-password")?;
        let store = make(BUCKET, "", &options)?;
        let fetch = Fetch {
            key: Key::new("a")?,
            of: Of::Any,
            want: Want::Ranges(vec![1..3]),
        };
        let Fetched::Parts { parts, .. } = block_on(store.fetch(&fetch))? else {
            panic!("it was put")
        };
        assert_eq!(parts, ["al"]);

        let [redirected] = &own.requests()[..] else {
            panic!("one request to {dialect:?}")
        };
        for name in secrets.iter().chain(&["x-lab-password"]) {
            assert!(
                redirected.request.header(name).is_some(),
                "{dialect:?}: {name}"
            );
        }
        let host = other.address().to_string();
        assert_eq!(other.requests().len(), 2);
        for seen in other.requests() {
            assert_eq!(seen.request.header("host"), Some(host.as_str()));
            let public = ["host", "accept", "accept-encoding", "range", "user-agent"];
            let names = seen.request.headers.iter().map(|(name, _)| name.as_str());
            let secret: Vec<_> = names.filter(|name| !public.contains(name)).collect();
            assert!(secret.is_empty(), "{dialect:?}: {secret:?}");
        }
    }
    Ok(())
}

#[test]
fn a_redirect_to_a_metadata_service_is_an_error() -> Result<(), StoreError> {
    let server = ObjectServer::start(Dialect::Http);
    server.faults([FaultRule::always(Fault::RedirectTo(
        "http://169.254.169.254".into(),
    ))]);
    let fetch = Fetch {
        key: Key::new("a")?,
        of: Of::Any,
        want: Want::Tail(1),
    };
    let error = block_on(ObjectStore::http(&server.url(), &RemoteOptions::new())?.fetch(&fetch));
    let error = error.expect_err("nothing is asked there");
    assert!(
        error
            .to_string()
            .contains("redirected to this machine, or to the services"),
        "{error}"
    );
    assert_eq!(server.traffic().requests, 1);
    Ok(())
}
