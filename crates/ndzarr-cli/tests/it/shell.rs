//! How the program behaves in a shell: pipes, status, colours, arguments.

use std::io::Read;
use std::process::Stdio;

use ndzarr::{Array, Format, Group};
use serde_json::{Value, json};

use crate::Folder;

#[test]
fn cli_01_a_closed_pipe_ends_it_quietly() {
    let folder = Folder::new();
    let array = Array::<u32>::builder([1_000_000]).chunks([100_000]);
    folder.array("a.zarr", array, |index| index[0] as u32);
    let mut child = folder.command(&["cat", "a.zarr"]);
    let mut child = child
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    // The reader takes a little and goes away, as `head` does.
    let mut first = [0; 5];
    child
        .stdout
        .take()
        .expect("it is piped")
        .read_exact(&mut first)
        .expect("it prints");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        (output.status.code(), &output.stderr[..]),
        (Some(141), &b""[..])
    );
    assert_eq!(&first, b"0\t1\t2");
}

/// As a stranger: in an empty folder next to a clone. `cargo install` has been done.
#[cfg(unix)]
#[test]
fn the_commands_of_the_readme_do_what_they_say() {
    let folder = Folder::new();
    let repository = std::path::Path::new("../..")
        .canonicalize()
        .expect("it is there");
    let readme = std::fs::read_to_string(repository.join("README.md")).expect("the README");
    let section = readme
        .split("### Shell\n")
        .nth(1)
        .and_then(|rest| rest.split("\n### ").next())
        .expect("it is there");
    let blocks: Vec<&str> = section.split("```").skip(1).step_by(2).collect();
    let [commands, printed] = blocks[..] else {
        panic!("{blocks:?}")
    };
    let commands = commands
        .strip_prefix("sh\ncargo install --path ndzarr/crates/ndzarr-cli\n")
        .expect("it is first");
    std::os::unix::fs::symlink(repository, folder.path("ndzarr")).expect("a link");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_ndzarr"))
        .parent()
        .expect("a folder")
        .display();
    let script = format!("set -e; PATH={program}:$PATH\n{commands}");
    let ran = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path(""))
        .output();
    let ran = ran.expect("a shell");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let expected = printed.strip_prefix("text\n").expect("a text");
    assert!(
        String::from_utf8_lossy(&ran.stdout).ends_with(expected),
        "{ran:?}"
    );
    assert_eq!(
        folder.json(&["info", "volume.zarr"])[0]["shard_shape"],
        json!([96, 64, 24])
    );
}

/// The array has 2^66 elements, more than fit into a number of 64 bits.
#[test]
fn the_begin_of_a_huge_array_is_printed() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([1_u64 << 33, 1 << 33])
        .chunks([1, 1 << 22])
        .fill_value(7);
    array.create(folder.path("a.zarr")).expect("it is new");
    for (form, begin) in [("json", "[[7,7,"), ("text", "7\t7\t7\t")] {
        let mut child = folder.command(&["cat", "a.zarr", "--as", form]);
        let mut child = child
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut first = [0; 6];
        child
            .stdout
            .take()
            .expect("it is piped")
            .read_exact(&mut first)
            .expect("it prints");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(
            (output.status.code(), &output.stderr[..]),
            (Some(141), &b""[..])
        );
        assert_eq!(first, begin.as_bytes());
    }
}

