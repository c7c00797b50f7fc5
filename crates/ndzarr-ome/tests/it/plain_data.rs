//! Channels, labels, plates and wells.

use ndzarr::{DataType, Format, Group, MemoryStore};
use ndzarr_ome::metadata::{
    Acquisition, Channel, ImageLabel, LabelColor, Plate, PlateWell, WellImage, Window,
};
use ndzarr_ome::{Axis, Downsample, Metadata, Multiscale, NewMultiscale, validate};
use serde_json::{Value, json};

fn of(attributes: &Value) -> Metadata {
    Metadata::of(attributes.as_object().expect("it is an object"))
}

#[test]
fn channels_of_omero_are_read() {
    let omero = json!({"id": 1, "channels": [
        {"active": true, "coefficient": 1, "color": "00FF00", "family": "linear", "label": "FITC",
            "window": {"end": 813.0, "max": 870.0, "min": 102.0, "start": 82.0}},
        {"color": "#0a0B0c", "window": {"min": 0, "max": 255}},
        {"color": "red", "window": 7},
    ]});
    for attributes in [
        json!({"omero": omero}),
        json!({"ome": {"version": "0.5", "omero": omero}}),
    ] {
        let channels = of(&attributes).channels;
        let window = Window {
            start: 82.0,
            end: 813.0,
            min: 102.0,
            max: 870.0,
        };
        let first = Channel {
            label: Some("FITC".to_owned()),
            color: Some([0, 255, 0]),
            window: Some(window),
            active: Some(true),
        };
        assert_eq!(channels[0], first);
        assert_eq!(
            (
                channels[1].color,
                channels[1].window.map(|window| window.end)
            ),
            (Some([10, 11, 12]), Some(255.0))
        );
        assert_eq!(channels[2], Channel::default());
    }
}

#[test]
fn plates_and_wells_are_read() {
    let plate = json!({"name": "test", "field_count": 4, "rows": [{"name": "A"}, {"name": "B"}], "columns": [{"name": "1"}, {"name": "2"}],
        "wells": [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}, {"path": "B/2"}, {"path": "C/9"}, {"rowIndex": 1}],
        "acquisitions": [{"id": 1, "name": "first", "maximumfieldcount": 2, "starttime": 1343731272000u64}]});
    let read = of(&json!({"plate": plate})).plate.expect("it is a plate");
    assert_eq!(
        (read.name.as_deref(), read.field_count),
        (Some("test"), Some(4))
    );
    assert_eq!(read.rows, ["A", "B"]);
    // Before 0.4 only the path tells the row and the column.
    let well = |path: &str, row, column| PlateWell {
        path: path.to_owned(),
        row,
        column,
    };
    assert_eq!(read.wells, [well("A/1", 0, 0), well("B/2", 1, 1)]);
    assert_eq!(read.acquisitions[0].start_time, Some(1_343_731_272_000));
    let well = of(&json!({"ome": {"version": "0.5", "well": {"images": [{"path": "0", "acquisition": 1}, {"path": "1"}]}}})).well;
    assert_eq!(
        well.iter()
            .map(|image| image.acquisition)
            .collect::<Vec<_>>(),
        [Some(1), None]
    );
}

fn everything() -> Metadata {
    Metadata {
        channels: vec![Channel {
            label: Some("DAPI".to_owned()),
            color: Some([0, 0, 255]),
            window: Some(Window {
                start: 0.0,
                end: 1.5,
                min: 0.0,
                max: 65535.0,
            }),
            active: Some(false),
        }],
        labels: vec!["cells".to_owned(), "nuclei/0".to_owned()],
        image_label: Some(ImageLabel {
            colors: vec![
                LabelColor {
                    value: 1,
                    rgba: Some([1, 2, 3, 255]),
                },
                LabelColor {
                    value: -4,
                    rgba: None,
                },
            ],
            properties: vec![
                json!({"label-value": 1, "area": 2.5})
                    .as_object()
                    .expect("it is an object")
                    .clone(),
            ],
            source: Some("../../".to_owned()),
        }),
        plate: Some(Plate {
            name: Some("p".to_owned()),
            rows: vec!["A".to_owned()],
            columns: vec!["1".to_owned()],
            wells: vec![PlateWell {
                path: "A/1".to_owned(),
                row: 0,
                column: 0,
            }],
            acquisitions: vec![Acquisition {
                id: 3,
                name: Some("a".to_owned()),
                description: Some("b".to_owned()),
                maximum_field_count: Some(1),
                start_time: Some(1),
                end_time: Some(2),
            }],
            field_count: Some(1),
        }),
        well: vec![WellImage {
            path: "0".to_owned(),
            acquisition: Some(3),
        }],
        series: vec!["0".to_owned()],
    }
}

