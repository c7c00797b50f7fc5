//! One field of structured elements.

use std::sync::Arc;

use ndarray::Array as NdArray;
use ndzarr_codec::{LeafSwaps, Swap};
use ndzarr_model::{DataType, Field, StructType};

use crate::any_array::AnyArray;
use crate::convert_tile::ConvertTile;
use crate::error::{Error, ErrorKind, Result};
use crate::output::blank_of;
use crate::selection::Selection;
use crate::struct_field::StructField;
use crate::vlen_array::not_an_element;

impl AnyArray {
    /// Reads one field of the structured elements of a selection. Of the other fields nothing is looked at. A path like
    /// `"orbit.speed"` leads into a structure inside; a sub-array is a Rust array, `[f32; 3]`.
    ///
    /// # Errors
    /// The elements are no structures; there is no such field; its values are not `T`; as
    /// [`Array::read`](crate::Array::read).
    ///
    /// ```
    /// use ndarray::Array1;
    /// use ndzarr_array::{AnyArray, ArrayRequest, CreateOptions, DataType, Field, Format, StructType};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let fields = [Field::new("id", DataType::UInt { bits: 8 }), Field::new("mass", DataType::Float { bits: 32 })];
    /// let data_type = DataType::Struct(StructType::new(fields).expect("two names"));
    /// let request = ArrayRequest::new(vec![2], vec![2], data_type);
    /// let stars = AnyArray::create(MemoryStore::new(), "stars", &request, &CreateOptions::new(Format::Zarr3))?;
    /// // Fields are packed, in this machine's byte order.
    /// let elements = [&[1][..], &1.5f32.to_ne_bytes(), &[2], &2.5f32.to_ne_bytes()].concat();
    /// stars.write_bytes(&[0..2], &elements)?;
    ///
    /// let masses: Array1<f32> = stars.read_field("mass", [0..2])?;
    /// assert_eq!(masses.to_vec(), [1.5, 2.5]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn read_field<T: StructField, S: Selection>(
        &self,
        name: &str,
        selection: S,
    ) -> Result<NdArray<T, S::OutDim>> {
        let refuse = |what: String| self.core.name(Error::new(ErrorKind::WrongType, what));
        let DataType::Struct(fields) = self.data_type() else {
            return Err(refuse(format!("the elements are {}, which has no fields", self.data_type())));
        };
        let (at, field) =
            find(fields, name).ok_or_else(|| refuse(format!("no field {name:?} in {}", self.data_type())))?;
        let plan = T::plan(&field.data_type, &field.shape)
            .map_err(|mismatch| refuse(mismatch.within(name).to_string()))?;
        let resolved = self.core.resolve(&selection)?;
        let blank = T::read(&vec![0; plan.byte_len()], &plan);
        let blank = blank.ok_or_else(|| refuse(format!("zero is no value of the field {name:?}")))?;
        let mut out = self.core.named(blank_of(&resolved.shape(), &blank))?;
        let lens = resolved.region().shape();
        let axes = lens.iter().zip(resolved.steps()).map(|(&len, steps)| (len as usize, steps)).collect();
        let (stored, place) = (field.data_type.clone(), at..at + field.byte_len());
        let convert = move |element: &[u8], swap: &Swap| {
            let mut content = element.get(place.clone()).ok_or("an element without the field")?.to_vec();
            within(swap, place.start, content.len()).apply(&mut content);
            let size = stored.elem_size().unwrap_or(0).max(1);
            let wrong = content.chunks_exact(size).find(|value| !stored.is_element(value));
            let value = if wrong.is_none() { T::read(&content, &plan) } else { None };
            value.ok_or_else(|| not_an_element(wrong.unwrap_or(&content), &stored))
        };
        let view = resolved.unfold(out.view_mut());
        let tile = ConvertTile { view, axes, convert: Arc::new(convert) };
        self.core.read(&resolved.region(), Box::new(tile))?;
        out.into_dimensionality().map_err(|error| Error::new(ErrorKind::WrongShape, error))
    }
}

/// The field at a path, and the number of the byte that it begins at.
fn find<'a>(fields: &'a StructType, path: &str) -> Option<(usize, &'a Field)> {
    if let Some(found) = fields.field(path) {
        return Some(found);
    }
    // A name may hold dots itself.
    path.match_indices('.').find_map(|(dot, _)| {
        let (at, field) = fields.field(&path[..dot])?;
        let DataType::Struct(inner) = &field.data_type else { return None };
        let (within, found) = field.shape.is_empty().then(|| find(inner, &path[dot + 1..])).flatten()?;
        Some((at + within, found))
    })
}

/// What of a swap concerns so many bytes of an element.
fn within(swap: &Swap, start: usize, len: usize) -> Swap {
    let Swap::Leaves(swaps) = swap else { return swap.clone() };
    let leaves = swaps.leaves.iter().filter(|leaf| (start..start + len).contains(&leaf.offset));
    let leaves = leaves.map(|leaf| ndzarr_model::Leaf { offset: leaf.offset - start, ..*leaf }).collect();
    Swap::Leaves(LeafSwaps { size: len, leaves }.into())
}
