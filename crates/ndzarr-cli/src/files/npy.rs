//! Reads and writes headers of NumPy's `.npy` files, versions 1 to 3.

use std::io::Read;

use ndzarr::{DataType, Endian, Field, StructType, TimeUnit};

use crate::failure::Failure;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers are short: a field of a structure takes some tens of bytes.
const MAX_LEN: usize = 1 << 20;

/// The content of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) data_type: DataType,
    /// The byte order of the elements.
    pub(crate) endian: Endian,
    /// True if the first axis varies fastest.
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<u64>,
}

/// The header of elements in native byte order and in C order.
pub(crate) fn write(data_type: &DataType, shape: &[u64]) -> Result<Vec<u8>, Failure> {
    let descr = descr(data_type).ok_or_else(|| {
        Failure::new(format_args!(
            "NumPy has no {data_type}; try --as json, text or raw"
        ))
    })?;
    let lengths: Vec<String> = shape.iter().map(|n| format!("{n},")).collect();
    let shape = lengths.join(" ");
    let shape = if lengths.len() > 1 {
        shape.trim_end_matches(',')
    } else {
        &shape
    };
    let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({shape}), }}");
    let (version, head) = if text.len() + 64 < usize::from(u16::MAX) {
        (1, 10)
    } else {
        (2, 12)
    };
    let len = (head + text.len() + 1).next_multiple_of(64) - head;
    let mut out = MAGIC.to_vec();
    out.extend([version, 0]);
    match version {
        1 => out.extend((len as u16).to_le_bytes()),
        _ => out.extend((len as u32).to_le_bytes()),
    }
    out.extend(text.as_bytes());
    out.resize(head + len - 1, b' ');
    out.push(b'\n');
    Ok(out)
}

/// Reads a header, up to the first element.
pub(crate) fn read(from: &mut dyn Read) -> Result<Header, Failure> {
    let wrong = |what: &str| Failure::new(format_args!("it is not a .npy file: {what}"));
    let mut head = [0; 8];
    from.read_exact(&mut head)
        .map_err(|_| wrong("it is too short"))?;
    if &head[..6] != MAGIC {
        return Err(wrong("it does not begin with \\x93NUMPY"));
    }
    let len = match head[6] {
        1 => {
            let mut len = [0; 2];
            from.read_exact(&mut len)
                .map_err(|_| wrong("it is too short"))?;
            usize::from(u16::from_le_bytes(len))
        }
        2 | 3 => {
            let mut len = [0; 4];
            from.read_exact(&mut len)
                .map_err(|_| wrong("it is too short"))?;
            u32::from_le_bytes(len) as usize
        }
        version => return Err(wrong(&format!("version {version} is not known"))),
    };
    if len > MAX_LEN {
        return Err(wrong(&format!("its header has {len} bytes")));
    }
    let mut text = vec![0; len];
    from.read_exact(&mut text)
        .map_err(|_| wrong("it is too short"))?;
    let text = String::from_utf8_lossy(&text);
    let mut literal = Literal { rest: text.trim() };
    let value = literal.value(0).filter(|_| literal.rest.trim().is_empty());
    let Some(Python::Dict(entries)) = value else {
        return Err(wrong("its header is not a dictionary"));
    };
    let entry = |name: &str| {
        entries
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    };
    let fortran = match entry("fortran_order") {
        Some(Python::Bool(fortran)) => *fortran,
        _ => return Err(wrong("fortran_order is not stated")),
    };
    let shape = match entry("shape") {
        Some(Python::List(lengths)) => lengths
            .iter()
            .map(Python::length)
            .collect::<Option<Vec<u64>>>(),
        _ => None,
    };
    let shape = shape.ok_or_else(|| wrong("shape is not a tuple of lengths"))?;
    let descr = entry("descr").ok_or_else(|| wrong("descr is not stated"))?;
    let (data_type, endian) = type_of(descr).map_err(|what| wrong(&what))?;
    Ok(Header {
        data_type,
        endian: endian.unwrap_or(Endian::NATIVE),
        fortran,
        shape,
    })
}

