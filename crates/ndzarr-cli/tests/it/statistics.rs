//! `stats`: numbers with known answers.

use ndzarr::{AnyArray, Array, DataType, Format, Group};
use serde_json::json;

use crate::Folder;

fn close(found: &serde_json::Value, expected: f64) {
    let found = found.as_f64().expect("a number");
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        "{found} instead of {expected}"
    );
}

/// Of 0 to n - 1, the mean is (n - 1) / 2 and the variance (n² - 1) / 12.
#[test]
fn cli_14_sums_agree_with_closed_forms() {
    let folder = Folder::new();
    let n = 3_000_000_u64;
    folder.array("a", Array::<u32>::builder([n]).chunks([70_001]), |index| {
        index[0] as u32
    });
    let stats = &folder.json(&["stats", "a"])[0];
    close(&stats["mean"], (n - 1) as f64 / 2.0);
    close(&stats["std"], (((n * n - 1) as f64) / 12.0).sqrt());
    assert_eq!(
        (&stats["n"], &stats["zero"], &stats["min"], &stats["max"]),
        (&json!(n), &json!(1), &json!(0), &json!(n - 1))
    );
    // Far from 0, where the squares of float32, or of the numbers themselves, would say nothing.
    folder.array("b", Array::<f64>::builder([n]).chunks([70_001]), |index| {
        1e9 + index[0] as f64
    });
    let stats = &folder.json(&["stats", "b"])[0];
    close(&stats["mean"], 1e9 + (n - 1) as f64 / 2.0);
    close(&stats["std"], (((n * n - 1) as f64) / 12.0).sqrt());
    // Integers beyond 2^53, as themselves.
    let large = (1_u64 << 63) + 1;
    folder.array("c", Array::<u64>::builder([3]), |index| {
        large + 2 * index[0] as u64
    });
    let text = folder.good(&["stats", "c", "--json"]);
    assert!(
        text.contains("\"min\":9223372036854775809")
            && text.contains("\"max\":9223372036854775813"),
        "{text}"
    );
    close(
        &serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["std"],
        (8.0_f64 / 3.0).sqrt(),
    );
}

#[test]
fn percentiles_and_histograms_are_those_of_numpy() {
    let folder = Folder::new();
    // 0 to 100, so that percentile p is p.
    folder.array("a", Array::<f32>::builder([101]).chunks([10]), |index| {
        (index[0] * 37 % 101) as f32
    });
    let stats = &folder.json(&[
        "stats",
        "a",
        "--percentiles",
        "0,12.5,50,99,100",
        "--histogram",
        "4",
    ])[0];
    let values: Vec<f64> = stats["percentiles"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["value"].as_f64())
        .collect();
    assert_eq!(values, [0.0, 12.5, 50.0, 99.0, 100.0]);
    // numpy.histogram(numpy.arange(101), 4): the last bin has both ends.
    assert_eq!(
        stats["histogram"],
        json!({"low": 0.0, "high": 100.0, "counts": [25, 25, 25, 26]})
    );
    let text = folder.good(&["stats", "a", "--percentiles", "50", "--histogram", "2"]);
    assert!(
        text.contains("p50.0  50.0") && text.lines().count() == 10,
        "{text}"
    );
    folder.array("i", Array::<i16>::builder([5]), |index| {
        [-3, 9, -3, 0, 100][index[0]]
    });
    let stats = &folder.json(&["stats", "i", "--percentiles", "25,75"])[0];
    // numpy.percentile([-3, -3, 0, 9, 100], [25, 75])
    assert_eq!(
        stats["percentiles"],
        json!([{"percent": 25.0, "value": -3}, {"percent": 75.0, "value": 9}])
    );
    // As a float64 the last digit would be another.
    folder.array("u", Array::<u64>::builder([3]), |index| {
        (1 << 63) + index[0] as u64
    });
    let text = folder.good(&["stats", "u", "--percentiles", "50", "--json"]);
    assert!(text.contains("\"value\":9223372036854775809"), "{text}");
    assert!(
        folder
            .bad(2, &["stats", "a", "--percentiles", "101"])
            .contains("101")
    );
    let many = vec!["50"; 101].join(",");
    assert!(
        folder
            .bad(2, &["stats", "a", "--percentiles", &many])
            .contains("more than 100")
    );
    assert!(
        folder
            .bad(2, &["stats", "a", "--histogram", "1000001"])
            .contains("1000001")
    );
}

