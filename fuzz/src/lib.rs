//! The one macro of which every fuzz target consists.

pub use libfuzzer_sys;
pub use peak_alloc;

/// Defines a fuzz target: a module of `ndzarr_tests`, whose `check` panics on a finding. An input
/// that takes more memory than the module's `MAX_BYTES` is a finding, too.
#[macro_export]
macro_rules! target {
    ($module:ident) => {
        use $crate::libfuzzer_sys;
        use $crate::peak_alloc::PeakAlloc;

        #[global_allocator]
        static ALLOCATOR: PeakAlloc = PeakAlloc;

        libfuzzer_sys::fuzz_target!(|data: &[u8]| {
            let before = ALLOCATOR.current_usage();
            ALLOCATOR.reset_peak_usage();
            ndzarr_tests::$module::check(data);
            let taken = ALLOCATOR.peak_usage().saturating_sub(before);
            let limit = ndzarr_tests::$module::MAX_BYTES;
            assert!(taken <= limit, "{taken} bytes of memory were taken");
        });
    };
}
