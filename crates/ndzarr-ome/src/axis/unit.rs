//! Units of length and time: their spellings and sizes.

/// What a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Length,
    Time,
}

use Quantity::{Length, Time};

/// The size of a unit in metres or seconds: a number, and a power of ten that keeps quotients of
/// prefixes exact.
type Size = (Quantity, f64, i32);

/// Units other than metres and seconds with a prefix: those of UDUNITS-2, which OME-Zarr names, and
/// other spellings in use.
const OTHERS: &[(&[&str], Size)] = &[
    // The letter and the sign.
    (&["angstrom", "\u{c5}", "\u{212b}", "A"], (Length, 1.0, -10)),
    (&["micron", "microns"], (Length, 1.0, -6)),
    (&["inch", "inches", "in"], (Length, 0.0254, 0)),
    (&["foot", "feet", "ft"], (Length, 0.3048, 0)),
    (&["yard", "yards", "yd"], (Length, 0.9144, 0)),
    (&["mile", "miles"], (Length, 1609.344, 0)),
    (&["parsec", "pc"], (Length, 3.085_677_581_491_367e16, 0)),
    (&["minute", "minutes", "min"], (Time, 60.0, 0)),
    (&["hour", "hours", "h", "hr"], (Time, 3600.0, 0)),
    (&["day", "days", "d"], (Time, 86400.0, 0)),
    (&["sec"], (Time, 1.0, 0)),
    (&["msec"], (Time, 1.0, -3)),
];

const PREFIXES: &[(&str, &[&str], i32)] = &[
    ("yocto", &["y"], -24),
    ("zepto", &["z"], -21),
    ("atto", &["a"], -18),
    ("femto", &["f"], -15),
    ("pico", &["p"], -12),
    ("nano", &["n"], -9),
    // The micro sign and the Greek letter.
    ("micro", &["u", "\u{b5}", "\u{3bc}"], -6),
    ("milli", &["m"], -3),
    ("centi", &["c"], -2),
    ("deci", &["d"], -1),
    ("hecto", &["h"], 2),
    ("kilo", &["k"], 3),
    ("mega", &["M"], 6),
    ("giga", &["G"], 9),
    ("tera", &["T"], 12),
    ("peta", &["P"], 15),
    ("exa", &["E"], 18),
    ("zetta", &["Z"], 21),
    ("yotta", &["Y"], 24),
];

/// The size of `unit` in units of `other`: 1000 for `um` in `nanometer`. `None` if one of them is
/// unknown, or they measure different quantities.
pub(crate) fn ratio(unit: &str, other: &str) -> Option<f64> {
    let (quantity, number, exponent) = size(unit)?;
    let (other_quantity, other_number, other_exponent) = size(other)?;
    if quantity != other_quantity {
        return None;
    }
    Some(number / other_number * 10f64.powi(exponent - other_exponent))
}

fn size(unit: &str) -> Option<Size> {
    let unit = unit.trim();
    if let Some((_, size)) = OTHERS.iter().find(|(names, _)| names.contains(&unit)) {
        return Some(*size);
    }
    by_symbol(unit).or_else(|| by_word(&unit.to_lowercase()))
}

fn by_symbol(unit: &str) -> Option<Size> {
    let (prefix, quantity) = match unit.strip_suffix('m') {
        Some(prefix) => (prefix, Length),
        None => (unit.strip_suffix('s')?, Time),
    };
    if prefix.is_empty() {
        return Some((quantity, 1.0, 0));
    }
    let (.., exponent) = PREFIXES
        .iter()
        .find(|(_, symbols, _)| symbols.contains(&prefix))?;
    Some((quantity, 1.0, *exponent))
}

fn by_word(unit: &str) -> Option<Size> {
    let unit = unit.strip_suffix('s').unwrap_or(unit);
    if let Some((_, size)) = OTHERS.iter().find(|(names, _)| names.contains(&unit)) {
        return Some(*size);
    }
    let (prefix, quantity) = match (unit.strip_suffix("meter"), unit.strip_suffix("metre")) {
        (Some(prefix), _) | (None, Some(prefix)) => (prefix, Length),
        (None, None) => (unit.strip_suffix("second")?, Time),
    };
    if prefix.is_empty() {
        return Some((quantity, 1.0, 0));
    }
    let (.., exponent) = PREFIXES.iter().find(|(word, ..)| *word == prefix)?;
    Some((quantity, 1.0, *exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ome_12_units_are_compared_by_their_size() {
        for text in [
            "µm",
            "μm",
            "um",
            "micron",
            "microns",
            "micrometer",
            "micrometre",
            "Micrometers",
            " um ",
        ] {
            assert_eq!(ratio(text, "micrometer"), Some(1.0), "{text}");
        }
        for (unit, other, expected) in [
            ("um", "nanometer", 1e3),
            ("nm", "angstrom", 10.0),
            ("nm", "\u{c5}", 10.0),
            ("nm", "\u{212b}", 10.0),
            ("mm", "um", 1e3),
            ("inch", "mm", 25.4),
            ("min", "second", 60.0),
            ("ms", "s", 1e-3),
            ("Mm", "m", 1e6),
            ("hour", "minutes", 60.0),
        ] {
            let found = ratio(unit, other).expect(unit);
            assert!(
                (found / expected - 1.0).abs() < 1e-12,
                "{unit} in {other}: {found}"
            );
        }
        for (unit, other) in [
            ("um", "s"),
            ("pixel", "pixel"),
            ("", ""),
            ("metermeter", "m"),
            ("kkm", "m"),
        ] {
            assert_eq!(ratio(unit, other), None, "{unit:?} in {other:?}");
        }
    }
}
