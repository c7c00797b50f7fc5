//! categorize: strings as codes. By the definition of the codec, a string that is not a label gets
//! the code 0, which reads as the empty string.

use std::collections::HashMap;
use std::sync::Arc;

use ndzarr_model::{CategorizeConfig, DataType, FilterTypes, StoredType};

use crate::CodecError;
use crate::elements::number::{Number, NumberType};
use crate::filter::{Filter, numbers};

pub(crate) const NAME: &str = "categorize";

/// The codes of labels, in native byte order.
#[derive(Debug)]
pub(crate) struct Codes {
    data_type: DataType,
    numbers: NumberType,
}

impl Codes {
    pub(crate) fn new(data_type: &DataType) -> Result<Self, CodecError> {
        Ok(Self {
            data_type: data_type.clone(),
            numbers: numbers(NAME, data_type)?,
        })
    }

    /// Size of a code in bytes.
    pub(crate) fn size(&self) -> usize {
        self.numbers.size()
    }

    /// The code as an index of labels; `None` for a number that no index has.
    pub(crate) fn load(&self, code: &[u8]) -> Option<usize> {
        match self.numbers.load(code) {
            Number::Int(code) => usize::try_from(code).ok(),
            Number::Float(x) if x.fract() == 0.0 && x >= 0.0 => Some(x as usize),
            Number::Float(_) => None,
        }
    }

    /// Writes a code; fails if it would become another code.
    pub(crate) fn store(&self, code: usize, out: &mut [u8]) -> Result<(), CodecError> {
        self.numbers.store(Number::Int(code as i128), out);
        if self.load(out) == Some(code) {
            return Ok(());
        }
        Err(CodecError::encode(
            NAME,
            format!("the code {code} does not fit {}", self.data_type),
        ))
    }
}

#[derive(Debug)]
pub(crate) struct Categorize {
    /// The decoded type is opaque, because the labels are already in the stored byte order.
    types: FilterTypes,
    codes: Codes,
    /// The labels in stored form, without the zeros at their ends, of which hostile metadata may
    /// ask for any number; the first stands for strings without a label.
    labels: Vec<Arc<[u8]>>,
    code_of: HashMap<Arc<[u8]>, usize>,
}

impl Categorize {
    pub(crate) fn new(config: &CategorizeConfig) -> Result<Self, CodecError> {
        let codes = Codes::new(&config.astype.data_type)?;
        let size = config.code_points.checked_mul(4).filter(|&size| size > 0);
        let size = size.ok_or_else(|| CodecError::config(NAME, "texts of no code points"))?;
        let mut labels = vec![Arc::default()];
        let mut code_of = HashMap::new();
        for label in &config.labels {
            let mut stored = Vec::new();
            // NumPy truncates long strings.
            for c in label.chars().take(config.code_points) {
                let unit = u32::from(c);
                stored.extend(match config.endian {
                    ndzarr_model::Endian::Little => unit.to_le_bytes(),
                    ndzarr_model::Endian::Big => unit.to_be_bytes(),
                });
            }
            let stored: Arc<[u8]> = without_zeros(&stored).into();
            // Of equal labels the last one applies, because it overwrites the others.
            if label.chars().count() <= config.code_points {
                code_of.insert(Arc::clone(&stored), labels.len());
            }
            labels.push(stored);
        }
        let dtype = StoredType::native(DataType::Raw { bytes: size });
        let types = FilterTypes {
            dtype,
            astype: config.astype.clone(),
        };
        Ok(Self {
            types,
            codes,
            labels,
            code_of,
        })
    }
}

/// A stored string without the code points of 0 at its end.
fn without_zeros(mut stored: &[u8]) -> &[u8] {
    while let [text @ .., 0, 0, 0, 0] = stored {
        stored = text;
    }
    stored
}

impl Filter for Categorize {
    const NAME: &'static str = NAME;

    fn types(&self) -> &FilterTypes {
        &self.types
    }

    fn encode(&self, elements: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        let places = out.chunks_exact_mut(self.codes.size());
        for (text, out) in elements
            .chunks_exact(self.types.dtype.elem_size())
            .zip(places)
        {
            let code = self.code_of.get(without_zeros(text));
            self.codes.store(code.copied().unwrap_or(0), out)?;
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        let places = out.chunks_exact_mut(self.types.dtype.elem_size());
        for (code, out) in encoded.chunks_exact(self.codes.size()).zip(places) {
            let label = self.codes.load(code).and_then(|code| self.labels.get(code));
            let label = label.unwrap_or(&self.labels[0]);
            let (text, rest) = out.split_at_mut(label.len());
            text.copy_from_slice(label);
            rest.fill(0);
        }
        Ok(())
    }
}
