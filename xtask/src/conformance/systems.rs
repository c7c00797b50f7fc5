//! The section of `docs/support.md` on systems.

/// The section. `cargo xtask machines` and `.github/workflows/ci.yml` are what it rests on.
pub(super) const SECTION: &str = "
## Systems

What was seen is of November 2026, on one machine with Linux; the continuous integration has not run yet.

| System | seen | to be run by | promised |
|---|---|---|---|
| Linux on x86-64 | every test, the comparisons above, the torture | `.ci/run` | all of [guarantees.md](guarantees.md) |
| Linux with 32 bits (i686) | builds up to ndzarr-array | `cargo xtask machines i686`: every test but the torture | nothing before its tests have passed; meant: the same, and what the machine cannot address is `OutOfMemory` or refused with the metadata, never cut short |
| Linux, big-endian (s390x) | pcodec right in an emulator | `cargo xtask machines s390x`: tests of codecs, documents and testdata | nothing before its tests have passed; meant: right values in every codec and data type |
| Windows (x86-64) | the tests of ndzarr-store-fs in wine, not on a share, not on NTFS itself | `cargo xtask machines windows`; continuous integration | what guarantees.md says of Windows, once that has passed |
| macOS (AArch64) | type-checks without codecs in C | continuous integration | what guarantees.md says of other systems, once that has passed |
| WebAssembly (wasm32-wasip1, `--no-default-features --features crc32c,deflate,pcodec,zstd`) | every case of testdata whose codecs it has, in Node, blocking and asynchronous | `cargo xtask machines wasm` | reading and writing in memory and your own stores, in one thread; zstd is read only; blosc, bz2, lz4, lzma and zfp are refused by name |
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
