//! Command lines, programs that misbehave, and their output.

use super::*;

#[test]
fn command_lines_have_words_and_quotes() {
    let cases: [(&str, Result<&[&str], ()>); 8] = [
        ("a  b\tc", Ok(&["a", "b", "c"])),
        ("\"/a b/c\" 'd \"e' ''", Ok(&["/a b/c", "d \"e", ""])),
        ("a\"b c\"d", Ok(&["ab cd"])),
        ("\"a \\\"b\\\" \\\\ c\"", Ok(&["a \"b\" \\ c"])),
        ("a\\ b", Ok(&["a b"])),
        ("  ", Err(())),
        ("a \"b", Err(())),
        ("a\\", Err(())),
    ];
    for (command, expected) in cases
        .into_iter()
        .filter(|(command, _)| cfg!(not(windows)) || !command.contains('\\'))
    {
        let expected = expected.map(|words| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        });
        assert_eq!(words(command).map_err(|_| ()), expected, "{command}");
    }
}

/// The program fails when it is run for the second time.
#[cfg(unix)]
#[test]
fn a_key_is_used_until_it_expires_if_the_program_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let has_run = folder.path().join("run");
    let now = SystemTime::now();
    let expires =
        chrono::DateTime::<chrono::Utc>::from(now + Duration::from_secs(200)).to_rfc3339();
    let script = format!(
        "mkdir '{}' || exit 1; echo '{{\"Version\": 1, \"AccessKeyId\": \"i\", \
         \"SecretAccessKey\": \"s\", \"Expiration\": \"{expires}\"}}'",
        has_run.display()
    );
    let process = CredentialProcess::of_words(
        "the profile",
        ["sh", "-c", &script].map(str::to_owned).into(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let first = process
            .fetch()
            .await
            .map_err(|error| error.what)
            .expect("it prints a key");
        // Half of its time is over.
        process
            .cache
            .cached()
            .lock()
            .await
            .as_mut()
            .expect("it is cached")
            .fetched = SystemTime::UNIX_EPOCH;
        let second = process
            .fetch()
            .await
            .map_err(|error| error.what)
            .expect("it is valid");
        assert!(Arc::ptr_eq(&first, &second));
        let mut cached = process.cache.cached().lock().await;
        let cached = cached.as_mut().expect("it is cached");
        assert!(
            cached.is_fresh(SystemTime::now()),
            "the program is not run for each request"
        );
        cached.fetched = SystemTime::UNIX_EPOCH;
        cached.expires = Some(now);
    });
    let error = runtime
        .block_on(process.fetch())
        .expect_err("it has expired");
    assert!(error.what.contains("exit status: 1"), "{}", error.what);
}

/// The lock of the cache stays with a thread of the parent.
#[cfg(unix)]
#[test]
fn a_child_that_is_forked_while_the_program_runs_runs_it_itself() {
    use std::thread;

    use fork::Fork;

    ndzarr_testkit::in_own_process!();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name| folder.path().join(name).display().to_string();
    // The first one waits until the second one has ended.
    let script = format!(
        "mkdir '{}' && while ! [ -e '{}' ]; do sleep 0.01; done; \
         echo '{{\"Version\": 1, \"AccessKeyId\": \"i\", \"SecretAccessKey\": \"s\"}}'",
        path("begun"),
        path("end")
    );
    let process = CredentialProcess::of_words(
        "the profile",
        ["sh", "-c", &script].map(str::to_owned).into(),
    );
    let fetch = |process: Arc<CredentialProcess>| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        runtime.block_on(process.fetch()).is_ok()
    };
    let parent = Arc::clone(&process);
    let parent = thread::spawn(move || fetch(parent));
    while !folder.path().join("begun").exists() {
        thread::yield_now();
    }
    let child = match fork::fork().expect("the system has one more process") {
        Fork::Child => {
            let (sender, receiver) = mpsc::channel();
            thread::spawn(move || sender.send(fetch(process)));
            let has_key = receiver
                .recv_timeout(Duration::from_secs(20))
                .unwrap_or_default();
            std::process::exit(i32::from(!has_key));
        }
        Fork::Parent(child) => child,
    };
    let status = fork::waitpid(child).expect("it is a child");
    std::fs::write(path("end"), "").expect("it is writable");
    assert!(parent.join().expect("it does not panic"), "the parent");
    assert_eq!(status, 0, "the child");
}