#[test]
fn cli_02_files_have_no_colours_and_no_progress() {
    let folder = Folder::new();
    let array = Array::<u16>::builder([64, 64]).chunks([8, 8]);
    folder.array("a.zarr", array, |index| index[0] as u16);
    let ran = folder.run(&["cp", "a.zarr", "b.zarr", "--chunks", "16,16"]);
    assert!(!ran.out.contains('\x1b') && ran.err.is_empty(), "{ran:?}");
    let plain = folder.good(&["info", "a.zarr"]);
    assert!(!plain.contains('\x1b'));
    let coloured = folder.good(&["info", "a.zarr", "--color", "always"]);
    assert!(coloured.contains('\x1b'));
    // An error is not hidden, and is on a line of its own.
    let error = folder.bad(3, &["cp", "a.zarr", "b.zarr", "--chunks", "16,16"]);
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// The `script` of util-linux gives it a terminal.
#[cfg(target_os = "linux")]
#[test]
fn cli_02_no_color_counts_on_a_terminal() {
    let folder = Folder::new();
    Array::<u8>::builder([3])
        .create(folder.path("a.zarr"))
        .expect("it is new");
    let has_escapes = |no_color: Option<&str>, verb: &str| {
        let mut script = std::process::Command::new("script");
        let command = format!("{} {verb}", env!("CARGO_BIN_EXE_ndzarr"));
        script
            .args(["-qec", &command, "/dev/null"])
            .current_dir(folder.path(""))
            .stdin(Stdio::null());
        script
            .env_remove("NO_COLOR")
            .envs(no_color.map(|value| ("NO_COLOR", value)));
        let output = script.output().expect("Linux has it");
        assert!(!output.stdout.is_empty());
        output.stdout.contains(&0x1b)
    };
    for verb in ["info a.zarr", "info none.zarr", "view a.zarr"] {
        assert!(
            has_escapes(None, verb) && has_escapes(Some(""), verb),
            "{verb}"
        );
        assert!(!has_escapes(Some("1"), verb), "{verb}");
    }
}

#[test]
fn cli_16_a_selection_may_begin_with_a_minus() {
    let folder = Folder::new();
    folder.array("a.zarr", Array::<u8>::builder([9]), |index| index[0] as u8);
    for selection in ["-5:", "[-5:]", "-5:9", "4:"] {
        assert_eq!(
            folder.good(&["cat", "a.zarr", selection]),
            "4\t5\t6\t7\t8\n",
            "{selection}"
        );
    }
    // Flags after it are flags.
    let lines = folder.json(&["cat", "a.zarr", "-2:"]);
    assert_eq!(lines, [json!([7, 8])]);
    assert!(
        folder
            .bad(2, &["cat", "a.zarr", "9"])
            .contains("outside of an axis of 9")
    );
    assert!(
        folder
            .bad(2, &["cat", "a.zarr", "1,2"])
            .contains("it has 2 axes")
    );
}

#[test]
fn cli_17_control_characters_are_not_printed() {
    let folder = Folder::new();
    let attributes = json!({"evil\u{1b}]0;x\u{7}": "\u{1b}[2J\u{9b}31m"});
    let array = Array::<u8>::builder([1]).attributes(attributes.clone());
    array.create(folder.path("a.zarr")).expect("it is new");
    for arguments in [&["info", "a.zarr"][..], &["attrs", "a.zarr"]] {
        let text = folder.good(arguments);
        assert!(
            text.chars().all(|c| !c.is_control() || c == '\n'),
            "{text:?}"
        );
    }
    // In JSON they are themselves.
    assert_eq!(folder.json(&["attrs", "a.zarr"]), [attributes]);
    let error = folder.bad(3, &["info", "no\u{1b}[2Jne"]);
    assert!(!error.contains('\u{1b}'), "{error:?}");
}

#[test]
fn cli_19_global_flags_are_before_the_verb_or_after_it() {
    let folder = Folder::new();
    Array::<u8>::builder([3])
        .create(folder.path("a.zarr"))
        .expect("it is new");
    let after = folder.good(&["info", "a.zarr", "--json"]);
    assert_eq!(folder.good(&["--json", "info", "a.zarr"]), after);
    let error: Value =
        serde_json::from_str(&folder.bad(3, &["--json", "info", "none.zarr"])).expect("JSON");
    assert_eq!(error["error"]["kind"], "not_found");
    let error: Value = serde_json::from_str(&folder.bad(2, &["cp", "--json"])).expect("JSON");
    assert_eq!(error["error"]["kind"], "usage");
    // Behind `--` it is an operand.
    assert!(!folder.bad(3, &["info", "--", "--json"]).starts_with('{'));
}

#[test]
fn cli_20_numbers_and_times_have_one_form() {
    let folder = Folder::new();
    let descr = "M8[ms]";
    std::fs::write(folder.path("t.raw"), 1_234_567_890_123_i64.to_ne_bytes()).expect("a file");
    folder.good(&[
        "import", "t.raw", "t.zarr", "--dtype", descr, "--shape", "1",
    ]);
    // 1,234,567,890 s after 1970 is this, as `date -u -d @1234567890` says.
    assert_eq!(folder.good(&["cat", "t.zarr"]), "2009-02-13T23:31:30.123\n");
    Array::<f64>::builder([1_234_567])
        .create(folder.path("a.zarr"))
        .expect("it is new");
    let info = folder.json(&["info", "a.zarr"]);
    assert_eq!(info[0]["byte_len"], 1_234_567 * 8);
    assert!(folder.good(&["info", "a.zarr"]).contains("9.4 MiB"));
}

#[test]
fn status_says_what_happened() {
    let folder = Folder::new();
    assert!(folder.bad(2, &[]).contains("Usage"));
    assert!(folder.bad(2, &["frobnicate"]).contains("frobnicate"));
    assert!(folder.bad(2, &["info"]).contains("PATH"));
    assert!(
        folder
            .bad(3, &["info", "none.zarr"])
            .contains("no such folder")
    );
    assert!(folder.good(&["--version"]).starts_with("ndzarr "));
    assert!(folder.good(&["cp", "--help"]).contains("--memory"));
    for shell in ["bash", "zsh", "fish", "powershell"] {
        assert!(
            folder.good(&["completions", shell]).contains("ndzarr"),
            "{shell}"
        );
    }
}

#[test]
fn groups_are_listed() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr2).expect("it is new");
    let run = root.create_group("run").expect("it is new");
    run.create_array("b", Array::<f32>::builder([4, 6]).chunks([2, 3]))
        .expect("it is new");
    root.create_array("a", Array::<u8>::builder([5]))
        .expect("it is new");
    assert_eq!(folder.good(&["ls", "g.zarr"]), "a\nrun/\n");
    assert_eq!(folder.good(&["ls", "-r", "g.zarr"]), "a\nrun/\nrun/b\n");
    assert!(
        folder
            .good(&["ls", "-rl", "g.zarr"])
            .contains("run/b  float32  4 × 6  in 2 × 3\n")
    );
    let lines = folder.json(&["ls", "-r", "g.zarr"]);
    assert_eq!(lines[2]["path"], "run/b");
    assert_eq!(lines[2]["chunk_shape"], json!([2, 3]));
    std::fs::write(folder.path("g.zarr/a/.zarray"), "{").expect("it is there");
    let listed = folder.good(&["ls", "g.zarr"]);
    assert!(listed.starts_with("a  cannot be opened: "), "{listed}");
}

