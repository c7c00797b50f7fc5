//! Surveys the place where a node is to be created: existing documents and missing groups.

use crate::json::{NonFinite, parse};
use crate::known::Stop;
use crate::{
    CreateOptions, Existing, Format, Known, MemberKind, MetadataError, NodePath, n5, v2, v3,
};

/// The place of a new Zarr node, as found.
pub(crate) struct Site {
    /// Documents of the replaced node, and leftovers that readers would take for the new one's.
    pub(crate) erase: Vec<String>,
    /// Prefixes of the replaced node.
    pub(crate) erase_prefixes: Vec<String>,
    /// Keys of the group documents that its ancestors lack, from the root down.
    pub(crate) missing_groups: Vec<String>,
}

/// The keys of the possible documents at one path.
struct Keys {
    v3: String,
    array: String,
    group: String,
    n5: String,
}

impl Keys {
    fn new(path: &NodePath) -> Self {
        let prefix = path.prefix();
        let [v3, array, group, n5] = [v3::DOCUMENT, v2::ARRAY, v2::GROUP, n5::DOCUMENT]
            .map(|name| format!("{prefix}{name}"));
        Self {
            v3,
            array,
            group,
            n5,
        }
    }

    fn as_array(&self) -> [&String; 4] {
        [&self.v3, &self.array, &self.group, &self.n5]
    }
}

impl Site {
    /// Looks at the place and above it, in one round of fetches.
    ///
    /// # Errors
    /// There is a node of Zarr v2, v3 or N5 that must not be replaced; an ancestor is an array; the
    /// root is that of a draft hierarchy.
    pub(crate) fn survey(
        path: &NodePath,
        known: &Known,
        options: &CreateOptions,
    ) -> Result<Self, Stop> {
        let ancestors: Vec<(NodePath, Keys)> = path
            .ancestors()
            .into_iter()
            .map(|ancestor| {
                let keys = Keys::new(&ancestor);
                (ancestor, keys)
            })
            .collect();
        let own = Keys::new(path);
        let own_attributes = format!("{}{}", path.prefix(), v2::ATTRIBUTES);
        let mut needed: Vec<String> = ancestors
            .iter()
            .flat_map(|(_, keys)| keys.as_array())
            .chain(own.as_array())
            .cloned()
            .collect();
        needed.push(own_attributes.clone());
        known.many_documents(&needed)?;

        if options.existing == Existing::Beside {
            let own = if options.format == Format::Zarr3 {
                vec![own.v3]
            } else {
                vec![own.array, own.group]
            };
            if let Some(key) = own.iter().find(|key| known.has(key)) {
                let what = format_args!("a node of this format already exists: {key}");
                return Err(MetadataError::occupied(path, what).into());
            }
            return Ok(Self {
                erase: Vec::new(),
                erase_prefixes: Vec::new(),
                missing_groups: Vec::new(),
            });
        }
        let mut missing_groups = Vec::new();
        for (ancestor, keys) in ancestors {
            check_ancestor(&ancestor, &keys, known)?;
            let group = if options.format == Format::Zarr3 {
                keys.v3
            } else {
                keys.group
            };
            if !known.has(&group) {
                missing_groups.push(group);
            }
        }
        let mut existing: Vec<String> = [&own.v3, &own.array, &own.group]
            .into_iter()
            .filter(|key| known.has(key))
            .cloned()
            .collect();
        let is_n5 = match is_n5(&own.n5, known, &["dimensions", "n5"]) {
            // It is replaced, whatever it is.
            Err(Stop::Error(_)) if options.existing == Existing::Replace => true,
            found => found?,
        };
        if is_n5 {
            existing.push(own.n5);
        }
        if options.existing == Existing::Refuse {
            if let Some(key) = existing.first() {
                return Err(MetadataError::occupied(
                    path,
                    format_args!("a node already exists: {key} (overwrite to replace it)"),
                )
                .into());
            }
            // Attributes of a previous node do not belong to the new one.
            let has_old_attributes = options.format == Format::Zarr2 && known.has(&own_attributes);
            let erase = if has_old_attributes {
                vec![own_attributes]
            } else {
                Vec::new()
            };
            return Ok(Self {
                erase,
                erase_prefixes: Vec::new(),
                missing_groups,
            });
        }
        // Even without a document: chunks of an earlier node must not reappear.
        Ok(Self {
            erase: existing,
            erase_prefixes: vec![path.prefix()],
            missing_groups,
        })
    }
}

fn check_ancestor(path: &NodePath, keys: &Keys, known: &Known) -> Result<(), Stop> {
    let occupied = |what: &str| Err(MetadataError::occupied(path, what).into());
    const ARRAY: &str = "is an array, which can have no nodes below it";
    if let [Some(bytes)] = known.documents([&keys.v3])? {
        match v3::document::kind_or_draft(&keys.v3, bytes)? {
            Some(MemberKind::Group) => {}
            Some(MemberKind::Array) => return occupied(ARRAY),
            None => return occupied("is the root of a hierarchy of the 2022 draft"),
        }
    }
    if known.has(&keys.array) || is_n5(&keys.n5, known, &["dimensions"])? {
        return occupied(ARRAY);
    }
    Ok(())
}

/// True if a document with N5's name has one of these members; other files of that name do not
/// matter, but a blank one may be N5's, which Java is writing.
fn is_n5(key: &str, known: &Known, members: &[&str]) -> Result<bool, Stop> {
    let [Some(bytes)] = known.documents([key])? else {
        return Ok(false);
    };
    if bytes.trim_ascii().is_empty() {
        return Err(MetadataError::blank(key, bytes).into());
    }
    Ok(parse(key, bytes, NonFinite::Accept)
        .is_ok_and(|document| members.iter().any(|member| document.get(member).is_some())))
}
