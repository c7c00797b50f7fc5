//! `ndzarr cat`: prints elements as text, JSON, `.npy` or bytes.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ndzarr::{AnyArray, Cache};

use crate::arguments::Global;
use crate::arguments::boxes::Boxes;
use crate::arguments::selection::Selected;
use crate::elements::text::{for_each, nested};
use crate::failure::Failure;
use crate::files::npy;
use crate::output::{Output, harmless};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array.
    path: PathBuf,
    /// The part to print, as NumPy writes it, with or without brackets: "3, :, 10:200:2".
    #[arg(allow_hyphen_values = true)]
    selection: Option<String>,
    /// How elements are printed. With `--json`: json.
    #[arg(long = "as", value_enum, default_value_t)]
    form: Form,
}

/// How elements are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A line for each row of the last axis, with tabs between elements.
    #[default]
    Text,
    /// Nested lists; NaN, infinities and dates are strings.
    Json,
    /// A file of NumPy.
    Npy,
    /// The bytes of the elements in C order and native byte order.
    Raw,
}

/// The bytes of elements that are read at a time.
const BYTES_PER_READ: u64 = 16 << 20;

/// The bytes of decoded chunks that are cached for the next reads.
const CACHE_BYTES: u64 = 64 << 20;

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    let options = global.open_options().cache(&Cache::new(CACHE_BYTES));
    let array = global.open_array(&arguments.path, &options)?;
    let selected = Selected::parse(arguments.selection.as_deref(), array.shape())?;
    let form = if output.json() {
        Form::Json
    } else {
        arguments.form
    };
    if matches!(form, Form::Npy | Form::Raw) && std::io::stdout().is_terminal() {
        return Err(Failure::usage(
            "bytes are not for a terminal: redirect standard output",
        ));
    }
    let size = array.data_type().elem_size().unwrap_or(64).max(1) as u64;
    let runs = selected.runs(&array.chunk_shape(), (BYTES_PER_READ / size).max(1));
    match form {
        Form::Npy | Form::Raw => {
            if array.data_type().elem_size().is_none() {
                let what = format!(
                    "{} has no fixed size; try --as json or text",
                    array.data_type()
                );
                return Err(Failure::new(what));
            }
            if form == Form::Npy {
                output
                    .raw()
                    .write_all(&npy::write(array.data_type(), &selected.shape())?)?;
            }
            for run in runs {
                output
                    .raw()
                    .write_all(&array.read_bytes(&selected.window(&run)[..])?)?;
            }
            Ok(())
        }
        Form::Text => text(&array, &selected, runs, output),
        Form::Json => json(&array, &selected, runs, output),
    }
}

fn text(
    array: &AnyArray,
    selected: &Selected,
    runs: Boxes,
    output: &mut Output,
) -> Result<(), Failure> {
    let row_len = selected.shape().last().copied().unwrap_or(1);
    let data_type = array.data_type();
    let mut n = 0;
    for run in runs {
        let elements = array.read(&selected.window(&run)[..])?;
        for_each(&elements, |element| {
            n += 1;
            let end = if n % row_len == 0 { '\n' } else { '\t' };
            let text = element.text(data_type);
            let text = harmless(&text);
            // A tab ends an element.
            let text = if text.contains('\t') {
                text.replace('\t', "\\t").into()
            } else {
                text
            };
            Ok::<_, Failure>(write!(output.raw(), "{text}{end}")?)
        })?;
    }
    Ok(())
}

fn json(
    array: &AnyArray,
    selected: &Selected,
    runs: Boxes,
    output: &mut Output,
) -> Result<(), Failure> {
    let shape = selected.shape();
    let data_type = array.data_type();
    if selected.n_elements() == 0 {
        let all: Vec<_> = shape.iter().map(|&n| 0..n).collect();
        return output.value(&nested(&array.read(&selected.window(&all)[..])?, data_type));
    }
    // The number of elements in a list of each level.
    let volume = |axis: usize| {
        shape[axis..]
            .iter()
            .fold(1, |all: u64, &n| all.saturating_mul(n))
    };
    let volumes: Vec<u64> = (0..shape.len()).map(volume).collect();
    let mut n = 0_u64;
    for run in runs {
        let elements = array.read(&selected.window(&run)[..])?;
        for_each(&elements, |element| {
            let n_ends = |n: u64| {
                volumes
                    .iter()
                    .filter(|&&volume| n.is_multiple_of(volume))
                    .count()
            };
            let opens = "[".repeat(n_ends(n));
            let closes = "]".repeat(n_ends(n + 1));
            let comma = if n > 0 { "," } else { "" };
            n += 1;
            Ok::<_, Failure>(write!(
                output.raw(),
                "{comma}{opens}{}{closes}",
                element.json(data_type)
            )?)
        })?;
    }
    Ok(writeln!(output.raw())?)
}
