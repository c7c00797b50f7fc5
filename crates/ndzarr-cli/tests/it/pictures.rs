//! `view`: pictures of planes with known shades.

use std::io::Read;

use ndzarr::{Array, Format};

use crate::Folder;

/// Width, height, colour type, and the rows without their filters.
fn decode(file: &[u8]) -> (u32, u32, u8, Vec<Vec<u8>>) {
    let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(&file[1..4], b"PNG");
    let (width, height) = (number(16), number(20));
    // Behind the header, and the palette of 256 colours if it has one.
    let data = if file[25] == 3 { 33 + 12 + 768 } else { 33 };
    let len = number(data) as usize;
    let mut rows = Vec::new();
    let mut decoder = flate2::read::ZlibDecoder::new(&file[data + 8..data + 8 + len]);
    decoder.read_to_end(&mut rows).expect("it is zlib");
    let rows = rows
        .chunks(1 + width as usize)
        .map(|row| row[1..].to_vec())
        .collect();
    (width, height, file[25], rows)
}

fn png(folder: &Folder, arguments: &[&str]) -> (u32, u32, u8, Vec<Vec<u8>>) {
    folder.good(&[&["view", "-o", "x.png", "-q"][..], arguments].concat());
    decode(&std::fs::read(folder.path("x.png")).expect("it is there"))
}

#[test]
fn shades_go_from_black_to_white() {
    let folder = Folder::new();
    folder.array(
        "a",
        Array::<u16>::builder([3, 2, 3]).chunks([1, 2, 2]),
        |i| (100 * i[0] + 10 * i[1] + i[2]) as u16,
    );
    // The middle plane: 100 to 112.
    let (width, height, color_type, rows) = png(&folder, &["a", "--range", "100,112"]);
    assert_eq!((width, height, color_type), (3, 2, 0));
    // (x - 100) / 12 * 255, rounded.
    assert_eq!(rows, [[0, 21, 43], [213, 234, 255]]);
    let (.., rows) = png(&folder, &["a", "0, ::-1, 1:", "--range", "0,51"]);
    assert_eq!(rows, [[55, 60], [5, 10]]);
    let (.., rows) = png(&folder, &["a", "--project", "max", "--range", "0,255"]);
    assert_eq!(rows, [[200, 201, 202], [210, 211, 212]]);
    let (.., rows) = png(&folder, &["a", "--project", "min", "--range", "0,255"]);
    assert_eq!(rows, [[0, 1, 2], [10, 11, 12]]);
    let (.., rows) = png(&folder, &["a", "1:, 0, :", "--range", "0,255"]);
    assert_eq!(rows, [[100, 101, 102], [200, 201, 202]]);
    let (.., rows) = png(
        &folder,
        &["a", ":, 0, 0:2", "--project", "mean", "--range", "0,255"],
    );
    assert_eq!(rows, [[0, 1], [100, 101], [200, 201]]);
    let ran = folder
        .command(&["view", "a", "-o", "-", "--range", "100,112"])
        .output()
        .expect("it runs");
    assert_eq!(decode(&ran.stdout).3, [[0, 21, 43], [213, 234, 255]]);
}

#[test]
fn the_picture_of_n5_is_the_same_in_either_order() {
    let folder = Folder::new();
    // x to the right, y down; z is the last axis of N5.
    let array = Array::<u8>::builder([3, 2, 5])
        .chunks([2, 2, 2])
        .format(Format::N5);
    folder.array("a.n5", array, |i| (10 * i[0] + 100 * i[1] + i[2]) as u8);
    let expected = [[2, 12, 22], [102, 112, 122]];
    assert_eq!(png(&folder, &["a.n5", "--range", "0,255"]).3, expected);
    assert_eq!(
        png(
            &folder,
            &["a.n5", "--range", "0,255", "--n5-axes", "reversed"]
        )
        .3,
        expected
    );
}

