//! `Place`: where a node is or will be: a path, a URL, or a store and a path in it.

#[cfg(feature = "fs")]
use ndzarr_engine::{RunOptions, pooled};
use ndzarr_metadata::Existing;
#[cfg(all(
    feature = "fs",
    any(feature = "s3", feature = "gcs", feature = "azure", feature = "http")
))]
use ndzarr_store_object::RemoteOptions;

use crate::error::Result;
use crate::places::located::{Finish, Located};
#[cfg(feature = "fs")]
use crate::places::remote::Environment;
use crate::storage::Storage;

/// The location of an existing or new array or group.
///
/// Calls that take `impl Into<Place>` accept
///
/// - a store and a path in it, `(store, "group/array")`, where the store is anything that converts
///   to a [`Storage`]; the empty path is the root of the store;
/// - only a store: its root;
/// - a path of the local file system, or a `file:` URL. Nodes are found by their folder, even if it
///   is part of a hierarchy that is described further up (the draft of Zarr v3, implicit groups of
///   N5). A new node is the root of a new hierarchy; use `(folder, path)` to create it within an
///   existing one;
/// - a ZIP archive, to read from: the path of a file whose name ends in `.zip` or `.ozx`, or
///   `a.zip|zip:group/array` for a node in it. As the target of a [`copy`](crate::copy()) such a
///   path is a new archive; `ZipWriter` makes others;
/// - a URL: `file:`, `memory://name/path` (a store that all of the process share),
///   `s3://bucket/path`, `gs://bucket/path`, `az://container/path`, `https://host/path`. Percent
///   signs are decoded once. Behind a URL or a path, `|zip:path` leads into an archive, and
///   `|zarr:path`, `|zarr2:path`, `|zarr3:path` or `|n5:path` names the format and a node; a node
///   of another format is an error.
///
/// ```
/// use ndzarr::{Array, MemoryStore};
///
/// let store = MemoryStore::new();
/// Array::<u8>::builder([3]).create(&store)?;
/// Array::<u8>::builder([4]).create((MemoryStore::new(), "group/array"))?;
/// assert_eq!(Array::<u8>::open(&store)?.shape(), [3]);
///
/// let folder = std::env::temp_dir().join(format!("ndzarr-place-{}", std::process::id()));
/// Array::<u8>::builder([5]).create((&folder, "a"))?;
/// assert_eq!(Array::<u8>::open(folder.join("a"))?.shape(), [5]);
/// # #[cfg(unix)]
/// assert_eq!(Array::<u8>::open(format!("file://{}/a", folder.display()))?.shape(), [5]);
/// # std::fs::remove_dir_all(folder).expect("it was made above");
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Place(Where);

#[derive(Clone, Debug)]
enum Where {
    In(Storage, String),
    #[cfg(feature = "fs")]
    Folder(std::path::PathBuf, Environment),
}

impl Place {
    /// A path or a URL, whose service is reached as these variables say instead of those of the
    /// environment: keys, endpoints and regions, see `RemoteOptions::from_environment`. They are
    /// asked each time that the place is opened. Folders have one, `NDZARR_DURABILITY`: `none`,
    /// `documents`, `data` or `full`, the [durability](ndzarr_store_fs::Durability) of what is
    /// written.
    ///
    /// ```
    /// use ndzarr::{Array, ErrorKind, Place};
    ///
    /// let variables = |name: &str| (name == "AWS_SKIP_SIGNATURE").then(|| "true".to_owned());
    /// let place = Place::with_variables("s3://a-public-bucket/volumes/a", variables);
    /// # if false {
    /// let a = Array::<u16>::open(place)?;
    /// # }
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[cfg(feature = "fs")]
    pub fn with_variables(
        place: impl Into<std::path::PathBuf>,
        variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self(Where::Folder(
            place.into(),
            Environment::Variables(std::sync::Arc::new(variables)),
        ))
    }

    /// A path or a URL, with options for its service. Each time the place is opened, `change` turns
    /// the options that the environment gives into those that are used. An endpoint or account in
    /// the URL takes precedence. Folders have none of these options.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use ndzarr::{Array, Place};
    ///
    /// let place = Place::with_options("s3://a-public-bucket/volumes.zip|zip:a", |options| {
    ///     options.requests_in_flight(64).hedge_after(Duration::from_millis(200))
    /// });
    /// # if false {
    /// let a = Array::<u16>::open(place)?;
    /// # }
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[cfg(all(
        feature = "fs",
        any(feature = "s3", feature = "gcs", feature = "azure", feature = "http")
    ))]
    pub fn with_options(
        place: impl Into<std::path::PathBuf>,
        change: impl Fn(RemoteOptions) -> RemoteOptions + Send + Sync + 'static,
    ) -> Self {
        Self(Where::Folder(
            place.into(),
            Environment::Changed(std::sync::Arc::new(change)),
        ))
    }

