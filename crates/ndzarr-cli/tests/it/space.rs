//! `cp` and the free space of disks.

use ndzarr::{Array, Format};
use serde_json::json;

use crate::Folder;

/// A disk of 2 MiB, which Linux lets users make in a namespace of their own; in it runs a script of
/// a shell. `None`: it does not let them.
#[cfg(target_os = "linux")]
fn on_a_small_disk(folder: &Folder, script: &str) -> Option<std::process::Output> {
    std::fs::create_dir_all(folder.path("small")).expect("a folder");
    let unshare = |script: &str| {
        let script = format!("mount -t tmpfs -o size=2m none small && {{\n{script}\n}}");
        let mut command = std::process::Command::new("unshare");
        command
            .args(["-rm", "sh", "-c", &script])
            .current_dir(folder.path(""));
        command
            .env("ndzarr", env!("CARGO_BIN_EXE_ndzarr"))
            .env_remove("NDZARR_MEMORY");
        command.output().ok()
    };
    unshare("true").filter(|output| output.status.success())?;
    unshare(script)
}

#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stderr, reason = "a test that has not tested says so")]
fn cli_10_a_copy_that_does_not_fit_is_refused() {
    let folder = Folder::new();
    // 4 MiB that are not compressed, but can be.
    folder.array(
        "a.zarr",
        Array::<u8>::builder([4 << 20]).chunks([1 << 20]),
        |index| (index[0] >> 16) as u8,
    );
    // 1 MiB, which is 4 MiB as float32.
    folder.array(
        "p.zarr",
        Array::<u8>::builder([128, 128, 64]).chunks([1, 128, 64]),
        |index| index[0] as u8,
    );
    let script = r#"
        "$ndzarr" cp a.zarr small/b.zarr; echo "status $?"; ls small
        "$ndzarr" cp a.zarr small/b.zarr --dry-run
        "$ndzarr" cp a.zarr small/b.zarr --codec zstd:3 --force --quiet --verify; echo "status $?"; ls small
        "$ndzarr" cp a.zarr small/b.zarr --overwrite --quiet 2>&1; echo "status $?"
        "$ndzarr" cp p.zarr small/c.zarr --dtype float32 2>&1; echo "status $?"
    "#;
    let Some(output) = on_a_small_disk(&folder, script) else {
        eprintln!("not tested: no user may make a disk here");
        return;
    };
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    let what = "small/b.zarr: the target has 2.0 MiB of free space, and about 4.0 MiB are needed";
    assert_eq!(
        err.trim_end(),
        format!("ndzarr: {what}; --force copies all the same")
    );
    let lines: Vec<&str> = out.lines().collect();
    // Nothing exists at the target.
    assert_eq!(
        lines[..2],
        ["status 3", "would copy 4.0 MiB in 4 chunks"],
        "{out}"
    );
    assert!(
        out.contains("it would need --force: the target has 2.0 MiB of free space"),
        "{out}"
    );
    // It fits as it is compressed.
    assert!(out.contains("\nstatus 0\nb.zarr\n"), "{out}");
    // What would be replaced counts as free, and is still too little.
    let last = &lines[lines.len() - 4..];
    assert!(
        last[0].contains("about 4.0 MiB are needed") && last[1] == "status 3",
        "{out}"
    );
    assert!(
        last[2].contains("about 4.0 MiB are needed") && last[3] == "status 3",
        "{out}"
    );
}

#[test]
fn cli_10_what_a_copy_takes_is_expected_as_the_source_is_stored() {
    let folder = Folder::new();
    let array = Array::<u16>::builder([8]).chunks([2]);
    let array = array.create(folder.path("a.zarr")).expect("it is new");
    array.write([0..4], &[1, 2, 3, 4]).expect("it is written");
    // Two of four chunks, of four bytes each.
    for (more, bytes) in [
        (&[][..], 8),
        (&["--dtype", "float64"], 32),
        (&["--dtype", "uint8"], 4),
    ] {
        let copy = [&["cp", "a.zarr", "b.zarr", "--dry-run"][..], more].concat();
        let would = folder.json(&copy).pop().expect("a last line");
        assert_eq!(would["would"]["expected"], json!(bytes), "{more:?}");
    }
    // Documents in another format take next to nothing.
    let array = Array::<u16>::builder([2]).format(Format::Zarr2);
    array
        .create(folder.path("v2.zarr"))
        .expect("it is new")
        .fill(.., 7)
        .expect("it is written");
    let would = folder
        .json(&["cp", "v2.zarr", "v2.zarr", "--format", "zarr3", "--dry-run"])
        .pop();
    assert_eq!(would.expect("a last line")["would"]["expected"], json!(0));
}

#[test]
fn cli_06_more_memory_is_taken_by_force() {
    let folder = Folder::new();
    Array::<f64>::builder([1 << 24])
        .chunks([1 << 16])
        .create(folder.path("a.zarr"))
        .expect("it is new");
    let copy = [
        "cp", "a.zarr", "b.zarr", "--chunks", "8388608", "--memory", "16MiB",
    ];
    assert!(folder.bad(3, &copy).contains("or --force"));
    folder.good(&[&copy[..], &["--force"]].concat());
    assert_eq!(
        folder.json(&["info", "b.zarr"])[0]["chunk_shape"],
        json!([8_388_608])
    );
}
