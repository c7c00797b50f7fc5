//! Plans what is done for each node, before anything is written.

use std::sync::Arc;

use ndzarr_metadata::{
    ArrayRequest, CreateOptions, Existing, Format, MemberKind, Node, NodeKind, NodePath,
    consolidated_key, has_copies,
};
use ndzarr_model::Attributes;

use crate::arrays::info::ArrayInfo;
use crate::copy::Run;
use crate::copy::account::{SortedKeys, Sorter};
use crate::copy::planning::conversion::Conversion;
use crate::copy::planning::members::{Member, Members};
use crate::copy::planning::request::Requests;
use crate::copy::planning::strategy::Strategy;
use crate::copy::planning::window::Window;
use crate::copy::report::{CopiedNode, CopyLevel, NotCopied};
use crate::creating::replaces_source::{shares_below, shares_value};
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::find_node;
use crate::mode::Blocking;
use crate::operations::each::check_cancel;
use crate::places::open_options::OpenOptions;
use crate::storage::Storage;

/// The note of a report without an account of the keys.
pub(crate) const UNLISTED: &str =
    "the keys of the source cannot be listed: files of no array or group were not looked for";

/// What a call copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    Array,
    Group,
}

/// What a copy does.
pub(crate) struct Plan {
    /// Parents before children.
    pub(crate) nodes: Vec<NodePlan>,
    pub(crate) not_copied: Vec<NotCopied>,
    /// What lies below a group; `None` where it stays in place, or cannot be listed.
    pub(crate) found: Option<SortedKeys>,
}

/// What will be done for a node.
pub(crate) struct NodePlan {
    pub(crate) node: Node,
    pub(crate) path: NodePath,
    pub(crate) create: CreateOptions,
    pub(crate) work: NodeWork,
    pub(crate) out: CopiedNode,
}

pub(crate) enum NodeWork {
    Group(GroupPlan),
    Array(Box<ArrayPlan>),
    /// Its keys are copied as they are.
    Files,
}

pub(crate) struct GroupPlan {
    pub(crate) attributes: Attributes,
    /// The copy gets consolidated metadata, as the source has.
    pub(crate) consolidates: bool,
}

pub(crate) struct ArrayPlan {
    pub(crate) request: ArrayRequest,
    /// The part of the array that is copied, if not all of it.
    pub(crate) window: Option<Window>,
    pub(crate) conversion: Option<Conversion>,
    /// Where elements are encoded again.
    pub(crate) strategy: Option<Strategy>,
    /// How many chunks, or shards, have to be copied.
    pub(crate) units: u64,
}

