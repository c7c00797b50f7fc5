//! Runs the examples, which fail if they read anything but what was written.

use examples::{async_read, own_store, tour};

#[test]
fn the_tour_runs() {
    tour::main().expect("every array of the tour is read as it was written");
}

#[test]
fn asynchronous_reads_run() {
    async_read::main().expect("the store never fails");
}

#[test]
fn a_store_of_ones_own_runs() {
    own_store::main().expect("the store never fails");
}
