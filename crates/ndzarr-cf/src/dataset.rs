//! `Dataset`: a group of arrays, read by the CF conventions and the rules of xarray.

use std::marker::PhantomData;
use std::sync::Arc;

use ndzarr::{Any, AnyArray, ArrayBuilder, Blocking, DataType, Format, Group, MemberKind, Place};
use serde_json::{Map, Value};

use crate::contents::Contents;
use crate::error::Result;
use crate::new_variable::NewVariable;
use crate::variable::Variable;

/// A dataset. `M` is the mode of its calls: blocking or asynchronous.
#[derive(Clone, Debug)]
pub struct Dataset<M> {
    pub(crate) contents: Arc<Contents>,
    mode: PhantomData<M>,
}

impl<M> Dataset<M> {
    pub(crate) fn new(contents: Contents) -> Self {
        Self {
            contents: Arc::new(contents),
            mode: PhantomData,
        }
    }

    /// The attributes of the group.
    #[must_use]
    pub fn attributes(&self) -> &Map<String, Value> {
        self.contents.group.attributes()
    }

    /// The names of the coordinates, sorted: variables with one dimension, which has their name,
    /// and those that an attribute `coordinates` lists.
    #[must_use]
    pub fn coordinates(&self) -> Vec<&str> {
        self.contents.coordinates()
    }

    /// The names of all other variables, sorted.
    #[must_use]
    pub fn data_variables(&self) -> Vec<&str> {
        self.contents.data_variables()
    }

    /// A variable or coordinate.
    ///
    /// # Errors
    /// The dataset has no array of this name, or it could not be opened.
    pub fn variable(&self, name: &str) -> Result<Variable<M>> {
        Variable::new(&self.contents, name)
    }
}

impl Dataset<Blocking> {
    /// Opens the dataset at a place, see [`Place`]: a path, a URL, or a store and a path in it.
    ///
    /// # Errors
    /// The place has no group, or the store cannot list and the group has no consolidated metadata.
    pub fn open(place: impl Into<Place>) -> Result<Self> {
        Self::from_group(Group::open(place)?)
    }

    /// Opens the dataset in a group that was opened with options of its own. Reads and writes of
    /// the variables have the group's options.
    ///
    /// # Errors
    /// The store cannot list and the group has no consolidated metadata.
    pub fn from_group(group: Group) -> Result<Self> {
        let mut arrays = Vec::new();
        for child in group.children()? {
            if child.kind() != Some(MemberKind::Group) {
                arrays.push((child.name().to_owned(), child.array::<Any>()));
            }
        }
        Ok(Self::new(Contents::new(group, arrays)))
    }

    /// Creates a dataset without variables. In Zarr v2 and v3 it has consolidated metadata, which
    /// xarray looks for; creating variables updates it.
    ///
    /// # Errors
    /// The place has a node already; the store fails.
    pub fn create(place: impl Into<Place>, format: Format) -> Result<Self> {
        let mut group = Group::create(place, format)?;
        if matches!(format, Format::Zarr2 | Format::Zarr3) {
            group.consolidate()?;
        }
        Ok(Self::new(Contents::new(group, [])))
    }

    /// Creates a variable with the names and lengths of its dimensions. `layout` chooses chunks,
    /// shards and codecs.
    ///
    /// The attributes say how elements are encoded, as they do in files: `scale_factor`,
    /// `add_offset`, `units` and `calendar` of times, and so on. `_FillValue` is stored for missing
    /// elements, and is the fill value of the array. Without it, an array of Zarr v2 has no fill
    /// value, since xarray takes that for `_FillValue`.
    ///
    /// # Errors
    /// A dimension has another length in another variable; an attribute does not comply with the
    /// conventions; the array cannot be created.
    pub fn create_variable<'d>(
        &mut self,
        name: &str,
        data_type: DataType,
        dimensions: impl IntoIterator<Item = (&'d str, u64)>,
        attributes: Value,
        layout: impl FnOnce(ArrayBuilder) -> ArrayBuilder,
    ) -> Result<Variable> {
        let new = NewVariable::new(&self.contents, name, data_type, dimensions, attributes)?;
        let builder = layout(AnyArray::builder(&new.shape).data_type(new.data_type.clone()));
        let array = self
            .contents
            .group
            .create_array(name, new.describe(builder))?;
        Arc::make_mut(&mut self.contents).insert(name, array);
        self.variable(name)
    }
}
