//! The calls of this crate as futures, with the names of the blocking ones. `make_levels` has no
//! asynchronous form, since it computes.
//!
//! ```
//! use ndzarr::{DataType, Format, MemoryStore, store::block_on};
//! use ndzarr_ome::{Axis, NewMultiscale, asynchronous::Multiscale};
//!
//! # block_on(async {
//! let store = MemoryStore::new();
//! let axes = [(Axis::new("y"), 64), (Axis::new("x"), 64)];
//! let new = NewMultiscale::new(DataType::UInt { bits: 8 }, axes).levels(2);
//! Multiscale::create(&store, Format::Zarr3, &new, |layout| layout.chunks([32, 32])).await?;
//!
//! let image = Multiscale::open(&store).await?;
//! assert_eq!(image.array(1).await?.shape(), [32, 32]);
//! # Ok::<(), ndzarr_ome::Error>(())
//! # })?;
//! # Ok::<(), ndzarr_ome::Error>(())
//! ```

use ndzarr::asynchronous::{AnyArray, ArrayBuilder, Group};
use ndzarr::{Asynchronous, Format, MemoryStore, Place};

use crate::create::new_multiscale::{NewMultiscale, array_names};
use crate::error::Result;
use crate::find::find;
use crate::io::Awaited;
use crate::validate::{Finding, check_arrays};
/// An image of several resolutions, as [`Multiscale`](crate::Multiscale), with calls that are
/// futures.
pub type Multiscale = crate::multiscale::Multiscale<Asynchronous>;

impl Multiscale {
    /// Asynchronous `Multiscale::open`.
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn open(place: impl Into<Place>) -> Result<Self> {
        Self::first_in(&Group::open(place).await?.into()).await
    }

    async fn first_in(group: &ndzarr::Group) -> Result<Self> {
        Self::first_of(find(&Awaited, group).await?, group)
    }

    /// Asynchronous `Multiscale::find`.
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn find(group: &Group) -> Result<Vec<Self>> {
        let found = find(&Awaited, &group.clone().into()).await?;
        Ok(found
            .into_iter()
            .map(|(group, image)| Self::new(group, image))
            .collect())
    }

    /// The group of the image, for [attributes](crate::Metadata) and other nodes in it.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group.clone().into()
    }

    /// Asynchronous `Multiscale::array`.
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn array(&self, level: usize) -> Result<AnyArray> {
        let level = self.level(level)?;
        let array: AnyArray = self.group().array(&level.path).await?;
        self.check_n_axes(level, array.shape().len())?;
        Ok(array)
    }

    /// Asynchronous `Multiscale::validate`.
    pub async fn validate(&self) -> Vec<Finding> {
        let mut findings = self.findings();
        findings.extend(check_arrays(&Awaited, &self.group, self.expected()).await);
        findings
    }

    /// Asynchronous `Multiscale::create`.
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn create(
        place: impl Into<Place>,
        format: Format,
        new: &NewMultiscale,
        layout: impl Fn(ArrayBuilder) -> ArrayBuilder,
    ) -> Result<Self> {
        let attributes = new.attributes(format)?;
        let mut builders = Vec::new();
        for level in new.planned()? {
            let builder =
                layout(AnyArray::builder(&level.shape).data_type(new.data_type().clone()));
            builders.push(new.describe(builder, format));
        }
        // First in memory, so that a wrong layout leaves nothing at the place.
        let trial = Group::create(MemoryStore::new(), format).await?;
        let names = array_names(builders.len());
        for (name, builder) in names.iter().zip(&builders) {
            trial.create_array(name, builder.clone()).await?;
        }
        let mut group = new.group(Group::builder(), format).create(place).await?;
        for (name, builder) in names.iter().zip(builders) {
            group.create_array(name, builder).await?;
        }
        // Last, so that a reader that sees an image finds its arrays.
        group.merge_attributes(attributes).await?;
        Self::first_in(&group.into()).await
    }
}
