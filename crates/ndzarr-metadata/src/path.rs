//! `NodePath`: the normalised path of a node in a store.

use std::fmt;

use crate::MetadataError;

/// The path of a node from the root of a store, normalised: segments without `/`, none of them
/// empty, `.` or `..`.
///
/// The formats' own rules for names (`__` in v3, the draft's alphabet) apply in addition when a
/// node is created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodePath(String);

impl NodePath {
    /// The root of the store.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Normalises as Zarr v2 does: `\` becomes `/`; leading, trailing and repeated `/` are dropped.
    ///
    /// # Errors
    /// A segment is `.` or `..`, or the path contains NUL.
    pub fn new(path: &str) -> Result<Self, MetadataError> {
        let refuse = |what: &str| {
            Err(MetadataError::Path {
                path: path.to_owned(),
                what: what.to_owned(),
            })
        };
        if path.contains('\0') {
            return refuse("has a NUL");
        }
        let mut segments = Vec::new();
        for segment in path.split(['/', '\\']) {
            match segment {
                "" => {}
                "." | ".." => return refuse("has a segment \".\" or \"..\""),
                segment => segments.push(segment),
            }
        }
        Ok(Self(segments.join("/")))
    }

    /// True if this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// `a/b`, or empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `a/b/`, or empty for the root: the prefix of all keys below the node in v2, v3 and N5.
    #[must_use]
    pub fn prefix(&self) -> String {
        if self.0.is_empty() {
            String::new()
        } else {
            [&self.0, "/"].concat()
        }
    }

    /// The key of a document directly below the node.
    pub(crate) fn key_of(&self, document: &str) -> String {
        if self.0.is_empty() {
            document.to_owned()
        } else {
            [&self.0, "/", document].concat()
        }
    }

    /// The child of this name.
    ///
    /// # Errors
    /// As for [`Self::new`]; also if the name is empty or has several segments.
    pub fn child(&self, name: &str) -> Result<Self, MetadataError> {
        if name.is_empty() || name.contains(['/', '\\']) {
            return Err(MetadataError::Path {
                path: name.to_owned(),
                what: "is not a single name".to_owned(),
            });
        }
        let path = if self.0.is_empty() {
            name.to_owned()
        } else {
            [&self.0, "/", name].concat()
        };
        // A plain name needs no second check; there may be many of them.
        if is_name(name) {
            Ok(Self(path))
        } else {
            Self::new(&path)
        }
    }

    /// The parent; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if self.0.is_empty() {
            return None;
        }
        Some(Self(
            self.0
                .rsplit_once('/')
                .map(|(parent, _)| parent.to_owned())
                .unwrap_or_default(),
        ))
    }

    /// The ancestors from the root down to the parent; empty for the root.
    pub(crate) fn ancestors(&self) -> Vec<Self> {
        let mut ancestors: Vec<Self> = std::iter::successors(self.parent(), Self::parent).collect();
        ancestors.reverse();
        ancestors
    }

    /// The last segment; `None` for the root.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        (!self.0.is_empty()).then(|| self.0.rsplit_once('/').map_or(&*self.0, |(_, name)| name))
    }

    /// The segments from the root down.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|segment| !segment.is_empty())
    }
}

/// True if a node can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.bytes().any(|byte| matches!(byte, b'/' | b'\\' | 0))
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V2-T02.
    #[test]
    fn v2_t02_paths_are_normalised() {
        let prefix = |path| NodePath::new(path).map(|path| path.prefix()).ok();
        assert_eq!(prefix("").as_deref(), Some(""));
        assert_eq!(prefix("/").as_deref(), Some(""));
        assert_eq!(prefix("a//b\\c/").as_deref(), Some("a/b/c/"));
        assert_eq!(prefix("a/../b"), None);
        assert_eq!(prefix("a/./b"), None);
        assert_eq!(prefix("a\0"), None);
    }

    #[test]
    fn children_are_those_of_whole_paths() {
        for parent in [
            NodePath::root(),
            NodePath::new("a/b").expect("a plain path"),
        ] {
            for name in [
                "c", "c.", "...", ".", "..", "", "/", "a/b", "a\\b", "\\", "\0", "c\0", "\u{e9}",
            ] {
                let one_name = !name.is_empty() && !name.contains(['/', '\\']);
                let whole = NodePath::new(&format!("{}{name}", parent.prefix()))
                    .ok()
                    .filter(|_| one_name);
                assert_eq!(is_name(name), whole.is_some(), "{name:?}");
                assert_eq!(parent.child(name).ok(), whole, "{name:?}");
            }
        }
    }

    #[test]
    fn ancestors_run_from_the_root() {
        let path = NodePath::new("a/b/c").expect("a plain path");
        let ancestors: Vec<String> = path
            .ancestors()
            .iter()
            .map(|path| path.as_str().to_owned())
            .collect();
        assert_eq!(ancestors, ["", "a", "a/b"]);
        assert_eq!(path.name(), Some("c"));
        assert!(NodePath::root().ancestors().is_empty());
    }
}
