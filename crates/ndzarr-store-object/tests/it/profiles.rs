//! Profiles of AWS: keys, regions, endpoints and programs.

use std::fs;
use std::path::Path;

use ndzarr_store::StoreError;
use ndzarr_store_object::{ObjectStore, RemoteOptions, Service};
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};
#[cfg(unix)]
use ndzarr_testkit::{has_started, run_with_variables};

use crate::it::{Outcome, read};

const READ: Option<&[u8]> = Some(b"value");

fn server() -> ObjectServer {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "value");
    server
}

/// A store with these variables, and a home folder that has `.aws`.
fn open(home: &Path, variables: &[(&str, &str)]) -> Result<ObjectStore, StoreError> {
    let options = RemoteOptions::from_environment(Service::S3, |name| {
        let set = variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned());
        set.or_else(|| (name == "HOME").then(|| home.to_str().expect("it is ASCII").to_owned()))
    });
    ObjectStore::s3(BUCKET, "", &options)
}

fn home(config: &str, credentials: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join(".aws");
    fs::create_dir(&folder).expect("it is writable");
    fs::write(folder.join("config"), config).expect("it is writable");
    fs::write(folder.join("credentials"), credentials).expect("it is writable");
    home
}

/// The header of the last request.
fn header(server: &ObjectServer, name: &str) -> String {
    let seen = server.requests().pop().expect("there was one");
    seen.request.header(name).unwrap_or_default().to_owned()
}

#[test]
fn a_profile_has_keys_a_region_and_an_endpoint() -> Outcome {
    let server = server();
    let home = home(
        &format!(
            "[default]\nregion = eu-north-1\n\n[profile lab]\nregion=eu-south-2\nendpoint_url = {url}\n\
             [profile services]\nservices = ours\naws_access_key_id = services-id\naws_secret_access_key = c\n\
             [services ours]\ns3 =\n  endpoint_url = {url}\n",
            url = server.url()
        ),
        "[default]\naws_access_key_id = default-id\naws_secret_access_key = hidden\n\
         [lab]\naws_access_key_id = lab-id\naws_secret_access_key = hidden\naws_session_token = lab-token\n",
    );
    let url = server.url();
    for (variables, id, region, token) in [
        (
            &[("AWS_ENDPOINT_URL", &*url)][..],
            "default-id",
            "eu-north-1",
            "",
        ),
        (
            &[("AWS_PROFILE", "lab")],
            "lab-id",
            "eu-south-2",
            "lab-token",
        ),
        (
            &[("AWS_DEFAULT_PROFILE", "lab")],
            "lab-id",
            "eu-south-2",
            "lab-token",
        ),
        (
            &[("AWS_PROFILE", "services")],
            "services-id",
            "us-east-1",
            "",
        ),
        // Variables take precedence over the profile.
        (
            &[("AWS_PROFILE", "lab"), ("AWS_REGION", "us-west-2")],
            "lab-id",
            "us-west-2",
            "lab-token",
        ),
        (
            &[
                ("AWS_PROFILE", "lab"),
                ("AWS_ACCESS_KEY_ID", "own-id"),
                ("AWS_SECRET_ACCESS_KEY", "b"),
            ],
            "own-id",
            "eu-south-2",
            "",
        ),
    ] {
        let store = open(home.path(), variables)?;
        assert_eq!(read(&store, "a")?.as_deref(), READ);
        let signed = header(&server, "authorization");
        assert!(
            signed.contains(&format!("Credential={id}/")),
            "{variables:?}: {signed}"
        );
        assert!(
            signed.contains(&format!("/{region}/s3/")),
            "{variables:?}: {signed}"
        );
        assert_eq!(
            header(&server, "x-amz-security-token"),
            token,
            "{variables:?}"
        );
        assert!(!format!("{store:?}").contains("hidden"));
    }
    Ok(())
}