#[test]
fn what_is_written_is_valid_and_read_again() {
    let metadata = everything();
    for format in [Format::Zarr2, Format::Zarr3] {
        let attributes = metadata.to_attributes(format).expect("it can be written");
        assert_eq!(of(&attributes), metadata);
        assert_eq!(
            validate(attributes.as_object().expect("it is an object")),
            []
        );
        assert_eq!(attributes.get("ome").is_some(), format == Format::Zarr3);
    }
    let what = metadata
        .to_attributes(Format::N5)
        .expect_err("N5 is not OME-Zarr")
        .to_string();
    assert!(what.contains("not in n5"), "{what}");
    assert_eq!(of(&json!({})), Metadata::default());
}

#[test]
fn what_json_cannot_hold_is_refused() {
    for at in 0..4 {
        let mut numbers = [0.0, 1.0, 0.0, 1.0];
        numbers[at] = if at % 2 == 0 { f64::NAN } else { f64::INFINITY };
        let [start, end, min, max] = numbers;
        let window = Some(Window {
            start,
            end,
            min,
            max,
        });
        let metadata = Metadata {
            channels: vec![Channel {
                window,
                ..Channel::default()
            }],
            ..Metadata::default()
        };
        let what = metadata
            .to_attributes(Format::Zarr3)
            .expect_err("JSON has no such number")
            .to_string();
        assert!(what.contains("not finite"), "{what}");
    }
    let labels = |value: i128| {
        let colors = vec![LabelColor { value, rgba: None }];
        Metadata {
            image_label: Some(ImageLabel {
                colors,
                ..ImageLabel::default()
            }),
            ..Metadata::default()
        }
    };
    // Of uint64.
    let greatest = labels(u64::MAX.into());
    let attributes = greatest
        .to_attributes(Format::Zarr3)
        .expect("it can be written");
    assert_eq!(
        attributes["ome"]["image-label"]["colors"][0]["label-value"],
        json!(18446744073709551615_u64)
    );
    assert_eq!(of(&attributes), greatest);
    let what = labels(1 << 64)
        .to_attributes(Format::Zarr3)
        .expect_err("65 bits")
        .to_string();
    assert_eq!(
        what,
        "the label 18446744073709551616 does not fit in 64 bits"
    );
}

#[test]
fn many_wells_are_found_by_name_in_little_time() {
    let names: Vec<Value> = (0..50_000)
        .map(|at| json!({"name": format!("r{at}")}))
        .collect();
    let wells: Vec<Value> = (0..50_000)
        .map(|at| json!({"path": format!("r{at}/c")}))
        .collect();
    let plate = json!({"rows": names, "columns": [{"name": "b"}, {"name": "c"}, {"name": "c"}], "wells": wells});
    let plate = of(&json!({"plate": plate})).plate.expect("it is a plate");
    assert_eq!(
        (plate.wells[49_999].row, plate.wells[49_999].column),
        (49_999, 1)
    );
}

#[test]
fn ome_16_labels_are_found_and_may_have_one_channel() {
    let store = MemoryStore::new();
    let image = |place: &str, c: u64, data_type: DataType, metadata: Metadata| {
        let axes = [
            (Axis::new("c"), c),
            (Axis::new("y"), 64),
            (Axis::new("x"), 64),
        ];
        let new = NewMultiscale::new(data_type, axes)
            .levels(2)
            .method(Downsample::Mode)
            .metadata(metadata);
        Multiscale::create((&store, place), Format::Zarr3, &new, |layout| layout)
            .expect("it is valid")
    };
    let image_of = image("image", 3, DataType::UInt { bits: 16 }, Metadata::default());
    let attributes = Metadata {
        labels: vec!["cells".to_owned()],
        ..Metadata::default()
    }
    .to_attributes(Format::Zarr3);
    let labels = Group::builder()
        .format(Format::Zarr3)
        .attributes(attributes.expect("it can be written"));
    labels
        .create((&store, "image/labels"))
        .expect("memory never fails");
    let label = Metadata {
        image_label: Some(ImageLabel::default()),
        ..Metadata::default()
    };
    image(
        "image/labels/cells",
        1,
        DataType::UInt { bits: 32 },
        label.clone(),
    );

    let labels = image_of.group().group("labels").expect("it is there");
    let names = Metadata::of(labels.attributes()).labels;
    let found =
        Multiscale::find(&labels.group(&names[0]).expect("it is there")).expect("it is valid");
    assert_eq!(found[0].levels.len(), image_of.levels.len());
    assert_eq!(found[0].array(0).expect("it is there").shape(), [1, 64, 64]);
    assert!(
        Metadata::of(found[0].group().attributes())
            .image_label
            .is_some()
    );
    // Labels of another type than integers are a finding.
    let floats = image(
        "image/labels/floats",
        1,
        DataType::Float { bits: 32 },
        label,
    );
    let findings = floats.validate();
    assert!(
        findings
            .iter()
            .any(|finding| finding.what.contains("integers")),
        "{findings:?}"
    );
}

#[test]
fn a_plate_has_no_image_of_its_own() {
    let attributes = everything()
        .to_attributes(Format::Zarr3)
        .expect("it can be written");
    let plate = Group::builder()
        .format(Format::Zarr3)
        .attributes(attributes)
        .create(MemoryStore::new())
        .expect("memory never fails");
    assert!(Multiscale::find(&plate).expect("it is valid").is_empty());
}
