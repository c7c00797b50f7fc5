//! The reference page, the manual and the completions are those of the program, and the schema of
//! its JSON is what it prints.

use std::collections::BTreeMap;

use expect_test::expect_file;
use ndzarr::{Array, Format, Group};
use serde_json::Value;

use crate::Folder;

/// `UPDATE_EXPECT=1 cargo test -p ndzarr-cli reference` writes the page.
#[test]
fn the_reference_is_generated() {
    let page = Folder::new().good(&["man", "--markdown"]);
    expect_file!["../../../../docs/cli.md"].assert_eq(&page);
}

#[test]
fn the_manual_has_a_page_for_each_verb() {
    let folder = Folder::new();
    assert!(folder.good(&["man"]).contains("ndzarr"));
    folder.good(&["man", "--dir", "pages"]);
    let pages = crate::files(&folder.path("pages"));
    assert_eq!(pages.len(), 18, "{pages:?}");
    assert!(pages.contains(&"ndzarr-cp.1".to_owned()) && pages.contains(&"ndzarr.1".to_owned()));
}

/// What the guide chooses for each program can be written.
#[test]
fn arguments_for_readers_make_a_copy() {
    let folder = Folder::new();
    folder.array("a", Array::<u16>::builder([4, 6]).chunks([2, 3]), |at| {
        (at[0] * 10 + at[1]) as u16
    });
    let page = include_str!("../../../../docs/guide/readers.md");
    let cells = page
        .lines()
        .filter_map(|line| Some(line.strip_suffix("` |")?.rsplit_once("| `")?.1));
    let mut n_copies = 0;
    for arguments in cells {
        let target = n_copies.to_string();
        let words: Vec<&str> = arguments.split(' ').collect();
        folder.good(&[&["cp", "--quiet", "--verify", "a", &target], &words[..]].concat());
        n_copies += 1;
    }
    assert_eq!(n_copies, 9);
}

/// The members that the reference lists for each verb.
fn schema() -> BTreeMap<String, Vec<String>> {
    let page = include_str!("../../src/verbs/man/json.md");
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|row| row.split_once(" | "));
    let quoted = |cell: &str| {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    rows.map(|(verb, members)| (verb.replace('`', ""), quoted(members)))
        .collect()
}

#[test]
fn json_has_the_members_of_the_reference() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g"), Format::Zarr3).expect("it is new");
    root.create_array("a", Array::<u8>::builder([4]).chunks([2]))
        .expect("it is new")
        .fill(.., 1)
        .expect("it is written");
    root.create_array("b", Array::<u8>::builder([4]))
        .expect("it is new");
    Array::<u8>::builder([4, 4])
        .create(folder.path("plane"))
        .expect("it is new");
    std::fs::write(folder.path("g/a/c/1"), "").expect("it is there");
    std::fs::write(folder.path("g/a/c/0.__lock"), "").expect("a file");
    let schema = schema();
    let last = |mut lines: Vec<Value>| lines.pop().expect("a line");
    let before_last = |mut lines: Vec<Value>| lines.swap_remove(lines.len() - 2);
    let first = |lines: Vec<Value>| lines.into_iter().next().expect("a line");
    let cases: Vec<(&str, Value)> = vec![
        ("info, of an array", first(folder.json(&["info", "g/a"]))),
        ("info, of a group", first(folder.json(&["info", "g"]))),
        ("ls", first(folder.json(&["ls", "g", "--sizes"]))),
        ("cp, convert", first(folder.json(&["cp", "g/b", "copy"]))),
        (
            "cp, before the last line",
            before_last(folder.json(&["cp", "g/b", "copy4"])),
        ),
        ("cp, last line", last(folder.json(&["cp", "g/b", "copy2"]))),
        (
            "cp --dry-run, last line",
            last(folder.json(&["cp", "g/b", "copy3", "--dry-run"])),
        ),
        ("verify", first(folder.json(&["verify", "g"]))),
        ("verify, last line", last(folder.json(&["verify", "g"]))),
        ("diff", first(folder.json(&["diff", "g/b", "g"]))),
        ("repair", first(folder.json(&["repair", "g"]))),
        ("repair, last line", last(folder.json(&["repair", "g"]))),
        (
            "pyramid, and an image of images",
            first(folder.json(&["pyramid", "plane", "image", "--levels", "1"])),
        ),
        (
            "stats",
            first(folder.json(&[
                "stats",
                "g/b",
                "--percentiles",
                "1",
                "--histogram",
                "2",
                "--per-axis",
                "0",
            ])),
        ),
        ("view", first(folder.json(&["view", "g/b", "-o", "x.png"]))),
        ("rm", first(folder.json(&["rm", "--yes", "copy"]))),
    ];
    for (name, value) in &cases {
        let listed = schema
            .get(*name)
            .unwrap_or_else(|| panic!("{name} is not in {:?}", schema.keys()));
        let members = |value: &Value| -> Vec<String> {
            let mut members = Vec::new();
            for (key, value) in value.as_object().into_iter().flatten() {
                members.push(key.clone());
                if matches!(key.as_str(), "done" | "would" | "keys") {
                    members.extend(
                        value
                            .as_object()
                            .into_iter()
                            .flatten()
                            .map(|(key, _)| key.clone()),
                    );
                }
            }
            members
        };
        for member in members(value) {
            assert!(
                listed.contains(&member),
                "{name} has {member}, which the reference does not list"
            );
        }
        let of_values = ["array", "group", "--sizes", "count", "first"];
        for member in listed
            .iter()
            .filter(|member| !of_values.contains(&&member[..]))
        {
            assert!(
                members(value).contains(member),
                "{name} has no {member}: {value}"
            );
        }
    }
    assert_eq!(cases.len(), schema.len());
}
