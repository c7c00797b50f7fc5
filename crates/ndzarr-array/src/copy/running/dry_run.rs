//! Reports what a copy would do.

use ndzarr_metadata::{Existing, Known, check_request, create_array, create_group};

use crate::copy::Run;
use crate::copy::account::SortedKeys;
use crate::copy::planning::plan::{NodePlan, NodeWork};
use crate::copy::report::{CopiedNode, CopyLevel};
use crate::error::Result;
use crate::hierarchy::note::Begun;

impl Run<'_> {
    /// Reports what would be done, after those checks of the target that come before anything is
    /// written.
    pub(super) async fn dry_run(
        &self,
        plans: Vec<NodePlan>,
        found: &mut Option<SortedKeys>,
    ) -> Result<Vec<CopiedNode>> {
        if let [
            NodePlan {
                node,
                work: NodeWork::Array(array),
                out,
                ..
            },
        ] = &plans[..]
            && out.level != CopyLevel::Metadata
            && array.window.is_none()
        {
            let sorted = self.sort_array(node).await?;
            *found = sorted.map(|(_, sorter)| sorter.found());
        }
        // The others are below the first one.
        if let Some(NodePlan {
            node,
            path,
            create,
            work,
            out,
        }) = plans.first()
        {
            let creation = match work {
                NodeWork::Group(group) => {
                    let attributes = group.attributes.clone();
                    let of_new = create.clone();
                    let at = path.clone();
                    self.conclude(move |known: &Known| {
                        create_group(&at, &attributes, known, &of_new)
                    })
                    .await?
                }
                NodeWork::Array(array) => {
                    let request = array.request.clone();
                    let of_new = create.clone();
                    let at = path.clone();
                    self.conclude(move |known: &Known| create_array(&at, &request, known, &of_new))
                        .await?
                }
                // It is below a group.
                NodeWork::Files => return Ok(Vec::new()),
            };
            self.check_apart(node, &creation).await?;
            if out.level == CopyLevel::Metadata && matches!(work, NodeWork::Array(_)) {
                self.check_keys(node, &creation)?;
            } else if create.existing != Existing::Beside {
                let note = match work {
                    NodeWork::Group(_) | NodeWork::Files => self.note_of_group(node, path),
                    NodeWork::Array(array) => self.note(
                        node,
                        &check_request(path, &array.request, create)?,
                        out.level,
                    ),
                };
                let goes_on =
                    self.options.resume && note.begun(&self.target).await? == Begun::Before;
                if !goes_on {
                    note.check(&self.target, &creation, create.existing).await?;
                }
            }
        }
        let nodes = plans.into_iter().map(|NodePlan { work, mut out, .. }| {
            if let NodeWork::Array(array) = &work {
                out.n_chunks = array.units;
            }
            out
        });
        Ok(nodes.collect())
    }
}
