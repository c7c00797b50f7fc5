//! `Contents`: the variables of a dataset, as its group has them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ndzarr::{AnyArray, AnyElements, Group};
use serde_json::{Map, Value};

use crate::attributes::DIMENSIONS;
use crate::coordinate::Coordinate;
use crate::coordinate::kept::Kept;
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
    /// Why it cannot be opened, if so.
    array: ndzarr::Result<AnyArray>,
    /// Its values, once labels were searched among them.
    pub(crate) kept: Kept,
}

impl Contents {
    pub(crate) fn new(
        group: Group,
        arrays: impl IntoIterator<Item = (String, ndzarr::Result<AnyArray>)>,
    ) -> Self {
        let entry = |(name, array): (String, ndzarr::Result<AnyArray>)| {
            (name.clone(), Arc::new(Entry { name, array, kept: Kept::default() }))
        };
        Self { group, variables: arrays.into_iter().map(entry).collect() }
    }

    pub(crate) fn insert(&mut self, name: &str, array: AnyArray) {
        let entry = Entry { name: name.to_owned(), array: Ok(array), kept: Kept::default() };
        self.variables.insert(name.to_owned(), Arc::new(entry));
    }

    pub(crate) fn entry(&self, name: &str) -> Result<&Arc<Entry>> {
        self.variables.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            Error::variable(name, format!("does not exist; there are: {}", names.join(", ")))
        })
    }

    fn opened(&self) -> impl Iterator<Item = (&str, &AnyArray)> {
        self.variables.values().filter_map(|entry| Some((&entry.name[..], entry.array.as_ref().ok()?)))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// The names of the coordinates: variables along the dimension of their own name, and what an
    /// attribute `coordinates` lists.
    pub(crate) fn coordinates(&self) -> Vec<&str> {
        let listed = |attributes: &Map<String, Value>| match attributes.get("coordinates") {
            Some(Value::String(names)) => names.split_whitespace().map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let mut listed: BTreeSet<String> = listed(self.group.attributes()).into_iter().collect();
        for (name, array) in self.opened() {
            if let Some([Some(dimension)]) = array.dimension_names()
                && dimension == name
            {
                listed.insert(name.to_owned());
            }
            if let Some(Value::String(names)) = array.attributes().get("coordinates") {
                listed.extend(names.split_whitespace().map(str::to_owned));
            }
        }
        self.names().filter(|name| listed.contains(*name)).collect()
    }

    pub(crate) fn data_variables(&self) -> Vec<&str> {
        let coordinates = self.coordinates();
        self.names().filter(|name| !coordinates.contains(name)).collect()
    }

    /// The length that another variable gives a dimension, and its name.
    pub(crate) fn length_of(&self, dimension: &str, other_than: &str) -> Option<(u64, &str)> {
        self.opened().filter(|(name, _)| *name != other_than).find_map(|(name, array)| {
            let names = array.dimension_names()?;
            let axis = names.iter().position(|name| name.as_deref() == Some(dimension))?;
            Some((array.shape()[axis], name))
        })
    }

    /// The attributes of a variable. The bounds of a time have its units and its calendar.
    fn attributes<'a>(&self, name: &str, array: &'a AnyArray) -> Cow<'a, Map<String, Value>> {
        let own = array.attributes();
        let is_bounds = |other: &AnyArray| {
            let is_time = matches!(other.attributes().get("units"), Some(Value::String(units)) if units.contains(" since "));
            is_time && other.attributes().get("bounds").and_then(Value::as_str) == Some(name)
        };
        let Some((_, time)) = self.opened().find(|(_, other)| is_bounds(other)) else {
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

impl Entry {
    pub(crate) fn array(&self) -> Result<&AnyArray> {
        self.array
            .as_ref()
            .map_err(|error| Error::Unopened { variable: self.name.clone(), error: error.clone() })
    }

    /// The names of its dimensions, if they have names.
    pub(crate) fn dimensions(&self) -> Result<Vec<Option<String>>> {
        let array = self.array()?;
        let rank = array.shape().len();
        match (array.dimension_names(), array.attributes().get(DIMENSIONS)) {
            (Some(names), _) => Ok(names.to_vec()),
            (None, Some(value)) if rank > 0 || value.as_array().is_none_or(|names| !names.is_empty()) => {
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
                let what = format!("has {} dimensions; labels select along one", dimensions.len());
                Err(Error::label(&self.name, what))
            }
        }
    }

    /// The values that stored elements are, which were read after a number of writes.
    pub(crate) fn keep(
        &self,
        encoding: &Encoding,
        elements: AnyElements,
        n_writes: u64,
    ) -> Result<Arc<Coordinate>> {
        let values = Arc::new(Coordinate::new(&self.name, encoding, elements)?);
        self.kept.keep(&values, n_writes);
        Ok(values)
    }
}
