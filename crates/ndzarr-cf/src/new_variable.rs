//! `NewVariable`: checks a variable before it is created, and describes its array.

use ndzarr::{Any, ArrayBuilder, DataType, FillRequest, Format};
use serde_json::{Map, Value, json};

use crate::attributes::{
    Attributes, DIMENSIONS, FILL_VALUE, fill_attribute, fill_value, is_float, round_numbers, shown,
};
use crate::contents::Contents;
use crate::encoding::{Encoding, ValidRange};
use crate::error::{Error, Result};

/// A new variable.
#[derive(Debug)]
pub(crate) struct NewVariable {
    pub(crate) data_type: DataType,
    pub(crate) shape: Vec<u64>,
    dimensions: Vec<String>,
    attributes: Map<String, Value>,
    fill: Option<FillRequest>,
}

impl NewVariable {
    pub(crate) fn new<'d>(
        contents: &Contents,
        name: &str,
        data_type: DataType,
        dimensions: impl IntoIterator<Item = (&'d str, u64)>,
        attributes: Value,
    ) -> Result<Self> {
        let mut attributes = match attributes {
            Value::Object(attributes) => attributes,
            Value::Null => Map::new(),
            _ => {
                return Err(Error::variable(
                    name,
                    "has attributes that are not a JSON object",
                ));
            }
        };
        if name.contains('/') {
            return Err(Error::variable(
                name,
                "has a name with \"/\": the variables of a dataset are in one group",
            ));
        }
        let mut names = Vec::new();
        let mut shape = Vec::new();
        for (dimension, length) in dimensions {
            if names.iter().any(|other| other == dimension) {
                return Err(Error::variable(
                    name,
                    format!("has the dimension {dimension:?} twice"),
                ));
            }
            if let Some((other, variable)) = contents.length_of(dimension, name)
                && other != length
            {
                let what = format!(
                    "has {length} for the dimension {dimension:?}, and {variable:?} has {other}"
                );
                return Err(Error::variable(name, what));
            }
            names.push(dimension.to_owned());
            shape.push(length);
        }
        if let Some(given) = attributes
            .remove(DIMENSIONS)
            .filter(|given| *given != json!(names))
        {
            let what = format!("is {}, and the dimensions are {names:?}", shown(&given));
            return Err(Error::attribute(name, DIMENSIONS, what));
        }
        let checked = Attributes {
            variable: name,
            all: &attributes,
        };
        let encoding = Encoding::new(&data_type, checked, None)?;
        ValidRange::of(checked, &encoding)?;
        let number = match attributes.get(FILL_VALUE) {
            Some(Value::Number(_) | Value::String(_)) if encoding.fill.is_some() => {
                fill_value(checked, &data_type)?
            }
            _ => None,
        };
        if let Some(missing) = attributes.get_mut("missing_value") {
            round_numbers(missing, &data_type);
        }
        let format = contents.group.format();
        let fill = attributes.remove(FILL_VALUE).filter(|fill| !fill.is_null());
        let attribute = match (number, &data_type) {
            (Some(number), _) => Some(fill_attribute(number, &data_type)),
            (None, DataType::Bool) => fill.clone(),
            (None, DataType::String) if fill.is_some() && format != Format::Zarr2 => {
                let what = "xarray reads none of text, except the fill value of Zarr v2";
                return Err(Error::attribute(name, FILL_VALUE, what));
            }
            _ => None,
        };
        if let Some(attribute) = attribute.filter(|_| format != Format::Zarr2) {
            attributes.insert(FILL_VALUE.to_owned(), attribute);
        }
        // The base64 of xarray is for attributes only.
        let fill = match number {
            Some(number) if is_float(&data_type) => Some(number.to_json()),
            _ => fill,
        };
        let fill = match (fill, format) {
            (Some(fill), _) => Some(FillRequest::Json(fill)),
            (None, Format::Zarr2) => Some(FillRequest::Undefined),
            (None, _) => None,
        };
        Ok(Self {
            data_type,
            shape,
            dimensions: names,
            attributes,
            fill,
        })
    }

    /// Completes a layout with the dimensions, attributes and fill value of the variable.
    pub(crate) fn describe<M>(self, layout: ArrayBuilder<Any, M>) -> ArrayBuilder<Any, M> {
        let layout = layout
            .dimension_names(self.dimensions)
            .attributes(Value::Object(self.attributes));
        match self.fill {
            Some(fill) => layout.fill_value(fill),
            None => layout,
        }
    }
}
