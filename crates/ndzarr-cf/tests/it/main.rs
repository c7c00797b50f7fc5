//! Datasets made here: their errors, their requests to the store, and the documents that they
//! write.
#![deny(unsafe_code)]

mod copied;
mod hostile;
mod labels;
mod requests;
mod rewritten;
mod stored;

use ndzarr::MemoryStore;
use ndzarr::{AnyArray, AnyElements, Array, DataType, Element, Group};
use ndzarr_cf::Dataset;
use serde_json::{Value, json};

/// A store with an array of one dimension, as a program without conventions writes it.
fn array<T: Element>(
    store: &MemoryStore,
    name: &str,
    dimension: &str,
    elements: &[T],
    attributes: Value,
) where
    AnyElements: From<ndarray::ArrayD<T>>,
    AnyElements<ndarray::Ix1>: From<ndarray::Array1<T>>,
{
    if Group::open(store).is_err() {
        Group::create(store, ndzarr::Format::Zarr3).expect("memory never fails");
    }
    let array = Array::<T>::builder([elements.len() as u64])
        .dimension_names([dimension])
        .attributes(attributes);
    let array = array.create((store, name)).expect("it is valid");
    AnyArray::from(array)
        .write(
            [0..elements.len()],
            &ndarray::Array1::from(elements.to_vec()).into(),
        )
        .expect("it fits");
}

/// A dataset of one variable `v` along `x` with these attributes.
fn single<T: Element>(elements: &[T], attributes: Value) -> Dataset
where
    AnyElements: From<ndarray::ArrayD<T>>,
    AnyElements<ndarray::Ix1>: From<ndarray::Array1<T>>,
{
    let store = MemoryStore::new();
    array(&store, "v", "x", elements, attributes);
    Dataset::open(&store).expect("it is a dataset")
}

const INT16: DataType = DataType::Int { bits: 16 };

/// The error of reading a variable `v` that has these attributes.
fn refusal<T: Element>(elements: &[T], attributes: Value) -> String
where
    AnyElements: From<ndarray::ArrayD<T>>,
    AnyElements<ndarray::Ix1>: From<ndarray::Array1<T>>,
{
    let dataset = single(elements, attributes.clone());
    let variable = dataset.variable("v").expect("it is there");
    match variable.read() {
        Err(error) => error.to_string(),
        Ok(elements) => panic!("{attributes} is read as {elements:?}"),
    }
}

fn no_attributes() -> Value {
    json!({})
}
