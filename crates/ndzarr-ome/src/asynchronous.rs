//! The calls of this crate as futures, under the same names as the blocking ones. `make_levels` has no
//! such form, since it computes.
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
use ndzarr::{Format, MemoryStore, Place};

use crate::create::new_multiscale::NewMultiscale;
use crate::error::Result;
use crate::find::find;
use crate::io::Awaited;
use crate::validate::{Finding, check_arrays};
use ndzarr::Asynchronous;

/// Like [`Multiscale`](crate::Multiscale).
pub type Multiscale = crate::multiscale::Multiscale<Asynchronous>;

impl Multiscale {
    /// Like `Multiscale::open`.
    ///
    /// # Errors
    /// The same as for `Multiscale::open`.
    pub async fn open(place: impl Into<Place>) -> Result<Self> {
        Self::first_in(&Group::open(place).await?.into()).await
    }

    async fn first_in(group: &ndzarr::Group) -> Result<Self> {
        Self::first_of(find(&Awaited, group).await?, group)
    }

    /// Like `Multiscale::find`.
    ///
    /// # Errors
    /// The same as for `Multiscale::find`.
    pub async fn find(group: &Group) -> Result<Vec<Self>> {
        let found = find(&Awaited, &group.clone().into()).await?;
        Ok(found.into_iter().map(|(group, image)| Self::new(group, image)).collect())
    }

    /// Like `Multiscale::group`.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group.clone().into()
    }

    /// Like `Multiscale::array`.
    ///
    /// # Errors
    /// The same as for `Multiscale::array`.
    pub async fn array(&self, level: usize) -> Result<AnyArray> {
        let level = self.level(level)?;
        let array: AnyArray = self.group().array(&level.path).await?;
        self.checked(level, array.shape().len())?;
        Ok(array)
    }

    /// Like `Multiscale::validate`.
    pub async fn validate(&self) -> Vec<Finding> {
        let mut findings = self.findings();
        findings.extend(check_arrays(&Awaited, &self.group, self.expected()).await);
        findings
    }

    /// Like `Multiscale::create`.
    ///
    /// # Errors
    /// The same as for `Multiscale::create`.
    pub async fn create(
        place: impl Into<Place>,
        format: Format,
        new: &NewMultiscale,
        layout: impl Fn(ArrayBuilder) -> ArrayBuilder,
    ) -> Result<Self> {
        let attributes = new.attributes(format)?;
        let builders = new.planned()?.into_iter().map(|level| {
            let builder = layout(AnyArray::builder(&level.shape).data_type(new.data_type().clone()));
            new.describe(builder, format)
        });
        let builders: Vec<_> = builders.collect();
        // First in memory, so that a wrong layout leaves nothing at the place.
        let trial = Group::create(MemoryStore::new(), format).await?;
        for (at, builder) in builders.iter().enumerate() {
            trial.create_array(&at.to_string(), builder.clone()).await?;
        }
        let mut group = new.group(Group::builder(), format).create(place).await?;
        for (at, builder) in builders.into_iter().enumerate() {
            group.create_array(&at.to_string(), builder).await?;
        }
        group.merge_attributes(attributes).await?;
        Self::first_in(&group.into()).await
    }
}