#[test]
fn cli_14_neighbours_that_no_float_keeps_apart_have_bins_of_their_own() {
    let folder = Folder::new();
    folder.array("a.zarr", Array::<i64>::builder([4]), |index| {
        (1 << 60) + index[0] as i64
    });
    let found = folder.json(&["stats", "a.zarr", "--histogram", "4"]);
    assert_eq!(found[0]["histogram"]["counts"], json!([1, 1, 1, 1]));
}

#[test]
fn selections_nan_and_empty_arrays() {
    let folder = Folder::new();
    let of = |index: &[usize]| {
        if index[1] == 0 {
            f32::NAN
        } else {
            (10 * index[0] + index[1]) as f32
        }
    };
    folder.array("a", Array::<f32>::builder([10, 10]).chunks([3, 4]), of);
    let stats = &folder.json(&["stats", "a", "2::3, ::-2"])[0];
    // Rows 2, 5, 8 and columns 9, 7, 5, 3, 1.
    assert_eq!(
        (&stats["n"], &stats["nan"], &stats["min"], &stats["max"]),
        (&json!(15), &json!(0), &json!(21.0), &json!(89.0))
    );
    close(&stats["mean"], 55.0);
    let stats = &folder.json(&["stats", "a"])[0];
    assert_eq!((&stats["n"], &stats["nan"]), (&json!(100), &json!(10)));
    let stats = &folder.json(&["stats", "a", "0:0"])[0];
    assert_eq!(
        (&stats["n"], &stats["min"], &stats["mean"]),
        (&json!(0), &json!(null), &json!(null))
    );
    // What is not stored is the fill value.
    Array::<u8>::builder([100])
        .chunks([10])
        .fill_value(3)
        .create(folder.path("f"))
        .expect("it is new");
    let stats = &folder.json(&["stats", "f"])[0];
    assert_eq!(
        (&stats["n"], &stats["min"], &stats["std"]),
        (&json!(100), &json!(3), &json!(0.0))
    );
}

#[test]
fn a_group_is_gone_through() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g"), Format::Zarr3).expect("it is new");
    root.create_array("a", Array::<u8>::builder([4]))
        .expect("it is new");
    root.create_array("t", AnyArray::builder([4]).data_type(DataType::String))
        .expect("it is new");
    let lines = folder.json(&["stats", "g"]);
    assert_eq!((lines.len(), &lines[0]["path"]), (1, &json!("a")));
    assert!(
        folder
            .bad(3, &["stats", "g/t"])
            .contains("not real numbers")
    );
}

#[test]
fn infinities_have_a_mean_and_no_deviation() {
    let folder = Folder::new();
    let infinity = f32::INFINITY;
    folder.array("a", Array::<f32>::builder([4]).chunks([2]), |index| {
        [infinity, 1.0, 2.0, 3.0][index[0]]
    });
    let stats = &folder.json(&["stats", "a"])[0];
    assert_eq!(
        (&stats["mean"], &stats["std"], &stats["max"]),
        (&json!("Infinity"), &json!("NaN"), &json!("Infinity"))
    );
    folder.array("b", Array::<f32>::builder([2]), |index| {
        [infinity, -infinity][index[0]]
    });
    assert_eq!(folder.json(&["stats", "b"])[0]["mean"], "NaN");
}

