//! The section of `docs/support.md` on systems.

/// The section. `cargo xtask machines` and `.github/workflows/ci.yml` are what it rests on.
pub(super) const SECTION: &str = "
## Systems

| System | built | run | promised |
|---|---|---|---|
| Linux on x86-64 | everything | every test, the comparisons above, the torture (`.ci/run`) | all of [guarantees.md](guarantees.md) |
| Linux with 32 bits (i686) | everything but zfp | every test but the torture (`cargo xtask machines i686`) | the same; what the machine cannot address is `OutOfMemory` or refused with the metadata, never cut short |
| Linux, big-endian (s390x) | everything but zfp | tests of codecs, documents and testdata, in an emulator (`cargo xtask machines s390x`) | right values, in every codec and data type |
| Windows (x86-64) | everything but zfp | tests of all but threads and processes, in wine (`cargo xtask machines windows`); all tests in the continuous integration | what guarantees.md says of Windows |
| macOS (AArch64) | type-checked without codecs in C (`cargo xtask machines darwin`) | all tests in the continuous integration | what guarantees.md says of other systems |
| WebAssembly (wasm32-unknown-unknown, wasm32-wasip1) | `--no-default-features --features crc32c,deflate,pcodec,zstd`: no files, no codecs in C | every case of testdata in Node, blocking and asynchronous (`cargo xtask machines wasm`) | reading and writing in memory and your own stores, in one thread; zstd is read only; blosc, bz2, lz4, lzma and zfp are refused by name |
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python;

    /// The page is written by a run of hours; this section is not.
    #[test]
    fn the_page_has_this_section() {
        let page = std::fs::read_to_string(python::repository().join("docs/support.md")).expect("the page");
        assert!(page.contains(SECTION), "copy the section into docs/support.md");
    }
}
