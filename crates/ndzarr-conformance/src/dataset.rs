//! Reads and writes datasets of xarray.

use std::io::{self, Write};
use std::path::Path;

use ndzarr::ndarray::ArrayD;
use ndzarr::{AnyElements, Cast, DataType, Format, for_each_type};
use ndzarr_cf::{Calendar, Dataset, Labels, Time, Variable};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::arguments::place;
use crate::failure::Failure;

/// What to read of a variable; without `variable`, which variables there are.
#[derive(Deserialize)]
struct Request {
    variable: Option<String>,
    #[serde(default)]
    sel: Vec<(String, How)>,
    #[serde(default)]
    valid_only: bool,
}

/// Labels of a coordinate.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum How {
    One(Label),
    Nearest(Label),
    Range(Label, Label),
    List(Vec<Label>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Number(f64),
    Text(String),
}

/// A variable to create, with its elements in C order.
#[derive(Deserialize)]
struct New {
    name: String,
    data_type: String,
    dimensions: Vec<(String, u64)>,
    attributes: Map<String, Value>,
    chunks: Vec<u64>,
    values: Vec<Value>,
}

/// Answers each line of the input, a request, with a line of JSON, which has `error` if it fails.
pub(crate) fn read(store: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let dataset = Dataset::open(place(store, ""))?;
    for line in io::stdin().lines() {
        let answer = answer(&dataset, serde_json::from_str(&line?)?);
        writeln!(
            out,
            "{}",
            answer.unwrap_or_else(|failure| json!({"error": failure.to_string()}))
        )?;
    }
    Ok(())
}

fn answer(dataset: &Dataset, request: Request) -> Result<Value, Failure> {
    let Some(name) = request.variable else {
        return Ok(
            json!({"coordinates": dataset.coordinates(), "data_variables": dataset.data_variables()}),
        );
    };
    let mut variable = dataset.variable(&name)?;
    for (coordinate, how) in request.sel {
        variable = match how {
            How::One(Label::Number(label)) => variable.sel(&coordinate, label),
            How::One(Label::Text(label)) => variable.sel(&coordinate, label),
            How::Nearest(Label::Number(label)) => variable.sel(&coordinate, Labels::nearest(label)),
            How::Nearest(Label::Text(label)) => variable.sel(&coordinate, Labels::nearest(label)),
            How::Range(Label::Number(start), Label::Number(end)) => {
                variable.sel(&coordinate, start..=end)
            }
            How::Range(Label::Text(start), Label::Text(end)) => {
                variable.sel(&coordinate, start..=end)
            }
            How::Range(..) => return Err(Failure::new("a range from a number to a text")),
            How::List(labels) => {
                let texts: Option<Vec<String>> = labels.iter().map(Label::text).collect();
                let numbers: Option<Vec<f64>> = labels.iter().map(Label::number).collect();
                variable.sel(
                    &coordinate,
                    texts
                        .map(Labels::from)
                        .or(numbers.map(Labels::from))
                        .unwrap_or_else(|| "".into()),
                )
            }
        }?;
    }
    if request.valid_only {
        variable = variable.valid_only();
    }
    shown(&variable)
}

impl Label {
    fn text(&self) -> Option<String> {
        if let Self::Text(text) = self {
            Some(text.clone())
        } else {
            None
        }
    }

    fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self {
            Some(*number)
        } else {
            None
        }
    }
}

/// A variable as `xtask/python/fixtures/datasets.py` shows it.
fn shown(variable: &Variable) -> Result<Value, Failure> {
    let data_type = variable.data_type()?;
    let (name, shape, values) = if matches!(data_type, DataType::DateTime64 { .. }) {
        let times = variable.read_times()?;
        let text = |time: &Option<Time>| time.map_or(Value::Null, |time| time.to_string().into());
        (
            "times".to_owned(),
            times.shape().to_vec(),
            times.iter().map(text).collect(),
        )
    } else {
        let elements = variable.read()?;
        let values: Vec<Value> = match &elements {
            AnyElements::Bool(array) => array.iter().map(|&element| element.into()).collect(),
            AnyElements::String(array) => array.iter().map(|text| text[..].into()).collect(),
            AnyElements::Int64(array) => array.iter().map(|&element| element.into()).collect(),
            AnyElements::UInt64(array) => array.iter().map(|&element| element.into()).collect(),
            AnyElements::TimeDelta64(array) => array
                .iter()
                .map(|count| {
                    if count.is_nat() {
                        Value::Null
                    } else {
                        count.0.into()
                    }
                })
                .collect(),
            elements => {
                for_each_type!(elements, |array: Number| array.iter().map(|&element| number(element)).collect(), _ => {
                    return Err(Failure::new(format_args!("elements of {data_type}")));
                })
            }
        };
        let name = match &data_type {
            DataType::FixedUtf32 { .. } => "string".to_owned(),
            DataType::TimeDelta64 { unit, .. } => format!("timedelta64[{}]", unit.name()),
            other => other.to_string(),
        };
        (name, elements.shape().to_vec(), values)
    };
    let dimensions = variable.dimensions()?;
    Ok(json!({"dimensions": dimensions, "shape": shape, "type": name, "values": values}))
}

