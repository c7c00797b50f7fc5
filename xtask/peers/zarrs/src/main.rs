//! The crate zarrs for `cargo xtask conformance`: each line of standard input is a request in JSON,
//! each answer a line of JSON, `{"says": …}` or `{"error": …}`.
//!
//! Elements lie in files, little endian and packed in C order; those of variable size have their
//! length as u32 in front.

use std::error::Error;
use std::fs;
use std::io::{BufRead, Write};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use zarrs::array::{
    Array, ArrayBytes, ArrayBytesOffsets, ArrayMetadata, ArrayMetadataOptions, ArraySubset,
};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::Group;
use zarrs::storage::{StoreKey, WritableStorageTraits};

type Failure = Box<dyn Error>;

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// Creates an array and writes the elements of a region.
    Write {
        store: PathBuf,
        node: String,
        metadata: Value,
        start: Vec<u64>,
        shape: Vec<u64>,
        data: PathBuf,
        variable: bool,
    },
    /// Reads all of an array.
    Read {
        store: PathBuf,
        node: String,
        out: PathBuf,
    },
}

fn main() -> Result<(), Failure> {
    std::panic::set_hook(Box::new(|_| {}));
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = match catch_unwind(AssertUnwindSafe(|| answer(&line))) {
            Ok(Ok(says)) => json!({"says": says}),
            Ok(Err(error)) => json!({"error": error.to_string()}),
            Err(panic) => {
                let what = panic.downcast_ref::<String>().map(String::as_str);
                let what = what
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or_default();
                json!({"error": format!("panics: {what}")})
            }
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(line: &str) -> Result<Value, Failure> {
    match serde_json::from_str(line)? {
        Request::Write {
            store,
            node,
            metadata,
            start,
            shape,
            data,
            variable,
        } => {
            let store = Arc::new(FilesystemStore::new(&store)?);
            let mut above = Vec::new();
            for name in node.split('/').filter(|name| !name.is_empty()) {
                if metadata["zarr_format"] == 3 {
                    let path = if above.is_empty() {
                        "/".to_owned()
                    } else {
                        format!("/{}", above.join("/"))
                    };
                    let group = json!({"zarr_format": 3, "node_type": "group"});
                    Group::new_with_metadata(store.clone(), &path, serde_json::from_value(group)?)?
                        .store_metadata()?;
                } else {
                    let prefix = above
                        .iter()
                        .map(|name| format!("{name}/"))
                        .collect::<String>();
                    store.set(
                        &StoreKey::new(format!("{prefix}.zgroup"))?,
                        br#"{"zarr_format":2}"#.to_vec().into(),
                    )?;
                }
                above.push(name);
            }
            let metadata: ArrayMetadata = serde_json::from_value(metadata)?;
            let array = Array::new_with_metadata(store, &format!("/{node}"), metadata)?;
            array.store_metadata_opt(
                &ArrayMetadataOptions::default().with_include_zarrs_metadata(false),
            )?;
            let bytes = fs::read(data)?;
            let elements = if variable {
                variable_elements(&bytes)?
            } else {
                ArrayBytes::new_flen(bytes)
            };
            if shape.iter().product::<u64>() > 0 {
                let ranges: Vec<Range<u64>> = start
                    .iter()
                    .zip(&shape)
                    .map(|(start, len)| *start..start + len)
                    .collect();
                array.store_array_subset(&ArraySubset::new_with_ranges(&ranges), elements)?;
            }
            Ok(Value::Null)
        }
        Request::Read { store, node, out } => {
            let array = Array::open(Arc::new(FilesystemStore::new(&store)?), &format!("/{node}"))?;
            let all = ArraySubset::new_with_shape(array.shape().to_vec());
            let elements: ArrayBytes = array.retrieve_array_subset(&all)?;
            let bytes = match elements {
                ArrayBytes::Fixed(bytes) => bytes.to_vec(),
                other => {
                    let (bytes, offsets) = other.into_variable()?.into_parts();
                    let mut packed = Vec::new();
                    for pair in offsets.windows(2) {
                        let element = &bytes[pair[0]..pair[1]];
                        packed.extend(u32::try_from(element.len())?.to_le_bytes());
                        packed.extend(element);
                    }
                    packed
                }
            };
            fs::write(out, bytes)?;
            Ok(json!({
                "shape": array.shape(),
                "attributes": array.attributes(),
                "dimension_names": array.dimension_names(),
            }))
        }
    }
}

fn variable_elements(bytes: &[u8]) -> Result<ArrayBytes<'static>, Failure> {
    let mut all = Vec::new();
    let mut offsets = vec![0];
    let mut rest = bytes;
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let (element, tail) = tail
            .split_at_checked(u32::from_le_bytes(*len) as usize)
            .ok_or("ends within an element")?;
        all.extend_from_slice(element);
        offsets.push(all.len());
        rest = tail;
    }
    Ok(ArrayBytes::new_vlen(all, ArrayBytesOffsets::new(offsets)?)?)
}
