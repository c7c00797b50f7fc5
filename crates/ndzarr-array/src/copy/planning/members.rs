//! The nodes below the source of a copy: by their own documents, as far as these can be listed.

use std::collections::BTreeSet;

use ndzarr_metadata::{ConsolidatedUse, MemberKind, Node, OpenOptions as NodeOptions, Wanted};

use crate::error::{ErrorKind, Result};
use crate::hierarchy::find_node;
use crate::hierarchy::group_info::{FoundChild, FoundNode, GroupInfo};
use crate::mode::Blocking;
use crate::places::open_options::OpenOptions;
use crate::places::place::Place;
use crate::storage::Storage;

/// What lies below a group.
pub(crate) struct Members {
    /// By path, parents before children.
    pub(crate) all: Vec<Member>,
    /// What is odd about them as a whole.
    pub(crate) notes: Vec<String>,
}

/// A node below a group.
pub(crate) struct Member {
    /// Its path from the group.
    pub(crate) path: String,
    /// `None` if its document does not show it.
    pub(crate) kind: Option<MemberKind>,
    pub(crate) node: Result<Node>,
    pub(crate) note: Option<&'static str>,
}

/// How many paths a note names.
const NAMED: usize = 5;

impl Members {
    /// Those of a group, opened with these options.
    ///
    /// Consolidated metadata may be out of date, so that the documents of the nodes decide: but
    /// where the store cannot list, or consolidated metadata are required.
    pub(crate) async fn of(
        storage: &Storage,
        root: &Node,
        open: &OpenOptions<Blocking>,
    ) -> Result<Self> {
        let group = |uses| {
            let place = Place::from((storage, root.path.as_str())).locate();
            let open = open.clone().consolidated(uses);
            async move { open.group(place?).await }
        };
        let uses = open.metadata.consolidated;
        if uses == ConsolidatedUse::Require {
            let below = group(uses).await?.walk().await?;
            return Self::by_copies(storage, root, open, below).await;
        }
        let walked = group(ConsolidatedUse::Ignore).await?.walk().await;
        if uses == ConsolidatedUse::Ignore {
            return Ok(Self::by_documents(walked?));
        }
        let group = group(uses).await?;
        // What is wrong with them is of no matter if the documents can be read.
        let has_copies = group
            .consolidated()
            .await
            .is_ok_and(|copies| copies.is_some());
        let below = match walked {
            Err(error)
                if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Denied)
                    && has_copies =>
            {
                let mut members = Self::by_copies(storage, root, open, group.walk().await?).await?;
                let what = "the store does not list its keys: nodes are those of the consolidated metadata";
                members.notes.push(what.to_owned());
                return Ok(members);
            }
            below => below?,
        };
        let mut members = Self::by_documents(below);
        if has_copies {
            members.compare(storage, root, group).await?;
        }
        Ok(members)
    }

    fn by_documents(below: Vec<FoundChild>) -> Self {
        let all = below.into_iter().map(|child| Member {
            path: child.path,
            kind: child.kind,
            node: child.node.map(|node| match *node {
                FoundNode::Array(array) => Node::clone(&array.node),
                FoundNode::Group(group) => Node::clone(&group.node),
            }),
            note: None,
        });
        Self {
            all: all.collect(),
            notes: Vec::new(),
        }
    }

    /// Those that consolidated metadata name. Their own documents describe them.
    async fn by_copies(
        storage: &Storage,
        root: &Node,
        open: &OpenOptions<Blocking>,
        below: Vec<FoundChild>,
    ) -> Result<Self> {
        let mut all = Vec::new();
        for child in below {
            let path = format!("{}{}", root.path.prefix(), child.path);
            let wanted = match child.kind {
                Some(MemberKind::Array) => Wanted::Array,
                Some(MemberKind::Group) => Wanted::Group,
                None => Wanted::Any,
            };
            let reads = NodeOptions {
                wanted,
                ..open.metadata.clone()
            };
            let node = find_node::open(storage, &path, &reads).await;
            // A group that cannot be listed is an error of its own.
            let node = match (child.node, node) {
                (Err(error), Ok(node)) if node.kind.array().is_none() => Err(error),
                (_, node) => node,
            };
            all.push(Member {
                path: child.path,
                kind: child.kind,
                node,
                note: None,
            });
        }
        Ok(Self {
            all,
            notes: Vec::new(),
        })
    }

    /// Adds nodes whose own document is gone, and of which consolidated metadata have the last
    /// copy; says which others they have and lack.
    async fn compare(&mut self, storage: &Storage, root: &Node, group: GroupInfo) -> Result<()> {
        let Ok(copies) = group.walk().await else {
            return Ok(());
        };
        let by_documents: BTreeSet<String> =
            self.all.iter().map(|member| member.path.clone()).collect();
        let by_copies: BTreeSet<String> = copies.iter().map(|copy| copy.path.clone()).collect();
        let (mut gone, mut last) = (Vec::new(), Vec::new());
        for copy in copies {
            let path = format!("{}{}", root.path.prefix(), copy.path);
            if by_documents.contains(&copy.path) {
                continue;
            }
            let is_array = copy.kind == Some(MemberKind::Array);
            if is_array && has_keys(storage, root, &path).await? {
                last.push(copy)
            } else {
                gone.push(copy.path)
            }
        }
        let missing: Vec<String> = by_documents.difference(&by_copies).cloned().collect();
        for (what, paths) in [("name what is gone", gone), ("lack", missing)] {
            if !paths.is_empty() {
                self.notes.push(format!(
                    "the consolidated metadata of the source {what}: {}",
                    named(&paths)
                ));
            }
        }
        let mut last = Self::by_documents(last).all;
        for member in &mut last {
            member.note =
                Some("its document is gone, and consolidated metadata have the last copy of it");
        }
        self.all.extend(last);
        self.all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }
}

/// Returns `true` if anything lies below the path of a node.
async fn has_keys(storage: &Storage, root: &Node, path: &str) -> Result<bool> {
    let mut found = false;
    for prefix in ndzarr_metadata::key_prefixes(root.format, path) {
        storage
            .keys_below(&prefix, &root.context.limits, &mut |_| found = true)
            .await?;
    }
    Ok(found)
}

fn named(paths: &[String]) -> String {
    let names: Vec<String> = paths
        .iter()
        .take(NAMED)
        .map(|path| format!("{path:?}"))
        .collect();
    match paths.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!("{} and {more} more", names.join(", ")),
        _ => names.join(", "),
    }
}
