//! Stores that are folders of the local file system, and the hierarchies that contain them.

use std::any::Any;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ndzarr_metadata::{Format, documents_above};
use ndzarr_store_fs::{FsStore, Links};

use super::Storage;
use crate::places::folder_store;
use crate::places::remote::Environment;

/// The folder in which a store keeps its values.
#[derive(Clone, Debug)]
pub(crate) struct Folder(Arc<FsStore>);

impl Folder {
    pub(super) fn of(store: &dyn Any) -> Option<Self> {
        store
            .downcast_ref::<FsStore>()
            .cloned()
            .map(|store| Self(Arc::new(store)))
    }

    /// Distinguishes it from other folders, and from the same one with other rules for links.
    pub(super) fn id(&self) -> String {
        format!("{:?} {:?}", self.0.root(), self.0.links())
    }

    /// The hierarchies of a format that contain the folder, and its path in them: those above it by
    /// its name and, if a link led to it, those above the folder itself. They reach up as long as
    /// each folder has the document of a group.
    pub(super) fn enclosing(&self, format: Format) -> Vec<(Storage, String)> {
        let documents = documents_above(format);
        // Confined, nothing outside is changed.
        if documents.is_empty() || self.0.links() == Links::Confine {
            return Vec::new();
        }
        let root = self.0.root();
        // The folder above `a/..` is not `a`.
        let named = root
            .components()
            .all(|part| part != Component::ParentDir)
            .then(|| root.to_owned());
        let real = root
            .canonicalize()
            .ok()
            .filter(|real| Some(real) != named.as_ref());
        let is_group = |folder: &&Path| documents.iter().any(|name| folder.join(name).is_file());
        (named.iter().chain(&real))
            .filter_map(|root| {
                let outermost = root.ancestors().skip(1).take_while(is_group).last()?;
                let below = root.strip_prefix(outermost).ok()?.to_str()?.to_owned();
                Some((Storage::from(self.0.with_root(outermost)), below))
            })
            .collect()
    }
}

impl Storage {
    /// A folder of the local file system, which need not exist yet. The variable
    /// `NDZARR_DURABILITY` of the process names the [level](ndzarr_store_fs::Durability) of its
    /// writes, as for the path of a [`Place`](crate::Place). With another value, opening or
    /// creating a node in the folder is an error. An `FsStore` has the level with which it was
    /// built.
    pub fn folder(root: impl AsRef<Path>) -> Self {
        let root = root.as_ref();
        match folder_store::open(root, &Environment::Process) {
            Ok(store) => Self::blocking(store),
            Err(refusal) => {
                let mut folder = Self::blocking(FsStore::new(root));
                folder.shared.refusal = Some(refusal);
                folder
            }
        }
    }

    /// Another folder, with the settings of this one.
    pub(crate) fn in_folder(&self, root: &Path) -> Self {
        match &self.folder {
            Some(folder) => Self::from(folder.0.with_root(root)),
            None => Self::folder(root),
        }
    }
}

impl From<FsStore> for Storage {
    fn from(store: FsStore) -> Self {
        Self::blocking(store)
    }
}

impl From<&FsStore> for Storage {
    fn from(store: &FsStore) -> Self {
        Self::blocking(store.clone())
    }
}

impl From<&str> for Storage {
    fn from(folder: &str) -> Self {
        Self::folder(folder)
    }
}

impl From<&Path> for Storage {
    fn from(folder: &Path) -> Self {
        Self::folder(folder)
    }
}

impl From<&PathBuf> for Storage {
    fn from(folder: &PathBuf) -> Self {
        Self::folder(folder)
    }
}
