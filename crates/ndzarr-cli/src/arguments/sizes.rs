//! Parses and prints numbers of bytes and of things: `256MiB`, `2 chunks`.

/// Parses a number of bytes: digits, perhaps with a fraction, and a unit: none or `B`; `KiB`,
/// `MiB`, `GiB`, `TiB` or their first letter for powers of 1024; `kB`, `MB`, `GB`, `TB` for powers
/// of 1000.
///
/// # Errors
/// The text is not a number of bytes; for clap.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        other => {
            return Err(format!(
                "{other:?} is not a unit of bytes; KiB, MiB, GiB, kB, MB, GB are"
            ));
        }
    };
    if let Ok(number) = number.parse::<u64>() {
        return number
            .checked_mul(factor)
            .ok_or_else(|| "too large".to_owned());
    }
    let bytes = number
        .parse::<f64>()
        .map_err(|_| format!("{text:?} is not a number of bytes"))?
        * factor as f64;
    if bytes < u64::MAX as f64 {
        Ok(bytes.round() as u64)
    } else {
        Err("too large".to_owned())
    }
}

/// A number of bytes with a unit of IEC.
pub(crate) fn shown(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1023.95 && unit < 5 {
        value /= 1024.0;
        unit += 1;
    }
    format!(
        "{value:.1} {}",
        ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]
    )
}

/// `1 chunk`, `2 chunks`.
pub(crate) fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        for (text, bytes) in [
            ("0", 0),
            ("12", 12),
            ("256MiB", 256 << 20),
            ("1.5 GiB", 3 << 29),
            ("2kB", 2000),
            ("3k", 3072),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "MiB",
            "1x",
            "-1",
            "1..2",
            "99999999999TiB",
            "99999999999.5TiB",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn cli_20_sizes_have_iec_units() {
        assert_eq!(shown(1023), "1023 B");
        assert_eq!(shown(1536), "1.5 KiB");
        assert_eq!(shown((1 << 20) - 1), "1.0 MiB");
        assert_eq!(shown(256 << 20), "256.0 MiB");
    }
}
