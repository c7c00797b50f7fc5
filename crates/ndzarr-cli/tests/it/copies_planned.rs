//! Memory of copies, and dry runs.

use ndzarr::{AnyArray, Array, Format, Group, codec};

use crate::Folder;

#[test]
fn cli_06_too_little_memory_names_what_is_needed() {
    let folder = Folder::new();
    Array::<f64>::builder([1 << 24])
        .chunks([1 << 16])
        .create(folder.path("a.zarr"))
        .expect("it is new");
    let copy = ["cp", "a.zarr", "b.zarr", "--chunks", "8388608", "--memory"];
    let error = folder.bad(3, &[&copy[..], &["16MiB"]].concat());
    assert!(
        error.contains("16777216 bytes of memory are too few") && error.contains("--memory"),
        "{error}"
    );
    assert!(!folder.path("b.zarr").exists());
    let needed = error
        .split("take ")
        .nth(1)
        .and_then(|rest| rest.split([';', ' ']).next())
        .expect("a number");
    folder.good(&[&copy[..], &[needed]].concat());
}

/// The peak of the process as the system counts it, which the program prints.
#[cfg(target_os = "linux")]
#[test]
fn cli_09_memory_is_what_the_process_takes() {
    let folder = Folder::new();
    let shape = [256, 512, 512];
    let array = Array::<u16>::builder(shape)
        .chunks([8, 512, 512])
        .codecs([codec::lz4()])
        .format(Format::Zarr2);
    let array = array.create(folder.path("a.zarr")).expect("it is new");
    for z in 0..32_u64 {
        let plane = |z: usize, y: usize, x: usize| ((z * 31 + y * 7) ^ (x * 3)) as u16;
        let elements =
            ndzarr::ndarray::Array3::from_shape_fn([8, 512, 512], |(i, y, x)| plane(i, y, x));
        array
            .write([8 * z..8 * z + 8, 0..512, 0..512], &elements)
            .expect("it is written");
    }
    // 128 MiB of elements: planes into cubes, into columns, and into shards that are larger than
    // the memory.
    for arguments in [
        &["--chunks", "64,64,64"][..],
        &["--chunks", "256,16,16"],
        &[
            "--chunks",
            "32,32,32",
            "--shards",
            "256,512,256",
            "--codec",
            "lz4",
        ],
    ] {
        for limit in [32, 64_u64] {
            let memory = format!("{limit}MiB");
            let copy = [
                "cp",
                "a.zarr",
                "b.zarr",
                "--overwrite",
                "--format",
                "zarr3",
                "--codec",
                "zstd:1",
            ];
            let copy = if arguments.contains(&"--codec") {
                &copy[..6]
            } else {
                &copy[..]
            };
            let arguments = [copy, arguments, &["--memory", &memory]].concat();
            let lines = folder.json(&arguments);
            let done = &lines.last().expect("a last line")["done"];
            let peak = done["peak_resident"].as_u64().expect("Linux tells");
            // Without optimisation the program itself is some MiB larger.
            let own = if cfg!(debug_assertions) { 24 } else { 16 };
            assert!(
                peak <= (limit + own) << 20,
                "{arguments:?}: {} MiB",
                peak >> 20
            );
        }
    }
}

#[test]
fn cli_10_a_dry_run_tells_of_the_temporary_and_of_space() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([1024, 1024, 64]).chunks([1, 1024, 64]);
    array.create(folder.path("a.zarr")).expect("it is new");
    let copy = [
        "cp",
        "a.zarr",
        "b.zarr",
        "--chunks",
        "1024,8,8",
        "--memory",
        "8MiB",
        "--dry-run",
    ];
    let printed = folder.good(&copy);
    assert!(
        printed.contains("temporary array of up to 67108864 bytes"),
        "{printed}"
    );
    assert!(printed.contains("free space at the target"), "{printed}");
    assert!(!folder.path("b.zarr").exists());
    let would = folder.json(&copy).pop().expect("a last line");
    assert_eq!(would["would"]["temporary"], true);
    assert_eq!(would["would"]["byte_len"], 64 << 20);
    // What the copy would refuse, the dry run refuses.
    folder.array("c.zarr", Array::<u8>::builder([4]), |_| 1);
    assert!(
        folder
            .bad(3, &["cp", "a.zarr", "c.zarr", "--dry-run"])
            .contains("--overwrite")
    );
}

#[test]
fn a_dry_run_says_a_note_once_and_is_quiet() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    let text = AnyArray::builder([4]).data_type(ndzarr::DataType::String);
    root.create_array("t", text).expect("it is new");
    let copy = ["cp", "g.zarr", "h.zarr", "--dtype", "float32", "--dry-run"];
    for more in [&[][..], &["--verbose"]] {
        let printed = folder.good(&[&copy[..], more].concat());
        assert_eq!(
            printed.matches("t: its elements stay").count(),
            1,
            "{printed}"
        );
    }
    assert_eq!(folder.good(&[&copy[..], &["--quiet"]].concat()), "");
}