#[test]
fn the_files_of_profiles_may_be_elsewhere() -> Outcome {
    let server = server();
    let home = home("[default]\nregion = eu-north-1\n", "");
    let [config, credentials] =
        ["other-config", "other-credentials"].map(|name| home.path().join(name));
    fs::write(&config, "[profile lab]\nregion = eu-west-3\n").expect("it is writable");
    fs::write(
        &credentials,
        "[lab]\naws_access_key_id=lab-id\naws_secret_access_key=b",
    )
    .expect("it is writable");
    let variables = [
        ("AWS_PROFILE", "lab"),
        ("AWS_CONFIG_FILE", "~/other-config"),
        (
            "AWS_SHARED_CREDENTIALS_FILE",
            credentials.to_str().expect("it is ASCII"),
        ),
        ("AWS_ENDPOINT_URL", &server.url()),
    ];
    assert_eq!(read(&open(home.path(), &variables)?, "a")?.as_deref(), READ);
    let signed = header(&server, "authorization");
    assert!(
        signed.contains("Credential=lab-id/") && signed.contains("/eu-west-3/"),
        "{signed}"
    );
    Ok(())
}

#[test]
fn profiles_that_do_not_exist_or_are_not_readable_are_errors() -> Outcome {
    let server = server();
    let home = home("[profile other]\n[lab]\nregion = eu-west-3\n", "");
    let url = server.url();
    let error = open(
        home.path(),
        &[("AWS_PROFILE", "lab"), ("AWS_ENDPOINT_URL", &url)],
    )
    .expect_err("no such profile");
    let text = error.to_string();
    assert!(
        text.contains("\"lab\"") && text.contains("AWS_PROFILE") && text.contains(".aws"),
        "{text}"
    );
    // Without a home and a name there is nothing to look for, and nothing is signed.
    let nowhere = [("HOME", ""), ("AWS_ENDPOINT_URL", &*url)];
    assert_eq!(read(&open(home.path(), &nowhere)?, "a")?.as_deref(), READ);
    assert_eq!(header(&server, "authorization"), "");
    let folder = [
        (
            "AWS_CONFIG_FILE",
            home.path().to_str().expect("it is ASCII"),
        ),
        ("AWS_ENDPOINT_URL", &url),
    ];
    let error = open(home.path(), &folder)
        .expect_err("it is a folder")
        .to_string();
    assert!(error.contains(folder[0].1), "{error}");
    // The key in the environment needs no profile.
    let key = [
        folder[0],
        folder[1],
        ("AWS_ACCESS_KEY_ID", "a"),
        ("AWS_SECRET_ACCESS_KEY", "b"),
    ];
    assert_eq!(read(&open(home.path(), &key)?, "a")?.as_deref(), READ);
    let half = [
        ("AWS_ACCESS_KEY_ID", "a-hidden-id"),
        ("AWS_ENDPOINT_URL", &*url),
    ];
    let error = open(home.path(), &half)
        .expect_err("half a key")
        .to_string();
    assert!(
        error.contains("AWS_SECRET_ACCESS_KEY") && !error.contains("hidden"),
        "{error}"
    );
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_program_is_run_once_for_all_stores() -> Outcome {
    let server = server();
    let home = home("", "");
    let script = home.path().join("the program");
    let runs = home.path().join("runs");
    let text = format!(
        "echo run >>'{}'\ncat <<end\n{{\"Version\": 1, \"AccessKeyId\": \"id-$1\", \"SecretAccessKey\": \"hidden\", \
         \"SessionToken\": \"a-token\", \"Expiration\": \"2999-01-01T00:00:00Z\"}}\nend\n",
        runs.display()
    );
    fs::write(&script, text).expect("it is writable");
    let config = format!(
        "[profile lab]\ncredential_process = sh \"{}\" 'of lab'\n",
        script.display()
    );
    fs::write(home.path().join(".aws/config"), config).expect("it is writable");
    let variables = [("AWS_PROFILE", "lab"), ("AWS_ENDPOINT_URL", &*server.url())];
    for _ in 0..2 {
        let store = open(home.path(), &variables)?;
        for _ in 0..3 {
            assert_eq!(read(&store, "a")?.as_deref(), READ);
        }
        assert!(!format!("{store:?}").contains("hidden"));
    }
    assert!(header(&server, "authorization").contains("Credential=id-of lab/"));
    assert_eq!(header(&server, "x-amz-security-token"), "a-token");
    assert_eq!(fs::read_to_string(runs).expect("it ran"), "run\n");
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_program_that_fails_is_an_error_without_secrets() -> Outcome {
    let server = server();
    for (command, part) in [
        (
            "sh -c \"echo hidden; echo hidden >&2; exit 7\"",
            "exit status: 7",
        ),
        ("sh -c \"echo hidden\"", "not a JSON document"),
        ("/no/such/program hidden", "/no/such/program"),
        ("sh -c \"hidden", "a quote in its command line has no end"),
    ] {
        let home = home(&format!("[default]\ncredential_process = {command}\n"), "");
        let store = open(home.path(), &[("AWS_ENDPOINT_URL", &*server.url())])?;
        let error = read(&store, "a").expect_err(command);
        let text = format!("{error} {error:?} {store:?}");
        assert!(
            text.contains("the profile \"default\"")
                || text.contains("the profile \\\"default\\\""),
            "{text}"
        );
        assert!(text.contains(part) && !text.contains("hidden"), "{text}");
    }
    assert_eq!(server.traffic().requests, 0);
    Ok(())
}

/// A profile that needs a login or a role is left to AWS's own program, here one of the test.
#[cfg(unix)]
#[test]
fn a_login_or_a_role_is_left_to_the_program_of_aws() -> Outcome {
    use std::os::unix::fs::PermissionsExt;

    if has_started() {
        let options = RemoteOptions::from_environment(Service::S3, |name| std::env::var(name).ok());
        let store = ObjectStore::s3(BUCKET, "", &options)?;
        if std::env::var_os("HAS_PROGRAM").is_some() {
            assert_eq!(read(&store, "a")?.as_deref(), READ);
        } else {
            let text = read(&store, "a")
                .expect_err("aws cannot be run")
                .to_string();
            for part in [
                "the profile \"role\"",
                "\"aws\" does not start",
                "aws configure export-credentials",
            ] {
                assert!(text.contains(part), "{text}");
            }
        }
        return Ok(());
    }
    let server = server();
    let home = home(
        "[profile lab]\nsso_session = ours\nsso_role_name = reader\n\
         [profile role]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = role\n",
        "[role]\naws_access_key_id = own-id\naws_secret_access_key = hidden\n",
    );
    let program = home.path().join("aws");
    let text = "#!/bin/sh\nwhile [ $# -gt 1 ]; do words=$words.$1; shift; done\n\
                echo \"{\\\"Version\\\": 1, \\\"AccessKeyId\\\": \\\"id$words.$1\\\", \\\"SecretAccessKey\\\": \\\"b\\\"}\"\n";
    fs::write(&program, text).expect("it is writable");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let folder = home.path().to_str().expect("it is ASCII");
    const TEST: &str = "it::profiles::a_login_or_a_role_is_left_to_the_program_of_aws";
    for profile in ["lab", "role"] {
        let variables = [
            ("AWS_PROFILE", profile),
            ("HOME", folder),
            ("PATH", folder),
            ("AWS_ENDPOINT_URL", &server.url()),
            ("HAS_PROGRAM", "1"),
        ];
        run_with_variables(TEST, &variables);
        let signed = header(&server, "authorization");
        let words = "configure.export-credentials.--format.process.--profile";
        assert!(
            signed.contains(&format!("Credential=id.{words}.{profile}/")),
            "{signed}"
        );
    }
    // The key of the profile is not used instead of the role.
    server.forget();
    let nowhere = format!("{folder}/nowhere");
    let variables = [
        ("AWS_PROFILE", "role"),
        ("HOME", folder),
        ("PATH", &nowhere),
        ("AWS_ENDPOINT_URL", &server.url()),
    ];
    run_with_variables(TEST, &variables);
    assert_eq!(server.traffic().requests, 0);
    Ok(())
}
