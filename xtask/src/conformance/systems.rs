//! The section of `docs/support.md` on systems.

/// The section. `cargo xtask machines` and `.github/workflows/ci.yml` are what it rests on.
pub(super) const SECTION: &str = "
## Systems

Seen in November 2026 on one machine with Linux. `cargo xtask machines <name>` and the continuous integration, which has
not run yet, are to test the others. Nothing in brackets is promised before that has passed.

| System | seen | promised |
|---|---|---|
| Linux on x86-64 | every test, the comparisons above, the torture (`.ci/run`) | all of [guarantees.md](guarantees.md) |
| `i686`: Linux with 32 bits | builds up to ndzarr-array | (the same; what the machine cannot address is `OutOfMemory` or refused with the metadata, never cut short) |
| `s390x`: Linux, big-endian | pcodec right in an emulator | (right values in every codec and data type) |
| `windows` (x86-64) | the tests of ndzarr-store-fs in wine, not on a share, not on NTFS itself | (what guarantees.md says of it) |
| macOS (AArch64), by the continuous integration alone | type-checks without codecs in C | (what guarantees.md says of it) |
| `wasm`: wasm32-wasip1, `--no-default-features --features crc32c,deflate,pcodec,zstd` | every case of testdata whose codecs it has, in Node, blocking and asynchronous | reading and writing in memory and your own stores, in one thread; zstd is read only; blosc, bz2, lz4, lzma and zfp are refused by name |
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
