//! Where the documents and chunks of a node are.

use crate::{Context, Format, MetadataError, NodePath, UnknownType};

/// The two readings of the draft: its text, and what zarr-python 2 wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    A,
    B,
}

impl Dialect {
    pub(crate) fn of(format: Format) -> Option<Self> {
        match format {
            Format::DraftA => Some(Self::A),
            Format::DraftB => Some(Self::B),
            Format::Zarr2 | Format::Zarr3 | Format::N5 => None,
        }
    }

    pub(crate) fn format(self) -> Format {
        match self {
            Self::A => Format::DraftA,
            Self::B => Format::DraftB,
        }
    }
}

/// How the keys of a hierarchy are built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) dialect: Dialect,
    /// The suffix of all documents but the entry point.
    pub(crate) suffix: String,
    /// How to treat unknown data types.
    pub(crate) unknown_type: UnknownType,
}

impl Layout {
    /// The layout that a node was found in.
    pub(crate) fn of(format: Format, context: &Context) -> Self {
        let dialect = Dialect::of(format).unwrap_or(Dialect::A);
        Self {
            dialect,
            suffix: context.draft_suffix.to_string(),
            unknown_type: context.unknown_type,
        }
    }

    /// Key of the document of an array.
    pub(crate) fn array_key(&self, path: &NodePath) -> String {
        self.document_key(path, "array")
    }

    /// Key of the document of a group.
    pub(crate) fn group_key(&self, path: &NodePath) -> String {
        self.document_key(path, "group")
    }

    fn document_key(&self, path: &NodePath, kind: &str) -> String {
        let suffix = &self.suffix;
        match (self.dialect, path.is_root()) {
            (Dialect::A, true) => format!("meta/{kind}{suffix}"),
            (Dialect::A, false) => format!("meta/{}.{kind}{suffix}", path.as_str()),
            (Dialect::B, true) => format!("meta/root.{kind}{suffix}"),
            (Dialect::B, false) => format!("meta/root/{}.{kind}{suffix}", path.as_str()),
        }
    }

    /// The prefix of the keys of the documents below a node.
    pub(crate) fn meta_prefix(&self, path: &NodePath) -> String {
        match self.dialect {
            Dialect::A => format!("meta/{}", path.prefix()),
            Dialect::B => format!("meta/root/{}", path.prefix()),
        }
    }

    /// The prefix of the keys of the chunks of a node and of all nodes below it.
    pub(crate) fn data_prefix(&self, path: &NodePath) -> String {
        match self.dialect {
            Dialect::A => format!("data/{}", path.prefix()),
            Dialect::B => format!("data/root/{}", path.prefix()),
        }
    }

    /// The name of the array whose document has this name in a listing.
    pub(crate) fn array_name<'a>(&self, document: &'a str) -> Option<&'a str> {
        self.name(document, ".array")
    }

    /// The name of the group whose document has this name in a listing.
    pub(crate) fn group_name<'a>(&self, document: &'a str) -> Option<&'a str> {
        self.name(document, ".group")
    }

    /// Strips exactly one suffix. The root's documents in dialect A have no dot, hence no name
    /// here.
    fn name<'a>(&self, document: &'a str, ending: &str) -> Option<&'a str> {
        document
            .strip_suffix(&self.suffix)?
            .strip_suffix(ending)
            .filter(|name| is_name(name))
    }

    /// Refuses paths of new nodes with names that the draft does not allow.
    pub(crate) fn check_new(&self, path: &NodePath) -> Result<(), MetadataError> {
        let refuse = |what: String| {
            Err(MetadataError::Path {
                path: path.to_string(),
                what,
            })
        };
        for name in path.segments() {
            if let Some(c) = name.chars().find(|c| !is_name_char(*c)) {
                return refuse(format!(
                    "{name:?} has {c:?}; names consist only of a-z A-Z 0-9 - _ ."
                ));
            }
            if !is_name(name) {
                return refuse(format!("{name:?} consists of periods"));
            }
            for kind in ["array", "group"] {
                if name.ends_with(&format!(".{kind}{}", self.suffix)) {
                    return refuse(format!("{name:?} ends as the documents of the format do"));
                }
            }
        }
        Ok(())
    }
}

/// True if a text can name a node: not empty, not only periods.
pub(crate) fn is_name(name: &str) -> bool {
    !name.bytes().all(|b| b == b'.') && !name.contains(['/', '\\', '\0'])
}

/// True if a key may contain this character, apart from `/`.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}