#[test]
fn cli_15_every_plane_has_a_picture_or_an_error() {
    let folder = Folder::new();
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, 10.0, 5.0];
    folder.array("odd", Array::<f32>::builder([2, 3]), |i| {
        odd[3 * i[0] + i[1]]
    });
    // 255 is the colour of what is not a number; there white is 254.
    let (.., color_type, rows) = png(&folder, &["odd", "--percentiles", "0,100"]);
    assert_eq!(
        (color_type, rows),
        (3, vec![vec![255, 254, 0], vec![0, 254, 128]])
    );
    folder.array("constant", Array::<i16>::builder([2, 2]), |_| -7);
    assert_eq!(png(&folder, &["constant"]).3, [[128, 128], [128, 128]]);
    folder.array("nan", Array::<f64>::builder([1, 2]), |_| f64::NAN);
    assert_eq!(png(&folder, &["nan"]).3, [[255, 255]]);
    folder.array("line", Array::<u8>::builder([3]), |i| 100 * i[0] as u8);
    assert_eq!(
        png(&folder, &["line", "--range", "0,255"]).3,
        [[0, 100, 200]]
    );
    folder.array("large", Array::<u64>::builder([1, 2]), |i| {
        u64::MAX * i[1] as u64
    });
    assert_eq!(
        png(&folder, &["large", "--percentiles", "0,100"]).3,
        [[0, 255]]
    );
    folder.array("bool", Array::<bool>::builder([1, 3]), |i| i[1] == 1);
    assert_eq!(png(&folder, &["bool"]).3, [[0, 255, 0]]);
    folder.array("deep", Array::<u8>::builder([2, 2, 2]), |_| 1);
    assert!(folder.bad(2, &["view", "deep", ":"]).contains("--project"));
    assert!(
        folder
            .bad(2, &["view", "deep", "0,0,0"])
            .contains("ndzarr cat")
    );
    assert!(folder.bad(2, &["view", "deep", "0,0:0"]).contains("empty"));
    folder.array("text", Array::<String>::builder([2, 2]), |_| "a".to_owned());
    assert!(
        folder
            .bad(3, &["view", "text"])
            .contains("not real numbers")
    );
    // A large plane without chunks takes no memory of its size.
    Array::<u8>::builder([6000, 6000])
        .chunks([600, 600])
        .fill_value(9)
        .create(folder.path("wide"))
        .expect("it is new");
    let (width, height, ..) = png(&folder, &["wide", "--width", "100"]);
    assert_eq!((width, height), (100, 100));
}