/// The `descr` of a type, in Python; `None` if NumPy has no such type.
fn descr(data_type: &DataType) -> Option<String> {
    if let DataType::Struct(fields) = data_type {
        let field = |field: &Field| {
            let descr = descr(&field.data_type)?;
            let lengths: Vec<String> = field.shape.iter().map(|n| format!("{n},")).collect();
            let shape = if lengths.is_empty() {
                String::new()
            } else {
                format!(", ({})", lengths.join(" "))
            };
            let is_plain = field
                .name
                .chars()
                .all(|c| c.is_ascii_graphic() && !matches!(c, '\'' | '\\') || c == ' ');
            is_plain.then(|| format!("('{}', {descr}{shape})", field.name))
        };
        let fields: Vec<String> = fields.fields().iter().map(field).collect::<Option<_>>()?;
        return Some(format!("[{}]", fields.join(", ")));
    }
    let order = if Endian::NATIVE == Endian::Little {
        '<'
    } else {
        '>'
    };
    let (order, kind) = match data_type {
        DataType::Bool => ('|', "b1".to_owned()),
        DataType::Int { bits } if *bits <= 8 => ('|', "i1".to_owned()),
        DataType::UInt { bits } if *bits <= 8 => ('|', "u1".to_owned()),
        DataType::Int { bits } => (order, format!("i{}", bits / 8)),
        DataType::UInt { bits } => (order, format!("u{}", bits / 8)),
        DataType::Float { bits } => (order, format!("f{}", bits / 8)),
        DataType::Complex { bits } => (order, format!("c{}", bits / 8)),
        DataType::DateTime64 { unit, scale } => (order, time("M8", *unit, *scale)),
        DataType::TimeDelta64 { unit, scale } => (order, time("m8", *unit, *scale)),
        DataType::FixedBytes { bytes } => ('|', format!("S{bytes}")),
        DataType::FixedUtf32 { chars } => (order, format!("U{chars}")),
        DataType::Raw { bytes } => ('|', format!("V{bytes}")),
        _ => return None,
    };
    Some(format!("'{order}{kind}'"))
}

fn time(kind: &str, unit: TimeUnit, scale: u32) -> String {
    match (unit, scale) {
        (TimeUnit::Generic, _) => kind.to_owned(),
        (unit, 1) => format!("{kind}[{}]", unit.name()),
        (unit, scale) => format!("{kind}[{scale}{}]", unit.name()),
    }
}

/// The type of a `descr`, and its byte order if it states one.
fn type_of(descr: &Python) -> Result<(DataType, Option<Endian>), String> {
    let text = match descr {
        Python::Text(text) => text,
        Python::List(fields) => return struct_of(fields),
        _ => return Err("descr is neither text nor a list".to_owned()),
    };
    parse_descr(text).ok_or_else(|| format!("its type {text:?} is not supported"))
}

