//! Creating and removing nodes below a group.

use std::sync::Arc;

use ndzarr_codec::CodecRegistry;
use ndzarr_metadata::{CreateOptions, NodePath, Wanted};
use ndzarr_model::{Attributes, Foreign};

use super::GroupInfo;
use crate::arrays::info::ArrayInfo;
use crate::creating::builder::ArrayBuilder;
use crate::creating::unseen::Unseen;
use crate::element_types::element_type::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::erase::Erase;
use crate::places::located::Located;
use crate::places::place::Place;

impl GroupInfo {
    pub(crate) async fn create_array<E: ElementType, M>(
        &self,
        name: &str,
        array: ArrayBuilder<E, M>,
    ) -> Result<ArrayInfo> {
        let _changing = self.changing();
        let created = self
            .as_here(array)
            .make(self.place(&self.child_path(name)?)?)
            .await?;
        Ok(self.with_view(created))
    }

    /// Begins an array whose document comes last.
    pub(crate) async fn begin_array<E: ElementType, M>(
        &self,
        name: &str,
        array: ArrayBuilder<E, M>,
    ) -> Result<(ArrayInfo, Unseen, CodecRegistry)> {
        let begun = self
            .as_here(array)
            .make_unseen(self.place(&self.child_path(name)?)?)
            .await;
        let (info, unseen, registry) = begun?;
        Ok((self.with_view(info), unseen, registry))
    }

    /// The builder of an array below this group.
    fn as_here<E: ElementType, M>(&self, array: ArrayBuilder<E, M>) -> ArrayBuilder<E, M> {
        let array = if self.options.foreign == Foreign::Remove {
            array.force()
        } else {
            array
        };
        array
            .format(self.node.format)
            .n5_axes(self.node.context.n5_axes)
            .limits(self.node.context.limits)
            .concurrent_update(self.options.concurrent_update)
            .registry_if_none(&self.registry)
    }

    fn with_view(&self, mut info: ArrayInfo) -> ArrayInfo {
        info.view = Some(Arc::clone(&self.view));
        info.options = self.options.clone();
        Arc::make_mut(&mut info.node).context.unknown_type = self.node.context.unknown_type;
        info
    }

    pub(crate) async fn create_group(&self, name: &str) -> Result<Self> {
        let _changing = self.changing();
        let context = &self.node.context;
        let options = CreateOptions {
            n5_axes: context.n5_axes,
            limits: context.limits,
            concurrent_update: self.options.concurrent_update,
            ..CreateOptions::new(self.node.format)
        };
        let place = self.place(&self.child_path(name)?)?;
        let registry = self.registry.clone();
        let extensions = context.extensions.clone();
        let attributes = Attributes::new();
        let created = Self::create(
            place,
            &attributes,
            &options,
            None,
            registry,
            extensions,
            context.unknown_type,
        )
        .await?;
        Ok(self.hand_on(created))
    }

    /// Returns `true` if a node of this name or relative path exists below it.
    pub(crate) async fn contains(&self, name: &str) -> Result<bool> {
        match self.open_node(&self.child_path(name)?, Wanted::Any).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a node below it.
    pub(crate) async fn erase(&self, name: &str) -> Result<()> {
        self.erase_at(&self.child_path(name)?).await
    }

    /// Removes the group itself, or a node below it.
    pub(crate) async fn erase_at(&self, path: &NodePath) -> Result<()> {
        let _changing = self.changing();
        let erase = Erase {
            storage: &self.storage,
            nearby: &self.node,
            options: &self.options,
        };
        erase.node(path, &self.registry).await
    }

    fn place(&self, path: &NodePath) -> Result<Located> {
        Place::from((&self.storage, path.as_str())).locate()
    }

    /// The path of a node below the group, never that of the group itself.
    fn child_path(&self, name: &str) -> Result<NodePath> {
        let path = NodePath::new(&self.below(name))?;
        if path == self.node.path {
            let what = format!("{name:?} does not name a node below the group");
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        Ok(path)
    }
}
