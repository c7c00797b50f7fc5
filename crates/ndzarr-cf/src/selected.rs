//! `Selected`: a variable and what is selected of it, without any I/O.

use std::ops::Range;
use std::sync::Arc;

use ndzarr::ndarray::IxDyn;
use ndzarr::{AnyArray, DataType, Format, Selection};
use serde_json::{Map, Value};

use crate::attributes::{Attributes, DIMENSIONS, FILL_VALUE, Number, fill_value};
use crate::contents::{Contents, Entry};
use crate::coordinate::kept::Forget;
use crate::coordinate::labels::Labels;
use crate::coordinate::{Coordinate, Pick};
use crate::encoding::{Encoding, ValidRange, is_number};
use crate::error::{Error, Result};

/// A variable of a dataset, and the part of it that is selected.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    contents: Arc<Contents>,
    entry: Arc<Entry>,
    by: Vec<By>,
    valid_only: bool,
}

#[derive(Clone, Debug)]
enum By {
    /// By labels of a coordinate.
    Labels(Arc<Entry>, Labels),
    /// By position along a dimension.
    Range(String, Range<u64>),
}

impl By {
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
        Ok(Self { contents: Arc::clone(contents), entry, by: Vec::new(), valid_only: false })
    }

    pub(crate) fn name(&self) -> &str {
        &self.entry.name
    }

    pub(crate) fn array(&self) -> &AnyArray {
        self.entry.array().expect("a variable whose array cannot be opened is not selected")
    }

    pub(crate) fn dimensions(&self) -> Result<Vec<Option<String>>> {
        self.entry.dimensions()
    }

    pub(crate) fn attributes(&self) -> Result<Map<String, Value>> {
        let array = self.array();
        let stored = Attributes { variable: self.name(), all: array.attributes() };
        let mut attributes = stored.all.clone();
        attributes.remove(DIMENSIONS);
        let fill = &array.spec().fill_value;
        let is_missing = array.format() == Format::Zarr2 && fill.is_defined();
        let missing = match array.data_type() {
            // To xarray these are missing, too.
            DataType::Bool if is_missing => Some(Value::from(!fill.is_zero())),
            DataType::String if is_missing => std::str::from_utf8(fill.bytes()).ok().map(Value::from),
            stored if !is_number(stored) => None,
            _ if is_missing => Number::of_fill(array).map(Number::json),
            data_type => fill_value(stored, data_type)?.map(Number::json),
        };
        if let Some(missing) = missing {
            attributes.insert(FILL_VALUE.to_owned(), missing);
        }
        Ok(attributes)
    }

    pub(crate) fn encoding(&self) -> Result<Encoding> {
        self.contents.encoding(&self.entry)
    }

    /// The range outside which numbers are missing, if it is to be applied.
    pub(crate) fn valid_range(&self, encoding: &Encoding) -> Result<Option<ValidRange>> {
        if !self.valid_only {
            return Ok(None);
        }
        let attributes = Attributes { variable: self.name(), all: self.array().attributes() };
        ValidRange::of(attributes, encoding)
    }

    pub(crate) fn valid_only(mut self) -> Self {
        self.valid_only = true;
        self
    }

    pub(crate) fn by_labels(mut self, coordinate: &str, labels: Labels) -> Result<Self> {
        let coordinate = self.contents.entry(coordinate).map_err(|error| match self.has(coordinate) {
            true => Error::label(coordinate, "does not exist: the dimension has no labels, only positions"),
            false => error,
        })?;
        let coordinate = Arc::clone(coordinate);
        self.check_new(&coordinate.dimension()?)?;
        self.by.push(By::Labels(coordinate, labels));
        Ok(self)
    }

    pub(crate) fn by_range(mut self, dimension: &str, range: Range<u64>) -> Result<Self> {
        self.check_new(dimension)?;
        self.by.push(By::Range(dimension.to_owned(), range));
        Ok(self)
    }

    fn has(&self, dimension: &str) -> bool {
        self.dimensions().is_ok_and(|names| names.iter().flatten().any(|name| name == dimension))
    }

    fn check_new(&self, dimension: &str) -> Result<()> {
        let names = self.dimensions()?;
        if !names.iter().flatten().any(|name| name == dimension) {
            let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or("(no name)")).collect();
            let what = format!("has no dimension {dimension:?}, but {}", names.join(", "));
            return Err(Error::variable(self.name(), what));
        }
        for by in &self.by {
            if by.dimension()? == dimension {
                return Err(Error::variable(self.name(), format!("is selected twice along {dimension:?}")));
            }
        }
        Ok(())
    }

    /// Another variable, with what is selected here along the dimensions that it has.
    pub(crate) fn coordinate(&self, name: &str) -> Result<Self> {
        let mut other = Self::new(&self.contents, name)?;
        for by in &self.by {
            if other.has(&by.dimension()?) {
                other.by.push(by.clone());
            }
        }
        Ok(other)
    }

    /// The coordinates whose values the selection needs, in the order in which it takes them.
    pub(crate) fn needed(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.by.iter().filter_map(|by| match by {
            By::Labels(coordinate, _) => Some(coordinate),
            By::Range(..) => None,
        })
    }

    pub(crate) fn encoding_of(&self, coordinate: &Entry) -> Result<Encoding> {
        self.contents.encoding(coordinate)
    }

    /// To be held during a write of the variable.
    pub(crate) fn until_written(&self) -> Forget<'_> {
        self.entry.kept.until_written()
    }

    /// What is selected of the array.
    pub(crate) fn selection(
        &self,
        needed: &[Arc<Coordinate>],
    ) -> Result<impl Selection<OutDim = IxDyn> + Send + use<>> {
        let mut selection = self.array().by_name();
        let mut needed = needed.iter();
        for by in &self.by {
            let dimension = by.dimension()?;
            let pick = match by {
                By::Range(_, range) => Pick::Range(range.clone()),
                By::Labels(entry, labels) => {
                    let coordinate = needed.next().expect("all that are needed are given");
                    self.check_length(entry, &dimension, coordinate.len())?;
                    coordinate.find(labels)?
                }
            };
            selection = match pick {
                Pick::Index(at) => selection.axis(dimension, at),
                Pick::Range(range) => selection.axis(dimension, range),
                Pick::List(list) => selection.axis(dimension, list),
            };
        }
        Ok(selection)
    }

    fn check_length(&self, coordinate: &Entry, dimension: &str, n: usize) -> Result<()> {
        let names = self.dimensions()?;
        let axis = names.iter().position(|name| name.as_deref() == Some(dimension));
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
