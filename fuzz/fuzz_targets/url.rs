#![no_main]

use ndzarr_tests::url as target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    target::check(data);
    let taken = ALLOCATOR.peak_usage().saturating_sub(before);
    assert!(taken <= target::MAX_BYTES, "{taken} bytes of memory were taken");
});