/// Parses the `descr` of a type that is not a structure: `<f4`, `|S10`, `>M8[ns]`.
pub(crate) fn parse_descr(text: &str) -> Option<(DataType, Option<Endian>)> {
    let (endian, rest) = match text.chars().next()? {
        '<' => (Some(Endian::Little), &text[1..]),
        '>' => (Some(Endian::Big), &text[1..]),
        '=' => (Some(Endian::NATIVE), &text[1..]),
        '|' => (None, &text[1..]),
        _ => (Some(Endian::NATIVE), text),
    };
    let kind = rest.get(..1)?;
    let rest = &rest[1..];
    let size = || rest.parse::<usize>().ok();
    let bits = |sizes: &[usize]| size().filter(|n| sizes.contains(n)).map(|n| (n * 8) as u8);
    let data_type = match kind {
        "b" if rest == "1" => DataType::Bool,
        "i" => DataType::Int {
            bits: bits(&[1, 2, 4, 8])?,
        },
        "u" => DataType::UInt {
            bits: bits(&[1, 2, 4, 8])?,
        },
        "f" => DataType::Float {
            bits: bits(&[2, 4, 8])?,
        },
        "c" => DataType::Complex {
            bits: bits(&[8, 16])?,
        },
        "S" => DataType::FixedBytes {
            bytes: size().filter(|&n| n > 0 && n < MAX_LEN)?,
        },
        "U" => DataType::FixedUtf32 {
            chars: size().filter(|&n| n > 0 && n < MAX_LEN)?,
        },
        "V" => DataType::Raw {
            bytes: size().filter(|&n| n > 0 && n < MAX_LEN)?,
        },
        "M" | "m" => {
            let unit = rest.strip_prefix('8')?;
            let (unit, scale) = match unit
                .strip_prefix('[')
                .and_then(|unit| unit.strip_suffix(']'))
            {
                None if unit.is_empty() => (TimeUnit::Generic, 1),
                None => return None,
                Some(unit) => {
                    let end = unit.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
                    let scale = if end == 0 {
                        1
                    } else {
                        unit[..end].parse().ok()?
                    };
                    (TimeUnit::from_name(&unit[end..])?, scale)
                }
            };
            match kind {
                "M" => DataType::DateTime64 { unit, scale },
                _ => DataType::TimeDelta64 { unit, scale },
            }
        }
        _ => return None,
    };
    Some((data_type, endian))
}

fn struct_of(fields: &[Python]) -> Result<(DataType, Option<Endian>), String> {
    let mut endian = None;
    let mut parsed = Vec::new();
    for field in fields {
        let Python::List(parts) = field else {
            return Err("a field is not a tuple".to_owned());
        };
        let [Python::Text(name), descr, shape @ ..] = &parts[..] else {
            return Err("a field has no name and type".to_owned());
        };
        let (data_type, field_endian) = type_of(descr)?;
        if field_endian.is_some() && endian.is_some() && field_endian != endian {
            return Err("its fields have different byte orders".to_owned());
        }
        endian = endian.or(field_endian);
        let shape = match shape {
            [] => Vec::new(),
            [Python::List(lengths)] => lengths
                .iter()
                .map(|length| length.length().and_then(|n| usize::try_from(n).ok()))
                .collect::<Option<Vec<usize>>>()
                .ok_or("a field has no shape of lengths")?,
            _ => return Err("a field has too many parts".to_owned()),
        };
        parsed.push(Field::new(name.clone(), data_type).with_shape(shape));
    }
    let fields = StructType::new(parsed).map_err(|error| error.to_string())?;
    Ok((DataType::Struct(fields), endian))
}

/// A literal of Python, of the kinds that headers have.
#[derive(Debug, PartialEq)]
enum Python {
    Text(String),
    Bool(bool),
    Int(u64),
    /// A list or a tuple.
    List(Vec<Python>),
    Dict(Vec<(String, Python)>),
}

impl Python {
    fn length(&self) -> Option<u64> {
        match self {
            Self::Int(n) => Some(*n),
            _ => None,
        }
    }
}

/// A parser of literals of Python.
struct Literal<'t> {
    rest: &'t str,
}

/// Structures are nested only a few times.
const MAX_DEPTH: usize = 32;

