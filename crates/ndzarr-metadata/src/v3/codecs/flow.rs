//! Tracks the input of each codec of a chain, as far as it is known without the codecs.

use ndzarr_model::{CodecConfig, DataType, Endian, ReshapeDim, StoredType};

use crate::json::{Json, Members};
use crate::shared::numcodecs::dtype_name;

/// The input of a codec, unless an unknown codec came before it.
#[derive(Clone)]
pub(crate) struct Input {
    pub(crate) data_type: DataType,
    pub(crate) shape: Vec<u64>,
}

impl Input {
    /// Continues with the output of a codec.
    pub(super) fn pass(&mut self, config: &CodecConfig) -> Result<(), String> {
        match config {
            CodecConfig::Transpose { order } => {
                self.shape = order
                    .iter()
                    .filter_map(|&axis| self.shape.get(axis).copied())
                    .collect();
            }
            CodecConfig::Reshape { shape } => {
                self.shape = ReshapeDim::resolve(shape, &self.shape).ok_or_else(|| {
                    format!("\"reshape\" does not fit the shape {:?}", self.shape)
                })?;
            }
            CodecConfig::NumcodecsPackbits => {
                let bits = self
                    .shape
                    .iter()
                    .try_fold(1u64, |product, &n| product.checked_mul(n));
                self.shape = vec![bits.map_or(u64::MAX, |bits| 1 + bits.div_ceil(8))];
            }
            _ => {}
        }
        self.data_type = encoded_type(config, &self.data_type);
        Ok(())
    }

    /// Adds the member that numcodecs takes from the array if its configuration does not state it.
    pub(super) fn complete(&self, id: &str, members: &mut Members<'_>) {
        let dtype = || {
            dtype_name(&StoredType {
                data_type: self.data_type.clone(),
                endian: Endian::Little,
            })
        };
        let (name, value) = match id {
            "shuffle" => (
                "elementsize",
                Json::from(self.data_type.elem_size().unwrap_or(1)),
            ),
            "fixedscaleoffset" | "quantize" => ("dtype", dtype().into()),
            "astype" => ("decode_dtype", dtype().into()),
            _ => return,
        };
        let member = members.entry(name);
        if member.is_null() {
            *member = value;
        }
    }
}

/// The type of the elements that a codec outputs; only array→array codecs change it.
pub(crate) fn encoded_type(config: &CodecConfig, data_type: &DataType) -> DataType {
    match config {
        CodecConfig::Delta(types)
        | CodecConfig::AsType(types)
        | CodecConfig::Quantize { types, .. } => types.astype.data_type.clone(),
        CodecConfig::FixedScaleOffset(config) => config.types.astype.data_type.clone(),
        CodecConfig::Categorize(config) => config.astype.data_type.clone(),
        CodecConfig::NumcodecsPackbits => DataType::UInt { bits: 8 },
        CodecConfig::CastValue(config) => config.data_type.clone(),
        _ => data_type.clone(),
    }
}