    /// As [`locate`](Self::locate), without blocking the polling task: locating an archive reads
    /// its directory.
    pub(crate) async fn located(self) -> Result<Located> {
        match self.0 {
            Where::In(..) => self.locate(),
            #[cfg(feature = "fs")]
            Where::Folder(ref folder, _) => {
                let name = folder.display().to_string();
                pooled(&name, &RunOptions::default(), move |_| self.locate()).await
            }
        }
    }

    /// Locates the target of a copy. A path that names an archive is a new one, which exists once
    /// it is finished.
    pub(crate) fn locate_target(self, existing: Existing) -> Result<(Located, Option<Finish>)> {
        #[cfg(feature = "fs")]
        if let Where::Folder(folder, environment) = &self.0 {
            let url = crate::places::url::parse(folder)?
                .unwrap_or_else(|| crate::places::url::Url::folder(folder.clone()));
            if let (crate::places::url::Root::File(file), None) = (&url.root, &url.archive)
                && crate::places::archive::is_new(file)
            {
                let (storage, finish) =
                    crate::places::archive::create(file, environment, existing)?;
                let located = Located {
                    storage,
                    path: url.node,
                    folder: None,
                    format: url.format,
                };
                return Ok((located, Some(finish)));
            }
        }
        let _ = existing;
        Ok((self.locate()?, None))
    }

    /// As [`locate_target`](Self::locate_target), without blocking the polling task.
    pub(crate) async fn located_target(
        self,
        existing: Existing,
    ) -> Result<(Located, Option<Finish>)> {
        match self.0 {
            Where::In(..) => self.locate_target(existing),
            #[cfg(feature = "fs")]
            Where::Folder(ref folder, _) => {
                let name = folder.display().to_string();
                pooled(&name, &RunOptions::default(), move |_| {
                    self.locate_target(existing)
                })
                .await
            }
        }
    }

    pub(crate) fn locate(self) -> Result<Located> {
        match self.0 {
            Where::In(storage, path) => Ok(Located {
                storage: storage.accepted()?,
                path,
                #[cfg(feature = "fs")]
                folder: None,
                #[cfg(feature = "fs")]
                format: None,
            }),
            #[cfg(feature = "fs")]
            Where::Folder(folder, environment) => {
                let url = crate::places::url::parse(&folder)?;
                crate::places::roots::open(
                    url.unwrap_or_else(|| crate::places::url::Url::folder(folder)),
                    &environment,
                )
            }
        }
    }
}

impl<S: Into<Storage>, P: Into<String>> From<(S, P)> for Place {
    fn from((storage, path): (S, P)) -> Self {
        Self(Where::In(storage.into(), path.into()))
    }
}

impl From<&Place> for Place {
    fn from(place: &Place) -> Self {
        place.clone()
    }
}

/// Conversions from stores, which mean their root, and from folders.
macro_rules! places {
    ($($type:ty => $place:expr),+ $(,)?) => {$(
        impl From<$type> for Place {
            fn from(from: $type) -> Self {
                Self($place(from))
            }
        }
    )+};
}

fn root(storage: impl Into<Storage>) -> Where {
    Where::In(storage.into(), String::new())
}

places! {
    Storage => root,
    &Storage => root,
    ndzarr_store::MemoryStore => root,
    &ndzarr_store::MemoryStore => root,
    std::sync::Arc<dyn ndzarr_store::Store> => root,
    std::sync::Arc<dyn ndzarr_store::AsyncStore> => root,
}

#[cfg(feature = "zip")]
places! {
    ndzarr_store_zip::ZipWriter => root,
    &ndzarr_store_zip::ZipWriter => root,
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
places! {
    ndzarr_store_object::ObjectStore => root,
    &ndzarr_store_object::ObjectStore => root,
}

#[cfg(feature = "fs")]
places! {
    ndzarr_store_fs::FsStore => root,
    &ndzarr_store_fs::FsStore => root,
    &str => |folder: &str| folder_at(folder),
    String => |folder: String| folder_at(folder),
    &String => |folder: &String| folder_at(folder),
    &std::path::Path => |folder: &std::path::Path| folder_at(folder),
    std::path::PathBuf => |folder: std::path::PathBuf| folder_at(folder),
    &std::path::PathBuf => |folder: &std::path::PathBuf| folder_at(folder),
}

#[cfg(feature = "fs")]
fn folder_at(folder: impl Into<std::path::PathBuf>) -> Where {
    Where::Folder(folder.into(), Environment::default())
}
