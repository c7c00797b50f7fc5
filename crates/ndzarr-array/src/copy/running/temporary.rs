//! The array between two passes of a copy.

use ndzarr_codec::CodecRegistry;
use ndzarr_metadata::{
    ArrayRequest, CreateOptions, Erasure, FillRequest, Format, NodeKind, NodePath, check_request,
};
use ndzarr_model::{FillValue, KeyEncoding};

use crate::arrays::info::ArrayInfo;
use crate::error::Result;
use crate::places::located::Located;
use crate::storage::Storage;

/// Where arrays may be that a copy needs for a while. They have no documents, only chunks.
#[derive(Clone, Debug)]
pub(crate) struct Temporary {
    pub(crate) storage: Storage,
    /// Everything below it belongs to the copy.
    pub(crate) prefix: String,
}

impl Temporary {
    /// At a place that the user has given.
    pub(crate) fn at(place: Located, name: &str) -> Self {
        let folder = if place.path.is_empty() {
            String::new()
        } else {
            format!("{}/", place.path)
        };
        Self {
            storage: place.storage,
            prefix: format!("{folder}{name}/"),
        }
    }

    /// An array of this shape for elements of another one, in other chunks and not encoded.
    pub(crate) fn array(
        &self,
        source: &ArrayInfo,
        shape: &[u64],
        chunks: &[u64],
    ) -> Result<ArrayInfo> {
        let spec = source.spec();
        let mut request =
            ArrayRequest::new(shape.to_vec(), chunks.to_vec(), spec.data_type.clone());
        request.fill_value = FillRequest::Value(FillValue::defined(spec.fill_value.bytes()));
        let described =
            |format| check_request(&NodePath::root(), &request, &CreateOptions::new(format));
        // Only Zarr v2 has structures with padding or with arrays as members.
        let mut node = described(Format::Zarr3)
            .or_else(|error| described(Format::Zarr2).map_err(|_| error))?;
        if let NodeKind::Array(spec) = &mut node.kind {
            // Another run with other memory has other chunks.
            let name: Vec<String> = chunks.iter().map(u64::to_string).collect();
            spec.keys.prefix = format!("{}{}/", self.prefix, name.join("x"));
            spec.keys.encoding = KeyEncoding::V2 { separator: '.' };
        }
        ArrayInfo::new(self.storage.clone(), node, &CodecRegistry::default())
    }

    /// Removes it.
    pub(crate) async fn erase(&self) -> Result<()> {
        let all = Erasure {
            documents: Vec::new(),
            prefixes: vec![self.prefix.clone()],
        };
        self.storage.remove(&all).await
    }
}
