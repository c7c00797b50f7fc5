//! reshape: the same elements in another shape (zarr-v3.md V3-148).

use ndzarr_model::{DataType, ReshapeDim};

use crate::{ArrayToArray, CodecError};

const NAME: &str = "reshape";

#[derive(Debug)]
pub(crate) struct Reshape {
    shape: Vec<ReshapeDim>,
    data_type: DataType,
}

impl Reshape {
    pub(crate) fn new(shape: &[ReshapeDim], data_type: &DataType, ndim: usize) -> Result<Self, CodecError> {
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
        if shape.iter().any(|dim| *dim == ReshapeDim::Length(0) || *dim == ReshapeDim::InputDims(vec![])) {
            return Err(CodecError::config(NAME, "a dimension of nothing"));
        }
        Ok(Self { shape: shape.to_vec(), data_type: data_type.clone() })
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
        let refuse =
            || CodecError::config(NAME, format!("{:?} does not fit the shape {shape:?}", self.shape));
        let total = product(shape).ok_or_else(refuse)?;
        let mut known = 1u64;
        let mut lengths = Vec::with_capacity(self.shape.len());
        for dim in &self.shape {
            let length = match dim {
                ReshapeDim::Length(n) => Some(*n),
                ReshapeDim::InputDims(dims) => {
                    let dims: Option<Vec<u64>> = dims.iter().map(|&dim| shape.get(dim).copied()).collect();
                    Some(product(&dims.ok_or_else(refuse)?).ok_or_else(refuse)?)
                }
                ReshapeDim::Rest => None,
            };
            known = known.checked_mul(length.unwrap_or(1)).ok_or_else(refuse)?;
            lengths.push(length);
        }
        // Of a rest beside nothing any length would do; no chunk has one.
        let rest = total.checked_div(known).filter(|rest| known * rest == total);
        let is_whole = lengths.iter().any(Option::is_none) || rest == Some(1);
        let rest = rest.filter(|_| is_whole).ok_or_else(refuse)?;
        let encoded: Vec<u64> = lengths.into_iter().map(|length| length.unwrap_or(rest)).collect();
        // Dimensions of the input that are named have the same ones in front and behind as in the input.
        for (i, dim) in self.shape.iter().enumerate() {
            if let ReshapeDim::InputDims(dims) = dim
                && let (Some(&first), Some(&last)) = (dims.first(), dims.last())
            {
                let keeps = product(&encoded[..i]) == product(&shape[..first])
                    && product(&encoded[i + 1..]) == product(&shape[last + 1..]);
                if !keeps {
                    return Err(refuse());
                }
            }
        }
        Ok(encoded)
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

fn product(lengths: &[u64]) -> Option<u64> {
    lengths.iter().try_fold(1u64, |product, &n| product.checked_mul(n))
}
