//! Verbs on a bucket, and what only a slow store shows: progress, and Ctrl-C.

use std::process::{Command, Stdio};

use ndzarr::{Array, codec};
use ndzarr_testkit::ObjectServer;
use ndzarr_testkit::object_server::{Dialect, Fault, FaultRule};
use serde_json::json;

use crate::{Folder, Ran};

/// A folder with `a.zarr`, 64 chunks of two elements, and a server of S3.
fn start() -> (Folder, ObjectServer) {
    let folder = Folder::new();
    let array = Array::<u16>::builder([128])
        .chunks([2])
        .codecs([codec::gzip(5)]);
    folder.array("a.zarr", array, |index| 3 * index[0] as u16);
    (folder, ObjectServer::start(Dialect::S3))
}

/// The variables by which the program finds the server.
fn with_server<'c>(command: &'c mut Command, server: &ObjectServer) -> &'c mut Command {
    for name in [
        "AWS_ENDPOINT_URL_S3",
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "http_proxy",
        "HTTP_PROXY",
    ] {
        command.env_remove(name);
    }
    command.envs([
        ("AWS_ENDPOINT_URL", &*server.url()),
        ("AWS_ACCESS_KEY_ID", "an-id"),
        ("AWS_SECRET_ACCESS_KEY", "a-secret"),
        ("AWS_DEFAULT_REGION", "eu-central-1"),
    ])
}

#[test]
fn verbs_work_on_a_bucket() {
    let (folder, server) = start();
    let run = |status: i32, arguments: &[&str]| {
        let output = with_server(&mut folder.command(arguments), &server)
            .output()
            .expect("it runs");
        let ran = Ran::of(&output);
        assert_eq!(ran.status, status, "{arguments:?}: {ran:?}");
        ran
    };
    let place = "s3://bucket/g.zarr/a";
    let printed = run(0, &["cp", "a.zarr", place, "--chunks", "16", "--verify"]).out;
    assert!(printed.contains("source and copy are equal"), "{printed}");
    // 128 elements in chunks of 16, and the document.
    let keys = server.objects().keys();
    assert_eq!(
        keys.iter()
            .filter(|key| key.starts_with("g.zarr/a/c/"))
            .count(),
        8,
        "{keys:?}"
    );
    assert_eq!(keys.len(), 9, "{keys:?}");
    server.objects().put(
        "g.zarr/zarr.json",
        r#"{"zarr_format": 3, "node_type": "group"}"#,
    );
    assert_eq!(run(0, &["ls", "s3://bucket/g.zarr"]).out, "a\n");
    let info: serde_json::Value =
        serde_json::from_str(&run(0, &["info", place, "--json"]).out).expect("JSON");
    assert_eq!(
        (&info["shape"], &info["chunk_shape"]),
        (&json!([128]), &json!([16]))
    );
    assert_eq!(
        (&info["stored"]["units"], &info["stored"]["of_units"]),
        (&json!(8), &json!(8))
    );
    assert_eq!(run(0, &["cat", place, "-2:"]).out, "378\t381\n");
    let stats = run(0, &["stats", place, "--json"]).out;
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("JSON");
    // Of 0, 3 … 381.
    assert_eq!(
        (&stats["min"], &stats["max"], &stats["mean"]),
        (&json!(0), &json!(381), &json!(190.5))
    );
    run(0, &["verify", place]);
    run(0, &["diff", "a.zarr", place]);
    run(0, &["cp", place, "back.zarr", "--quiet"]);
    assert_eq!(folder.good(&["cat", "back.zarr", "126:"]), "378\t381\n");
    server.objects().put("g.zarr/a/c/3", "odd");
    let found = run(1, &["verify", place]).out;
    assert!(found.contains("c/3"), "{found}");
    server.objects().put("g.zarr/a/c//0", "odd");
    let found = run(1, &["verify", place, "--orphans"]).out;
    assert!(
        found.contains("c//0: orphan: no key can have this name"),
        "{found}"
    );
    server.objects().erase("g.zarr/a/c//0");
    run(0, &["rm", "--yes", place]);
    assert_eq!(server.objects().keys(), ["g.zarr/zarr.json"]);
    assert!(run(3, &["info", place]).err.contains("g.zarr/a"));
}

