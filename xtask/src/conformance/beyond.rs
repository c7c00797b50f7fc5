//! Features that the comparisons do not reach, for the page: no program here has them, or they need
//! a separate build. Each row names its tests, and `cargo xtask tidy` checks that they exist.

/// A feature that is read, written or refused, and its tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beyond {
    pub(crate) what: &'static str,
    /// R, W, or the outcome.
    pub(crate) ndzarr: &'static str,
    pub(crate) why: &'static str,
    /// Cases of `testdata/`, as `family/case`, and functions in `crates/`, as `path::name`.
    pub(crate) tests: &'static [&'static str],
}

/// The table.
pub(crate) const TABLE: &[Beyond] = &[
    Beyond {
        what: "Zarr v3: codecs cast_value, scale_offset",
        ndzarr: "RW",
        why: "zarr-python has them from 3.2 on, which needs a newer Python",
        tests: &[
            "zarr3/hand-cast-f8-i1",
            "zarr3/hand-cast-f8-f4",
            "crates/ndzarr-codec/src/codecs/tests/arrays.rs::cast_value_rounds_v3_t32",
            "zarr3/hand-scale-offset-cast",
            "zarr3/hand-scale-offset-identity",
            "crates/ndzarr-codec/src/codecs/tests/arrays.rs::scale_offset_v3_t37_v3_t38",
        ],
    },
    Beyond {
        what: "Zarr v3: codec n5_default",
        ndzarr: "RW",
        why: "no program has it",
        tests: &[
            "crates/ndzarr-tests/tests/it/traps/codecs.rs::n5_default_is_an_n5_dataset_v3_150",
            "crates/ndzarr-metadata/tests/it/zarr3_arrays.rs::v3_150_n5_default",
        ],
    },
    Beyond {
        what: "Zarr v3: codec zfp; Zarr v2: codec zfpy",
        ndzarr: "RW with the feature `zfp`",
        why: "it needs cmake; `cargo xtask zfp` builds and tests it, with arrays of numcodecs",
        tests: &[
            "zarr2/zp2-zfpy-3d",
            "crates/ndzarr-codec/src/codecs/tests/zfp.rs::zfpy_decodes_by_its_header_v2_t52",
        ],
    },
    Beyond {
        what: "blosc with snappy",
        ndzarr: "RW",
        why: "tensorstore alone has it",
        tests: &[
            "zarr2/ts-compressor-blosc-snappy-1",
            "n5/ts-compressor-blosc-snappy-1",
            "crates/ndzarr-tests/tests/it/blosc/foreign_chunks.rs::snappy_is_laid_out_as_by_c_blosc",
        ],
    },
    Beyond {
        what: "Zarr v2: padding in structures",
        ndzarr: "R",
        why: "zarr-python 2 and 3 fail on it or drop it; made by hand",
        tests: &["zarr2/hand-struct-padding"],
    },
    Beyond {
        what: "Zarr v2: objects with pickle",
        ndzarr: "refused by name",
        why: "to read it is to run it",
        tests: &["crates/ndzarr-tests/tests/it/data_types.rs::v2_t22_objects_without_a_type_are_refused"],
    },
    Beyond {
        what: "Storage transformers besides the draft's sharding",
        ndzarr: "refused by name",
        why: "none is registered",
        tests: &["bad/v3-transformer", "bad/draft-a-transformer", "bad/draft-b-transformer"],
    },
    Beyond {
        what: "The draft, dialect A",
        ndzarr: "RW",
        why: "no program that writes it is known",
        tests: &[
            "draft/hand-a-group-named-root",
            "draft/hand-a-no-codecs",
            "crates/ndzarr-metadata/tests/it/draft_values.rs::d3_060_t12_data_types_of_dialect_a",
        ],
    },
    Beyond {
        what: "N5: data type string; object, as blocks of bytes",
        ndzarr: "RW",
        why: "Java N5 alone has them",
        tests: &[
            "n5/java-extra-str",
            "crates/ndzarr-metadata/src/n5/tests/create.rs::n5_texts_and_objects_raise_the_version",
            "n5/java-extra-obj",
        ],
    },
    Beyond {
        what: "N5: blocks of varlength mode",
        ndzarr: "RW",
        why: "Java N5 and rust-n5 write them",
        tests: &["n5/java-extra-var", "n5/java-extra-var32"],
    },
    Beyond {
        what: "N5: lz4 as Java N5 and as rust-n5 frame it",
        ndzarr: "R; W as Java",
        why: "they write files of `testdata/`",
        tests: &["n5/java-lz4", "n5/rust-n5-lz4"],
    },
];
