//! Selection by the values of coordinates.

use jiff::civil::date;
use ndzarr::MemoryStore;
use ndzarr_cf::{Dataset, Labels, Time, Variable};
use serde_json::json;

use crate::it::{array, no_attributes};

fn dataset() -> Dataset {
    let store = MemoryStore::new();
    array(&store, "v", "x", &[0_u8, 1, 2, 3, 4], no_attributes());
    array(
        &store,
        "up",
        "x",
        &[-1.0, 0.5, 2.0, 2.5, 9.0],
        no_attributes(),
    );
    array(
        &store,
        "down",
        "x",
        &[90_i16, 45, 0, -45, -90],
        no_attributes(),
    );
    array(
        &store,
        "single",
        "x",
        &[0.1_f32, 0.2, 0.3, 0.4, 0.5],
        no_attributes(),
    );
    array(
        &store,
        "name",
        "x",
        &["a", "ab", "b", "ö", "öö"].map(str::to_owned),
        no_attributes(),
    );
    let hours = json!({"units": "hours since 2001-02-27", "calendar": "360_day"});
    array(&store, "time", "x", &[0_i32, 36, 72, 90, 720], hours);
    Dataset::open(&store).expect("it is a dataset")
}

const NONE: [u8; 0] = [];

fn found(coordinate: &str, labels: impl Into<Labels>) -> Vec<u8> {
    let v: Variable = dataset()
        .variable("v")
        .expect("it is there")
        .sel(coordinate, labels)
        .expect("it fits");
    v.read_as::<u8>()
        .expect("the labels are there")
        .into_iter()
        .collect()
}

#[test]
fn ranges_have_both_ends_in_either_order() {
    assert_eq!(found("up", 0.5..=2.5), [1, 2, 3]);
    assert_eq!(found("up", 2.5..=0.5), [1, 2, 3]);
    assert_eq!(found("up", 0.6..=1.9), NONE);
    assert_eq!(found("up", -100.0..=100.0), [0, 1, 2, 3, 4]);
    assert_eq!(found("up", 10.0..=11.0), NONE);
    assert_eq!(found("up", 2.0..), [2, 3, 4]);
    assert_eq!(found("up", ..=2.0), [0, 1, 2]);
    let north = 45;
    let south = -45;
    assert_eq!(found("down", north..=south), [1, 2, 3]);
    assert_eq!(found("down", -50..=50), [1, 2, 3]);
    assert_eq!(found("down", 0..), [0, 1, 2]);
    assert_eq!(found("down", ..=-1), [3, 4]);
    assert_eq!(found("down", 91..), NONE);
    assert_eq!(found("name", "ab"..="ö"), [1, 2, 3]);
}

#[test]
fn labels_are_rounded_as_the_coordinate_is() {
    assert_eq!(found("single", 0.3), [2]);
    assert_eq!(found("single", 0.2..=0.4), [1, 2, 3]);
}

#[test]
fn values_and_lists() {
    assert_eq!(found("up", 9), [4]);
    assert_eq!(found("down", vec![-90, 90, -90]), [4, 0, 4]);
    assert_eq!(found("name", ["öö", "a"]), [4, 0]);
    assert_eq!(found("name", Vec::<String>::new()), NONE);
    let v = dataset().variable("v").expect("it is there");
    assert_eq!(
        v.sel("up", 9.0)
            .and_then(|v| v.read())
            .expect("it is there")
            .shape(),
        [0; 0]
    );
    assert_eq!(
        v.sel("up", [9.0])
            .and_then(|v| v.read())
            .expect("it is there")
            .shape(),
        [1]
    );
}

#[test]
fn of_two_that_are_as_near_the_greater_is_taken() {
    assert_eq!(found("up", Labels::nearest(1.25)), [2]);
    assert_eq!(found("down", Labels::nearest(22.5)), [1]);
    assert_eq!(found("down", Labels::nearest(-1000)), [4]);
    assert_eq!(found("time", Labels::nearest("2001-02-29")), [1]);
    let v = dataset()
        .variable("v")
        .expect("it is there")
        .sel("name", Labels::nearest("a"))
        .expect("it fits");
    assert!(
        v.read()
            .expect_err("texts have no distance")
            .to_string()
            .contains("none of which is nearest")
    );
}

/// 360_day: hours 0, 36, 72, 90 and 720 are 27 February 0 h, 28 February 12 h, 30 February 0 h and
/// 18 h, and 27 March.
#[test]
fn times_are_those_of_the_calendar() {
    assert_eq!(found("time", "2001-02-28T12"), [1]);
    assert_eq!(found("time", "2001-02-30"), [2]);
    assert_eq!(found("time", "2001-02-30"..="2001-02-30"), [2, 3]);
    assert_eq!(found("time", "2001-02"..="2001-02"), [0, 1, 2, 3]);
    assert_eq!(found("time", "2001-03"..), [4]);
    assert_eq!(found("time", "2001"..="2000"), [0, 1, 2, 3, 4]);
}

/// The values are those above. A range begins with the first moment of its first label and ends
/// with the last of its second, even where one label contains the other.
#[test]
fn ends_of_a_range_may_differ_in_precision() {
    assert_eq!(found("time", "2001-02-30T06"..="2001-02-30"), [3]);
    assert_eq!(found("time", "2001-02-30"..="2001-02-30T06"), [2]);
    assert_eq!(found("time", "2001-02-28"..="2001"), [1, 2, 3, 4]);
    assert_eq!(found("time", "2001"..="2001-02-28"), [0, 1]);
    // All of the end is before the start: the two change places.
    assert_eq!(found("time", "2001-02-30T06"..="2001-02-28"), [1, 2]);
    assert_eq!(found("time", "2001-03"..="2001-02-30T18"), [3, 4]);
}