impl Literal<'_> {
    /// Takes a token, and blanks before it, if it comes next. Returns true if it did.
    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        let after = self.rest.strip_prefix(token);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Python> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.eat("{") {
            let mut entries = Vec::new();
            while !self.eat("}") {
                let Python::Text(key) = self.value(depth + 1)? else {
                    return None;
                };
                if !self.eat(":") {
                    return None;
                }
                entries.push((key, self.value(depth + 1)?));
                if !self.eat(",") && !self.rest.starts_with('}') {
                    return None;
                }
            }
            return Some(Python::Dict(entries));
        }
        for (open, close) in [("(", ")"), ("[", "]")] {
            if self.eat(open) {
                let mut values = Vec::new();
                while !self.eat(close) {
                    values.push(self.value(depth + 1)?);
                    if !self.eat(",") && !self.rest.starts_with(close) {
                        return None;
                    }
                }
                return Some(Python::List(values));
            }
        }
        if self.eat("True") {
            return Some(Python::Bool(true));
        }
        if self.eat("False") {
            return Some(Python::Bool(false));
        }
        let rest = self.rest;
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            let end = rest[1..].find(quote)? + 1;
            let text = &rest[1..end];
            self.rest = &rest[end + 1..];
            return (!text.contains('\\')).then(|| Python::Text(text.to_owned()));
        }
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let number = rest[..end].parse().ok()?;
        self.rest = rest[end..].strip_prefix('L').unwrap_or(&rest[end..]);
        Some(Python::Int(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that NumPy 2 wrote: `np.save(f, np.zeros((3, 4), ">i2", order="F"))`, and so on.
    fn numpy(dict: &str) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((dict.len() as u16).to_le_bytes());
        bytes.extend(dict.as_bytes());
        bytes
    }

    #[test]
    fn headers_of_numpy_are_read() {
        let bytes = numpy("{'descr': '>i2', 'fortran_order': True, 'shape': (3, 4), }          \n");
        let header = read(&mut &bytes[..]).expect("it is valid");
        assert_eq!(header.data_type, DataType::Int { bits: 16 });
        assert_eq!(
            (header.endian, header.fortran, header.shape),
            (Endian::Big, true, vec![3, 4])
        );
        let bytes = numpy(
            "{'descr': [('a', '<f4'), ('b', '<u2', (2,))], 'fortran_order': False, 'shape': (5,), }\n",
        );
        let header = read(&mut &bytes[..]).expect("it is valid");
        assert_eq!(header.data_type.elem_size(), Some(8));
        let bytes = numpy("{'descr': '<M8[25us]', 'fortran_order': False, 'shape': (), }\n");
        let header = read(&mut &bytes[..]).expect("it is valid");
        assert_eq!(
            header.data_type,
            DataType::DateTime64 {
                unit: TimeUnit::Microsecond,
                scale: 25
            }
        );
        assert_eq!(header.shape, Vec::<u64>::new());
    }

    #[test]
    fn what_is_written_is_read() {
        let types = [
            DataType::Bool,
            DataType::UInt { bits: 64 },
            DataType::Complex { bits: 128 },
            DataType::FixedUtf32 { chars: 7 },
            DataType::TimeDelta64 {
                unit: TimeUnit::Nanosecond,
                scale: 1,
            },
        ];
        for data_type in types {
            for shape in [vec![], vec![3], vec![2, 0, 9]] {
                let bytes = write(&data_type, &shape).expect("it is valid");
                assert_eq!(bytes.len() % 64, 0);
                let header = read(&mut &bytes[..]).expect("it is valid");
                assert_eq!(
                    (&header.data_type, header.shape, header.fortran),
                    (&data_type, shape, false)
                );
                for end in 0..bytes.len() {
                    assert!(read(&mut &bytes[..end]).is_err());
                }
            }
        }
        assert!(write(&DataType::String, &[1]).is_err());
    }

    #[test]
    fn hostile_headers_are_errors() {
        let deep = format!("{{'descr': {}", "[".repeat(60_000));
        for dict in [
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<i3', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '|S99999999999', 'fortran_order': False, 'shape': (1,)}",
            "import os",
            "",
            &deep,
        ] {
            assert!(read(&mut &numpy(dict)[..]).is_err(), "{dict:.60}");
        }
        let mut long = b"\x93NUMPY\x02\x00".to_vec();
        long.extend(u32::MAX.to_le_bytes());
        assert!(read(&mut &long[..]).is_err());
    }
}
