//! The units of an element whose stored form differs from the one in memory.

use super::{ComplexPart, DataType};

/// Units of an element whose stored form differs from memory: in byte order, or in unused bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// The start of the first unit, in bytes from the start of the element.
    pub offset: usize,
    /// Size of a unit in bytes.
    pub unit: usize,
    /// The number of consecutive units.
    pub count: usize,
    /// How to convert them.
    pub form: LeafForm,
}

/// The form of a unit in memory, which differs from its stored form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeafForm {
    /// In this machine's byte order.
    Ordered,
    /// With the low bits of its byte extended over the others.
    LowBits {
        /// The number of bits with a meaning.
        bits: u8,
        /// True if the highest of them is a sign.
        signed: bool,
    },
}

impl DataType {
    /// The units of an element whose stored form may differ from memory, in order.
    #[must_use]
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.collect_leaves(0, 1, &mut leaves);
        leaves
    }

    /// An upper bound of the number of [`leaves`](Self::leaves) of a structure.
    pub(crate) fn n_leaves(&self) -> usize {
        match self {
            Self::Struct(fields) => fields.n_leaves(),
            Self::Custom(custom) => custom.layout().n_leaves(),
            _ => 1,
        }
    }

    fn collect_leaves(&self, offset: usize, count: usize, leaves: &mut Vec<Leaf>) {
        let low_bits = |bits, signed| LeafForm::LowBits { bits, signed };
        let (unit, per_element, form) = match self {
            Self::Struct(fields) => {
                for i in 0..count {
                    for (start, field) in fields.places() {
                        let field_offset = offset + i * fields.byte_len() + start;
                        field
                            .data_type
                            .collect_leaves(field_offset, field.n_elements(), leaves);
                    }
                }
                return;
            }
            Self::Custom(custom) => return custom.layout().collect_leaves(offset, count, leaves),
            Self::Int { bits } if *bits < 8 => (1, 1, low_bits(*bits, true)),
            Self::UInt { bits } if *bits < 8 => (1, 1, low_bits(*bits, false)),
            Self::SmallFloat(float) if float.bits() < 8 => (1, 1, low_bits(float.bits(), false)),
            Self::ComplexOf(ComplexPart::Small(float)) if float.bits() < 8 => {
                (1, 2, low_bits(float.bits(), false))
            }
            other => match (other.swap_width(), other.elem_size()) {
                (1, _) | (_, None) => return,
                (width, Some(size)) => (width, size / width, LeafForm::Ordered),
            },
        };
        leaves.push(Leaf {
            offset,
            unit,
            count: count * per_element,
            form,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, StructType};

    #[test]
    fn leaves_of_nested_fields() {
        let inner = StructType::new([
            Field::new("x", DataType::Float { bits: 64 }),
            Field::new("y", DataType::UInt { bits: 4 }),
        ]);
        let mut points = Field::new("points", DataType::Struct(inner.expect("two fields")));
        points.shape = vec![2];
        let data_type = DataType::Struct(
            StructType::new([Field::new("n", DataType::UInt { bits: 8 }), points])
                .expect("two fields"),
        );
        let low = LeafForm::LowBits {
            bits: 4,
            signed: false,
        };
        let leaf = |offset, unit, form| Leaf {
            offset,
            unit,
            count: 1,
            form,
        };
        assert_eq!(
            data_type.leaves(),
            [
                leaf(1, 8, LeafForm::Ordered),
                leaf(9, 1, low),
                leaf(10, 8, LeafForm::Ordered),
                leaf(18, 1, low)
            ]
        );
        assert_eq!(
            DataType::Complex { bits: 128 }.leaves(),
            [Leaf {
                offset: 0,
                unit: 8,
                count: 2,
                form: LeafForm::Ordered
            }]
        );
    }
}
