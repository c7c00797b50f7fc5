//! Metadata of an opened group.

use ndzarr_metadata::Format;
use ndzarr_model::Attributes;
use serde_core::de::DeserializeOwned;

use super::GroupInfo;
use crate::error::Result;
use crate::operations::attributes;
use crate::storage::Storage;

impl GroupInfo {
    /// The user's attributes.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        &self.node.attributes
    }

    /// An attribute as a Rust type; `None` if there is none of this name.
    ///
    /// # Errors
    /// [`WrongType`](crate::ErrorKind::WrongType): the attribute has another form. The error names
    /// it and the group.
    pub fn attribute<A: DeserializeOwned>(&self, key: &str) -> Result<Option<A>> {
        attributes::one(&self.storage, &self.node, key)
    }

    /// All attributes as a Rust type, such as a `struct` that derives `Deserialize`.
    ///
    /// # Errors
    /// [`WrongType`](crate::ErrorKind::WrongType): the attributes have another form. The error
    /// names the first that has, and the group.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use ndzarr::{Group, MemoryStore};
    /// use serde_json::json;
    ///
    /// let limits = json!({"low": 0, "high": 1.5});
    /// let group = Group::builder().attributes(limits).create(MemoryStore::new())?;
    /// let limits: BTreeMap<String, f64> = group.attributes_as()?;
    /// assert_eq!(limits["high"], 1.5);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn attributes_as<A: DeserializeOwned>(&self) -> Result<A> {
        attributes::all(&self.storage, &self.node)
    }

    /// The format of its metadata documents.
    #[must_use]
    pub fn format(&self) -> Format {
        self.node.format
    }

    /// Its path from the root of the store, without a leading `/`; empty for the root.
    #[must_use]
    pub fn path(&self) -> &str {
        self.node.path.as_str()
    }

    /// The store that contains it.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Warnings noted when it was opened.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.node.warnings
    }
}