/// The commands of the guide's page with three tasks. Those of the first are only
/// defined: they need the network.
#[cfg(unix)]
#[test]
fn the_commands_of_the_guide_run() {
    let folder = Folder::new();
    let volume = Array::<u16>::builder([90, 80, 70])
        .chunks([32, 32, 32])
        .format(Format::N5);
    folder.array("volume.n5/s0", volume, |index| index[0] as u16);
    for name in ["a.npy", "b.npy"] {
        folder.array("a.zarr", Array::<u16>::builder([3]), |index| {
            index[0] as u16
        });
        let npy = folder
            .command(&["cat", "a.zarr", "--as", "npy"])
            .output()
            .expect("it runs")
            .stdout;
        std::fs::write(folder.path(name), npy).expect("a file");
        std::fs::remove_dir_all(folder.path("a.zarr")).expect("it is there");
    }
    let page = include_str!("../../../../docs/guide/three-tasks.md");
    let commands: Vec<&str> = page
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect();
    assert_eq!(commands.len(), 3);
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_ndzarr"))
        .parent()
        .expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    let ran = std::process::Command::new("sh")
        .args(["-ec", &commands.concat()])
        .env("PATH", std::env::join_paths(paths).expect("they are paths"))
        .current_dir(folder.path(""))
        .output()
        .expect("it runs");
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(
        folder
            .good(&["cat", "copied.zarr", "88:90, 0, 0", "--as", "json"])
            .trim(),
        "[88,89]"
    );
    assert_eq!(folder.good(&["cat", "all.zarr/b.npy"]), "0\t1\t2\n");
}

