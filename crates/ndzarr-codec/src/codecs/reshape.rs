//! reshape: the same elements in another shape.

use ndzarr_model::{DataType, ReshapeDim};

use crate::{ArrayToArray, CodecError};

const NAME: &str = "reshape";

#[derive(Debug)]
pub(crate) struct Reshape {
    shape: Vec<ReshapeDim>,
    data_type: DataType,
}

impl Reshape {
    pub(crate) fn new(
        shape: &[ReshapeDim],
        data_type: &DataType,
        ndim: usize,
    ) -> Result<Self, CodecError> {
        let dims = shape.iter().filter_map(|dim| match dim {
            ReshapeDim::InputDims(dims) => Some(dims),
            _ => None,
        });
        let mut next = 0;
        for &dim in dims.flatten() {
            if dim < next || dim >= ndim {
                let what = format!("input dimension {dim} is not in its place or not there");
                return Err(CodecError::config(NAME, what));
            }
            next = dim + 1;
        }
        if shape.iter().filter(|dim| **dim == ReshapeDim::Rest).count() > 1 {
            return Err(CodecError::config(NAME, "-1 stands there more than once"));
        }
        if shape
            .iter()
            .any(|dim| *dim == ReshapeDim::Length(0) || *dim == ReshapeDim::InputDims(vec![]))
        {
            return Err(CodecError::config(
                NAME,
                "a dimension that stands for no input dimensions",
            ));
        }
        Ok(Self {
            shape: shape.to_vec(),
            data_type: data_type.clone(),
        })
    }
}

impl ArrayToArray for Reshape {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encoded_type(&self) -> DataType {
        self.data_type.clone()
    }

    fn encoded_ndim(&self, _: usize) -> usize {
        self.shape.len()
    }

    fn encoded_shape(&self, shape: &[u64]) -> Result<Vec<u64>, CodecError> {
        ReshapeDim::resolve(&self.shape, shape).ok_or_else(|| {
            CodecError::config(
                NAME,
                format!("{:?} does not fit the shape {shape:?}", self.shape),
            )
        })
    }

    fn encoded_fill(&self, fill: &[u8]) -> Result<Vec<u8>, CodecError> {
        Ok(fill.to_vec())
    }

    fn encode(&self, elements: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        out.copy_from_slice(elements);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        out.copy_from_slice(encoded);
        Ok(())
    }
}
