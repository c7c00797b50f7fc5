//! No name, path, index or document leads out of the root of a store: nothing outside is read,
//! written or removed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ndzarr::{
    Any, AnyArray, AnyNode, Array, AttributeChange, ErrorKind, Format, FsStore, Group, OpenOptions,
};
use ndzarr_metadata::NodePath;
use serde_json::json;
use tempfile::TempDir;

const ARRAY: &str = r#"{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"|u1","compressor":null,"filters":null,
    "fill_value":0,"order":"C"}"#;

/// A folder with a store in it, and next to that an array and a file that no call may touch.
struct Sandbox {
    folder: TempDir,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Sandbox {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder can be made");
        let path = folder.path();
        fs::create_dir_all(path.join("store")).expect("a folder can be made");
        fs::create_dir_all(path.join("outside/a")).expect("a folder can be made");
        for (name, text) in [
            ("outside/.zgroup", r#"{"zarr_format":2}"#),
            ("outside/a/.zarray", ARRAY),
            ("outside/a/0", "abcd"),
        ] {
            fs::write(path.join(name), text).expect("a file can be written");
        }
        let before = files(path);
        Self { folder, before }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn store(&self) -> FsStore {
        FsStore::new(self.root())
    }

    /// Nothing outside the store has changed.
    fn check(&self, what: &str) {
        let mut after = files(self.folder.path());
        after.retain(|path, _| !path.starts_with(self.root()));
        let mut before = self.before.clone();
        before.retain(|path, _| !path.starts_with(self.root()));
        assert_eq!(after, before, "{what}");
    }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder can be listed") {
        let entry = entry.expect("a folder can be listed");
        let kind = entry.file_type().expect("it exists");
        if kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            found.insert(entry.path(), Vec::new());
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path(), fs::read(entry.path()).expect("it exists"));
        }
    }
    found
}

/// Names that lead elsewhere on some system, or nowhere.
fn names(sandbox: &Sandbox) -> Vec<String> {
    let outside = sandbox
        .folder
        .path()
        .join("outside/a")
        .to_string_lossy()
        .into_owned();
    [
        "..",
        ".",
        "../outside/a",
        "x/../../outside/a",
        "x/..",
        "./../outside/a",
        "..\\outside\\a",
        "x\\..\\..\\outside\\a",
        "../",
        "/..",
        "//../outside/a",
        "\0",
        "a\0/../../outside",
        "x/./y",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([format!("{outside}/.."), format!("x/../..{outside}")])
    .collect()
}

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::DraftA,
    Format::DraftB,
    Format::N5,
];

#[test]
fn paths_of_nodes_lead_nowhere_outside() {
    let sandbox = Sandbox::new();
    for name in names(&sandbox) {
        for format in FORMATS {
            let options = OpenOptions::new().format(format);
            let kind = |error: ndzarr::Error| error.kind();
            let opened = options
                .open_node((sandbox.store(), &name))
                .map(|_| ())
                .map_err(kind);
            assert_eq!(
                opened,
                Err(ErrorKind::InvalidArgument),
                "{name:?} in {format}"
            );
            let created = Array::<u8>::builder([4])
                .format(format)
                .create((sandbox.store(), &name));
            assert_eq!(
                created.map(|_| ()).map_err(kind),
                Err(ErrorKind::InvalidArgument),
                "{name:?} in {format}"
            );
            let created = Group::create((sandbox.store(), &name), format);
            assert_eq!(
                created.map(|_| ()).map_err(kind),
                Err(ErrorKind::InvalidArgument),
                "{name:?} in {format}"
            );
        }
        assert!(
            AnyArray::open((sandbox.store(), &name)).is_err(),
            "{name:?}"
        );
        sandbox.check(&name);
    }
    assert!(
        files(&sandbox.root()).is_empty(),
        "nothing was made inside either"
    );
}

/// Paths that are absolute elsewhere are below the root here.
#[test]
fn absolute_paths_begin_at_the_root() {
    let sandbox = Sandbox::new();
    let outside = sandbox
        .folder
        .path()
        .join("outside/a")
        .to_string_lossy()
        .into_owned();
    let error = AnyArray::open((sandbox.store(), &outside)).expect_err("is not in the store");
    if cfg!(windows) {
        // No name of Windows has a colon.
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        return sandbox.check("absolute");
    }
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let a = Array::<u8>::builder([4])
        .create((sandbox.store(), &outside))
        .expect("is created inside");
    a.fill(.., 1).expect("is written inside");
    assert!(
        sandbox
            .root()
            .join(outside.trim_start_matches('/'))
            .join("zarr.json")
            .is_file()
    );
    sandbox.check("absolute");
}

