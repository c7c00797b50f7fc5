//! cast_value: converts each value to another type, without unnoticed changes.

use ndzarr_model::{CastValueConfig, DataType, OutOfRange, Rounding};

use crate::elements::number::{Number, NumberType, try_convert_each};
use crate::filter::numbers;
use crate::{ArrayToArray, CodecError};

const NAME: &str = "cast_value";

#[derive(Debug)]
pub(crate) struct CastValue {
    data_type: DataType,
    encode: Cast,
    decode: Cast,
}

/// The conversion in one direction.
#[derive(Debug)]
struct Cast {
    from: NumberType,
    to: NumberType,
    /// Values that are mapped explicitly; the first equal one applies.
    map: Vec<(Number, Number)>,
    rounding: Rounding,
    out_of_range: Option<OutOfRange>,
}

impl CastValue {
    pub(crate) fn new(config: &CastValueConfig, data_type: &DataType) -> Result<Self, CodecError> {
        let refuse_bool = |numbers| match numbers {
            NumberType::Bool => Err(CodecError::config(NAME, "does not convert bool")),
            numbers => Ok(numbers),
        };
        let from = refuse_bool(numbers(NAME, data_type)?)?;
        let to = refuse_bool(numbers(NAME, &config.data_type)?)?;
        if config.out_of_range == Some(OutOfRange::Wrap) && to.is_float() {
            return Err(CodecError::config(
                NAME,
                "out_of_range \"wrap\" is for integers",
            ));
        }
        let CastValueConfig {
            rounding,
            out_of_range,
            ..
        } = *config;
        // Decoding has nothing to wrap if the elements are floats.
        let decode_out_of_range =
            out_of_range.filter(|how| *how == OutOfRange::Clamp || !from.is_float());
        let encode = Cast {
            from,
            to,
            map: scalar_map(&config.encode_map, from, to)?,
            rounding,
            out_of_range,
        };
        let decode = Cast {
            from: to,
            to: from,
            map: scalar_map(&config.decode_map, to, from)?,
            rounding,
            out_of_range: decode_out_of_range,
        };
        Ok(Self {
            data_type: config.data_type.clone(),
            encode,
            decode,
        })
    }
}

/// The entries of a map from values of one type to values of another.
fn scalar_map(
    entries: &[(Vec<u8>, Vec<u8>)],
    from: NumberType,
    to: NumberType,
) -> Result<Vec<(Number, Number)>, CodecError> {
    let number = |numbers: NumberType, bytes: &[u8]| {
        if bytes.len() != numbers.size() {
            return Err(CodecError::config(NAME, "a scalar_map of another type"));
        }
        Ok(numbers.load(bytes))
    };
    entries
        .iter()
        .map(|(key, value)| Ok((number(from, key)?, number(to, value)?)))
        .collect()
}

impl ArrayToArray for CastValue {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encoded_type(&self) -> DataType {
        self.data_type.clone()
    }

    fn encoded_fill(&self, fill: &[u8]) -> Result<Vec<u8>, CodecError> {
        let refuse = |what| CodecError::config(NAME, format!("the fill value {what}"));
        let encoded = self
            .encode
            .apply(self.encode.from.load(fill))
            .map_err(refuse)?;
        let mut out = vec![0; self.encode.to.size()];
        self.encode.to.store(encoded, &mut out);
        self.decode
            .apply(self.encode.to.load(&out))
            .map_err(|what| refuse(format!("does not come back: {what}")))?;
        Ok(out)
    }

    fn encode(&self, elements: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        let Cast { from, to, .. } = self.encode;
        try_convert_each((from, elements), (to, out), |x| {
            self.encode
                .apply(x)
                .map_err(|what| CodecError::encode(NAME, format!("an element {what}")))
        })
    }

    fn decode(&self, encoded: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        let Cast { from, to, .. } = self.decode;
        try_convert_each((from, encoded), (to, out), |y| {
            self.decode
                .apply(y)
                .map_err(|what| CodecError::corrupt(NAME, format!("an element {what}")))
        })
    }
}

impl Cast {
    fn apply(&self, x: Number) -> Result<Number, String> {
        if let Some((_, value)) = self.map.iter().find(|(key, _)| equal(*key, x)) {
            return Ok(*value);
        }
        match (x, self.to.range()) {
            (Number::Float(x), Some(_)) if !x.is_finite() => {
                Err(format!("is {x}, which is not an integer"))
            }
            (Number::Float(x), Some(range)) => self.to_range(round(x, self.rounding), range),
            (Number::Int(n), Some(range)) => self.to_range(Number::Int(n), range),
            (Number::Float(x), None) if !x.is_finite() => Ok(Number::Float(x)),
            (x, None) => self.to_float(x),
        }
    }

