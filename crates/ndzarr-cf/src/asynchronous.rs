//! The calls of this crate as futures, with the names of the blocking ones.
//!
//! ```
//! use ndzarr::{DataType, Format, MemoryStore, ndarray::array, store::block_on};
//! use ndzarr_cf::asynchronous::Dataset;
//! use serde_json::json;
//!
//! # block_on(async {
//! let store = MemoryStore::new();
//! let mut new = Dataset::create(&store, Format::Zarr3).await?;
//! let packed = json!({"scale_factor": 0.5});
//! let t = new.create_variable("t", DataType::Int { bits: 8 }, [("x", 3)], packed, |layout| layout).await?;
//! t.write(array![1.0, 1.5, -3.0]).await?;
//! let t = Dataset::open(&store).await?.variable("t")?.isel("x", 1..3)?;
//! assert_eq!(t.read_as::<f64>().await?, array![1.5, -3.0].into_dyn());
//! # Ok::<(), ndzarr_cf::Error>(())
//! # })?;
//! # Ok::<(), ndzarr_cf::Error>(())
//! ```

use std::sync::Arc;

use ndzarr::asynchronous::{AnyArray, ArrayBuilder, Group};
use ndzarr::ndarray::{ArrayD, ArrayRef, Dimension};
use ndzarr::{Any, AnyElements, Asynchronous, DataType, Format, MemberKind, Number, Place};
use serde_json::Value;

use crate::contents::Contents;
use crate::coordinate::Coordinate;
use crate::error::Result;
use crate::into_numbers::into_numbers;
use crate::new_variable::NewVariable;
use crate::time::Time;

/// A dataset, as [`Dataset`](crate::Dataset), with calls that are futures.
pub type Dataset = crate::dataset::Dataset<Asynchronous>;

/// A variable, as [`Variable`](crate::Variable), with calls that are futures.
pub type Variable = crate::variable::Variable<Asynchronous>;

impl Dataset {
    /// Asynchronous `Dataset::open`.
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn open(place: impl Into<Place>) -> Result<Self> {
        Self::from_group(Group::open(place).await?).await
    }

    /// Asynchronous `Dataset::from_group`.
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn from_group(group: Group) -> Result<Self> {
        let mut arrays = Vec::new();
        for child in group.children().await? {
            if child.kind() != Some(MemberKind::Group) {
                arrays.push((
                    child.name().to_owned(),
                    child.array::<Any>().map(Into::into),
                ));
            }
        }
        Ok(Self::new(Contents::new(group.into(), arrays)))
    }

    /// Asynchronous `Dataset::create`.
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn create(place: impl Into<Place>, format: Format) -> Result<Self> {
        let mut group = Group::create(place, format).await?;
        if matches!(format, Format::Zarr2 | Format::Zarr3) {
            group.consolidate().await?;
        }
        Ok(Self::new(Contents::new(group.into(), [])))
    }

    /// Asynchronous `Dataset::create_variable`.
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn create_variable<'d>(
        &mut self,
        name: &str,
        data_type: DataType,
        dimensions: impl IntoIterator<Item = (&'d str, u64)>,
        attributes: Value,
        layout: impl FnOnce(ArrayBuilder) -> ArrayBuilder,
    ) -> Result<Variable> {
        let new = NewVariable::new(&self.contents, name, data_type, dimensions, attributes)?;
        let builder = layout(AnyArray::builder(&new.shape).data_type(new.data_type.clone()));
        let group = Group::from(self.contents.group.clone());
        let array = group.create_array(name, new.describe(builder)).await?;
        Arc::make_mut(&mut self.contents).insert(name, array.into());
        self.variable(name)
    }
}

impl Variable {
    /// The array, as it is stored, and its attributes.
    #[must_use]
    pub fn array(&self) -> AnyArray {
        self.selected.array().clone().into()
    }

    /// Asynchronous [`Variable::read`](crate::Variable::read).
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn read(&self) -> Result<AnyElements> {
        let encoding = self.selected.encoding()?;
        let valid = self.selected.valid_range(&encoding)?;
        encoding.decode(self.read_stored().await?, valid, self.name())
    }

    /// Asynchronous [`Variable::read_as`](crate::Variable::read_as).
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn read_as<T: Number>(&self) -> Result<ArrayD<T>> {
        into_numbers(self.read().await?, self.name())
    }

    /// Asynchronous [`Variable::read_times`](crate::Variable::read_times).
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn read_times(&self) -> Result<ArrayD<Option<Time>>> {
        let encoding = self.selected.encoding()?;
        encoding.times(self.read_stored().await?, self.name())
    }

    /// Asynchronous [`Variable::write`](crate::Variable::write).
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn write<D: Dimension>(&self, elements: impl Into<AnyElements<D>>) -> Result<()> {
        let elements = self
            .selected
            .encoding()?
            .encode(elements.into().into_dyn(), self.name())?;
        self.write_stored(elements).await
    }

    /// Asynchronous [`Variable::write_times`](crate::Variable::write_times).
    ///
    /// # Errors
    /// Those of the blocking call.
    pub async fn write_times<T, D>(&self, times: &ArrayRef<T, D>) -> Result<()>
    where
        T: Clone + Into<Option<Time>>,
        D: Dimension,
    {
        let elements = self.selected.encoding()?.encode_times(times, self.name())?;
        self.write_stored(elements).await
    }

    async fn read_stored(&self) -> Result<AnyElements> {
        let selection = self.selected.selection(&self.label_coordinates().await?)?;
        Ok(self.array().read(selection).await?)
    }

    async fn write_stored(&self, elements: AnyElements) -> Result<()> {
        let selection = self.selected.selection(&self.label_coordinates().await?)?;
        let _write = self.selected.begin_write();
        Ok(self.array().write(selection, &elements).await?)
    }

    /// The values of the coordinates whose labels are selected.
    async fn label_coordinates(&self) -> Result<Vec<Arc<Coordinate>>> {
        let mut coordinates = Vec::new();
        for entry in self.selected.label_coordinates() {
            let values = match entry.cache.get() {
                Ok(values) => values,
                Err(n_writes) => {
                    let encoding = self.selected.encoding_of(entry)?;
                    let array = AnyArray::from(entry.array()?.clone());
                    entry.cache_values(&encoding, array.read(..).await?, n_writes)?
                }
            };
            coordinates.push(values);
        }
        Ok(coordinates)
    }
}