#[test]
fn a_terminal_gets_half_blocks() {
    let folder = Folder::new();
    folder.array("a", Array::<u8>::builder([4, 2]), |i| {
        [0, 255, 255, 0][i[0]]
    });
    let text = folder.good(&["view", "a", "--color", "always", "--range", "0,255"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "\x1b[0;38;2;0;0;0;48;2;255;255;255m▀▀\x1b[0m");
    assert_eq!(lines[1], "\x1b[0;38;2;255;255;255;48;2;0;0;0m▀▀\x1b[0m");
    assert_eq!(lines[2], "[:, :] of 4 × 2: black 0.0, white 255.0");
    let text = folder.good(&["view", "a", "--range", "0,255"]);
    assert!(
        !text.contains('\x1b') && text.starts_with("++\n++\n"),
        "{text}"
    );
    // Or what asks for them.
    let text = folder.good(&["view", "a", "--blocks", "--range", "0,255"]);
    assert_eq!(text.lines().take(2).collect::<Vec<_>>(), lines[..2]);
    folder.bad(2, &["view", "a", "--blocks", "-o", "x.png"]);
}

/// Of an image, the level that is named, that is fine enough, or that fills the picture.
#[test]
fn a_level_of_an_image_is_shown() {
    let folder = Folder::new();
    folder.array("a", Array::<u16>::builder([6, 5]).chunks([4, 2]), |i| {
        (10 * i[0] + i[1]) as u16
    });
    // Elements of 2 by 0.5 µm, and of 4 by 1 µm: the means of 2 by 2, ties to even.
    let more = "--levels 2 --scale 2,0.5 --unit micrometer";
    folder.good(
        &format!("pyramid a image {more}")
            .split(' ')
            .collect::<Vec<_>>(),
    );
    let coarse = [[6, 8, 9], [26, 28, 29], [46, 48, 49]];
    for arguments in [
        &["--level", "1"][..],
        &["--size", "4um"],
        &["--size", "4"],
        &["--width", "3"],
    ] {
        let (.., rows) = png(
            &folder,
            &[&["image", "--range", "0,255"][..], arguments].concat(),
        );
        assert_eq!(rows, coarse, "{arguments:?}");
    }
    for arguments in [
        &[][..],
        &["--size", "3999nm"],
        &["--level", "0"],
        &["0:2, :", "--width", "5"],
    ] {
        let (width, _, _, rows) = png(
            &folder,
            &[&["image", "--range", "0,255"][..], arguments].concat(),
        );
        assert_eq!(
            (width, &rows[1]),
            (5, &vec![10, 11, 12, 13, 14]),
            "{arguments:?}"
        );
    }
    assert_eq!(
        folder.json(&["view", "image", "--size", "4um", "-o", "x.png"])[0]["path"],
        "1"
    );
    for (arguments, says) in [
        (&["image", "--level", "2"][..], "no level 2 of 2"),
        (&["image", "--size", "1s"], "not comparable"),
        (&["image", "--size", "um"], "is not a length"),
        (&["a", "--level", "0"], "no levels"),
    ] {
        let printed = folder.bad(2, &[&["view"][..], arguments].concat());
        assert!(printed.contains(says), "{printed}");
    }
    ndzarr::Group::create(folder.path("plain"), Format::Zarr3).expect("it is new");
    assert!(
        folder
            .bad(2, &["view", "plain"])
            .contains("a group without an image")
    );
}

/// A folder as neuroglancer's samples of n5-viewer: the group does not state a version of N5.
#[test]
fn ome_20_an_image_of_n5_without_a_version_is_shown() {
    let folder = Folder::new();
    let array = |name: &str, shape: [u64; 2], f: fn(&[usize]) -> u8| {
        folder.array(
            name,
            Array::<u8>::builder(shape)
                .chunks([2, 2])
                .format(Format::N5),
            f,
        );
    };
    array("image/s0", [4, 2], |i| (10 * i[0] + 100 * i[1]) as u8);
    array("image/s1", [2, 1], |i| (100 + i[0]) as u8);
    let attributes =
        r#"{"pixelResolution": {"unit": "nm", "dimensions": [4, 6]}, "scales": [[1, 1], [2, 2]]}"#;
    std::fs::write(folder.path("image/attributes.json"), attributes).expect("a file");
    for level in ["s0", "s1"] {
        // Nor do its levels.
        let path = folder.path(&format!("image/{level}/attributes.json"));
        let text = std::fs::read_to_string(&path).expect("it is there");
        let mut document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        document.as_object_mut().expect("an object").remove("n5");
        std::fs::write(&path, document.to_string()).expect("it is there");
    }
    let info = &folder.json(&["info", "image"])[0];
    assert_eq!(
        info["images"][0]["levels"][1]["scale"],
        serde_json::json!([8.0, 12.0])
    );
    assert_eq!(
        info["warnings"],
        serde_json::json!([
            "the version of N5 is not stated, neither in attributes.json nor above"
        ])
    );
    assert!(
        folder
            .good(&["info", "image"])
            .contains("the version of N5 is not stated")
    );
    // x to the right, y down.
    let fine = [[0, 10, 20, 30], [100, 110, 120, 130]];
    assert_eq!(
        png(&folder, &["image", "--level", "0", "--range", "0,255"]).3,
        fine
    );
    assert_eq!(
        png(&folder, &["image", "--size", "12nm", "--range", "0,255"]).3,
        [[100, 101]]
    );
    assert!(
        folder
            .bad(3, &["info", "image", "--format", "zarr2"])
            .contains(".zgroup")
    );
    // A folder of something else with a file of that name is not one.
    std::fs::create_dir_all(folder.path("other/x")).expect("a folder");
    std::fs::write(folder.path("other/attributes.json"), "{}").expect("a file");
    folder.bad(3, &["info", "other"]);
}
