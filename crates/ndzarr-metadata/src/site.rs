use crate::known::Stop;
use crate::{CreateOptions, Existing, Format, Known, MetadataError, NodePath, v2, v3};

/// The place where a Zarr node is to be created, as found.
pub(crate) struct Site {
    /// Documents of what it replaces.
    pub(crate) erase: Vec<String>,
    /// Prefixes of what it replaces.
    pub(crate) erase_prefixes: Vec<String>,
    /// Keys of the group documents that its ancestors lack, from the root down.
    pub(crate) missing_groups: Vec<String>,
}

impl Site {
    /// Looks at the place and above it, in one round of fetches.
    ///
    /// # Errors
    /// A node of Zarr v2 or v3 stands there and is not to be replaced; an ancestor is an array (V2-136, V3-170); the
    /// root is that of a draft hierarchy.
    pub(crate) fn survey(path: &NodePath, known: &Known, options: &CreateOptions) -> Result<Self, Stop> {
        let prefix = path.prefix();
        let own = [v3::DOCUMENT, v2::ARRAY, v2::GROUP].map(|name| format!("{prefix}{name}"));
        let ancestors: Vec<[String; 3]> = path
            .ancestors()
            .iter()
            .map(|path| [v3::DOCUMENT, v2::ARRAY, v2::GROUP].map(|name| format!("{}{name}", path.prefix())))
            .collect();
        let mut keys: Vec<String> = ancestors.iter().flatten().chain(&own).cloned().collect();
        if options.format == Format::Zarr3 {
            // Whether an ancestor is a group of v2 is of no interest to v3.
            let group = format!("{prefix}{}", v2::GROUP);
            keys.retain(|key| !key.ends_with(v2::GROUP) || *key == group);
        }
        known.many_documents(&keys)?;
        let mut missing_groups = Vec::new();
        for (ancestor, [v3_key, array_key, group_key]) in path.ancestors().iter().zip(ancestors) {
            let occupied = |what: &str| {
                let path = ancestor.to_string();
                MetadataError::Occupied { path, what: format!("{what}, which can have no nodes below it") }
            };
            if known.has(&array_key) {
                return Err(occupied("is an array").into());
            }
            if let [Some(bytes)] = known.documents([&v3_key])? {
                match v3::document::kind_or_draft(&v3_key, bytes)? {
                    Some(v3::document::Kind::Group) => {}
                    Some(v3::document::Kind::Array) => return Err(occupied("is an array").into()),
                    None => {
                        let what = "is the root of a hierarchy of the 2022 draft".to_owned();
                        return Err(MetadataError::Occupied { path: ancestor.to_string(), what }.into());
                    }
                }
            }
            let group = if options.format == Format::Zarr3 { v3_key } else { group_key };
            if !known.has(&group) {
                missing_groups.push(group);
            }
        }
        let there: Vec<String> = own.into_iter().filter(|key| known.has(key)).collect();
        match (options.existing, there.first()) {
            (Existing::Refuse, Some(key)) => {
                let what = format!("a node is there already: {key}");
                Err(MetadataError::Occupied { path: path.to_string(), what }.into())
            }
            (Existing::Refuse, None) => {
                Ok(Self { erase: Vec::new(), erase_prefixes: Vec::new(), missing_groups })
            }
            // Also where no document is: chunks of an earlier node must not come back.
            (Existing::Replace, _) => Ok(Self { erase: there, erase_prefixes: vec![prefix], missing_groups }),
        }
    }
}
