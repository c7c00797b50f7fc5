//! Converts elements to numbers of a wanted type.

use std::any::Any;

use ndzarr::ndarray::ArrayD;
use ndzarr::{AnyElements, Cast, Number, for_each_type};

use crate::error::{Error, Result};

/// Converts numbers; those that have the type already are not copied.
pub(crate) fn into_numbers<T: Number>(elements: AnyElements, variable: &str) -> Result<ArrayD<T>> {
    let cast = |elements: &AnyElements| {
        let cast = elements.cast(Cast::Checked);
        cast.map_err(|error| {
            Error::variable(variable, format!("cannot be read as this type: {error}"))
        })
    };
    for_each_type!(elements, |array: Number| {
        let mut array = Some(array);
        if let Some(same) = (&mut array as &mut dyn Any).downcast_mut::<Option<ArrayD<T>>>() {
            return Ok(same.take().expect("the option was just filled"));
        }
        cast(&array.expect("the option was just filled").into())
    }, other => cast(&other))
}