#[cfg(unix)]
#[test]
fn the_target_of_a_link_stays() {
    let folder = Folder::new();
    folder.array("v12.zarr", Array::<u8>::builder([4]), |_| 7);
    std::os::unix::fs::symlink(folder.path("v12.zarr"), folder.path("current.zarr"))
        .expect("a link");
    for place in ["current.zarr", "current.zarr/"] {
        assert!(
            folder
                .bad(3, &["rm", "--yes", place])
                .contains("is a link to")
        );
    }
    assert_eq!(folder.good(&["cat", "v12.zarr"]), "7\t7\t7\t7\n");
}

#[test]
fn a_named_format_does_not_take_another_with_it() {
    let folder = Folder::new();
    folder.array(
        "a.zarr",
        Array::<u8>::builder([4]).format(Format::Zarr2),
        |_| 7,
    );
    folder.good(&["convert", "a.zarr", "--to", "zarr3"]);
    assert!(
        folder
            .bad(3, &["rm", "--yes", "a.zarr|zarr2:"])
            .contains("zarr.json")
    );
    assert_eq!(folder.good(&["cat", "a.zarr|zarr3:"]), "7\t7\t7\t7\n");
    // By the argument of all verbs as well.
    assert!(
        folder
            .bad(3, &["rm", "--yes", "a.zarr", "--format", "zarr2"])
            .contains("zarr.json")
    );
    for (format, name) in [("zarr2", "zarr2"), ("zarr3", "zarr3")] {
        for arguments in [
            ["info", "a.zarr", "--format", format],
            ["--format", format, "info", "a.zarr"],
        ] {
            assert_eq!(folder.json(&arguments)[0]["format"], name);
        }
    }
    assert!(
        folder
            .bad(2, &["info", "a.zarr", "--format", "n6"])
            .contains("zarr3-draft")
    );
    // Of a copy it is the format of the target, wherever it is.
    for (target, arguments) in [
        ("b.n5", ["cp", "a.zarr", "b.n5", "--format", "n5"]),
        ("c.n5", ["--format", "n5", "cp", "a.zarr", "c.n5"]),
    ] {
        folder.good(&[&arguments[..], &["--allow-loss", "--quiet"]].concat());
        assert_eq!(folder.json(&["info", target])[0]["format"], "n5");
        assert!(
            folder
                .bad(3, &["info", target, "--format", "zarr2"])
                .contains(".zarray")
        );
    }
    folder.good(&["rm", "--yes", "a.zarr"]);
    assert!(!folder.path("a.zarr").exists());
    let draft = Array::<u8>::builder([4]).format(Format::DraftB);
    draft.create(folder.path("d.zarr")).expect("it is new");
    folder.good(&["info", "d.zarr", "--format", "zarr3-draft"]);
}

/// Any folder is a group of N5 for those who say so.
#[test]
fn a_folder_that_nothing_calls_a_group_is_not_removed() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("home/papers")).expect("a folder");
    std::fs::write(folder.path("home/papers/thesis.tex"), "years").expect("a file");
    let error = folder.bad(3, &["rm", "-y", "--force", "--format", "n5", "home"]);
    assert!(
        error.contains("nothing in home says that it is an array or a group"),
        "{error}"
    );
    assert!(folder.path("home/papers/thesis.tex").is_file());
    // In a container of N5 it is a group without a document.
    std::fs::write(folder.path("attributes.json"), r#"{"n5": "2.0.0"}"#).expect("a file");
    folder.bad(3, &["rm", "-y", "home"]);
    folder.good(&["rm", "-y", "--force", "--format", "n5", "home"]);
    assert!(!folder.path("home").exists());
}

#[test]
fn overwriting_is_suggested_only_where_it_is_allowed() {
    let folder = Folder::new();
    for name in ["a.zarr", "b.zarr"] {
        folder.array(name, ndzarr::Array::<u8>::builder([2]), |_| 1);
    }
    let copy = ["cp", "a.zarr", "b.zarr"];
    assert!(
        folder
            .bad(3, &copy)
            .contains("--overwrite replaces what is there")
    );
    std::fs::write(folder.path("b.zarr/thesis.tex"), "years").expect("a file");
    let error = folder.bad(3, &copy);
    assert!(
        !error.contains("--overwrite") && error.contains("thesis.tex"),
        "{error}"
    );
}
