//! `Variable`: a variable of a dataset, which is decoded when it is read.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ndzarr::ndarray::{ArrayD, ArrayRef, Dimension};
use ndzarr::{AnyArray, AnyElements, Blocking, DataType, Number};
use serde_json::{Map, Value};

use crate::contents::{Contents, Entry};
use crate::coordinate::Coordinate;
use crate::coordinate::labels::Labels;
use crate::error::Result;
use crate::into_numbers::into_numbers;
use crate::selected::Selected;
use crate::time::Time;

/// A variable of a [`Dataset`](crate::Dataset), or a selected part of it. Selecting reads nothing;
/// the first read of labels reads their coordinate, which the dataset keeps until it writes it.
/// Changes of a coordinate by other programs are visible in datasets that are opened later.
///
/// Reading decodes elements as xarray does:
///
/// - Numbers with a `scale_factor` or `add_offset` are `f64`. Those that equal `_FillValue` or
///   `missing_value` are NaN, for which integers of up to 16 bits become `f32`, others `f64`. The
///   fill value of an array of Zarr v2 is its `_FillValue`.
/// - Integers with `_Unsigned` have the other signedness.
/// - Counts with `units` such as `hours since 1900-01-01` are times, in the stated `calendar`.
/// - Integers with `dtype: "bool"` are bools; counts with `dtype: "timedelta64[s]"`, durations.
///
/// ```
/// use ndarray::array;
/// use ndzarr::{DataType, Format, MemoryStore};
/// use ndzarr_cf::{Calendar, Dataset, Time};
/// use serde_json::json;
///
/// let mut dataset = Dataset::create(MemoryStore::new(), Format::Zarr3)?;
/// let units = json!({"units": "days since 2001-01-01", "calendar": "360_day"});
/// let time = dataset.create_variable("time", DataType::Int { bits: 32 }, [("time", 3)], units, |layout| layout)?;
/// let months = ["2001-01-30", "2001-02-30", "2001-03-30"].map(|text| Time::parse(text, Calendar::Days360));
/// time.write_times(&ndarray::Array::from_iter(months.into_iter().collect::<Result<Vec<_>, _>>()?))?;
///
/// let february = time.sel("time", "2001-02"..="2001-02")?;
/// assert_eq!(february.read_times()?[[0]].map(|time| time.to_string()).as_deref(), Some("2001-02-30T00:00:00"));
/// assert_eq!(time.array().read_as::<i32, _>((1,), Default::default())?, ndarray::arr0(59));
/// # Ok::<(), ndzarr_cf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Variable<M = Blocking> {
    pub(crate) selected: Selected,
    mode: PhantomData<M>,
}

impl<M> Variable<M> {
    pub(crate) fn new(contents: &Arc<Contents>, name: &str) -> Result<Self> {
        Selected::new(contents, name).map(Self::of)
    }

    fn of(selected: Selected) -> Self {
        Self {
            selected,
            mode: PhantomData,
        }
    }

    /// The name of the variable.
    #[must_use]
    pub fn name(&self) -> &str {
        self.selected.name()
    }

    /// The names of the dimensions of the whole variable, `None` for those without.
    ///
    /// # Errors
    /// The attribute `_ARRAY_DIMENSIONS` does not have a name for each dimension.
    pub fn dimensions(&self) -> Result<Vec<Option<String>>> {
        self.selected.dimensions()
    }

    /// The attributes, in the form that `Dataset::create_variable` takes for a copy in any format:
    /// without the names of the dimensions, and with `_FillValue` as a number, which is the fill
    /// value of an array in Zarr v2. JSON has no NaN, which is therefore `"NaN"`.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{DataType, Format, MemoryStore};
    /// use ndzarr_cf::Dataset;
    /// use serde_json::json;
    ///
    /// let mut old = Dataset::create(MemoryStore::new(), Format::Zarr2)?;
    /// let packed = json!({"scale_factor": 0.5, "_FillValue": -1, "units": "K"});
    /// let a = old.create_variable("a", DataType::Int { bits: 16 }, [("x", 2)], packed, |layout| layout)?;
    /// a.write(array![1.5, f64::NAN])?;
    ///
    /// let mut new = Dataset::create(MemoryStore::new(), Format::Zarr3)?;
    /// let data_type = a.array().data_type().clone();
    /// let b = new.create_variable("a", data_type, [("x", 2)], a.attributes()?.into(), |layout| layout)?;
    /// b.write(a.read()?)?;
    /// assert_eq!(b.attributes()?, a.attributes()?);
    /// # Ok::<(), ndzarr_cf::Error>(())
    /// ```
    ///
    /// # Errors
    /// `_FillValue` does not comply with the conventions.
    pub fn attributes(&self) -> Result<Map<String, Value>> {
        self.selected.attributes()
    }

    /// The type of the elements that [`read`](Self::read) returns.
    ///
    /// # Errors
    /// An attribute does not comply with the conventions.
    pub fn data_type(&self) -> Result<DataType> {
        let encoding = self.selected.encoding()?;
        Ok(encoding.decoded_type(self.selected.valid_range(&encoding)?))
    }