#[test]
fn each_index_along_an_axis_has_its_own() {
    let folder = Folder::new();
    // Along axis 1, index j has the numbers j, 10 + j, 20 + j for each of two planes.
    let of = |index: &[usize]| (10 * index[0] + index[1]) as u16;
    folder.array("a", Array::<u16>::builder([3, 5, 2]).chunks([2, 2, 1]), of);
    let stats = &folder.json(&["stats", "a", "--per-axis", "1"])[0];
    assert_eq!((&stats["n"], &stats["mean"]), (&json!(30), &json!(12.0)));
    let rows = stats["per_axis"].as_array().expect("a list");
    assert_eq!(rows.len(), 5);
    for (j, row) in rows.iter().enumerate() {
        let found = ["index", "n", "nan", "min", "max"].map(|name| row[name].as_u64());
        let j = j as u64;
        assert_eq!(found, [j, 6, 0, j, 20 + j].map(Some));
        assert_eq!(
            (&row["mean"], &row["zero"]),
            (&json!(10.0 + j as f64), &json!(if j == 0 { 2 } else { 0 }))
        );
        // The variance of 0, 10, 20.
        close(&row["std"], (200.0_f64 / 3.0).sqrt());
    }
    // Of a selection: the indices of the array, in the order of the selection.
    let rows = &folder.json(&["stats", "a", "1, ::-2", "--per-axis", "1"])[0]["per_axis"];
    let found: Vec<_> = rows
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| (&row["index"], &row["max"]))
        .collect();
    assert_eq!(
        found,
        [
            (&json!(4), &json!(14)),
            (&json!(2), &json!(12)),
            (&json!(0), &json!(10))
        ]
    );
    let text = folder.good(&["stats", "a", "--per-axis", "2"]);
    assert!(
        text.contains("index\tn\tnan") && text.contains("\n1\t15\t0\t1\t0\t24\t12.0\t"),
        "{text}"
    );
    assert!(
        folder
            .bad(2, &["stats", "a", "--per-axis", "3"])
            .contains("axis 3")
    );
    assert!(
        folder
            .bad(2, &["stats", "a", "1", "--per-axis", "0"])
            .contains("axis 0")
    );
    Array::<u8>::builder([100_001])
        .create(folder.path("long"))
        .expect("it is new");
    assert!(
        folder
            .bad(2, &["stats", "long", "--per-axis", "0"])
            .contains("100001 indices")
    );
    assert_eq!(
        folder.json(&["stats", "a", ":, 0:0", "--per-axis", "1"])[0]["per_axis"],
        json!([])
    );
}

/// `script` of util-linux gives it a terminal.
#[cfg(target_os = "linux")]
#[test]
fn progress_is_told_on_a_terminal() {
    use std::io::Read;
    use std::process::{Command, Stdio};

    let folder = Folder::new();
    // It takes longer than the half second before which nothing is shown: where a folder has a
    // link, each chunk is looked for.
    Array::<u8>::builder([1_u64 << 36])
        .chunks([1 << 20])
        .create(folder.path("a"))
        .expect("it is new");
    std::os::unix::fs::symlink("zarr.json", folder.path("a/link")).expect("it is new");
    let mut stats = Command::new("script");
    stats.args([
        "-qec",
        concat!("timeout 60 ", env!("CARGO_BIN_EXE_ndzarr"), " stats a"),
        "/dev/null",
    ]);
    stats
        .current_dir(folder.path(""))
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut stats = stats.spawn().expect("Linux has it");
    let mut output = stats.stdout.take().expect("a pipe");
    let (mut printed, mut buffer) = (String::new(), [0; 256]);
    while !printed.contains(" chunks") {
        let n = output.read(&mut buffer).expect("a pipe");
        assert!(n > 0, "it has ended: {printed}");
        printed += &String::from_utf8_lossy(&buffer[..n]);
    }
    stats.kill().expect("it is killed");
    stats.wait().expect("its status");
}

/// An array of 2^44 elements in 2^28 chunks, of which three are stored.
fn sparse(folder: &Folder, name: &str, fill: f32) -> Array<f32> {
    let array = Array::<f32>::builder([1 << 22, 1 << 22])
        .chunks([256, 256])
        .fill_value(fill);
    let array = array.create(folder.path(name)).expect("it is new");
    array.fill([0..256, 0..256], 3.0).expect("it is written");
    array
        .fill([512..768, 1024..1280], -1.0)
        .expect("it is written");
    array
        .fill([(1 << 22) - 1..1 << 22, (1 << 22) - 1..1 << 22], 0.0)
        .expect("it is written");
    array
}

