//! What a URL holds besides host and path is never printed: it may be a signature, or a password.

use ndzarr::{Array, Format, Group};
use ndzarr_testkit::ObjectServer;
use ndzarr_testkit::object_server::Dialect;

use crate::{Folder, Ran, files};

/// A web server with `a.zarr`, an array, and `g`, a group.
fn server(folder: &Folder) -> ObjectServer {
    let server = ObjectServer::start(Dialect::Http);
    folder.array("a.zarr", Array::<u8>::builder([4]).chunks([2]), |index| {
        index[0] as u8
    });
    Group::create(folder.path("g"), Format::Zarr3).expect("it is new");
    for root in ["a.zarr", "g"] {
        for name in files(&folder.path(root)) {
            let key = format!("{root}/{name}");
            server
                .objects()
                .put(&key, std::fs::read(folder.path(&key)).expect("it is there"));
        }
    }
    server
}

/// Arguments of each verb: A is the URL of the array, G that of the group, and N that of nothing.
const CALLS: &[&[&str]] = &[
    &["info", "A"],
    &["info", "G"],
    &["info", "N"],
    &["ls", "A"],
    &["ls", "-r", "G"],
    &["cp", "A", "new.zarr", "--verify"],
    &["cp", "A", "N", "--dry-run"],
    &["cp", "a.zarr", "N"],
    &["cp", "a.zarr", "A", "--overwrite"],
    &["cp", "a.zarr", "new.zarr", "--temp=N", "--chunks", "3"],
    &["cp", "G", "new", "--select", "0"],
    &["convert", "A", "--to", "zarr2"],
    &["diff", "A", "a.zarr"],
    &["diff", "A", "G"],
    &["verify", "A"],
    &["verify", "G", "--orphans"],
    &["repair", "--yes", "A"],
    &["stats", "A"],
    &["stats", "N"],
    &["view", "A", "--output", "N"],
    &["view", "G"],
    &["cat", "A"],
    &["cat", "G"],
    &["cat", "A", "A"],
    &["import", "N", "new.zarr"],
    &["import", "raw", "N", "--dtype", "u1", "--shape", "3", "-v"],
    &["pyramid", "A"],
    &["pyramid", "G"],
    &["pyramid", "G", "N"],
    &["pyramid", "a.zarr", "N", "--overwrite"],
    &["attrs", "A"],
    &["attrs", "A", "get", "x"],
    &["attrs", "A", "set", "x=1"],
    &["attrs", "A", "rm", "x"],
    &["rm", "--yes", "A"],
    &["rm", "A"],
    &["consolidate", "A"],
    &["consolidate", "-v", "G"],
    // Bad usage repeats its arguments.
    &["info", "--quick=A"],
    &["info", "A", "--format", "A"],
    &["consolidate", "A", "A"],
    &["A"],
];

#[test]
fn no_verb_prints_the_secrets_of_a_url() {
    let folder = Folder::new();
    let server = server(&folder);
    std::fs::write(folder.path("raw"), "abc").expect("a file");
    let host = server.url();
    let host = host.strip_prefix("http://").expect("its scheme");
    let signed = |name: &str| format!("http://{host}/{}?sig=SECRET", name_of(name));
    let with_user = |name: &str| format!("http://user:SECRET@{host}/{}", name_of(name));
    type Form<'f> = (&'f dyn Fn(&str) -> String, &'f [&'f str]);
    let forms: [Form<'_>; 3] = [(&signed, &[]), (&signed, &["--json"]), (&with_user, &[])];
    for call in CALLS {
        for (url, more) in forms {
            let arguments: Vec<String> = call
                .iter()
                .map(|word| {
                    match word
                        .trim_start_matches("--quick=")
                        .trim_start_matches("--temp=")
                    {
                        name @ ("A" | "G" | "N") => word.replace(name, &url(name)),
                        _ => (*word).to_owned(),
                    }
                })
                .chain(more.iter().map(|word| (*word).to_owned()))
                .collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let Ran { out, err, status } = folder.run(&arguments);
            assert!(
                !out.contains("SECRET") && !err.contains("SECRET"),
                "{call:?}: {status} {out} {err}"
            );
            assert_ne!(status, 101, "{call:?}: {err}");
        }
        for made in ["new", "new.zarr"] {
            let _ = std::fs::remove_dir_all(folder.path(made));
        }
    }
    // Each verb that takes a place is among them.
    for line in folder.good(&["man", "--markdown"]).lines() {
        let Some(verb) = line.strip_prefix("## ndzarr ") else {
            continue;
        };
        let is_called = CALLS.iter().any(|call| call[0] == verb);
        assert!(
            is_called || ["completions", "man"].contains(&verb),
            "{verb}"
        );
    }
}

fn name_of(letter: &str) -> &'static str {
    match letter {
        "A" => "a.zarr",
        "G" => "g",
        _ => "nothing",
    }
}

#[test]
fn the_place_without_them_is_named() {
    let folder = Folder::new();
    let server = server(&folder);
    let printed = folder.good(&["info", &format!("{}/a.zarr?sig=SECRET", server.url())]);
    assert!(
        printed.starts_with(&format!("{}/a.zarr: an array", server.url())),
        "{printed}"
    );
}