    /// Selects along the dimension of a coordinate by its values: [`Labels`]. The coordinate has
    /// one dimension, mostly of its own name.
    ///
    /// # Errors
    /// The coordinate does not exist, or has other dimensions; the dimension is selected already.
    /// Labels that the coordinate does not have are an error of the read.
    pub fn sel(&self, coordinate: &str, labels: impl Into<Labels>) -> Result<Self> {
        self.selected
            .clone()
            .by_labels(coordinate, labels.into())
            .map(Self::of)
    }

    /// Selects a range of positions along a dimension.
    ///
    /// # Errors
    /// The variable has no such dimension, or it is selected already.
    pub fn isel(&self, dimension: &str, range: Range<u64>) -> Result<Self> {
        self.selected
            .clone()
            .by_range(dimension, range)
            .map(Self::of)
    }

    /// Another variable of the dataset, most often a coordinate, with the selections of this one
    /// along the dimensions that both have.
    ///
    /// # Errors
    /// The same as for `Dataset::variable`.
    pub fn coordinate(&self, name: &str) -> Result<Self> {
        self.selected.coordinate(name).map(Self::of)
    }

    /// The variable with numbers outside `valid_range`, or `valid_min` and `valid_max`, read as
    /// missing too. The conventions demand this; xarray does not do it.
    #[must_use]
    pub fn valid_only(&self) -> Self {
        Self::of(self.selected.clone().valid_only())
    }
}

impl Variable {
    /// The array, as it is stored, and its attributes.
    #[must_use]
    pub fn array(&self) -> &AnyArray {
        self.selected.array()
    }

    /// Reads the selected elements, as the type that xarray shows; see [`Variable`].
    ///
    /// Times are `datetime64` in nanoseconds. Missing texts are the text that marks them.
    ///
    /// # Errors
    /// - An attribute does not comply with the conventions; the error names it and the variable.
    /// - The coordinate does not have the labels, or has another length than the dimension; a range
    ///   is selected of a coordinate that neither increases nor decreases.
    /// - A time is in another calendar, or outside the years 1678 to 2261:
    ///   [`read_times`](Self::read_times) reads it.
    /// - The array cannot be read.
    pub fn read(&self) -> Result<AnyElements> {
        let encoding = self.selected.encoding()?;
        let valid = self.selected.valid_range(&encoding)?;
        encoding.decode(self.read_stored()?, valid, self.name())
    }

    /// Reads the selected elements as numbers of a type. A missing number is NaN.
    ///
    /// # Errors
    /// The elements are not numbers; one is out of range of `T`, or is missing and `T` is an
    /// integer. Also the errors of [`read`](Self::read).
    pub fn read_as<T: Number>(&self) -> Result<ArrayD<T>> {
        into_numbers(self.read()?, self.name())
    }

    /// Reads the selected elements as times; `None` for missing ones.
    ///
    /// # Errors
    /// The variable has no times; a count is out of range. Also the errors of [`read`](Self::read).
    pub fn read_times(&self) -> Result<ArrayD<Option<Time>>> {
        self.selected
            .encoding()?
            .times(self.read_stored()?, self.name())
    }

    /// Writes the selected elements, encoded as the attributes say: numbers are packed and rounded
    /// to the nearest, NaN becomes `_FillValue`. Integers, which have no NaN, are missing if they
    /// are that number and no attribute packs them.
    ///
    /// # Errors
    /// The elements have another shape than the selection; a packed element does not fit the stored
    /// type, or is not NaN and would be stored as a number for missing ones; an element is NaN, the
    /// stored type is an integer, and the variable has no `_FillValue`. Also the errors of
    /// [`read`](Self::read) and those of a write.
    pub fn write<D: Dimension>(&self, elements: impl Into<AnyElements<D>>) -> Result<()> {
        let elements = self
            .selected
            .encoding()?
            .encode(elements.into().into_dyn(), self.name())?;
        self.write_stored(&elements)
    }

    /// Writes times: [`Time`], or `Option` of it, whose `None` is missing. A date of another
    /// calendar becomes that of the same year, month and day in the calendar of the variable.
    ///
    /// # Errors
    /// The variable has no times; its calendar has no such day; its elements are integers, and its
    /// unit is too large for a time; a time would be stored as a number for missing ones. Also the
    /// errors of [`write`](Self::write).
    pub fn write_times<T, D>(&self, times: &ArrayRef<T, D>) -> Result<()>
    where
        T: Clone + Into<Option<Time>>,
        D: Dimension,
    {
        let elements = self.selected.encoding()?.encode_times(times, self.name())?;
        self.write_stored(&elements)
    }

    fn read_stored(&self) -> Result<AnyElements> {
        let selection = self.selected.selection(&self.label_coordinates()?)?;
        Ok(self.array().read(selection)?)
    }

    fn write_stored(&self, elements: &AnyElements) -> Result<()> {
        let selection = self.selected.selection(&self.label_coordinates()?)?;
        let _write = self.selected.begin_write();
        Ok(self.array().write(selection, elements)?)
    }

    /// The values of the coordinates whose labels are selected.
    fn label_coordinates(&self) -> Result<Vec<Arc<Coordinate>>> {
        let values = |entry: &Arc<Entry>| match entry.cache.get() {
            Ok(values) => Ok(values),
            Err(n_writes) => {
                let encoding = self.selected.encoding_of(entry)?;
                entry.cache_values(&encoding, entry.array()?.read(..)?, n_writes)
            }
        };
        self.selected.label_coordinates().map(values).collect()
    }
}
