//! Spellings of other programs that depart from Zarr v2 and have only one possible meaning:
//! corrected before a `.zarray` is read.

use crate::json::{Json, Members, as_u64};
use crate::shared::base64;

/// Corrects the members of a `.zarray`. Each correction is added to `warnings`.
pub(crate) fn correct(key: &str, document: &mut Members<'_>, warnings: &mut Vec<String>) {
    let mut remark = |what: &str| warnings.push(format!("{key}: {what}"));
    if document
        .get("dimension_separator")
        .is_some_and(Json::is_null)
    {
        document.remove("dimension_separator");
        remark("dimension_separator is null: read as \".\", as by zarr-python 2");
    }
    if let Some(compressor) = document.get_mut("compressor")
        && compressor.get("id").is_none()
        && compressor.get("type").and_then(Json::as_str) == Some("raw")
    {
        *compressor = Json::Null;
        remark("compressor is n5-zarr's type \"raw\": none");
    }
    if !document.contains_key("fill_value") {
        document.insert("fill_value", Json::Null);
        remark("has no fill_value, as netCDF-C 4.8.0 writes: read as null");
    }
    if let Some(text) = text_through_objects(document) {
        document.insert("dtype", "|O".into());
        remark(&format!(
            "the text of dtype {text:?} is stored by an object codec, as zarr-python 3.0 writes"
        ));
    }
    if let Some(meant) = fill_value_of_list(document) {
        document.insert("fill_value", meant);
        remark("fill_value is a list: read as the value in it");
    }
}

/// The dtype of text of fixed length whose first filter stores text of any length.
fn text_through_objects(document: &Members<'_>) -> Option<String> {
    let dtype = document.get("dtype")?.as_str()?;
    let filter = document
        .get("filters")?
        .as_array()?
        .first()?
        .get("id")?
        .as_str()?;
    let is_stored_so = match filter {
        "vlen-utf8" => ["<U", ">U", "|U"]
            .iter()
            .any(|kind| dtype.starts_with(kind)),
        "vlen-bytes" => dtype.starts_with("|S"),
        _ => false,
    };
    is_stored_so.then(|| dtype.to_owned())
}

/// netCDF-C 4.8.0 puts a number into a list, zarr-python 3.0.8 the bytes of a text.
fn fill_value_of_list(document: &Members<'_>) -> Option<Json<'static>> {
    let items = document.get("fill_value")?.as_array()?;
    let dtype = document.get("dtype")?.as_str()?;
    match (dtype.as_bytes().get(1)?, items.as_slice()) {
        (b'S', items) => {
            let byte = |item: &Json<'_>| as_u64(item).and_then(|byte| u8::try_from(byte).ok());
            let bytes: Vec<u8> = items.iter().map(byte).collect::<Option<_>>()?;
            Some(base64::encode(&bytes).into())
        }
        (b'b' | b'i' | b'u' | b'f', [value]) if value.as_array().is_none() => {
            Some(value.to_owned())
        }
        _ => None,
    }
}