/// Who may not list a bucket may read what is in it all the same.
#[test]
fn chunks_that_cannot_be_listed_are_asked_for() {
    let (folder, server) = start();
    let place = "s3://bucket/a.zarr";
    let run = |status: i32, variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = folder.command(arguments);
        let command = with_server(&mut command, &server).envs(variables.iter().copied());
        let ran = Ran::of(&command.output().expect("it runs"));
        assert_eq!(ran.status, status, "{arguments:?}: {ran:?}");
        ran.out
    };
    run(0, &[], &["cp", "a.zarr", place]);
    let denied =
        || FaultRule::always(Fault::Status(403)).only_if(|it| it.query("list-type").is_some());
    server.faults([denied()]);
    let printed = run(0, &[], &["verify", place]);
    assert!(
        printed.contains("each of its 64 chunks was asked for"),
        "{printed}"
    );
    server.objects().put("a.zarr/c/3", "odd");
    server.objects().erase("a.zarr/c/5");
    // S3 then says "denied" for "missing" as well.
    server.faults([denied(), FaultRule::always(Fault::DeniedIfMissing)]);
    let printed = run(1, &[], &["verify", place]);
    assert!(printed.contains("c/3: damaged"), "{printed}");
    assert!(
        printed.contains("c/5: unreadable") && printed.contains("NDZARR_MISSING_IF_DENIED"),
        "{printed}"
    );
    let printed = run(
        1,
        &[("NDZARR_MISSING_IF_DENIED", "true")],
        &["verify", place],
    );
    assert!(
        printed.contains("c/3: damaged") && !printed.contains("c/5"),
        "{printed}"
    );
}

