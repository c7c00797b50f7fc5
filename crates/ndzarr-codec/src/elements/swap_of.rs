//! The swap of decoded elements, by the stored byte order.

use ndzarr_model::{DataType, Endian, Leaf, LeafForm};

use crate::elements::LeafSwaps;
use crate::{CodecError, Swap};

/// The swap if all numbers are stored in one byte order.
pub(crate) fn one_order(data_type: &DataType, endian: Option<Endian>) -> Result<Swap, CodecError> {
    let width = data_type.swap_width();
    let swapped = match endian {
        _ if width == 1 => false,
        Some(endian) => endian != Endian::NATIVE,
        None => {
            let what = format!("\"endian\" is missing, which {data_type} needs");
            return Err(CodecError::config("bytes", what));
        }
    };
    if data_type.elem_size().is_none() {
        return Err(CodecError::config(
            "bytes",
            format!("elements of {data_type} have no fixed size"),
        ));
    }
    Ok(swap_of_leaves(data_type, |leaf| {
        leaf.form != LeafForm::Ordered || swapped
    }))
}

/// The swap if each number has its own stored byte order.
pub(crate) fn leaf_orders(data_type: &DataType, endians: &[Endian]) -> Result<Swap, CodecError> {
    let ordered = data_type
        .leaves()
        .iter()
        .filter(|leaf| leaf.form == LeafForm::Ordered)
        .count();
    if ordered != endians.len() || data_type.elem_size().is_none() {
        let what = format!(
            "{} byte orders for the {ordered} parts of {data_type}",
            endians.len()
        );
        return Err(CodecError::config("bytes", what));
    }
    let mut endians = endians.iter();
    Ok(swap_of_leaves(data_type, |leaf| {
        leaf.form != LeafForm::Ordered
            || endians
                .next()
                .is_some_and(|endian| *endian != Endian::NATIVE)
    }))
}

/// The swap of the parts of each element for which `keep` returns true.
fn swap_of_leaves(data_type: &DataType, mut keep: impl FnMut(&Leaf) -> bool) -> Swap {
    let size = data_type.elem_size().unwrap_or(1);
    let mut leaves = data_type.leaves();
    leaves.retain(|leaf| keep(leaf));
    // The plain forms are faster, and the only ones for types that are not structures.
    match leaves.as_slice() {
        [] => Swap::None,
        [leaf] if leaf.offset == 0 && leaf.unit * leaf.count == size => match leaf.form {
            LeafForm::Ordered => Swap::Every(leaf.unit),
            LeafForm::LowBits { bits, signed } => Swap::LowBits { bits, signed },
        },
        _ => Swap::Leaves(LeafSwaps { size, leaves }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndzarr_model::{Field, StructType};

    const FOREIGN: Endian = match Endian::NATIVE {
        Endian::Little => Endian::Big,
        Endian::Big => Endian::Little,
    };

    #[test]
    fn plain_types_have_plain_swaps() {
        let swap = |name: &str, endian| {
            one_order(&DataType::from_name(name).expect("a type"), endian)
                .map_err(|error| error.to_string())
        };
        assert_eq!(swap("uint8", None), Ok(Swap::None));
        assert_eq!(swap("uint16", Some(Endian::NATIVE)), Ok(Swap::None));
        assert_eq!(swap("uint16", Some(FOREIGN)), Ok(Swap::Every(2)));
        assert_eq!(swap("complex128", Some(FOREIGN)), Ok(Swap::Every(8)));
        assert_eq!(swap("r24", Some(FOREIGN)), Ok(Swap::None));
        assert_eq!(
            swap("int4", Some(FOREIGN)),
            Ok(Swap::LowBits {
                bits: 4,
                signed: true
            })
        );
        assert_eq!(
            swap("complex_float4_e2m1fn", None),
            Ok(Swap::LowBits {
                bits: 4,
                signed: false
            })
        );
        assert!(swap("float32", None).is_err() && swap("string", None).is_err());
    }

    /// V3-T56: the upper bits are ignored.
    #[test]
    fn low_bits_are_extended() {
        for (bits, signed, stored, value) in [
            (4, true, 0xf1, 1),
            (4, true, 0x08, 0xf8),
            (2, false, 0xfd, 1),
            (2, true, 0x02, 0xfe),
            (4, false, 0xff, 15),
        ] {
            let mut byte = [stored];
            Swap::LowBits { bits, signed }.apply(&mut byte);
            assert_eq!(byte, [value], "{bits} {signed} {stored:#x}");
        }
    }

    /// V2-T18: `<i2`, `|S2`, two `>f4`.
    #[test]
    fn mixed_orders_are_turned_leaf_by_leaf() {
        let mut floats = Field::new("c", DataType::Float { bits: 32 });
        floats.shape = vec![2];
        let fields = [
            Field::new("a", DataType::Int { bits: 16 }),
            Field::new("b", DataType::FixedBytes { bytes: 2 }),
            floats,
        ];
        let data_type = DataType::Struct(StructType::new(fields).expect("three names"));
        let swap = leaf_orders(&data_type, &[Endian::Little, Endian::Big]).expect("two leaves");
        let mut element = [1, 0, b'a', b'b', 0x3f, 0x80, 0, 0, 0x40, 0, 0, 0];
        swap.apply(&mut element);
        let native: Vec<u8> = [
            &1i16.to_ne_bytes()[..],
            b"ab",
            &1f32.to_ne_bytes(),
            &2f32.to_ne_bytes(),
        ]
        .concat();
        assert_eq!(&element[..], native);
        assert!(leaf_orders(&data_type, &[Endian::Little]).is_err());
    }
}
