//! `Selected`: a variable and the selected part of it, without any I/O.

use std::ops::Range;
use std::sync::Arc;

use ndzarr::ndarray::IxDyn;
use ndzarr::{AnyArray, DataType, Format, Selection};
use serde_json::{Map, Value};

use crate::attributes::{Attributes, DIMENSIONS, FILL_VALUE, Number, fill_value};
use crate::contents::{Contents, Entry};
use crate::coordinate::cache::WriteInProgress;
use crate::coordinate::labels::Labels;
use crate::coordinate::{Coordinate, Positions};
use crate::encoding::{Encoding, ValidRange, is_number};
use crate::error::{Error, Result};

/// A variable of a dataset, and the selected part of it.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    contents: Arc<Contents>,
    entry: Arc<Entry>,
    /// At most one for each dimension.
    axes: Vec<AxisSelection>,
    valid_only: bool,
}

/// A selection along one dimension.
#[derive(Clone, Debug)]
enum AxisSelection {
    /// Labels of a coordinate.
    Labels(Arc<Entry>, Labels),
    /// Positions along the dimension of this name.
    Range(String, Range<u64>),
}

impl AxisSelection {
    fn dimension(&self) -> Result<String> {
        match self {
            Self::Labels(coordinate, _) => coordinate.dimension(),
            Self::Range(dimension, _) => Ok(dimension.clone()),
        }
    }
}

