//! The folder in which `repair` keeps damaged chunks as they are stored.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::{Path, PathBuf};

use ndzarr::store::bytes::Bytes;

use crate::arguments::has_document;
use crate::failure::Failure;

/// The folder for damaged chunks.
pub(crate) struct Quarantine {
    folder: Option<PathBuf>,
    /// The keys whose values are in it.
    pub(crate) keys: BTreeSet<String>,
    /// The keys of shards that were written again without their damaged parts.
    pub(crate) rebuilt: BTreeSet<String>,
}

/// The value of a key.
pub(crate) enum Value {
    File(PathBuf),
    Bytes(Bytes),
}

impl Value {
    fn open(&self) -> Result<Box<dyn BufRead + '_>, Failure> {
        match self {
            Self::Bytes(bytes) => Ok(Box::new(Cursor::new(&bytes[..]))),
            Self::File(path) => {
                let file = File::open(path).map_err(|error| Failure::of_file(path, &error))?;
                Ok(Box::new(BufReader::new(file)))
            }
        }
    }
}

impl Quarantine {
    /// The quarantine in this folder, or next to the local folder that is repaired.
    pub(crate) fn new(folder: Option<PathBuf>, local: Option<&Path>) -> Self {
        let folder = folder.or_else(|| local.map(default_folder));
        Self {
            folder,
            keys: BTreeSet::new(),
            rebuilt: BTreeSet::new(),
        }
    }

    pub(crate) fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Copies a value to the disk under a name, or another one if that has another value. A value
    /// that an earlier run has copied is not copied again.
    pub(crate) fn store(&self, name: &str, value: &Value) -> Result<(), Failure> {
        let Some(folder) = &self.folder else {
            return Err(Failure::new("there is no quarantine"));
        };
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|error| Failure::of_file(parent, &error))?;
        for number in 0..10_000 {
            let path = match number {
                0 => path.clone(),
                number => PathBuf::from(format!("{}.{number}", path.display())),
            };
            let failed = |error: io::Error| Failure::of_file(&path, &error);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    let copied =
                        io::copy(&mut value.open()?, &mut file).and_then(|_| file.sync_all());
                    if copied.is_err() {
                        // A part of the value is of no use.
                        let _ = fs::remove_file(&path);
                    }
                    return copied.map_err(failed);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
            if path.is_file() {
                let mut stored = BufReader::new(File::open(&path).map_err(failed)?);
                if are_equal(&mut stored, &mut value.open()?).map_err(failed)? {
                    return Ok(());
                }
            }
        }
        Err(Failure::new(format_args!(
            "{} has too many versions",
            path.display()
        )))
    }
}

fn are_equal(a: &mut impl BufRead, b: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let x = a.fill_buf()?;
        let y = b.fill_buf()?;
        let n = x.len().min(y.len());
        if n == 0 || x[..n] != y[..n] {
            return Ok(x.is_empty() && y.is_empty());
        }
        a.consume(n);
        b.consume(n);
    }
}

/// The folder next to a folder, or next to the hierarchy that it is in: N5 would take a folder
/// inside for a group.
fn default_folder(folder: &Path) -> PathBuf {
    // Without links and `..`.
    let real = folder
        .canonicalize()
        .or_else(|_| std::path::absolute(folder));
    let real = real.unwrap_or_else(|_| folder.to_owned());
    let above = real
        .ancestors()
        .filter(|above| above.file_name().is_some() && has_document(above));
    let root = above.last().unwrap_or(&real);
    let mut name = root.file_name().unwrap_or_default().to_owned();
    name.push(".quarantine");
    root.with_file_name(name)
        .join(real.strip_prefix(root).unwrap_or(Path::new("")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quarantine_is_next_to_the_hierarchy() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        let setup = root.join("c.n5/setup0/timepoint0");
        fs::create_dir_all(&setup).expect("a folder");
        assert_eq!(
            default_folder(&setup),
            root.join("c.n5/setup0/timepoint0.quarantine")
        );
        fs::write(root.join("c.n5/attributes.json"), "{}").expect("a file");
        // The folder between has no document, but N5 takes it for a group.
        let inside = root.join("c.n5.quarantine/setup0/timepoint0");
        assert_eq!(default_folder(&setup), inside);
        assert_eq!(default_folder(&setup.join("../timepoint0")), inside);
        assert_eq!(
            default_folder(&root.join("c.n5/setup0/..")),
            root.join("c.n5.quarantine")
        );
        assert_eq!(
            default_folder(Path::new("/data/a.zarr/")),
            Path::new("/data/a.zarr.quarantine")
        );
    }

    #[test]
    fn values_are_compared_to_their_ends() {
        let equal =
            |a: &str, b: &str| are_equal(&mut a.as_bytes(), &mut b.as_bytes()).expect("memory");
        assert!(equal("", "") && equal("abc", "abc"));
        assert!(!equal("abc", "ab") && !equal("ab", "abc") && !equal("abc", "abd"));
    }
}
