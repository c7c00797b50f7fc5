//! Reads `attributes.json`, and collects what is known about a place in a container.

use bytes::Bytes;

use crate::json::{self, Json, Members, NonFinite};
use crate::known::Stop;
use crate::n5::version;
use crate::{Known, Listing, MetadataError, NodePath, Wanted};

/// Name of the only document of a node.
pub(crate) const NAME: &str = "attributes.json";

/// Members that describe a dataset or a container and are not user attributes of a dataset.
pub(crate) const RESERVED: [&str; 6] = [
    "n5",
    "dimensions",
    "blockSize",
    "dataType",
    "compression",
    "compressionType",
];

/// Key of a node's document.
pub(crate) fn key(path: &NodePath) -> String {
    format!("{}{NAME}", path.prefix())
}

/// True if an entry of this name is a writer's own file and not a node.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.is_empty() || name.ends_with(".__lock") || name.starts_with(".n5tmp")
}

/// An `attributes.json`, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    /// Its bytes; `None` if there is none.
    pub(crate) bytes: Option<Bytes>,
    /// Its members; none if it is absent, `null` or not an object.
    pub(crate) members: Members<'static>,
    /// Its kind if it is not an object: Java can turn a document into a string, a number or a list.
    pub(crate) other_kind: Option<&'static str>,
}

impl Contents {
    /// Reads a document, or the absence of one.
    pub(crate) fn read(key: &str, bytes: Option<&[u8]>) -> Result<Self, MetadataError> {
        let Some(bytes) = bytes else {
            return Ok(Self::default());
        };
        let mut contents = Self {
            bytes: Some(Bytes::copy_from_slice(bytes)),
            ..Self::default()
        };
        match json::parse(key, bytes, NonFinite::Accept)? {
            Json::Object(members) => contents.members = members.to_owned(),
            Json::Null => {}
            other => contents.other_kind = Some(other.kind()),
        }
        Ok(contents)
    }

    /// A document that is to be written.
    pub(crate) fn of_new(bytes: Bytes, members: Members<'static>) -> Self {
        Self {
            bytes: Some(bytes),
            members,
            other_kind: None,
        }
    }

    /// A member that is present and not `null`, which Java treats as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&Json<'_>> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// True if it has no members and is an object, `null` or absent.
    pub(crate) fn is_blank(&self) -> bool {
        self.members.is_empty() && self.other_kind.is_none()
    }

    /// True if it is to be read as a dataset, possibly a broken one. A lone `dataType` is legal on
    /// a group.
    pub(crate) fn describes_dataset(&self, wanted: Wanted) -> bool {
        let [dimensions, block_size, data_type] =
            ["dimensions", "blockSize", "dataType"].map(|name| self.get(name).is_some());
        match wanted {
            Wanted::Any => dimensions || block_size,
            Wanted::Array => dimensions || block_size || data_type,
            Wanted::Group => dimensions && block_size && data_type,
        }
    }
}

/// A path in a store, described by its own document and those of its ancestors.
pub(crate) struct Spot<'a> {
    pub(crate) path: &'a NodePath,
    pub(crate) own: Contents,
    /// From the root down to the parent.
    pub(crate) ancestors: Vec<(NodePath, Contents)>,
}

/// The use of the document at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// It is read, and must be valid.
    Matters,
    /// It is about to be replaced, and may be invalid.
    IsReplaced,
}

impl<'a> Spot<'a> {
    pub(crate) fn look(path: &'a NodePath, known: &Known, own: Own) -> Result<Self, Stop> {
        let mut paths = path.ancestors();
        paths.push(path.clone());
        let keys: Vec<String> = paths.iter().map(key).collect();
        let documents = known.many_documents(&keys)?;
        let mut contents = Vec::with_capacity(keys.len());
        for (at, (key, bytes)) in keys.iter().zip(documents).enumerate() {
            let is_replaced = own == Own::IsReplaced && at + 1 == keys.len();
            contents.push(match Contents::read(key, bytes.map(|bytes| &bytes[..])) {
                Err(_) if is_replaced => Contents {
                    bytes: bytes.cloned(),
                    ..Contents::default()
                },
                read => read?,
            });
        }
        let own = contents.pop().unwrap_or_default();
        Ok(Self {
            path,
            own,
            ancestors: paths.into_iter().zip(contents).collect(),
        })
    }

    /// The dataset that contains this place.
    pub(crate) fn enclosing_dataset(&self) -> Option<&NodePath> {
        self.ancestors
            .iter()
            .find(|(_, c)| c.describes_dataset(Wanted::Any))
            .map(|(path, _)| path)
    }

    /// True if an ancestor shows that this is inside a container.
    pub(crate) fn is_inside_container(&self) -> bool {
        self.ancestors
            .iter()
            .any(|(_, contents)| contents.get("n5").is_some())
    }

    /// Refuses versions that are too new, of this node or of any container around it.
    pub(crate) fn check_versions(&self) -> Result<(), MetadataError> {
        let all = self
            .ancestors
            .iter()
            .map(|(path, contents)| (path, contents));
        for (path, contents) in all.chain([(self.path, &self.own)]) {
            if let Some(version) = contents.get("n5") {
                version::check(&key(path), version)?;
            }
        }
        Ok(())
    }

    /// True if there is a folder here or anything below the prefix. On a file system, folders can
    /// be empty and then appear only in the parent's listing.
    pub(crate) fn has_prefix(&self, known: &Known) -> Result<bool, Stop> {
        if holds_anything(&*known.listing(&self.path.prefix())?) {
            return Ok(true);
        }
        match (self.path.parent(), self.path.name()) {
            (Some(parent), Some(name)) => Ok(known
                .listing(&parent.prefix())?
                .prefixes
                .iter()
                .any(|p| p == name)),
            _ => Ok(false),
        }
    }
}

/// True if a listing shows more than the own files of writers.
pub(crate) fn holds_anything(listing: &Listing) -> bool {
    listing
        .keys
        .iter()
        .chain(&listing.prefixes)
        .any(|name| !is_hidden(name))
}
