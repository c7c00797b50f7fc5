//! Creates the array that a builder describes.

use ndzarr_codec::CodecRegistry;
use ndzarr_metadata::{ArrayRequest, CreateOptions, Existing};

use super::ArrayBuilder;
use crate::arrays::array::ArrayIn;
use crate::arrays::info::ArrayInfo;
use crate::creating::default_chunks::default_chunks;
use crate::creating::occupied;
use crate::creating::unseen::Unseen;
use crate::element_types::element_type::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::find_node;
use crate::mode::{Asynchronous, Blocking};
use crate::operations::attributes;
use crate::places::located::Located;
use crate::places::open_options::OpenOptions;
use crate::places::place::Place;

/// Assumed size in bytes of an element of variable size.
const VLEN_BYTES: usize = 16;

impl<E: ElementType> ArrayBuilder<E, Blocking> {
    /// Creates the array, and the groups above it that the format requires. The array's metadata is
    /// written last, so the array becomes visible all at once.
    ///
    /// # Errors
    /// The format cannot express the array; there is something at the place already; the store
    /// fails.
    pub fn create(self, place: impl Into<Place>) -> Result<ArrayIn<E, Blocking>> {
        let place = place.into().locate()?;
        place
            .storage
            .clone()
            .wait_change(None, self.make(place))
            .map(ArrayIn::from)
    }
}

impl<E: ElementType> ArrayBuilder<E, Asynchronous> {
    /// Asynchronous [`ArrayBuilder::create`].
    ///
    /// # Errors
    /// As for [`ArrayBuilder::create`].
    pub async fn create(self, place: impl Into<Place>) -> Result<ArrayIn<E, Asynchronous>> {
        let place = place.into().located().await?;
        let storage = place.storage.clone();
        storage
            .on_change_thread(|| async move { self.make(place).await })
            .await
            .map(ArrayIn::from)
    }
}

impl<E: ElementType, M> ArrayBuilder<E, M> {
    pub(crate) async fn make(mut self, place: Located) -> Result<ArrayInfo> {
        if !self.or_open {
            return self.make_new(place).await;
        }
        // What another creates meanwhile is opened, never replaced.
        self.options.existing = Existing::default();
        let options = OpenOptions::<M>::new()
            .codecs(self.registry.clone().unwrap_or_default())
            .n5_axes(self.options.n5_axes)
            .limits(self.options.limits);
        let concurrent_update = self.options.concurrent_update;
        let shape = self.request.shape.clone();
        let data_type = self.data_type.clone();
        let mut found = options.array(place.clone()).await;
        // In N5 and in the draft, a folder without a document is a group: also that of an array
        // which another is about to create.
        let may_create = |kind| matches!(kind, ErrorKind::NotFound | ErrorKind::WrongNodeKind);
        if matches!(&found, Err(error) if may_create(error.kind())) {
            match self.make_new(place.clone()).await {
                // Another was faster.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    found = options.array(place).await
                }
                created => return created,
            }
        }
        let mut found = found?;
        found.options.concurrent_update = concurrent_update;
        E::check_stored(&found)?;
        let is_other_type = data_type.is_some_and(|data_type| data_type != *found.data_type());
        let has_room = found.shape().len() == shape.len()
            && found
                .shape()
                .iter()
                .zip(&shape)
                .all(|(found, wanted)| found >= wanted);
        if is_other_type || !has_room {
            let shape = found.shape();
            let data_type = found.data_type();
            let what = format!("the array there has the shape {shape:?} and the type {data_type}");
            return Err(found.name(Error::new(ErrorKind::AlreadyExists, what)));
        }
        Ok(found)
    }

    async fn make_new(self, place: Located) -> Result<ArrayInfo> {
        let Decided {
            request,
            options,
            registry,
        } = self.decided()?;
        let info = create(place, &request, &options, &registry).await?;
        E::check_stored(&info)?;
        Ok(info)
    }

    /// Begins an array whose document comes last.
    pub(crate) async fn make_unseen(
        self,
        place: Located,
    ) -> Result<(ArrayInfo, Unseen, CodecRegistry)> {
        let Decided {
            request,
            options,
            registry,
        } = self.decided()?;
        let (storage, creation) = find_node::new_array(place, &request, &options).await?;
        let (info, unseen) = Unseen::begin(storage, creation, &options, &registry).await?;
        E::check_stored(&info)?;
        Ok((info, unseen, registry))
    }

    fn decided(mut self) -> Result<Decided> {
        let data_type = self.data_type.ok_or_else(|| {
            let what = "the type of the elements is not given";
            Error::new(ErrorKind::InvalidArgument, what)
        })?;
        E::check_new(&data_type)?;
        if let Some(value) = &self.fill {
            self.request.fill_value = E::fill_request(value, &data_type)?;
        }
        self.request.data_type = data_type.clone();
        self.request.chunk_shape = match self.chunk_shape {
            Some(shape) => shape,
            None => default_chunks(
                self.request
                    .shard_shape
                    .as_deref()
                    .unwrap_or(&self.request.shape),
                data_type.elem_size().unwrap_or(VLEN_BYTES) as u64,
            ),
        };
        if !self.attributes.is_null() {
            self.request.attributes = attributes::object(self.attributes)?;
        }
        let registry = self.registry.unwrap_or_default();
        Ok(Decided {
            request: self.request,
            options: self.options,
            registry,
        })
    }
}

/// All that decides about a new array.
struct Decided {
    request: ArrayRequest,
    options: CreateOptions,
    registry: CodecRegistry,
}

/// Creates an array. Reports anything wrong with the codecs before anything is written.
async fn create(
    place: Located,
    request: &ArrayRequest,
    options: &CreateOptions,
    registry: &CodecRegistry,
) -> Result<ArrayInfo> {
    let (storage, creation) = find_node::new_array(place, request, options).await?;
    let mut info = ArrayInfo::new(storage.clone(), creation.node.clone(), registry)
        .map_err(Error::of_request)?;
    info.options.concurrent_update = options.concurrent_update;
    info.data().map_err(Error::of_request)?;
    occupied::check(&storage, &creation, info.spec(), options.existing).await?;
    storage.create(&creation, options.concurrent_update).await?;
    info.data()?.presence().confirm();
    Ok(info)
}