#[test]
fn names_below_a_group_lead_nowhere_outside() {
    for format in FORMATS {
        let sandbox = Sandbox::new();
        let root = Group::create(sandbox.store(), format).expect("is created");
        let group = root.create_group("g").expect("is created");
        for name in names(&sandbox) {
            assert!(group.group(&name).is_err(), "{name:?} in {format}");
            assert!(group.array::<Any>(&name).is_err(), "{name:?} in {format}");
            assert!(group.create_group(&name).is_err(), "{name:?} in {format}");
            assert!(
                group
                    .create_array(&name, Array::<u8>::builder([4]))
                    .is_err(),
                "{name:?} in {format}"
            );
            assert!(group.erase(&name).is_err(), "{name:?} in {format}");
        }
        // A group in a group cannot reach the one above either.
        assert!(group.group("..").is_err() && group.erase("../g").is_err());
        sandbox.check(&format.to_string());
        assert_eq!(root.children().expect("lists").len(), 1, "{format}");
    }
}

/// Names in documents are never taken for paths.
#[test]
fn names_in_documents_are_no_paths() {
    let sandbox = Sandbox::new();
    let store = sandbox.store();
    let write = |name: &str, text: &str| {
        let path = sandbox.root().join(name);
        fs::create_dir_all(path.parent().expect("below the root")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    };
    // Invalid separators.
    for separator in ["/../", "../", "\\", "..", "//", "\u{0}", ""] {
        let text = ARRAY.replacen(
            '{',
            &format!("{{\"dimension_separator\":{},", json!(separator)),
            1,
        );
        write("v2/.zarray", &text);
        assert!(AnyArray::open((&store, "v2")).is_err(), "{separator:?}");
        let document = json!({"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
            "fill_value": 0, "codecs": ["bytes"],
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": separator}}});
        write("v3/zarr.json", &document.to_string());
        assert!(AnyArray::open((&store, "v3")).is_err(), "{separator:?}");
    }
    // A suffix of the draft's documents that climbs.
    for suffix in ["/../../outside", "/../x", "..", "\\..", "/"] {
        let entry = json!({"zarr_format": "https://purl.org/zarr/spec/core/3.0", "extensions": [],
            "metadata_encoding": {"type": "json", "metadata_key_suffix": suffix}});
        write("zarr.json", &entry.to_string());
        for path in ["", "a"] {
            let opened = AnyNode::open((&store, path));
            let sound = suffix == ".." && opened.is_ok();
            assert!(sound || opened.is_err(), "{suffix:?}");
        }
    }
    fs::remove_file(sandbox.root().join("zarr.json")).expect("it exists");
    // Consolidated metadata and attributes with paths in them.
    let consolidated = json!({"zarr_consolidated_format": 1, "metadata": {
        "../outside/a/.zarray": serde_json::from_str::<serde_json::Value>(ARRAY).expect("is JSON"),
        "/etc/.zgroup": {"zarr_format": 2}}});
    write(".zmetadata", &consolidated.to_string());
    write(".zgroup", r#"{"zarr_format":2}"#);
    let root = Group::open(&store).expect("opens");
    let found = root.walk().expect("lists");
    assert!(
        found
            .iter()
            .all(|child| NodePath::new(&child.path()).is_ok() && !child.path().contains("outside")),
        "{found:?}"
    );
    sandbox.check("documents");
}

/// In N5, attribute paths stay within their document.
#[test]
fn attribute_paths_stay_in_their_document() {
    let sandbox = Sandbox::new();
    let mut group = Group::create(sandbox.store(), Format::N5).expect("is created");
    for path in [
        "../outside/x",
        "/../../x",
        "..",
        "a/../../b",
        "\\..\\x",
        "C:/x",
        "/etc/passwd",
    ] {
        let change = AttributeChange::SetN5Path {
            path: path.to_owned(),
            value: json!(1),
        };
        // Whatever it means, it is a member of the document.
        let _ = group.change_attributes(&change);
        let _ = group.change_attributes(&AttributeChange::RemoveN5Path(path.to_owned()));
        sandbox.check(path);
    }
    let inside: Vec<_> = files(&sandbox.root()).into_keys().collect();
    assert_eq!(inside, [sandbox.root().join("attributes.json")]);
}

#[test]
fn indexes_outside_the_grid_are_refused() {
    let sandbox = Sandbox::new();
    let a = Array::<u8>::builder([4, 4])
        .chunks([2, 2])
        .create((sandbox.store(), "a"))
        .expect("is created");
    for index in [
        &[2, 0][..],
        &[0],
        &[0, 0, 0],
        &[u64::MAX, 0],
        &[u64::MAX, u64::MAX],
        &[],
    ] {
        assert_eq!(
            a.read_chunk(index).expect_err("is no chunk").kind(),
            ErrorKind::WrongShape
        );
        assert_eq!(
            a.units().encoded(index).expect_err("is no chunk").kind(),
            ErrorKind::WrongShape
        );
    }
    assert!(a.read([0..5, 0..1]).is_err());
    sandbox.check("indexes");
}

/// Files whose names are not keys are not nodes, and a listing skips them.
#[cfg(unix)]
#[test]
fn files_whose_names_are_no_keys_are_skipped() {
    let sandbox = Sandbox::new();
    let root = Group::create(sandbox.store(), Format::Zarr2).expect("is created");
    for name in ["a\\..\\b", "x\\", "\\", "C:\\a", "a.__lock", "ok"] {
        let folder = sandbox.root().join(name);
        fs::create_dir(&folder).expect("a folder can be made");
        fs::write(folder.join(".zarray"), ARRAY).expect("a file can be written");
    }
    assert_eq!(
        root.walk()
            .expect("lists")
            .iter()
            .map(|child| (child.path(), child.kind()))
            .collect::<Vec<_>>(),
        [("ok".to_owned(), Some(ndzarr::MemberKind::Array))]
    );
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use ndzarr::store::Links;

    use super::*;

    #[test]
    fn are_followed_or_confined() {
        let sandbox = Sandbox::new();
        Group::create(sandbox.store(), Format::Zarr2).expect("is created");
        symlink("../outside/a", sandbox.root().join("a")).expect("a link can be made");
        let a = Array::<u8>::open((sandbox.store(), "a")).expect("links are followed");
        assert_eq!(a.read(..).expect("reads").as_slice(), Some(&b"abcd"[..]));

        let confined = FsStore::builder(sandbox.root())
            .links(Links::Confine)
            .build();
        let error = AnyArray::open((&confined, "a")).expect_err("leads out");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
        assert!(
            format!("{error:?}").contains("leads out of the store"),
            "{error:?}"
        );
        let error = Group::create((&confined, "a/b"), Format::Zarr2).expect_err("leads out");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
        sandbox.check("confined");
    }

    /// A walk ends, whatever links there are: each way down visits a folder once.
    #[test]
    fn cycles_end() {
        let sandbox = Sandbox::new();
        for format in [Format::Zarr2, Format::Zarr3, Format::N5] {
            let path = format.to_string();
            let group = Group::create((sandbox.store(), &path), format).expect("is created");
            group.create_group("b").expect("is created");
            group
                .create_array("b/c", Array::<u8>::builder([4]))
                .expect("is created");
            let folder = sandbox.root().join(&path);
            symlink(".", folder.join("self")).expect("a link can be made");
            symlink("..", folder.join("b/up")).expect("a link can be made");
            symlink("loop", folder.join("loop")).expect("a link can be made");
            symlink(&folder, folder.join("b/all")).expect("a link can be made");
            symlink("b", folder.join("again")).expect("a link can be made");
            let group = Group::open((sandbox.store(), &path)).expect("opens");
            let found: Vec<String> = group
                .walk()
                .expect("ends")
                .iter()
                .map(|child| child.path())
                .collect();
            let expected = ["again", "again/c", "b", "b/c"];
            assert_eq!(found, expected, "{format}");
            let opened = group.walk().expect("ends");
            assert_eq!(
                opened.iter().map(ndzarr::Child::path).collect::<Vec<_>>(),
                expected,
                "{format}"
            );
        }
    }
}
