//! The golden cases of `testdata/`: a trial for each case, which reads it by every route.
//!
//! `cargo test -p ndzarr-tests --test cases -- zarr3::zp3-shard` runs those with that in their
//! name, `-- V2-T03` those of an item of the checklists.

mod array;
mod block;
#[cfg(not(target_family = "wasm"))]
mod elements;
mod hierarchy;
mod refused;
#[cfg(not(target_family = "wasm"))]
mod regression;
mod route;
mod unsupported;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use ndzarr_tests::{Case, Kind, cases};
use route::Route;

/// The result of a check: an error describes the deviation.
type Checked = Result<(), String>;

fn main() {
    let arguments = Arguments::from_args();
    let cases = cases().expect("testdata can be read");
    let mut trials = vec![Trial::test("every refusal in the table has a case", {
        let cases = cases.clone();
        move || unsupported::check_table(&cases).map_err(Into::into)
    })];
    for case in cases {
        let traps: String = case.traps.iter().map(|trap| format!("::{trap}")).collect();
        let name = format!("{}::{}{traps}", case.family, case.name);
        trials.push(Trial::ignorable_test(name, move || {
            completion(check_all(&case))
        }));
    }
    let one_at_a_time = Arguments {
        test_threads: Some(1),
        ..arguments.clone()
    };
    #[cfg(not(target_family = "wasm"))]
    {
        let regressions = regression::trials().expect("testdata can be read");
        libtest_mimic::run(&one_at_a_time, regressions).exit_if_failed();
    }
    let arguments = if cfg!(target_family = "wasm") {
        one_at_a_time
    } else {
        arguments
    };
    libtest_mimic::run(&arguments, trials).exit();
}

/// In WebAssembly, cases for codecs in C are left out where the error names the codec.
fn completion(checked: Checked) -> Result<Completion, Failed> {
    match checked {
        Ok(()) => Ok(Completion::Completed),
        Err(what)
            if cfg!(target_family = "wasm")
                && what
                    .lines()
                    .all(|line| line.contains("is not part of this build")) =>
        {
            Ok(Completion::ignored_with(what))
        }
        Err(what) => Err(what.into()),
    }
}

/// Checks a case by every route; the error names each route that deviates.
fn check_all(case: &Case) -> Checked {
    let mut deviations = Vec::new();
    for &route in Route::ALL {
        if let Err(what) = check(case, route) {
            deviations.push(format!("{route}: {what}"));
        }
    }
    if deviations.is_empty() {
        Ok(())
    } else {
        Err(deviations.join("\n"))
    }
}

fn check(case: &Case, route: Route) -> Checked {
    match case.kind {
        Kind::Array => match unsupported::refusal(case) {
            None => array::check(case, route),
            Some(refusal) => refusal.check(case, route),
        },
        Kind::Hierarchy => hierarchy::check(case, route),
        Kind::Error => refused::check(case, route),
        Kind::Block => block::check(case, route),
    }
}

/// Adds the subject to an error that is unexpected or has no other description.
fn because<E: std::fmt::Debug>(what: &str) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error:?}")
}
