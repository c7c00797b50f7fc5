//! The help: what it shows, how much of the screen it takes, and its examples.

use ndzarr::{Array, Format, Group};

use crate::Folder;

/// The verbs, by the reference.
fn verbs() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/cli.md");
    page.lines()
        .filter_map(|line| line.strip_prefix("## ndzarr "))
        .collect()
}

#[test]
fn the_help_fits_a_screen_and_names_each_verb() {
    let folder = Folder::new();
    let help = folder.good(&["--help"]);
    assert!(
        help.lines().count() <= 24 && help.lines().all(|line| line.len() <= 80),
        "{help}"
    );
    assert_eq!(verbs().len(), 17);
    let words: Vec<&str> = help.split([' ', '\n', ',']).collect();
    for verb in verbs() {
        assert!(words.contains(&verb), "{verb}");
    }
    for same in [&["-h"][..], &["help"]] {
        assert_eq!(folder.good(same), help);
    }
}

#[test]
fn the_short_help_of_a_verb_is_short() {
    let folder = Folder::new();
    for verb in verbs() {
        let short = folder.good(&[verb, "--help"]);
        assert!(
            short.lines().count() <= 50 && !short.contains("--last-writer-wins"),
            "{verb}: {short}"
        );
        assert!(
            folder.good(&["help", verb]).contains("--last-writer-wins"),
            "{verb}"
        );
    }
}

/// In the order of the verbs, in one folder.
#[cfg(unix)]
#[test]
fn the_example_of_each_verb_runs() {
    let folder = Folder::new();
    let volume = Array::<u16>::builder([40, 50, 60])
        .chunks([32, 32, 32])
        .format(Format::N5);
    Group::create(folder.path("volume.n5"), Format::N5).expect("it is new");
    folder.array("volume.n5/s0", volume, |index| {
        (index[0] * index[1] + index[2]) as u16
    });
    folder.array(
        "old.zarr",
        Array::<u8>::builder([4]).format(Format::Zarr2),
        |_| 1,
    );
    Group::create(folder.path("run.zarr"), Format::Zarr3).expect("it is new");
    let plane = folder.array("plane", Array::<u8>::builder([4, 5]), |index| {
        index[0] as u8
    });
    let npy = folder
        .command(&["cat", "plane", "--as", "npy"])
        .output()
        .expect("it runs")
        .stdout;
    std::fs::write(folder.path("plane.npy"), npy).expect("a file");
    drop(plane);
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_ndzarr"))
        .parent()
        .expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).expect("they are paths");
    for verb in verbs() {
        let help = folder.good(&[verb, "--help"]);
        let example = help
            .lines()
            .find_map(|line| line.strip_prefix("Example: "))
            .expect("an example");
        assert!(example.starts_with(&format!("ndzarr {verb} ")), "{example}");
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", example])
            .env("PATH", &path)
            .current_dir(folder.path(""));
        let ran = shell.output().expect("it runs");
        assert!(
            ran.status.success(),
            "{example}: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
    for made in [
        "volume.zarr/zarr.json",
        "old.zarr/zarr.json",
        "plane.png",
        "plane.zarr",
        "pages/ndzarr-cp.1",
    ] {
        assert!(folder.path(made).exists(), "{made}");
    }
    assert!(!folder.path("image.zarr").exists());
}

#[test]
fn an_error_of_use_says_what_to_type() {
    let folder = Folder::new();
    assert!(
        folder
            .bad(2, &["copy", "a", "b c"])
            .contains("  tip: type `ndzarr cp a 'b c'`\n")
    );
    assert!(
        folder
            .bad(2, &["cp", "a"])
            .contains("  tip: for example, `ndzarr cp volume.n5/s0 ")
    );
    let error = folder.bad(2, &["cp", "a", "b", "--compressor", "zstd"]);
    assert!(
        error.contains("tip: type `ndzarr cp a b --codec zstd`")
            && error.matches("tip:").count() == 1,
        "{error}"
    );
    let error: serde_json::Value =
        serde_json::from_str(&folder.bad(2, &["cp", "a", "--json"])).expect("JSON");
    let message = error["error"]["message"].as_str().expect("text");
    assert!(
        message.ends_with("--codec zstd:3`") && message.contains("<TARGET>; for example"),
        "{message}"
    );
}
