//! Plans the copy of one array.

use std::borrow::Cow;

use ndzarr_metadata::{
    ArrayRequest, CreateOptions, KeptKeys, MemberKind, Node, NodePath, are_n5_blocks,
    check_request, keep_chunks,
};
use ndzarr_model::ArraySpec;

use crate::arrays::info::ArrayInfo;
use crate::copy::Run;
use crate::copy::options::Layout;
use crate::copy::planning::conversion::Conversion;
use crate::copy::planning::plan::{ArrayPlan, NodePlan, NodeWork, Whole, new_report};
use crate::copy::planning::request::{Requests, sharding};
use crate::copy::planning::strategy::{self, Choice, Strategy};
use crate::copy::planning::units::{listed, n_units};
use crate::copy::planning::window::Window;
use crate::copy::report::{CopiedNode, CopyLevel};
use crate::error::Result;
use crate::hierarchy::find_node;
use crate::operations::each::check_cancel;

/// An array that is being planned, and what decides about its copy.
struct PlannedArray<'p> {
    node: &'p Node,
    path: &'p NodePath,
    create: &'p CreateOptions,
    /// With the shape of the part that is copied.
    spec: &'p ArraySpec,
    window: Option<&'p Window>,
    conversion: Option<&'p Conversion>,
    layout: &'p Layout,
    /// The target is the array itself.
    is_same: bool,
}

