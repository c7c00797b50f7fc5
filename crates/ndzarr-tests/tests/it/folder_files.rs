//! Files below a folder, as other programs write and read them.

use std::fs;
use std::path::Path;

use serde_json::Value;

pub(crate) fn put(root: &Path, key: &str, value: impl AsRef<[u8]>) {
    let file = root.join(key);
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(file, value).expect("written");
}

pub(crate) fn json_of(root: &Path, key: &str) -> Value {
    serde_json::from_slice(&fs::read(root.join(key)).expect("a document")).expect("JSON")
}

/// The paths of all files below a folder.
pub(crate) fn files_below(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            names.extend(files_below(&path));
        } else {
            names.push(path.display().to_string());
        }
    }
    names
}
