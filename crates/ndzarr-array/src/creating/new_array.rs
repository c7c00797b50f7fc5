//! `NewArray`: an array that does not open before it is whole.

use ndzarr_codec::CodecRegistry;

use crate::arrays::array::Array;
use crate::arrays::info::ArrayInfo;
use crate::creating::builder::ArrayBuilder;
use crate::creating::unseen::Unseen;
use crate::element_types::element_type::{Any, ElementType};
use crate::error::Result;
use crate::hierarchy::group::Group;
use crate::places::place::Place;

/// A new array whose elements come before its document: it cannot be opened until it is
/// [finished](Self::finish), also if the process is killed.
///
/// ```
/// use ndzarr::{Array, MemoryStore, NewArray};
///
/// let store = MemoryStore::new();
/// let new = NewArray::begin((&store, "a"), Array::<u8>::builder([4]).chunks([2]))?;
/// new.array().fill(.., 7)?;
/// assert!(Array::<u8>::open((&store, "a")).is_err());
/// assert_eq!(new.finish()?.read(..)?.sum(), 28);
/// assert_eq!(Array::<u8>::open((&store, "a"))?.read(..)?.sum(), 28);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Debug)]
pub struct NewArray<E = Any> {
    array: Array<E>,
    unseen: Unseen,
    registry: CodecRegistry,
}

impl<E: ElementType> NewArray<E> {
    /// Begins the array that a builder describes.
    ///
    /// # Errors
    /// As for [`ArrayBuilder::create`].
    pub fn begin(place: impl Into<Place>, builder: ArrayBuilder<E>) -> Result<Self> {
        let place = place.into().locate()?;
        place
            .storage
            .clone()
            .wait_change(None, builder.make_unseen(place))
            .map(Self::new)
    }

    /// Begins an array below a group, in the group's format.
    ///
    /// # Errors
    /// As for [`Group::create_array`].
    pub fn begin_in(group: &Group, name: &str, builder: ArrayBuilder<E>) -> Result<Self> {
        group
            .info
            .wait_change(group.info.begin_array(name, builder))
            .map(Self::new)
    }

    fn new((info, unseen, registry): (ArrayInfo, Unseen, CodecRegistry)) -> Self {
        Self {
            array: info.into(),
            unseen,
            registry,
        }
    }

    /// The array, to write to.
    #[must_use]
    pub fn array(&self) -> &Array<E> {
        &self.array
    }

    /// Writes the document. Without this call the chunks stay, with a note, until something is made
    /// in their place that may [replace](crate::ArrayBuilder::overwrite) them.
    ///
    /// # Errors
    /// Another call has begun or made something in its place; the store fails.
    pub fn finish(self) -> Result<Array<E>> {
        let Self {
            array,
            unseen,
            registry,
        } = self;
        let storage = array.info.storage.clone();
        let finished = unseen.finish(&array.info, &registry);
        storage
            .wait_change(array.info.options.cancel.as_ref(), finished)
            .map(Array::from)
    }
}
