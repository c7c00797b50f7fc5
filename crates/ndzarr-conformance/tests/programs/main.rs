//! The two programs as their callers see them. No harness, since each case of `testdata/` is a
//! trial.
#![forbid(unsafe_code)]

mod cases;
mod datasets;
mod round_trips;
mod torture;

use libtest_mimic::{Arguments, Trial};

/// The functions of a module as trials. The compiler warns of one that is left out: it is never
/// called.
macro_rules! trials {
    ($module:ident: $($test:ident),+ $(,)?) => {
        [$(Trial::test(concat!(stringify!($module), "::", stringify!($test)), || {
            $module::$test();
            Ok(())
        })),+]
    };
}

fn main() {
    let mut trials = cases::trials();
    trials.extend(datasets::trials());
    trials.extend(trials!(round_trips:
        each_format_gives_back_what_was_written,
        a_region_is_part_of_the_whole,
        consolidated_metadata_stand_for_the_documents,
        elements_are_printed_as_fill_values,
        arrays_without_dimensions_or_elements,
        bad_data_is_one_line_and_status_1,
        bad_usage_is_status_2,
        unknown_codecs_of_v2_do_not_hide_the_metadata,
        a_batch_answers_each_line,
    ));
    trials.extend(trials!(torture:
        every_prefix_of_the_write_log_is_sound,
        nothing_is_lost_on_a_server_with_faults,
        faults_are_reported_and_do_no_damage,
    ));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
