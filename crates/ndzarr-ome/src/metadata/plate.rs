//! `Plate`: the wells of a plate, and the fields of view of a well.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::json::{integer, list, text};

/// A plate of wells in rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plate {
    /// Its name.
    pub name: Option<String>,
    /// The names of its rows.
    pub rows: Vec<String>,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The wells that have images.
    pub wells: Vec<PlateWell>,
    /// The acquisitions that made the images.
    pub acquisitions: Vec<Acquisition>,
    /// The most fields of view that a well has.
    pub field_count: Option<u64>,
}

/// A well of a plate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlateWell {
    /// The path of its group from that of the plate: the names of its row and column.
    pub path: String,
    /// Its row, counted from 0.
    pub row: u64,
    /// Its column, counted from 0.
    pub column: u64,
}

/// An acquisition of a plate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acquisition {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// The most fields of view that it has of one well.
    pub maximum_field_count: Option<u64>,
    /// When it began, in seconds since 1970.
    pub start_time: Option<u64>,
    /// When it ended, in seconds since 1970.
    pub end_time: Option<u64>,
}

/// A field of view of a well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WellImage {
    /// The path of its image from the group of the well.
    pub path: String,
    /// The number of its acquisition.
    pub acquisition: Option<u64>,
}

fn count(value: &Value) -> Option<u64> {
    integer(value).and_then(|count| u64::try_from(count).ok())
}

impl Plate {
    pub(crate) fn of(plate: &Value) -> Self {
        let names = |key: &str| -> Vec<String> {
            list(&plate[key])
                .iter()
                .filter_map(|named| text(&named["name"]))
                .collect()
        };
        let rows = names("rows");
        let columns = names("columns");
        // Reversed, so that the first index of a name that occurs twice counts.
        let indices = |names: &[String]| -> HashMap<String, u64> {
            names
                .iter()
                .enumerate()
                .rev()
                .map(|(at, name)| (name.clone(), at as u64))
                .collect()
        };
        let row_indices = indices(&rows);
        let column_indices = indices(&columns);
        let well = |well: &Value| PlateWell::of(well, &row_indices, &column_indices);
        Self {
            name: text(&plate["name"]),
            wells: list(&plate["wells"]).iter().filter_map(well).collect(),
            acquisitions: list(&plate["acquisitions"])
                .iter()
                .filter_map(Acquisition::of)
                .collect(),
            field_count: count(&plate["field_count"]),
            rows,
            columns,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let names = |list: &[String]| {
            list.iter()
                .map(|name| json!({"name": name}))
                .collect::<Vec<_>>()
        };
        let wells = self.wells.iter().map(
            |PlateWell { path, row, column }| json!({"path": path, "rowIndex": row, "columnIndex": column}),
        );
        let mut plate = json!({
            "rows": names(&self.rows),
            "columns": names(&self.columns),
            "wells": wells.collect::<Vec<_>>(),
        });
        if let Some(name) = &self.name {
            plate["name"] = name.clone().into();
        }
        if !self.acquisitions.is_empty() {
            plate["acquisitions"] = self.acquisitions.iter().map(Acquisition::to_json).collect();
        }
        if let Some(field_count) = self.field_count {
            plate["field_count"] = field_count.into();
        }
        plate
    }
}

impl PlateWell {
    /// Before 0.4 wells have only a path, made of the names of the row and the column.
    fn of(
        well: &Value,
        rows: &HashMap<String, u64>,
        columns: &HashMap<String, u64>,
    ) -> Option<Self> {
        let path = text(&well["path"])?;
        let named = path.split_once('/');
        let row = count(&well["rowIndex"]).or_else(|| rows.get(named?.0).copied())?;
        let column = count(&well["columnIndex"]).or_else(|| columns.get(named?.1).copied())?;
        Some(Self { path, row, column })
    }
}

impl Acquisition {
    fn of(acquisition: &Value) -> Option<Self> {
        Some(Self {
            id: count(&acquisition["id"])?,
            name: text(&acquisition["name"]),
            description: text(&acquisition["description"]),
            maximum_field_count: count(&acquisition["maximumfieldcount"]),
            start_time: count(&acquisition["starttime"]),
            end_time: count(&acquisition["endtime"]),
        })
    }

    fn to_json(&self) -> Value {
        let mut acquisition = json!({"id": self.id});
        for (key, value) in [("name", &self.name), ("description", &self.description)] {
            if let Some(value) = value {
                acquisition[key] = value.clone().into();
            }
        }
        for (key, value) in [
            ("maximumfieldcount", self.maximum_field_count),
            ("starttime", self.start_time),
            ("endtime", self.end_time),
        ] {
            if let Some(value) = value {
                acquisition[key] = value.into();
            }
        }
        acquisition
    }
}

impl WellImage {
    pub(crate) fn of(image: &Value) -> Option<Self> {
        Some(Self {
            path: text(&image["path"])?,
            acquisition: count(&image["acquisition"]),
        })
    }

    pub(crate) fn to_json(&self) -> Value {
        match self.acquisition {
            Some(acquisition) => json!({"path": self.path, "acquisition": acquisition}),
            None => json!({"path": self.path}),
        }
    }
}
