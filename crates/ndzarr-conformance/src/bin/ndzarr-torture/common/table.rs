//! The table of figures.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::common::torture::Outcome;

/// Rows, printed as they come.
pub(crate) struct Table {
    start: Instant,
    n_rows: usize,
    n_missed: usize,
}

/// The expected value of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect {
    /// Zero.
    None,
    /// At most this many.
    AtMost(u64),
    /// More than zero: writers that are not serialized, to show that the workload would detect
    /// losses.
    Some,
    /// More than zero in every run: changes that are made in the wrong order, for instance, to show
    /// the same.
    Seen,
    /// Any: the figure is another program's.
    Anything,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            n_rows: 0,
            n_missed: 0,
        }
    }

    /// Adds a figure; `of` is its base.
    pub(crate) fn row(
        &mut self,
        name: impl Display,
        figure: u64,
        of: impl Display,
        expect: Expect,
    ) -> Outcome {
        let (expectation, met) = match expect {
            Expect::None => ("0".to_owned(), figure == 0),
            Expect::AtMost(most) => (format!("<= {most}"), figure <= most),
            // A race that is lost by chance: a run without losses proves nothing, and is not a
            // failure.
            Expect::Some => ("> 0, mostly".to_owned(), true),
            Expect::Seen => ("> 0".to_owned(), figure > 0),
            Expect::Anything => ("-".to_owned(), true),
        };
        let verdict = match (expect, met) {
            (Expect::Anything, _) => "",
            (_, true) => "pass",
            (_, false) => "FAIL",
        };
        self.n_rows += 1;
        self.n_missed += usize::from(!met);
        let of = of.to_string();
        print(&format!(
            "{name:<64} {figure:>8} {of:<34} {expectation:>8}  {verdict}",
            name = name.to_string()
        ))
    }

    /// Adds a workload that could not be run to its end.
    pub(crate) fn failed(&mut self, name: &str, error: &(dyn Error + 'static)) -> Outcome {
        self.n_missed += 1;
        let mut what = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            what = format!("{what}: {error}");
            source = error.source();
        }
        print(&format!("{name}: {what}  FAIL"))
    }

    /// Prints how long a workload took.
    pub(crate) fn took(&self, name: &str, time: Duration) -> Outcome {
        print(&format!("-- {name}: {:.1} s", time.as_secs_f64()))
    }

    /// Prints the sum.
    ///
    /// # Errors
    /// A figure is not what it must be.
    pub(crate) fn close(self) -> Outcome {
        let Self {
            start,
            n_rows,
            n_missed,
        } = self;
        print(&format!(
            "{n_rows} figures, {n_missed} missed, {:.0} s",
            start.elapsed().as_secs_f64()
        ))?;
        if n_missed == 0 {
            Ok(())
        } else {
            Err(format!("{n_missed} figures are not what they must be").into())
        }
    }
}

fn print(line: &str) -> Outcome {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", line.trim_end())?;
    Ok(out.flush()?)
}
