//! What a copy replaces, and what it leaves in folders with other files.

use ndzarr::{Array, Format, Group};

use crate::{Folder, files};

#[test]
fn cli_04_a_copy_onto_itself_is_refused() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    root.create_array("a", Array::<u8>::builder([4]))
        .expect("it is new")
        .fill(.., 1)
        .expect("it is written");
    let before = files(&folder.path("g.zarr"));
    for target in ["g.zarr", "g.zarr/b", "g.zarr/a/x", "g.zarr/a"] {
        let ran = folder.run(&["cp", "g.zarr/a", target, "--chunks", "2", "--overwrite"]);
        if target == "g.zarr/b" {
            assert_eq!(ran.status, 0, "{ran:?}");
            folder.good(&["rm", "--yes", "g.zarr/b"]);
        } else {
            assert_eq!(ran.status, 3, "{target}: {ran:?}");
        }
        assert_eq!(files(&folder.path("g.zarr")), before, "{target}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path("g.zarr"), folder.path("link.zarr"))
            .expect("a link");
        folder.bad(3, &["cp", "g.zarr", "link.zarr", "--overwrite"]);
        folder.bad(
            3,
            &[
                "cp",
                "g.zarr/a",
                "link.zarr/a",
                "--overwrite",
                "--chunks",
                "2",
            ],
        );
    }
    // There is an array of that name.
    folder.bad(3, &["cp", "g.zarr", "g.zarr/a"]);
    let other = Array::<u8>::builder([4])
        .create(folder.path("o.zarr"))
        .expect("it is new");
    other.fill(.., 9).expect("it is written");
    assert!(
        folder
            .bad(3, &["cp", "o.zarr", "g.zarr/a"])
            .contains("--overwrite")
    );
    assert_eq!(files(&folder.path("g.zarr")), before);
    assert_eq!(folder.good(&["cat", "g.zarr/a"]), "1\t1\t1\t1\n");
}

#[test]
fn cli_05_a_folder_with_other_files_is_never_replaced() {
    let folder = Folder::new();
    folder.array("a.zarr", Array::<u8>::builder([4]), |_| 1);
    std::fs::create_dir_all(folder.path("home/me")).expect("a folder");
    std::fs::write(folder.path("home/me/thesis.tex"), "years").expect("a file");
    let error = folder.bad(3, &["cp", "a.zarr", "home", "--overwrite"]);
    assert!(error.contains("not an array or a group"), "{error}");
    // An array with a file of the user's among its chunks.
    folder.array("b.zarr", Array::<u8>::builder([4]), |_| 2);
    std::fs::write(folder.path("b.zarr/notes.txt"), "mine").expect("a file");
    let error = folder.bad(3, &["cp", "a.zarr", "b.zarr", "--overwrite"]);
    assert!(error.contains("notes.txt"), "{error}");
    assert_eq!(folder.good(&["cat", "b.zarr"]), "2\t2\t2\t2\n");
    assert!(folder.path("home/me/thesis.tex").is_file());
    std::fs::remove_file(folder.path("b.zarr/notes.txt")).expect("it is there");
    folder.good(&["cp", "a.zarr", "b.zarr", "--overwrite"]);
    assert_eq!(folder.good(&["cat", "b.zarr"]), "1\t1\t1\t1\n");
    // An array does not replace a group with nodes.
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    root.create_array("b", Array::<u8>::builder([4]))
        .expect("it is new");
    assert!(
        folder
            .bad(3, &["cp", "a.zarr", "g.zarr", "--overwrite"])
            .contains("`ndzarr rm` removes")
    );
    assert!(folder.path("g.zarr/b/zarr.json").is_file());
}

#[test]
fn what_has_no_node_is_not_replaced_by_its_url() {
    let folder = Folder::new();
    folder.array("a.zarr", Array::<u8>::builder([4]), |_| 1);
    std::fs::create_dir_all(folder.path("home/me")).expect("a folder");
    std::fs::write(folder.path("home/me/thesis.tex"), "years").expect("a file");
    let home = folder.path("home").display().to_string();
    for target in [
        format!("file://{home}"),
        "home|zarr3:".to_owned(),
        format!("file://{home}|zarr3:"),
    ] {
        folder.run(&["cp", "a.zarr", &target, "--overwrite"]);
        assert!(folder.path("home/me/thesis.tex").is_file(), "{target}");
    }
    // Where there is nothing it is a new copy; that is replaced by its URL.
    let new = format!("file://{}", folder.path("new.zarr").display());
    folder.good(&["cp", "a.zarr", &new, "--overwrite", "--quiet"]);
    folder.good(&["cp", "a.zarr", &new, "--overwrite", "--quiet"]);
    assert_eq!(folder.good(&["cat", "new.zarr"]), "1\t1\t1\t1\n");
}