impl Run<'_> {
    /// Plans the copy of a node and of everything below it. `open` says how the source is read.
    pub(crate) async fn plan(
        &self,
        root: Node,
        target_path: NodePath,
        open: &OpenOptions<Blocking>,
    ) -> Result<Plan> {
        if root.kind.array().is_some() {
            let array = Box::pin(self.plan_array(root, target_path, Whole::Array)).await?;
            return Ok(Plan {
                nodes: vec![array],
                not_copied: Vec::new(),
                found: None,
            });
        }
        if self.options.slices.is_some() {
            let what = format!("\"{}\" is a group, and slices are of one array", root.path);
            return Err(
                Error::new(ErrorKind::InvalidArgument, what).in_store(|| self.source.name())
            );
        }
        let Members { all, notes } = Members::of(&self.source, &root, open).await?;
        let mut nodes = vec![self.plan_group(root, target_path.clone()).await?];
        nodes[0].out.notes.extend(notes);
        let mut not_copied = Vec::new();
        for Member {
            path,
            kind,
            node,
            note,
        } in all
        {
            let from = NodePath::new(&format!("{}{path}", nodes[0].node.path.prefix()))?;
            let target = NodePath::new(&format!("{}{path}", target_path.prefix()))?;
            let planned = match node {
                Ok(node) if node.kind.array().is_some() => {
                    Box::pin(self.plan_array(node, target.clone(), Whole::Group)).await
                }
                Ok(node) => self.plan_group(node, target.clone()).await,
                Err(error) => Err(error),
            };
            match planned {
                Ok(mut plan) => {
                    plan.out.notes.extend(note.map(str::to_owned));
                    nodes.push(plan);
                }
                // What cannot be understood here says nothing of the others.
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    match self.plan_as_files(&nodes[0], (from.clone(), target), kind, &error) {
                        Some(plan) => nodes.push(plan),
                        None => not_copied.push(NotCopied::of(&from, &error)),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let found = self.sort(&mut nodes, &mut not_copied).await?;
        Ok(Plan {
            nodes,
            not_copied,
            found,
        })
    }

    /// Options for creating nodes: next to the source, if that is the target.
    pub(super) fn create_options(&self, node: &Node, is_same: bool) -> CreateOptions {
        let mut create = self.create.clone();
        create.attributes_of = Some(Arc::new(node.clone()));
        create.concurrent_update = self.options.run.concurrent_update;
        create.foreign = self.options.run.foreign;
        if is_same {
            create.existing = Existing::Beside;
        }
        create
    }

    /// Returns `true` if a node of the source is at the same path of the target itself.
    pub(super) async fn is_same(&self, node: &Node, path: &NodePath) -> Result<bool> {
        if node.path != *path {
            return Ok(false);
        }
        match node.documents.first() {
            Some((key, _)) => shares_value(&self.source, &self.target, key).await,
            // A group without documents exists wherever a key lies below it.
            None => shares_below(&self.source, &self.target, &node.path.prefix()).await,
        }
    }

    pub(crate) fn requests<'r>(
        &'r self,
        node: &'r Node,
        create: &'r CreateOptions,
    ) -> Requests<'r> {
        Requests {
            source: &self.source,
            node,
            create,
            record_losses: self.options.record_losses,
        }
    }

    async fn plan_group(&self, node: Node, path: NodePath) -> Result<NodePlan> {
        check_cancel(&self.options.run)?;
        let create = self.create_options(&node, self.is_same(&node, &path).await?);
        let mut out = new_report(&node, &path, MemberKind::Group);
        let attributes = self.requests(&node, &create).group(&mut out.losses)?;
        let is_consolidated = self.is_consolidated(&node).await?;
        let can_consolidate = matches!(create.format, Format::Zarr2 | Format::Zarr3);
        if is_consolidated && !can_consolidate {
            let format = create.format;
            out.notes.push(format!(
                "without consolidated metadata, which are not written in {format}"
            ));
        }
        let consolidates = is_consolidated && can_consolidate;
        Ok(NodePlan {
            node,
            path,
            create,
            work: NodeWork::Group(GroupPlan {
                attributes,
                consolidates,
            }),
            out,
        })
    }

    /// Returns `true` if a group of the source has consolidated metadata of its own.
    async fn is_consolidated(&self, node: &Node) -> Result<bool> {
        match (node.format, consolidated_key(node)) {
            (Format::Zarr3, _) => Ok(has_copies(node)),
            (_, None) => Ok(false),
            (_, Some(key)) => self.source.has(&key).await,
        }
    }

    /// The plan for a node that cannot be understood here: in the same format its keys are copied
    /// as they are.
    fn plan_as_files(
        &self,
        root: &NodePlan,
        (from, path): (NodePath, NodePath),
        kind: Option<MemberKind>,
        why: &Error,
    ) -> Option<NodePlan> {
        let is_same = root.create.existing == Existing::Beside;
        if is_same || root.node.format != self.create.format {
            return None;
        }
        let node = find_node::folder(&root.node, from);
        let mut out = new_report(&node, &path, MemberKind::Group);
        out.kind = kind.unwrap_or(MemberKind::Array);
        out.level = CopyLevel::Rekeyed;
        out.as_files = Some(why.to_string());
        Some(NodePlan {
            node,
            path,
            create: self.create_options(&root.node, false),
            work: NodeWork::Files,
            out,
        })
    }

    /// Finds out what becomes of each key below a group; `None` where they stay in place, or cannot
    /// be listed.
    async fn sort(
        &self,
        plans: &mut Vec<NodePlan>,
        not_copied: &mut Vec<NotCopied>,
    ) -> Result<Option<SortedKeys>> {
        let root = &plans[0];
        if root.create.existing == Existing::Beside {
            return Ok(None);
        }
        let format = root.node.format;
        let root = root.node.clone();
        let mut sorter = Sorter::of(&root, self.create.format, self.options.other_files);
        for NodePlan { node, work, .. } in &plans[1..] {
            match work {
                NodeWork::Files => sorter.add_as_files(node),
                NodeWork::Group(_) | NodeWork::Array(_) => sorter.add(node),
            }
        }
        not_copied
            .iter()
            .for_each(|node| sorter.add_not_copied(format, &node.source));
        let Some(sorter) = sorter.sort(&self.source, &root).await? else {
            plans[0].out.notes.push(UNLISTED.to_owned());
            let is_listed = |plan: &mut NodePlan| matches!(plan.work, NodeWork::Files);
            for mut plan in plans.extract_if(.., is_listed) {
                let why = plan.out.as_files.take().unwrap_or_default();
                not_copied.push(NotCopied {
                    source: plan.out.source,
                    why,
                });
            }
            return Ok(None);
        };
        for plan in plans
            .iter_mut()
            .filter(|plan| matches!(plan.work, NodeWork::Files))
        {
            plan.out.n_chunks = sorter.n_of(&plan.node);
        }
        Ok(Some(sorter.found()))
    }

    pub(crate) fn info(&self, storage: &Storage, node: &Node) -> Result<ArrayInfo> {
        ArrayInfo::new(storage.clone(), node.clone(), &self.options.open.registry)
    }
}

/// What is reported of a node, before more is known.
pub(super) fn new_report(node: &Node, path: &NodePath, kind: MemberKind) -> CopiedNode {
    debug_assert!(matches!(kind, MemberKind::Array) == matches!(node.kind, NodeKind::Array(_)));
    CopiedNode {
        source: node.path.as_str().to_owned(),
        target: path.as_str().to_owned(),
        kind,
        level: CopyLevel::Metadata,
        n_chunks: 0,
        temporary_bytes: 0,
        as_files: None,
        losses: Vec::new(),
        notes: Vec::new(),
    }
}