impl Run<'_> {
    pub(super) async fn plan_array(
        &self,
        node: Node,
        path: NodePath,
        whole: Whole,
    ) -> Result<NodePlan> {
        check_cancel(&self.options.run)?;
        let is_same = self.is_same(&node, &path).await?;
        let create = self.create_options(&node, is_same);
        let Some(spec) = node.kind.array() else {
            return Err(find_node::not_a("an array", &node, &self.source));
        };
        let slices = self.options.slices.as_ref();
        let window = slices
            .map(|slices| Window::new(slices, &spec.shape))
            .transpose();
        let window = self.source.named(window)?;
        let spec = match &window {
            Some(window) => Cow::Owned(ArraySpec {
                shape: window.shape(),
                ..spec.clone()
            }),
            None => Cow::Borrowed(spec),
        };
        let mut out = new_report(&node, &path, MemberKind::Array);
        let layout = match whole {
            Whole::Array => self.options.layout.clone(),
            Whole::Group => self.options.layout.for_axes(spec.shape.len()),
        };
        let conversion = match self.options.numbers.of(&spec.data_type) {
            Ok(conversion) => conversion,
            Err(_) if whole == Whole::Group => {
                out.notes
                    .push(format!("its elements stay {}", spec.data_type));
                None
            }
            Err(error) => return Err(self.requests(&node, &create).refuse(&error.to_string())),
        };
        let array = PlannedArray {
            node: &node,
            path: &path,
            create: &create,
            spec: &spec,
            window: window.as_ref(),
            conversion: conversion.as_ref(),
            layout: &layout,
            is_same,
        };
        let request = self.array_request(&array, &mut out).await?;
        if layout.index.is_some() && whole == Whole::Array {
            let made = check_request(&path, &request, &create)?;
            if made
                .kind
                .array()
                .is_none_or(|made| sharding(&made.codecs).is_none())
            {
                let requests = self.requests(&node, &create);
                return Err(requests.refuse("an array without shards has no index to place"));
            }
        }
        let mut strategy = None;
        let mut units = 0;
        match out.level {
            CopyLevel::Metadata => {}
            CopyLevel::Rekeyed => {
                let source = self.info(&self.source, &node)?;
                source.data()?;
                units = n_units(&source)?;
            }
            CopyLevel::Reencoded => {
                let to = check_request(&path, &request, &create)?;
                let source = self.info(&self.source, &node)?;
                let target = self.info(&self.target, &to)?;
                let chosen = self.array_strategy(&array, [&source, &target], &mut out)?;
                units = n_units(&target)?.saturating_mul(chosen.passes());
                strategy = Some(chosen);
            }
        }
        let work = NodeWork::Array(Box::new(ArrayPlan {
            request,
            window,
            conversion,
            strategy,
            units,
        }));
        Ok(NodePlan {
            node,
            path,
            create,
            work,
            out,
        })
    }

    /// The request for an array of the target, with the cheapest level that is possible.
    async fn array_request(
        &self,
        array: &PlannedArray<'_>,
        out: &mut CopiedNode,
    ) -> Result<ArrayRequest> {
        let PlannedArray {
            node,
            path,
            create,
            spec,
            conversion,
            layout,
            is_same,
            ..
        } = *array;
        let requests = self.requests(node, create);
        let keys = if is_same {
            KeptKeys::Same
        } else {
            KeptKeys::Usual
        };
        // The chunks of another format are kept where nothing else is possible or allowed.
        let is_of_n5 = node.format != create.format && are_n5_blocks(&spec.codecs, create.format);
        let suits = !is_of_n5 || is_same || self.options.at_most < CopyLevel::Reencoded;
        let can_keep =
            suits && conversion.is_none() && array.window.is_none() && layout.is_of(spec);
        let kept = if can_keep {
            keep_chunks(spec, create, keys)
        } else {
            None
        };
        if let Some(mut request) = kept {
            let mut described = out.clone();
            described.level = if is_same {
                CopyLevel::Metadata
            } else {
                CopyLevel::Rekeyed
            };
            self.check_level(described.level, &requests)?;
            requests.describe_remaining(spec, conversion, &mut request, &mut described)?;
            let made = check_request(path, &request, create)?;
            let fills = made.kind.array().map(|made| made.fill_value.bytes());
            if fills == Some(spec.fill_value.bytes()) || self.has_all(node).await? {
                *out = described;
                if is_of_n5 {
                    let note = "its chunks stay N5 blocks, which few other programs read in Zarr";
                    out.notes.push(note.to_owned());
                }
                return Ok(request);
            }
            // Chunks that are not stored would get another fill value.
            let note = "chunks that are not stored are written, as the fill value is another";
            out.notes.push(note.to_owned());
        }
        out.level = CopyLevel::Reencoded;
        if is_same {
            let what = "its chunks have to be encoded again, which needs another target";
            return Err(requests.refuse(what));
        }
        self.check_level(out.level, &requests)?;
        let mut request = requests.encode_again(spec, layout, conversion, &mut out.notes)?;
        requests.describe_remaining(spec, conversion, &mut request, out)?;
        check_request(path, &request, create)?;
        Ok(request)
    }

    /// Refuses a copy that does more than the options allow.
    fn check_level(&self, level: CopyLevel, requests: &Requests<'_>) -> Result<()> {
        let at_most = self.options.at_most;
        if level > at_most {
            let what = format!("it would be {level:?}, but only {at_most:?} is allowed");
            return Err(requests.refuse(&what));
        }
        Ok(())
    }

    /// How the elements of one array get into another.
    fn array_strategy(
        &self,
        array: &PlannedArray<'_>,
        [source, target]: [&ArrayInfo; 2],
        out: &mut CopiedNode,
    ) -> Result<Strategy> {
        let choice = Choice {
            source,
            target,
            window: array.window,
            conversion: array.conversion,
            memory: self.options.memory,
            more_memory: self.options.more_memory,
            has_temporary: self.options.temporary.is_some() || self.target.is_folder(),
            threads: self.options.run.threads,
        };
        let chosen = choice.strategy()?;
        out.notes.extend(strategy::describe(&chosen, array.spec));
        out.temporary_bytes = strategy::temporary_bytes(&chosen, array.spec);
        Ok(chosen)
    }

    /// Returns `true` if all chunks, or shards, of an array are stored.
    async fn has_all(&self, node: &Node) -> Result<bool> {
        let array = self.info(&self.source, node)?;
        let stored = listed(&array).await?;
        Ok(stored.is_some_and(|stored| n_units(&array).is_ok_and(|all| stored.n() == all)))
    }
}