#[test]
fn other_files_next_to_the_note_of_a_copy_stay() {
    let folder = Folder::new();
    folder.array("a.zarr", Array::<u8>::builder([4]), |_| 1);
    for name in [
        "b.zarr/c/0",
        "b.zarr/.ndzarr-temporary-1/2x2/0.0",
        "b.zarr/x/c/0",
    ] {
        std::fs::create_dir_all(folder.path(name).parent().expect("a folder")).expect("a folder");
    }
    for name in [".ndzarr-copy", "c/0", ".ndzarr-temporary-1/2x2/0.0"] {
        std::fs::write(folder.path("b.zarr").join(name), "x").expect("a file");
    }
    for name in ["notes.txt", "c/notes.txt", "x/c/0"] {
        std::fs::write(folder.path("b.zarr").join(name), "mine").expect("a file");
        let error = folder.bad(3, &["cp", "a.zarr", "b.zarr", "--overwrite"]);
        assert!(error.contains(name), "{error}");
        std::fs::remove_file(folder.path("b.zarr").join(name)).expect("it stays");
    }
    folder.good(&["cp", "a.zarr", "b.zarr", "--overwrite", "--quiet"]);
    assert_eq!(files(&folder.path("b.zarr")), ["c/0", "zarr.json"]);
}

/// Other systems do not allow all of these names.
#[cfg(target_os = "linux")]
#[test]
fn files_whose_names_are_not_keys_are_seen() {
    use std::os::unix::ffi::OsStrExt;

    let folder = Folder::new();
    for name in ["a.zarr", "b.zarr"] {
        folder.array(name, Array::<u8>::builder([4]), |_| 1);
    }
    for name in [&b"th\xe8se.tex"[..], b"a\\b"] {
        let path = folder
            .path("b.zarr")
            .join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(&path, "years").expect("a file");
        folder.bad(3, &["cp", "a.zarr", "b.zarr", "--overwrite"]);
        assert!(
            folder
                .bad(3, &["rm", "--yes", "b.zarr"])
                .contains("--force")
        );
        assert!(path.is_file());
        std::fs::remove_file(path).expect("it stays");
    }
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path("b.zarr/pipe"))
        .status();
    assert!(made.expect("every Unix has it").success());
    assert!(
        folder
            .bad(3, &["cp", "a.zarr", "b.zarr", "--overwrite"])
            .contains("pipe")
    );
    assert!(folder.bad(3, &["rm", "--yes", "b.zarr"]).contains("pipe"));
    std::fs::remove_file(folder.path("b.zarr/pipe")).expect("it stays");
    // Folders count as well; what a link leads to does not.
    std::fs::create_dir(folder.path("b.zarr/a\\b")).expect("a folder");
    folder.bad(3, &["rm", "--yes", "b.zarr"]);
    std::fs::remove_dir(folder.path("b.zarr/a\\b")).expect("it stays");
    folder.good(&["rm", "--yes", "b.zarr"]);
}

/// The nodes of the draft have their files in two folders.
#[cfg(unix)]
#[test]
fn files_next_to_those_of_a_group_of_the_draft_are_seen() {
    for (format, below) in [(Format::DraftA, ""), (Format::DraftB, "root/")] {
        let folder = Folder::new();
        let root = folder.path("d.zarr");
        let group = Group::create(&root, format)
            .expect("it is new")
            .create_group("g")
            .expect("it is new");
        let array = group
            .create_array("a", Array::<u8>::builder([4]).chunks([2]))
            .expect("it is new");
        array.fill(.., 1).expect("it is written");
        for name in ["notes.txt", "a\\b"] {
            for part in ["data", "meta"] {
                let path = root.join(format!("{part}/{below}g")).join(name);
                std::fs::write(&path, "mine").expect("a file");
                let error = folder.bad(3, &["rm", "--yes", "d.zarr/g"]);
                assert!(
                    error.contains(&format!("{part}/{below}g")) && error.contains("--force"),
                    "{error}"
                );
                std::fs::remove_file(path).expect("it stays");
            }
        }
        // An empty folder of that name does not belong to the group.
        std::fs::create_dir(root.join("g")).expect("a folder");
        folder.good(&["rm", "--yes", "d.zarr/g"]);
        assert!(root.join("g").is_dir());
        let left = files(&root);
        assert!(
            !left
                .iter()
                .any(|name| name.contains("g/") || name.contains("/g.")),
            "{left:?}"
        );
    }
}

#[test]
fn files_below_an_array_that_cannot_be_opened_need_force() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    root.create_array("a", Array::<u8>::builder([4]))
        .expect("it is new")
        .fill(.., 1)
        .expect("it is written");
    let document = folder.path("g.zarr/a/zarr.json");
    let text = std::fs::read_to_string(&document)
        .expect("it is there")
        .replace("uint8", "uint9");
    std::fs::write(&document, text).expect("it is there");
    for _ in 0..2 {
        assert!(folder.bad(3, &["rm", "--yes", "g.zarr"]).contains("a/c/0"));
        // The whole document is broken.
        std::fs::write(&document, "{").expect("it is there");
    }
    assert_eq!(
        files(&folder.path("g.zarr")),
        ["a/c/0", "a/zarr.json", "zarr.json"]
    );
}