#[test]
fn what_is_not_stored_is_counted_and_not_read() {
    let folder = Folder::new();
    sparse(&folder, "a", 2.0);
    let stats = &folder.json(&[
        "stats",
        "a",
        "--percentiles",
        "0,50,100",
        "--histogram",
        "4",
    ])[0];
    let n = 1_u64 << 44;
    assert_eq!(
        (&stats["n"], &stats["zero"], &stats["nan"]),
        (&json!(n), &json!(1), &json!(0))
    );
    assert_eq!((&stats["min"], &stats["max"]), (&json!(-1.0), &json!(3.0)));
    // From 2: 65,536 elements are 1 more, 65,536 are 3 less, and one is 2 less.
    let apart = (65_536.0 - 3.0 * 65_536.0 - 2.0) / n as f64;
    close(&stats["mean"], 2.0 + apart);
    close(
        &stats["std"],
        ((65_536.0 + 9.0 * 65_536.0 + 4.0) / n as f64 - apart * apart).sqrt(),
    );
    let values: Vec<&serde_json::Value> = stats["percentiles"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["value"])
        .collect();
    assert_eq!(values, [&json!(-1.0), &json!(2.0), &json!(3.0)]);
    assert_eq!(
        stats["histogram"]["counts"],
        json!([65_536, 1, 0, n - 65_537])
    );
    // Every 2^18th row and column: of what is stored, only the first chunk has one.
    let stats = &folder.json(&["stats", "a", "::262144, ::-1", "--per-axis", "0"])[0];
    assert_eq!(
        (&stats["n"], &stats["max"]),
        (&json!(16_u64 << 22), &json!(3.0))
    );
    let rows = stats["per_axis"].as_array().expect("a list");
    assert_eq!(
        (rows.len(), &rows[1]["index"], &rows[1]["n"]),
        (16, &json!(262_144), &json!(1 << 22))
    );
    close(&rows[0]["mean"], 2.0 + 256.0 / f64::from(1 << 22));
    assert_eq!(
        (&rows[15]["mean"], &rows[15]["std"]),
        (&json!(2.0), &json!(0.0))
    );
    // Nothing is stored.
    Array::<u16>::builder([1 << 30, 1 << 30])
        .create(folder.path("b"))
        .expect("it is new");
    let stats = &folder.json(&["stats", "b"])[0];
    assert_eq!(
        (&stats["n"], &stats["zero"], &stats["std"]),
        (&json!(1_u64 << 60), &json!(1_u64 << 60), &json!(0.0))
    );
    sparse(&folder, "c", f32::NAN);
    let stats = &folder.json(&["stats", "c", "--histogram", "2"])[0];
    assert_eq!(
        (&stats["n"], &stats["nan"]),
        (&json!(n), &json!(n - 131_073))
    );
    assert_eq!(stats["histogram"]["counts"], json!([65_537, 65_536]));
}

/// A list enters a folder once, whatever leads there; reads do not care.
#[cfg(unix)]
#[test]
fn chunks_behind_links_are_read() {
    let folder = Folder::new();
    let array = Array::<u32>::builder([4096, 4096]).chunks([256, 256]);
    let array = array.create(folder.path("a")).expect("it is new");
    array.fill([0..256, 0..256], 1).expect("it is written");
    std::os::unix::fs::symlink("0", folder.path("a/c/1")).expect("it is new");
    let stats = &folder.json(&["stats", "a"])[0];
    assert_eq!(stats["zero"], json!(4096 * 4096 - 2 * 65_536));
}

#[test]
fn sums_of_floats_do_not_depend_on_threads() {
    let folder = Folder::new();
    let noise = |index: &[usize]| (index[0] as u32).wrapping_mul(2_654_435_761) as f32 / 7.0;
    folder.array(
        "a",
        Array::<f32>::builder([3_000_000]).chunks([70_001]),
        noise,
    );
    let once = folder.good(&["--threads", "1", "stats", "a", "--json"]);
    for threads in ["2", "3", "7", "7"] {
        assert_eq!(
            folder.good(&["--threads", threads, "stats", "a", "--json"]),
            once,
            "{threads}"
        );
    }
}