    /// Brings an integer, or a float without a fraction, into the range of the target type.
    fn to_range(&self, x: Number, (low, high): (i128, i128)) -> Result<Number, String> {
        let is_inside = x.is_in((low, high));
        let is_low = x.as_f64() < 0.0;
        match self.out_of_range {
            _ if is_inside => Ok(x),
            Some(OutOfRange::Clamp) => Ok(Number::Int(if is_low { low } else { high })),
            Some(OutOfRange::Wrap) => {
                let modulus = high - low + 1;
                let n = match x {
                    Number::Int(n) => n,
                    Number::Float(x) => (x % modulus as f64) as i128,
                };
                let n = n.rem_euclid(modulus);
                Ok(Number::Int(if n > high { n - modulus } else { n }))
            }
            None => Err(format!("is {}, out of range", show(x))),
        }
    }

    fn to_float(&self, x: Number) -> Result<Number, String> {
        let to = self.to;
        let mut bytes = [0; 8];
        to.store(x, &mut bytes[..to.size()]);
        let nearest = to.load(&bytes[..to.size()]).as_f64();
        let is_negative = x.as_f64() < 0.0;
        // The sign is restored at the end.
        let magnitude = nearest.abs();
        let instead_of_nearest = match self.rounding {
            Rounding::NearestEven => None,
            Rounding::NearestAway => {
                // Of two nearest floats this is the even one; the other may be farther from zero.
                let next = step(to, magnitude, 1);
                let excess =
                    excess(x, magnitude).filter(|_| magnitude.is_finite() && next.is_finite());
                let is_tie = excess.is_some_and(|excess| 2.0 * excess == next - magnitude);
                is_tie.then_some(next)
            }
            Rounding::TowardsZero => self.directed(x, magnitude, false),
            Rounding::TowardsPositive => self.directed(x, magnitude, !is_negative),
            Rounding::TowardsNegative => self.directed(x, magnitude, is_negative),
        };
        let magnitude = instead_of_nearest.unwrap_or(magnitude);
        let out = magnitude.is_infinite() || x.as_f64().abs() >= overflow_threshold(to);
        match self.out_of_range {
            _ if !out => Ok(Number::Float(magnitude.copysign(nearest))),
            Some(_) => Ok(Number::Float(f64::INFINITY.copysign(nearest))),
            None => Err(format!("is {}, out of range", show(x))),
        }
    }

    /// The neighbour, by magnitude, that directed rounding chooses instead of the nearest.
    fn directed(&self, x: Number, magnitude: f64, up: bool) -> Option<f64> {
        let order = compare_magnitude(x, magnitude);
        match (order, up) {
            (std::cmp::Ordering::Greater, true) => Some(step(self.to, magnitude, 1)),
            (std::cmp::Ordering::Less, false) => Some(step(self.to, magnitude, -1)),
            _ => None,
        }
    }
}

fn equal(key: Number, x: Number) -> bool {
    match (key, x) {
        (Number::Int(key), Number::Int(x)) => key == x,
        (key, x) => {
            let key = key.as_f64();
            let x = x.as_f64();
            key == x || key.is_nan() && x.is_nan()
        }
    }
}

/// A finite float without its fraction.
fn round(x: f64, rounding: Rounding) -> Number {
    Number::Float(match rounding {
        Rounding::NearestEven => x.round_ties_even(),
        Rounding::TowardsZero => x.trunc(),
        Rounding::TowardsPositive => x.ceil(),
        Rounding::TowardsNegative => x.floor(),
        Rounding::NearestAway => x.round(),
    })
}

/// |x| against a magnitude.
fn compare_magnitude(x: Number, magnitude: f64) -> std::cmp::Ordering {
    match x {
        // A float close to such a large integer is an integer itself.
        Number::Int(n) if magnitude.is_finite() => n.abs().cmp(&(magnitude as i128)),
        x => x.as_f64().abs().total_cmp(&magnitude),
    }
}

/// The distance by which |x| exceeds the magnitude of the nearest float.
fn excess(x: Number, magnitude: f64) -> Option<f64> {
    (compare_magnitude(x, magnitude) == std::cmp::Ordering::Greater).then(|| match x {
        Number::Int(n) => (n.abs() - magnitude as i128) as f64,
        Number::Float(x) => x.abs() - magnitude,
    })
}

/// The next float of a type above or below a magnitude.
fn step(to: NumberType, magnitude: f64, by: i64) -> f64 {
    let mut bytes = [0; 8];
    let bytes = &mut bytes[..to.size()];
    to.store(Number::Float(magnitude), bytes);
    let unsigned = match to.size() {
        2 => NumberType::U16,
        4 => NumberType::U32,
        _ => NumberType::U64,
    };
    // Floats of one sign have the same order as their bits.
    if let Number::Int(bits) = unsigned.load(bytes) {
        unsigned.store(Number::Int(bits + i128::from(by)), bytes);
    }
    to.load(bytes).as_f64()
}

/// The smallest power of two beyond all finite floats of a type.
fn overflow_threshold(to: NumberType) -> f64 {
    match to {
        NumberType::F16 => 65_536.0,
        NumberType::F32 | NumberType::Bf16 => 128f64.exp2(),
        _ => f64::INFINITY,
    }
}

fn show(x: Number) -> String {
    match x {
        Number::Int(n) => n.to_string(),
        Number::Float(x) => x.to_string(),
    }
}