const NOW: Duration = Duration::from_secs(1_800_000_000);

#[test]
fn credentials_are_fetched_again_before_they_expire() {
    let now = SystemTime::UNIX_EPOCH + NOW;
    // 1,800,000,000 s after 1970 are 2027-01-15 08:00.
    let hour =
        br#"{"Version":1,"AccessKeyId":"i","SecretAccessKey":"s","Expiration":"2027-01-15T09:00:00Z"}"#;
    let credential = read_output(hour, now)
        .map_err(|_| ())
        .expect("it is well-formed");
    let minutes = |n: u64| now + Duration::from_secs(60 * n);
    assert!(credential.is_fresh(minutes(54)) && !credential.is_fresh(minutes(55)));
    let soon =
        br#"{"Version":1,"AccessKeyId":"i","SecretAccessKey":"s","Expiration":"2027-01-15T09:02:00+01:00"}"#;
    let credential = read_output(soon, now)
        .map_err(|_| ())
        .expect("it is well-formed");
    assert!(credential.is_fresh(now) && !credential.is_fresh(minutes(1)));
    let forever = br#"{"Version":1,"AccessKeyId":"i","SecretAccessKey":"s","SessionToken":"t"}"#;
    let credential = read_output(forever, now)
        .map_err(|_| ())
        .expect("it is well-formed");
    assert!(credential.is_fresh(minutes(1_000_000)));
    assert_eq!(credential.credential.token.as_deref(), Some("t"));
}

#[test]
fn what_is_printed_is_checked_and_not_repeated() {
    let now = SystemTime::UNIX_EPOCH + NOW;
    for text in [
        "hidden",
        "\"hidden\"",
        r#"{"AccessKeyId":"hidden","SecretAccessKey":"hidden"}"#,
        r#"{"Version":2,"AccessKeyId":"hidden","SecretAccessKey":"hidden"}"#,
        r#"{"Version":1,"SecretAccessKey":"hidden"}"#,
        r#"{"Version":1,"AccessKeyId":"hidden","SecretAccessKey":""}"#,
        r#"{"Version":1,"AccessKeyId":"hidden","SecretAccessKey":"hidden","Expiration":"hidden"}"#,
        r#"{"Version":1,"AccessKeyId":"hidden","SecretAccessKey":"hidden","Expiration":"2026-11-23T00:00:00Z"}"#,
    ] {
        let error = read_output(text.as_bytes(), now)
            .err()
            .expect("it is wrong");
        assert!(!error.contains("hidden"), "{error}");
    }
}

#[cfg(unix)]
fn shell(script: &str, time: Duration) -> Result<Vec<u8>, String> {
    run_program(
        &[
            "sh".to_owned(),
            "-c".to_owned(),
            format!("{script} # hidden"),
        ],
        time,
    )
}

#[cfg(unix)]
#[test]
fn programs_that_hang_fail_or_print_too_much_are_errors_without_secrets() {
    let long = Duration::from_secs(600);
    assert_eq!(shell("printf some", long).as_deref(), Ok(&b"some"[..]));
    // Its standard error is dropped, and it gets no input.
    assert_eq!(
        shell("cat; echo hidden >&2; printf a", long).as_deref(),
        Ok(&b"a"[..])
    );
    for (script, time, part) in [
        ("echo hidden; exit 3", long, "exit status: 3"),
        (
            "echo hidden; exec sleep 600",
            Duration::from_millis(50),
            "did not end within",
        ),
        // It has closed its output, and goes on.
        (
            "exec >&-; exec sleep 600",
            Duration::from_millis(50),
            "did not end within",
        ),
        (
            "while :; do echo hidden; done",
            long,
            "more than 65536 bytes",
        ),
        ("kill -9 $$", long, "signal: 9"),
    ] {
        let error = shell(script, time).expect_err(script);
        assert!(error.contains(part) && !error.contains("hidden"), "{error}");
    }
    let words = ["/no/such/program".to_owned(), "hidden".to_owned()];
    let error = run_program(&words, long).expect_err("it does not exist");
    assert!(
        error.contains("/no/such/program") && !error.contains("hidden"),
        "{error}"
    );
}
