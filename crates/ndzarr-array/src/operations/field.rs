//! Reads one field of structured elements.

use std::sync::Arc;

use ndarray::{ArrayD, ArrayViewMutD};
use ndzarr_codec::{LeafSwaps, Swap};
use ndzarr_engine::Tile;
use ndzarr_model::{DataType, Field, StructType};

use crate::arrays::info::ArrayInfo;
use crate::element_types::struct_plan::StructField;
use crate::error::{Error, ErrorKind, Result, not_an_element};
use crate::selections::resolved::Resolved;
use crate::tiles::box_tile::{BoxTile, TileAxis};
use crate::tiles::cells::FromBytes;
use crate::tiles::output::blank_of;
use crate::tiles::places::Places;
use crate::tiles::scatter::{ScatterTile, SharedResult};
use crate::tiles::values::Values;

impl ArrayInfo {
    /// Reads one field of the structured elements of a selection.
    pub(crate) async fn read_field<T: StructField>(
        &self,
        name: &str,
        resolved: &Resolved,
    ) -> Result<ArrayD<T>> {
        let refuse = |what: String| self.name(Error::new(ErrorKind::WrongType, what));
        let DataType::Struct(fields) = self.data_type() else {
            return Err(refuse(format!(
                "the elements are {}, which has no fields",
                self.data_type()
            )));
        };
        let (at, field) = find(fields, name)
            .ok_or_else(|| refuse(format!("no field {name:?} in {}", self.data_type())))?;
        let plan = T::plan(&field.data_type, &field.shape)
            .map_err(|mismatch| refuse(mismatch.within(name).to_string()))?;
        let blank = T::read(&vec![0; plan.byte_len()], &plan);
        let blank =
            blank.ok_or_else(|| refuse(format!("zero is not a value of the field {name:?}")))?;
        let stored = field.data_type.clone();
        let place = at..at + field.byte_len();
        let convert = move |element: &[u8], swap: &Swap| {
            let mut content = element
                .get(place.clone())
                .ok_or("an element without the field")?
                .to_vec();
            within(swap, place.start, content.len()).apply(&mut content);
            let size = stored.elem_size().unwrap_or(0).max(1);
            let wrong = content
                .chunks_exact(size)
                .find(|value| !stored.is_element(value));
            let value = if wrong.is_none() {
                T::read(&content, &plan)
            } else {
                None
            };
            value.ok_or_else(|| not_an_element(wrong.unwrap_or(&content), &stored))
        };
        self.read_values(
            resolved,
            &Fields {
                blank,
                convert: Arc::new(convert),
            },
        )
        .await
    }
}

/// The values of one field.
struct Fields<T> {
    blank: T,
    convert: FromBytes<T>,
}

impl<T: Clone + Send + Sync> Values<T> for Fields<T> {
    fn blank(&self, shape: &[usize]) -> Result<ArrayD<T>> {
        blank_of(shape, &self.blank)
    }

    fn tile<'o>(
        &'o self,
        view: ArrayViewMutD<'o, T>,
        axes: Vec<TileAxis>,
        _: bool,
    ) -> Box<dyn Tile + 'o> {
        Box::new(BoxTile::new(view, axes, false, Arc::clone(&self.convert)))
    }

    fn scatter_tile<'o>(
        &'o self,
        places: Places,
        result: SharedResult<'o, T>,
    ) -> Box<dyn Tile + 'o> {
        Box::new(ScatterTile::new(places, result, Arc::clone(&self.convert)))
    }
}

/// The field at a path, and the offset of its first byte.
fn find<'a>(fields: &'a StructType, path: &str) -> Option<(usize, &'a Field)> {
    if let Some(found) = fields.field(path) {
        return Some(found);
    }
    // A name may contain dots itself.
    path.match_indices('.').find_map(|(dot, _)| {
        let (at, field) = fields.field(&path[..dot])?;
        let DataType::Struct(inner) = &field.data_type else {
            return None;
        };
        let (within, found) = field
            .shape
            .is_empty()
            .then(|| find(inner, &path[dot + 1..]))
            .flatten()?;
        Some((at + within, found))
    })
}

/// The part of a byte swap that covers `len` bytes of an element.
fn within(swap: &Swap, start: usize, len: usize) -> Swap {
    let Swap::Leaves(swaps) = swap else {
        return swap.clone();
    };
    let leaves = swaps
        .leaves
        .iter()
        .filter(|leaf| (start..start + len).contains(&leaf.offset));
    let leaves = leaves
        .map(|leaf| ndzarr_model::Leaf {
            offset: leaf.offset - start,
            ..*leaf
        })
        .collect();
    Swap::Leaves(LeafSwaps { size: len, leaves }.into())
}
