//! Passwords of web servers from the user's `.netrc`.

use ndzarr_store_object::{ObjectStore, RemoteOptions, Service};
use ndzarr_testkit::ObjectServer;
use ndzarr_testkit::object_server::Dialect;

use super::read;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

#[test]
fn the_password_of_a_host_goes_to_it_and_no_other() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    server.objects().put("a", "value");
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("passwords");
    let with_file = || {
        RemoteOptions::from_environment(Service::Http, |name| {
            (name == "NETRC").then(|| file.to_str().expect("a path of text").to_owned())
        })
    };
    let authorization = |options: &RemoteOptions| -> Outcome<Option<String>> {
        server.forget();
        let store = ObjectStore::http(&server.url(), options)?;
        assert_eq!(read(&store, "a")?.as_deref(), Some(&b"value"[..]));
        Ok(server.requests()[0]
            .request
            .header("authorization")
            .map(str::to_owned))
    };
    // The file need not exist.
    assert_eq!(authorization(&with_file())?, None);
    std::fs::write(&file, "machine 127.0.0.1 login user password secret")?;
    let of_user = Some("Basic dXNlcjpzZWNyZXQ=".to_owned());
    assert_eq!(authorization(&with_file())?, of_user);
    assert_eq!(
        authorization(&with_file().header("Authorization", "Bearer b")?)?.as_deref(),
        Some("Bearer b")
    );
    assert_eq!(authorization(&RemoteOptions::new())?, None);
    std::fs::write(&file, "machine localhost login user password secret")?;
    assert_eq!(authorization(&with_file())?, None);
    Ok(())
}
