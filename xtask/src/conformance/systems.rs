//! The section of `docs/internals/support.md` on systems.

/// The section. `cargo xtask machines` and `.github/workflows/ci.yml` are what it rests on.
pub(super) const SECTION: &str = "
## Systems

Seen in November 2026 on one machine with Linux, with Debian's compilers (rustc 1.97.1), wine 10.0, qemu-user and Node:
`cargo xtask machines <name>`. The continuous integration, which has not run yet, is to test the others. *Earlier* is
what was seen before the last changes, and not again since. Nothing in brackets is promised before every test has passed.

| System | built | run | promised |
|---|---|---|---|
| Linux on x86-64 | everything | every test, the comparisons above, the torture (`.ci/run`) | all of [guarantees.md](../guarantees.md) |
| `i686`: Linux with 32 bits | everything; grid, model, metadata, codec and store-fs in `.ci/run all` (`--quick`) | all of it: 12,738 passed, none failed | the same; what the machine cannot address is `OutOfMemory` or refused with the metadata or the selection, never cut short |
| `s390x`: Linux, big-endian | grid, model, metadata, codec, store-fs, the tests of arrays, without shuttle's | in an emulator (qemu-user), all of it: 10,623 passed; five failed, were mended, and pass when run by themselves | the same as on Linux |
| `windows` (x86-64) | grid, model, metadata, codec, store-fs, the tests of arrays, the tour, the torture | in wine, all of it: 10,539 passed (9,379 of them cases of testdata), none failed, 6 left out (NTFS, junctions, the end of a connection, three with other servers); the tour; the minute of torture, 112 figures without a miss. Neither on a share nor on NTFS itself | what [guarantees.md](../guarantees.md) says of it, as far as wine shows it |
| macOS (AArch64), FreeBSD (x86-64) | type-checked with `fs`, without codecs in C, and the tests of ndzarr-store-fs | nothing; its locks, and names as APFS and HFS+ keep them, on Linux | (what guarantees.md says of it) |
| `wasm`: wasm32-unknown-unknown, wasm32-wasip1 | the library with `blosc`, `bz2`, `deflate`, `lz4`, `pcodec` and `zstd`; examples/browser with all of them, 677 kB after `wasm-opt -Oz`, which also orders the functions by name (else 705), and gzip | 3,047 passed in Node (`--quick`, in `.ci/run all`): each case of testdata whose codecs it has, blocking and asynchronous. 1,142 passed in Chromium, over `fetch` from another origin: each array of testdata whose codecs it has, elements of fixed size; 14 of them drawn | reading from your own stores, reading and writing in memory, in one thread; `lz4`, `zstd` and, but for snappy, `blosc` are read only; lzma and zfp are refused by name |
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python;

    /// The page is written by a run of hours; this section is not.
    #[test]
    fn the_page_has_this_section() {
        let page = std::fs::read_to_string(python::repository().join("docs/internals/support.md"))
            .expect("the page");
        assert!(page.contains(SECTION), "copy the section into docs/internals/support.md");
    }
}