/// The times are 2^60 and 2^60 + 1 nanoseconds after 1970, some 36 years. In f64, both have the
/// same distance from 1970, and the greater would be taken.
#[test]
fn the_nearest_time_is_exact_to_the_nanosecond() {
    let store = MemoryStore::new();
    array(&store, "v", "x", &[0_u8, 1], no_attributes());
    let units = json!({"units": "nanoseconds since 1970-01-01"});
    array(&store, "time", "x", &[1_i64 << 60, (1 << 60) + 1], units);
    let v = Dataset::open(&store)
        .and_then(|dataset| dataset.variable("v"))
        .expect("it is there");
    let nearest = |label: &str| {
        let v = v
            .sel("time", Labels::nearest(label))
            .and_then(|v| v.read_as::<u8>());
        v.expect("a time is nearest")[[]]
    };
    assert_eq!(nearest("1970"), 0);
    assert_eq!(nearest("2100"), 1);
}

/// As f64, 2^53 + 1 is 2^53, and the four integers would be three numbers.
#[test]
fn integers_are_compared_exactly() {
    const BASE: i64 = 1 << 53;
    for attributes in [no_attributes(), json!({"_FillValue": -1})] {
        let store = MemoryStore::new();
        array(&store, "v", "x", &[0_u8, 1, 2, 3], no_attributes());
        let ids = [BASE, BASE + 1, BASE + 3, BASE + 4];
        array(&store, "id", "x", &ids, attributes);
        let v = Dataset::open(&store)
            .and_then(|dataset| dataset.variable("v"))
            .expect("it is there");
        let found = |labels: Labels| {
            v.sel("id", labels)
                .and_then(|v| v.read_as::<u8>())
                .map(|elements| elements.into_iter().collect::<Vec<_>>())
                .map_err(|error| error.to_string())
        };
        assert_eq!(found(BASE.into()), Ok(vec![0]));
        assert_eq!(found((BASE + 1).into()), Ok(vec![1]));
        assert_eq!(found(((BASE + 3) as u64).into()), Ok(vec![2]));
        assert_eq!(found(((BASE + 4) as usize).into()), Ok(vec![3]));
        assert_eq!(found((BASE as f64).into()), Ok(vec![0]));
        assert_eq!(found((BASE + 1..=BASE + 3).into()), Ok(vec![1, 2]));
        assert_eq!(found(Labels::nearest(BASE + 2)), Ok(vec![2]));
        assert_eq!(found(Labels::nearest(f64::NEG_INFINITY)), Ok(vec![0]));
        let error = found((BASE + 2).into()).expect_err("it is between two of them");
        assert_eq!(
            error,
            r#"the coordinate "id" does not have the value 9007199254740994"#
        );
    }
}

/// The greatest uint64 and the number before it, which are one number as f64.
#[test]
fn unsigned_integers_are_compared_exactly() {
    let store = MemoryStore::new();
    array(&store, "v", "x", &[0_u8, 1], no_attributes());
    array(
        &store,
        "id",
        "x",
        &[u64::MAX - 1, u64::MAX],
        no_attributes(),
    );
    let v = Dataset::open(&store)
        .and_then(|dataset| dataset.variable("v"))
        .expect("it is there");
    let found = |labels: Labels| {
        let v = v.sel("id", labels).and_then(|v| v.read_as::<u8>());
        v.expect("it is there")[[]]
    };
    assert_eq!(found((u64::MAX - 1).into()), 0);
    assert_eq!(found(u64::MAX.into()), 1);
    assert_eq!(found(Labels::nearest(1e300)), 1);
}

#[test]
fn labels_with_a_fraction_are_between_integers() {
    assert_eq!(found("down", 44.9..=90.0), [0, 1]);
    assert_eq!(found("down", 45.1..=90.0), [0]);
    assert_eq!(found("down", -44.9..=0.5), [2]);
    assert_eq!(found("down", Labels::nearest(22.4)), [2]);
    assert_eq!(found("down", Labels::nearest(22.6)), [1]);
    assert_eq!(found("down", Labels::nearest(-22.5)), [2]);
    let v = dataset().variable("v").expect("it is there");
    let error = v
        .sel("down", 45.5)
        .and_then(|v| v.read())
        .expect_err("it is between two of them");
    assert!(error.to_string().ends_with("the value 45.5"), "{error}");
}

#[test]
fn jiff_dates_are_labels() {
    let first = date(2001, 2, 28);
    assert_eq!(found("time", first..=date(2001, 3, 27)), [1, 2, 3, 4]);
    assert_eq!(found("time", Time::from(first.at(12, 0, 0, 0))), [1]);
    assert_eq!(found("time", vec![date(2001, 3, 27)]), [4]);
    let v = dataset()
        .variable("v")
        .expect("it is there")
        .sel("time", date(2001, 3, 31))
        .expect("it fits");
    let error = v.read().expect_err("March has 30 days").to_string();
    assert!(
        error.contains("has the calendar 360_day, which has no 2001-03-31"),
        "{error}"
    );
}

#[test]
fn coordinates_follow_the_selection() {
    let v = dataset()
        .variable("v")
        .and_then(|v| v.sel("up", 0.0..=2.0))
        .expect("it fits");
    let down = v.coordinate("down").expect("it is there");
    assert_eq!(
        down.read_as::<i16>().expect("they are int16"),
        ndarray::array![45, 0].into_dyn()
    );
    let up = v.coordinate("up").expect("it is there");
    assert_eq!(up.read_as::<f64>().expect("they are float64").len(), 2);
}
