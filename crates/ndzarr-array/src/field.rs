//! One field of structured elements.

use std::sync::Arc;

use ndarray::Array as NdArray;
use ndzarr_codec::{LeafSwaps, Swap};
use ndzarr_model::DataType;

use crate::Element;
use crate::any_array::AnyArray;
use crate::convert_tile::ConvertTile;
use crate::error::{Error, ErrorKind, Result};
use crate::selection::Selection;
use crate::vlen_array::not_an_element;

impl AnyArray {
    /// Reads one field of the structured elements of a selection. Of the other fields nothing is looked at.
    ///
    /// # Errors
    /// The elements are no structures; there is no such field, or it is a sub-array; its elements are not `T`; as
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
    pub fn read_field<T: Element, S: Selection>(
        &self,
        name: &str,
        selection: S,
    ) -> Result<NdArray<T, S::OutDim>> {
        let refuse = |what: String| Error::new(ErrorKind::WrongType, what);
        let DataType::Struct(fields) = self.data_type() else {
            return Err(refuse(format!("the elements are {}, which has no fields", self.data_type())));
        };
        let (at, field) =
            fields.field(name).ok_or_else(|| refuse(format!("no field {name:?} in {}", self.data_type())))?;
        if !field.shape.is_empty() || !T::accepts(&field.data_type) {
            let what = format!("the field {name:?} is {} x {:?}", field.data_type, field.shape);
            return Err(refuse(what));
        }
        let resolved = selection.resolve(self.shape())?;
        let mut out = T::blank(&resolved.shape(), &field.data_type)?;
        let lens = resolved.region().shape();
        let axes = lens.iter().zip(resolved.steps()).map(|(&len, steps)| (len as usize, steps)).collect();
        let (stored, place) = (field.data_type.clone(), at..at + field.byte_len());
        let convert = move |element: &[u8], swap: &Swap| {
            let mut content = element.get(place.clone()).ok_or("an element without the field")?.to_vec();
            within(swap, place.start, content.len()).apply(&mut content);
            let value = stored.is_element(&content).then(|| T::from_content(&content, &stored)).flatten();
            value.ok_or_else(|| not_an_element(&content, &stored))
        };
        let view = resolved.unfold(out.view_mut());
        let tile = ConvertTile { view, axes, convert: Arc::new(convert) };
        self.core.read(&resolved.region(), Box::new(tile))?;
        out.into_dimensionality().map_err(|error| Error::new(ErrorKind::WrongShape, error))
    }
}

/// What of a swap concerns so many bytes of an element.
fn within(swap: &Swap, start: usize, len: usize) -> Swap {
    let Swap::Leaves(swaps) = swap else { return swap.clone() };
    let leaves = swaps.leaves.iter().filter(|leaf| (start..start + len).contains(&leaf.offset));
    let leaves = leaves.map(|leaf| ndzarr_model::Leaf { offset: leaf.offset - start, ..*leaf }).collect();
    Swap::Leaves(LeafSwaps { size: len, leaves }.into())
}