fn number<T: ndzarr::Number>(element: T) -> Value {
    let is_integer = T::from_f64(0.5, Cast::Saturating).is_some_and(|half| half.to_f64() != 0.5);
    match element.to_f64() {
        // Those of 64 bits are shown elsewhere.
        integer if is_integer => (integer as i64).into(),
        float if float.is_nan() => Value::Null,
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        float => float.into(),
    }
}

/// Creates a dataset; each line of the input is a variable.
pub(crate) fn write(store: &Path, format: Format) -> Result<(), Failure> {
    let mut dataset = Dataset::create(place(store, ""), format)?;
    for line in io::stdin().lines() {
        let new: New = serde_json::from_str(&line?)?;
        let shape: Vec<usize> = new
            .dimensions
            .iter()
            .map(|(_, length)| *length as usize)
            .collect();
        let dimensions = new
            .dimensions
            .iter()
            .map(|(name, length)| (&name[..], *length));
        let calendar = new
            .attributes
            .get("calendar")
            .and_then(Value::as_str)
            .unwrap_or("standard")
            .to_owned();
        let is_times = new
            .attributes
            .get("units")
            .and_then(Value::as_str)
            .is_some_and(|units| units.contains("since"));
        let data_type = data_type(&new.data_type)?;
        let attributes = Value::Object(new.attributes);
        let variable =
            dataset.create_variable(&new.name, data_type, dimensions, attributes, |layout| {
                layout.chunks(new.chunks)
            })?;
        if is_times {
            let time = |text: &Value| {
                text.as_str()
                    .map(|text| Time::parse(text, calendar_of(&calendar)))
                    .transpose()
            };
            let times = new
                .values
                .iter()
                .map(time)
                .collect::<Result<Vec<Option<Time>>, _>>()?;
            variable.write_times(&ArrayD::from_shape_vec(shape, times)?)?;
        } else {
            variable.write(elements(new.values, shape)?)?;
        }
    }
    Ok(())
}

fn calendar_of(name: &str) -> Calendar {
    match name {
        "proleptic_gregorian" => Calendar::ProlepticGregorian,
        "julian" => Calendar::Julian,
        "noleap" | "365_day" => Calendar::NoLeap,
        "all_leap" | "366_day" => Calendar::AllLeap,
        "360_day" => Calendar::Days360,
        _ => Calendar::Standard,
    }
}

fn data_type(name: &str) -> Result<DataType, Failure> {
    let bits = |prefix: &str| name.strip_prefix(prefix).and_then(|bits| bits.parse().ok());
    match name {
        "bool" => return Ok(DataType::Bool),
        "string" => return Ok(DataType::String),
        _ => {}
    }
    let of = [
        bits("int").map(|bits| DataType::Int { bits }),
        bits("uint").map(|bits| DataType::UInt { bits }),
        bits("float").map(|bits| DataType::Float { bits }),
    ];
    of.into_iter()
        .flatten()
        .next()
        .ok_or_else(|| Failure::new(format_args!("the type {name}")))
}

/// Texts, bools, integers, or floats with `null` for NaN.
fn elements(values: Vec<Value>, shape: Vec<usize>) -> Result<AnyElements, Failure> {
    fn all<T>(values: &[Value], of: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
        values.iter().map(of).collect()
    }
    if let Some(texts) = all(&values, |value| value.as_str().map(str::to_owned)) {
        return Ok(ArrayD::from_shape_vec(shape, texts)?.into());
    }
    if let Some(bools) = all(&values, Value::as_bool) {
        return Ok(ArrayD::from_shape_vec(shape, bools)?.into());
    }
    if let Some(integers) = all(&values, Value::as_i64) {
        return Ok(ArrayD::from_shape_vec(shape, integers)?.into());
    }
    let float = |value: &Value| {
        if value.is_null() {
            Some(f64::NAN)
        } else {
            value.as_f64()
        }
    };
    let floats = all(&values, float).ok_or_else(|| Failure::new("values of several kinds"))?;
    Ok(ArrayD::from_shape_vec(shape, floats)?.into())
}