/// That there are none is another matter.
#[test]
fn members_that_cannot_be_listed_are_not_counted() {
    let (folder, server) = (Folder::new(), ObjectServer::start(Dialect::Http));
    server
        .objects()
        .put("g/zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#);
    server.objects().put(
        "g/a/zarr.json",
        r#"{"zarr_format": 3, "node_type": "group"}"#,
    );
    let place = format!("{}/g", server.url());
    let text = folder.good(&["info", &place]);
    assert!(
        text.contains("members     cannot be listed here\n"),
        "{text}"
    );
    let value: serde_json::Value =
        serde_json::from_str(&folder.good(&["info", "--json", &place])).expect("JSON");
    assert_eq!(value["members"], json!(null));

    // A bucket whose readers may not list it.
    let (folder, server) = start();
    let run = |arguments: &[&str]| {
        let ran = Ran::of(
            &with_server(&mut folder.command(arguments), &server)
                .output()
                .expect("it runs"),
        );
        assert_eq!(ran.status, 0, "{arguments:?}: {ran:?}");
        ran.out
    };
    run(&["cp", "a.zarr", "s3://bucket/g/a", "--quiet"]);
    server
        .objects()
        .put("g/zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#);
    let denied =
        FaultRule::always(Fault::Status(403)).only_if(|it| it.query("list-type").is_some());
    server.faults([denied]);
    assert!(run(&["info", "s3://bucket/g"]).contains("members     cannot be listed here\n"));
    let info: serde_json::Value =
        serde_json::from_str(&run(&["info", "s3://bucket/g/a", "--json"])).expect("JSON");
    assert_eq!(
        (&info["shape"], &info["stored"]),
        (&json!([128]), &json!(null))
    );
}

/// The `script` of util-linux gives it a terminal, which gets no progress before half a second.
#[cfg(target_os = "linux")]
#[test]
fn cli_02_a_terminal_gets_the_progress_of_a_copy() {
    let (folder, server) = start();
    server.latency(std::time::Duration::from_millis(15));
    for (more, is_shown) in [("", true), (" --quiet", false)] {
        let copy = format!(
            "{} cp a.zarr s3://bucket/b.zarr --threads 1 --overwrite{more}",
            env!("CARGO_BIN_EXE_ndzarr")
        );
        let mut script = Command::new("script");
        script
            .args(["-qec", &copy, "/dev/null"])
            .current_dir(folder.path(""))
            .stdin(Stdio::null());
        script.env("TERM", "xterm").env_remove("NO_COLOR");
        let output = with_server(&mut script, &server)
            .output()
            .expect("Linux has it");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{printed}");
        assert_eq!(
            printed.contains("/64 chunks") && printed.contains(" left"),
            is_shown,
            "{printed}"
        );
    }
}

/// A shell shows a process that Ctrl-C ended as 130. It leaves what a killed one leaves.
#[cfg(unix)]
#[test]
fn ctrl_c_interrupts_a_copy() {
    use std::os::unix::process::ExitStatusExt;

    let (folder, server) = start();
    let copy = ["cp", "a.zarr", "s3://bucket/b.zarr", "--chunks", "16"];
    let held = server.hold();
    let mut command = match cfg!(target_os = "linux") {
        true => {
            // A shell that runs the tests in the background has signals by keys ignored.
            let mut env = Command::new("env");
            env.args(["--default-signal=INT", env!("CARGO_BIN_EXE_ndzarr")])
                .args(copy);
            env.current_dir(folder.path("")).stdin(Stdio::null());
            env
        }
        false => folder.command(&copy),
    };
    let command = with_server(&mut command, &server)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("it runs");
    // It is in the middle of its work, and gets no answers.
    held.wait_for(1);
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("every Unix has it").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        (output.status.signal(), &output.stderr[..]),
        (Some(2), &b""[..])
    );
    drop(held);
    assert!(server.objects().get("b.zarr/zarr.json").is_none());
    let again = with_server(
        &mut folder.command(&[&copy[..], &["--resume"]].concat()),
        &server,
    )
    .output();
    assert!(again.expect("it runs").status.success());
    assert!(server.objects().get("b.zarr/zarr.json").is_some());
}

/// As Backblaze B2, which ignores conditions.
#[test]
fn without_turns_a_change_needs_an_argument_that_the_error_names() {
    use ndzarr_testkit::object_server::{Fault, FaultRule};

    let (folder, server) = start();
    let run = |arguments: &[&str]| {
        Ran::of(
            &with_server(&mut folder.command(arguments), &server)
                .output()
                .expect("it runs"),
        )
    };
    assert_eq!(run(&["cp", "a.zarr", "s3://bucket/a.zarr"]).status, 0);
    server.faults([FaultRule::always(Fault::NoConditions)]);
    let set = ["attrs", "s3://bucket/a.zarr", "set", "x=1"];
    let ran = run(&set);
    assert!(
        ran.status == 3 && ran.err.contains("--last-writer-wins"),
        "{ran:?}"
    );
    let ran = run(&[&set[..], &["--last-writer-wins"]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(run(&["attrs", "s3://bucket/a.zarr", "get", "x"]).out, "1\n");
}

/// What goes to a bucket is first in a folder of its own, which goes in any case.
#[cfg(unix)]
#[test]
fn an_import_into_a_bucket_leaves_nothing_on_this_machine() {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    let (folder, server) = start();
    std::fs::create_dir(folder.path("tmp")).expect("a folder");
    let import = [
        "import",
        "-",
        "s3://bucket/b.zarr",
        "--dtype",
        "u1",
        "--shape",
        "4",
        "--chunks",
        "1",
    ];
    let begin = || {
        let mut command = folder.command(&import);
        with_server(&mut command, &server).env("TMPDIR", folder.path("tmp"));
        command
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs")
    };
    let staged = || {
        std::fs::read_dir(folder.path("tmp"))
            .expect("a folder")
            .flatten()
            .next()
    };
    // It is killed while it waits for elements, and fails for want of them.
    for signal in [Some("-TERM"), None] {
        let mut child = begin();
        let around = loop {
            assert!(child.try_wait().expect("its status").is_none());
            if let Some(around) =
                staged().filter(|around| around.path().join("array/zarr.json").exists())
            {
                break around;
            }
        };
        assert_eq!(
            around.metadata().expect("it is there").permissions().mode() & 0o777,
            0o700
        );
        if let Some(signal) = signal {
            let kill = Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status();
            assert!(kill.expect("every Unix has it").success());
        }
        drop(child.stdin.take());
        assert!(!child.wait_with_output().expect("it ends").status.success());
        assert!(staged().is_none(), "{signal:?}");
        assert!(server.objects().keys().is_empty());
    }
    let mut child = begin();
    child
        .stdin
        .take()
        .expect("it is piped")
        .write_all(&[1, 2, 3, 4])
        .expect("it reads");
    assert!(child.wait_with_output().expect("it ends").status.success());
    assert!(staged().is_none());
    assert_eq!(server.objects().keys().len(), 5);
    // Each chunk was sent once.
    let puts = |met: &&ndzarr_testkit::object_server::Met| {
        met.request.method == "PUT" && met.request.path().is_some_and(|path| path.contains("/c/"))
    };
    assert_eq!(server.requests().iter().filter(puts).count(), 4);
}
