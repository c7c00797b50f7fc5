//! `Node`: an array or group as its documents describe it.

use std::borrow::Cow;

use bytes::Bytes;
use ndzarr_model::{ArraySpec, Attributes};

use crate::{Format, MetadataError, N5VersionCheck, NodePath, OpenOptions};

/// An array or group with everything that its documents say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Format of its documents.
    pub format: Format,
    /// Its path from the root of the store.
    pub path: NodePath,
    /// Array or group.
    pub kind: NodeKind,
    /// The user's attributes, without the format's own members. 64-bit integers are exact, other
    /// numbers the nearest `f64`. Numbers without one (`NaN`, infinities, `1e400`) are strings, see
    /// [`crate::attribute_f64`]; an unpaired surrogate is U+FFFD. The documents keep their own
    /// text.
    pub attributes: Attributes,
    /// Facts about the place where it was found, which later calls need again.
    pub context: Context,
    /// The documents that describe it, key and bytes as stored; empty for an implicit group.
    pub documents: Vec<(String, Bytes)>,
    /// Remarks for the user: another format at the same path, a legacy form, …
    pub warnings: Vec<String>,
}

impl Node {
    /// The node as it is opened: checked, and with the options for the nodes below it.
    pub(crate) fn opened_with(mut self, options: &OpenOptions) -> Result<Self, MetadataError> {
        if let NodeKind::Array(spec) = &mut self.kind {
            let key = self
                .documents
                .first()
                .map_or(self.path.as_str(), |(key, _)| key);
            options.limits.check_array(key, spec)?;
            if let Some(separator) = options.separator {
                let encoding = spec.keys.encoding.with_separator(separator);
                spec.keys.encoding = encoding
                    .filter(|_| matches!(separator, '/' | '.'))
                    .ok_or_else(|| {
                        let what = format!("chunk keys have no separator {separator:?}");
                        MetadataError::Inexpressible {
                            format: self.format,
                            what,
                        }
                    })?;
            }
        }
        self.context.separator = options.separator;
        self.context.limits = options.limits;
        self.context.extensions.clone_from(&options.extensions);
        Ok(self)
    }

    /// The options that open it again as it was opened, and the nodes around it.
    #[must_use]
    pub fn open_options(&self) -> OpenOptions {
        OpenOptions {
            format: Some(self.format),
            n5_axes: self.context.n5_axes,
            separator: self.context.separator,
            // It was checked then, unless that was not wanted.
            n5_version: N5VersionCheck::Skip,
            unknown_type: self.context.unknown_type,
            limits: self.context.limits,
            extensions: self.context.extensions.clone(),
            ..OpenOptions::default()
        }
    }

    /// The prefix of the documents of the nodes below it.
    #[must_use]
    pub fn prefix(&self) -> String {
        let below = self.path.prefix();
        match self.format {
            Format::DraftA => format!("meta/{below}"),
            Format::DraftB => format!("meta/root/{below}"),
            Format::Zarr2 | Format::Zarr3 | Format::N5 => below,
        }
    }

    /// The array of a node that was read again.
    pub(crate) fn into_array(self, key: &str) -> Result<ArraySpec, MetadataError> {
        match self.kind {
            NodeKind::Array(spec) => Ok(*spec),
            NodeKind::Group | NodeKind::ImplicitGroup => Err(MetadataError::invalid(
                key,
                "no longer describes the array that was opened",
            )),
        }
    }
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// An array.
    Array(Box<ArraySpec>),
    /// A group with a document.
    Group,
    /// A group that exists because something lies below it (draft, N5).
    ImplicitGroup,
}

impl NodeKind {
    /// The array's description, if it is one.
    #[must_use]
    pub fn array(&self) -> Option<&ArraySpec> {
        match self {
            Self::Array(spec) => Some(spec),
            Self::Group | Self::ImplicitGroup => None,
        }
    }
}

/// Facts about the hierarchy in which a node was found, carried from opening to later changes and
/// to its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Suffix of the draft's documents, `.json` by default. Unused in the other formats.
    pub draft_suffix: Cow<'static, str>,
    /// How N5 dimensions are shown.
    pub n5_axes: crate::N5Axes,
    /// The separator of the chunk keys, if the user gave one.
    pub separator: Option<char>,
    /// Path of the group in whose consolidated metadata it was found, if any.
    pub consolidated_in: Option<NodePath>,
    /// How to treat unknown data types of the draft.
    pub unknown_type: crate::UnknownType,
    /// Limits on documents.
    pub limits: crate::Limits,
    /// Custom data types and chunk grids.
    pub extensions: crate::Extensions,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            draft_suffix: Cow::Borrowed(".json"),
            n5_axes: crate::N5Axes::Native,
            separator: None,
            consolidated_in: None,
            unknown_type: crate::UnknownType::default(),
            limits: crate::Limits::default(),
            extensions: crate::Extensions::default(),
        }
    }
}

/// A child of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, one segment of a path.
    pub name: String,
    /// Array or group.
    pub kind: MemberKind,
}

/// The kind of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// An array.
    Array,
    /// A group, explicit or implicit.
    Group,
}