impl Selected {
    pub(crate) fn new(contents: &Arc<Contents>, name: &str) -> Result<Self> {
        let entry = Arc::clone(contents.entry(name)?);
        entry.array()?;
        Ok(Self {
            contents: Arc::clone(contents),
            entry,
            axes: Vec::new(),
            valid_only: false,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.entry.name
    }

    pub(crate) fn array(&self) -> &AnyArray {
        self.entry
            .array()
            .expect("a variable whose array cannot be opened is not selected")
    }

    pub(crate) fn dimensions(&self) -> Result<Vec<Option<String>>> {
        self.entry.dimensions()
    }

    pub(crate) fn attributes(&self) -> Result<Map<String, Value>> {
        let array = self.array();
        let stored = Attributes {
            variable: self.name(),
            all: array.attributes(),
        };
        let mut attributes = stored.all.clone();
        attributes.remove(DIMENSIONS);
        let fill = &array.spec().fill_value;
        let is_missing = array.format() == Format::Zarr2 && fill.is_defined();
        let missing = match array.data_type() {
            // xarray takes these for missing, too.
            DataType::Bool if is_missing => Some(Value::from(!fill.is_zero())),
            DataType::String if is_missing => {
                std::str::from_utf8(fill.bytes()).ok().map(Value::from)
            }
            stored if !is_number(stored) => None,
            _ if is_missing => Number::of_fill(array).map(Number::to_json),
            data_type => fill_value(stored, data_type)?.map(Number::to_json),
        };
        if let Some(missing) = missing {
            attributes.insert(FILL_VALUE.to_owned(), missing);
        }
        Ok(attributes)
    }

    pub(crate) fn encoding(&self) -> Result<Encoding> {
        self.contents.encoding(&self.entry)
    }

    /// The range outside which numbers are missing, if only valid numbers are wanted.
    pub(crate) fn valid_range(&self, encoding: &Encoding) -> Result<Option<ValidRange>> {
        if !self.valid_only {
            return Ok(None);
        }
        let attributes = Attributes {
            variable: self.name(),
            all: self.array().attributes(),
        };
        ValidRange::of(attributes, encoding)
    }

    pub(crate) fn valid_only(mut self) -> Self {
        self.valid_only = true;
        self
    }

    pub(crate) fn by_labels(mut self, coordinate: &str, labels: Labels) -> Result<Self> {
        let coordinate = self.contents.entry(coordinate).map_err(|error| {
            if self.has_dimension(coordinate) {
                Error::label(
                    coordinate,
                    "does not exist: the dimension has no labels, only positions",
                )
            } else {
                error
            }
        })?;
        let coordinate = Arc::clone(coordinate);
        self.check_not_selected(&coordinate.dimension()?)?;
        self.axes.push(AxisSelection::Labels(coordinate, labels));
        Ok(self)
    }

    pub(crate) fn by_range(mut self, dimension: &str, range: Range<u64>) -> Result<Self> {
        self.check_not_selected(dimension)?;
        self.axes
            .push(AxisSelection::Range(dimension.to_owned(), range));
        Ok(self)
    }

    fn has_dimension(&self, dimension: &str) -> bool {
        self.dimensions()
            .is_ok_and(|names| names.iter().flatten().any(|name| name == dimension))
    }

    /// Checks that the variable has a dimension, and that it is not selected yet.
    fn check_not_selected(&self, dimension: &str) -> Result<()> {
        let names = self.dimensions()?;
        if !names.iter().flatten().any(|name| name == dimension) {
            let names: Vec<&str> = names
                .iter()
                .map(|name| name.as_deref().unwrap_or("(no name)"))
                .collect();
            let what = format!("has no dimension {dimension:?}, but {}", names.join(", "));
            return Err(Error::variable(self.name(), what));
        }
        for axis in &self.axes {
            if axis.dimension()? == dimension {
                return Err(Error::variable(
                    self.name(),
                    format!("is selected twice along {dimension:?}"),
                ));
            }
        }
        Ok(())
    }

    /// Another variable, with the selections of this one along the dimensions that it has.
    pub(crate) fn coordinate(&self, name: &str) -> Result<Self> {
        let mut other = Self::new(&self.contents, name)?;
        for axis in &self.axes {
            if other.has_dimension(&axis.dimension()?) {
                other.axes.push(axis.clone());
            }
        }
        Ok(other)
    }

    /// The coordinates whose labels are selected, in the order in which
    /// [`selection`](Self::selection) takes their values.
    pub(crate) fn label_coordinates(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.axes.iter().filter_map(|axis| match axis {
            AxisSelection::Labels(coordinate, _) => Some(coordinate),
            AxisSelection::Range(..) => None,
        })
    }

    pub(crate) fn encoding_of(&self, coordinate: &Entry) -> Result<Encoding> {
        self.contents.encoding(coordinate)
    }

    /// A guard that is held during a write of the variable.
    pub(crate) fn begin_write(&self) -> WriteInProgress<'_> {
        self.entry.cache.begin_write()
    }

    /// The selected part of the array, by the values of its
    /// [`label_coordinates`](Self::label_coordinates).
    pub(crate) fn selection(
        &self,
        label_coordinates: &[Arc<Coordinate>],
    ) -> Result<impl Selection<OutDim = IxDyn> + Send + use<>> {
        let mut selection = self.array().by_name();
        let mut label_coordinates = label_coordinates.iter();
        for axis in &self.axes {
            let dimension = axis.dimension()?;
            let positions = match axis {
                AxisSelection::Range(_, range) => Positions::Range(range.clone()),
                AxisSelection::Labels(entry, labels) => {
                    let coordinate = label_coordinates
                        .next()
                        .expect("the values of each coordinate are passed");
                    self.check_length(entry, &dimension, coordinate.len())?;
                    coordinate.find(labels)?
                }
            };
            selection = match positions {
                Positions::Index(at) => selection.axis(dimension, at),
                Positions::Range(range) => selection.axis(dimension, range),
                Positions::List(list) => selection.axis(dimension, list),
            };
        }
        Ok(selection)
    }

    fn check_length(&self, coordinate: &Entry, dimension: &str, n: usize) -> Result<()> {
        let names = self.dimensions()?;
        let axis = names
            .iter()
            .position(|name| name.as_deref() == Some(dimension));
        match axis.map(|axis| self.array().shape()[axis]) {
            Some(length) if length != n as u64 => {
                let what = format!(
                    "has {n} values, but the dimension {dimension:?} of {:?} has length {length}",
                    self.name()
                );
                Err(Error::label(&coordinate.name, what))
            }
            _ => Ok(()),
        }
    }
}
