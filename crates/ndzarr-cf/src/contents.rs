//! `Contents`: the arrays of a group, as the variables of a dataset.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ndzarr::{AnyArray, AnyElements, Group};
use serde_json::{Map, Value};

use crate::attributes::DIMENSIONS;
use crate::coordinate::Coordinate;
use crate::coordinate::cache::Cache;
use crate::encoding::Encoding;
use crate::error::{Error, Result};

/// The variables of a dataset.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    pub(crate) group: Group,
    variables: BTreeMap<String, Arc<Entry>>,
}

/// An array of a dataset.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// The array, or the reason why it cannot be opened.
    array: ndzarr::Result<AnyArray>,
    /// Its values, after labels were searched among them.
    pub(crate) cache: Cache,
}

impl Contents {
    pub(crate) fn new(
        group: Group,
        arrays: impl IntoIterator<Item = (String, ndzarr::Result<AnyArray>)>,
    ) -> Self {
        let entry = |(name, array): (String, ndzarr::Result<AnyArray>)| {
            (
                name.clone(),
                Arc::new(Entry {
                    name,
                    array,
                    cache: Cache::default(),
                }),
            )
        };
        Self {
            group,
            variables: arrays.into_iter().map(entry).collect(),
        }
    }

    pub(crate) fn insert(&mut self, name: &str, array: AnyArray) {
        let entry = Entry {
            name: name.to_owned(),
            array: Ok(array),
            cache: Cache::default(),
        };
        self.variables.insert(name.to_owned(), Arc::new(entry));
    }

    pub(crate) fn entry(&self, name: &str) -> Result<&Arc<Entry>> {
        self.variables.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            Error::variable(
                name,
                format!("does not exist; there are: {}", names.join(", ")),
            )
        })
    }

    fn opened(&self) -> impl Iterator<Item = (&str, &AnyArray)> {
        self.variables
            .values()
            .filter_map(|entry| Some((&entry.name[..], entry.array.as_ref().ok()?)))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// The names of the coordinates: variables along the dimension of their own name, and those
    /// that an attribute `coordinates` lists.
    pub(crate) fn coordinates(&self) -> Vec<&str> {
        let mut coordinates: BTreeSet<&str> = BTreeSet::new();
        coordinates.extend(listed_coordinates(self.group.attributes()));
        for (name, array) in self.opened() {
            if let Some([Some(dimension)]) = array.dimension_names()
                && dimension == name
            {
                coordinates.insert(name);
            }
            coordinates.extend(listed_coordinates(array.attributes()));
        }
        self.names()
            .filter(|name| coordinates.contains(name))
            .collect()
    }

    pub(crate) fn data_variables(&self) -> Vec<&str> {
        let coordinates = self.coordinates();
        self.names()
            .filter(|name| !coordinates.contains(name))
            .collect()
    }

    /// The length of a dimension in another variable, and the name of that variable.
    pub(crate) fn length_of(&self, dimension: &str, other_than: &str) -> Option<(u64, &str)> {
        self.opened()
            .filter(|(name, _)| *name != other_than)
            .find_map(|(name, array)| {
                let names = array.dimension_names()?;
                let axis = names
                    .iter()
                    .position(|name| name.as_deref() == Some(dimension))?;
                Some((array.shape()[axis], name))
            })
    }

    /// The attributes of a variable. The bounds of a time have the units and the calendar of the
    /// time.
    fn attributes<'a>(&self, name: &str, array: &'a AnyArray) -> Cow<'a, Map<String, Value>> {
        let own = array.attributes();
        let is_time_of_bounds = |other: &AnyArray| {
            let text = |key: &str| other.attributes().get(key).and_then(Value::as_str);
            text("units").is_some_and(|units| units.contains(" since "))
                && text("bounds") == Some(name)
        };
        let Some((_, time)) = self.opened().find(|(_, other)| is_time_of_bounds(other)) else {
            return Cow::Borrowed(own);
        };
        let mut all = own.clone();
        for key in ["units", "calendar"] {
            if let Some(value) = time.attributes().get(key) {
                all.entry(key).or_insert_with(|| value.clone());
            }
        }
        Cow::Owned(all)
    }

    pub(crate) fn encoding(&self, entry: &Entry) -> Result<Encoding> {
        let array = entry.array()?;
        Encoding::of(array, &entry.name, &self.attributes(&entry.name, array))
    }
}

/// The names that an attribute `coordinates` lists.
fn listed_coordinates(attributes: &Map<String, Value>) -> impl Iterator<Item = &str> {
    attributes
        .get("coordinates")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .split_whitespace()
}

impl Entry {
    pub(crate) fn array(&self) -> Result<&AnyArray> {
        self.array.as_ref().map_err(|error| Error::Unopened {
            variable: self.name.clone(),
            error: error.clone(),
        })
    }

    /// The names of its dimensions, if they have names.
    pub(crate) fn dimensions(&self) -> Result<Vec<Option<String>>> {
        let array = self.array()?;
        let rank = array.shape().len();
        match (array.dimension_names(), array.attributes().get(DIMENSIONS)) {
            (Some(names), _) => Ok(names.to_vec()),
            (None, Some(value))
                if rank > 0 || value.as_array().is_none_or(|names| !names.is_empty()) =>
            {
                let what = format!(
                    "is {}, not a name for each of {rank} dimensions",
                    crate::attributes::shown(value)
                );
                Err(Error::attribute(&self.name, DIMENSIONS, what))
            }
            (None, _) => Ok(vec![None; rank]),
        }
    }

    /// The dimension of a coordinate that labels are searched in.
    pub(crate) fn dimension(&self) -> Result<String> {
        match &self.dimensions()?[..] {
            [Some(dimension)] => Ok(dimension.clone()),
            [None] => Err(Error::label(&self.name, "has a dimension without a name")),
            dimensions => {
                let what = format!(
                    "has {} dimensions; labels select along one",
                    dimensions.len()
                );
                Err(Error::label(&self.name, what))
            }
        }
    }

    /// Decodes the stored elements of a coordinate, which were read after `n_writes` writes, and
    /// keeps the values for later searches.
    pub(crate) fn cache_values(
        &self,
        encoding: &Encoding,
        elements: AnyElements,
        n_writes: u64,
    ) -> Result<Arc<Coordinate>> {
        let values = Arc::new(Coordinate::new(&self.name, encoding, elements)?);
        self.cache.set(&values, n_writes);
        Ok(values)
    }
}
