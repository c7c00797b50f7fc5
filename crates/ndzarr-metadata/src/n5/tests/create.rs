//! Tests that create N5 groups and datasets.

use super::*;
use crate::Existing;

#[test]
fn n5_a_new_dataset_writes_itself_and_a_version_at_the_root() {
    let mut request = request(&[5, 4], &[3, 2]);
    request.codecs = CodecRequest::Neutral(vec![
        CodecConfig::N5Gzip {
            level: 6,
            use_zlib: false,
        }
        .into(),
    ]);
    request.attributes = attributes(json!({"resolution": [4, 4]}));
    let creation = create(&[], "g/a", &request, &n5()).expect("nothing is there");
    let keys: Vec<&str> = creation
        .put
        .iter()
        .map(|document| document.key.as_str())
        .collect();
    assert_eq!(keys, ["attributes.json", "g/a/attributes.json"]);
    assert_eq!(creation.put[0].existing, ExistingDocument::Complete);
    assert_eq!(
        json_of(&creation, "attributes.json"),
        Some(json!({"n5": "2.0.0"}))
    );
    assert_eq!(
        json_of(&creation, "g/a/attributes.json"),
        Some(json!({
            "dataType": "uint16", "compression": {"type": "gzip", "level": 6, "useZlib": false},
            "blockSize": [3, 2], "dimensions": [5, 4], "resolution": [4, 4],
        }))
    );
    assert!(creation.erase.is_empty() && creation.erase_prefixes.is_empty());
    let own = text_of(&creation, "g/a/attributes.json").expect("written");
    let store = [
        ("attributes.json", r#"{"n5":"2.0.0"}"#),
        ("g/a/attributes.json", own),
    ];
    assert_eq!(
        open(&store, "g/a").expect("valid"),
        Some(creation.node.clone())
    );
}

#[test]
fn n5_the_version_is_added_and_never_lowered() {
    let request = request(&[5, 4], &[3, 2]);
    let creation = create(
        &[("attributes.json", r#"{"n5":"4.0.0"}"#)],
        "a",
        &request,
        &n5(),
    )
    .expect("free");
    assert_eq!(creation.put.len(), 1);
    let creation =
        create(&[("attributes.json", r#"{"u":1}"#)], "a", &request, &n5()).expect("free");
    assert_eq!(creation.put[0].existing, ExistingDocument::Complete);
    // Whatever the document contains by then, only the version is added.
    for (current, expected) in [
        (None, Some(r#"{"n5":"2.0.0"}"#)),
        (Some(" null"), Some(r#"{"n5":"2.0.0"}"#)),
        (
            Some(r#"{"u":18446744073709551616}"#),
            Some(r#"{"n5":"2.0.0","u":18446744073709551616}"#),
        ),
        (
            Some(r#"{"u":1,"n5":null,"v":2}"#),
            Some(r#"{"n5":"2.0.0","u":1,"v":2}"#),
        ),
        (Some(r#"{"u":1,"n5":"4.0.0"}"#), None),
    ] {
        let value = crate::complete_document(&creation.put[0], current.map(str::as_bytes))
            .expect("an object");
        let mut bytes = value.map(|value| value.to_vec());
        if let Some(bytes) = &mut bytes {
            bytes.retain(|byte| !byte.is_ascii_whitespace());
        }
        assert_eq!(bytes.as_deref(), expected.map(str::as_bytes), "{current:?}");
    }
    assert!(
        crate::complete_document(&creation.put[0], Some(b"[1]")).is_err(),
        "no place for a version"
    );
    assert!(
        crate::complete_document(&creation.put[0], Some(b"")).is_err(),
        "another program writes it"
    );
    let creation = create(
        &[("v.n5/attributes.json", r#"{"n5":"2.5.1"}"#)],
        "v.n5/a",
        &request,
        &n5(),
    );
    assert_eq!(
        creation.expect("free").put.len(),
        1,
        "the container is below the store's root"
    );
    assert!(
        create(
            &[("attributes.json", r#"{"n5":"5.0.0"}"#)],
            "a",
            &request,
            &n5()
        )
        .is_err()
    );

    let replace = CreateOptions {
        existing: Existing::Replace,
        ..n5()
    };
    let creation = create(
        &[("attributes.json", r#"{"n5":"4.0.0"}"#)],
        "",
        &request,
        &replace,
    )
    .expect("replaced");
    assert_eq!(
        json_of(&creation, "attributes.json").expect("written")["n5"],
        json!("4.0.0")
    );
    assert_eq!(creation.erase_prefixes, [""]);
    let creation = create(&[], "", &request, &n5()).expect("free");
    assert_eq!(
        json_of(&creation, "attributes.json").expect("written")["n5"],
        json!("2.0.0")
    );
}

/// "4.0.0" when strings or objects come into a container; raised only if necessary.
#[test]
fn n5_texts_and_objects_raise_the_version() {
    for data_type in [DataType::String, DataType::Object] {
        let mut request = request(&[5, 4], &[3, 2]);
        request.data_type = data_type;
        let n5_of =
            |creation: &Creation, key: &str| json_of(creation, key).map(|json| json["n5"].clone());
        let create =
            |store: &[(&str, &str)], at: &str| create(store, at, &request, &n5()).expect("free");
        let creation = create(&[], "g/a");
        assert_eq!(n5_of(&creation, "attributes.json"), Some(json!("4.0.0")));
        assert_eq!(
            n5_of(&creation, "g/a/attributes.json"),
            Some(Value::Null),
            "datasets have none"
        );
        assert_eq!(
            n5_of(&create(&[], ""), "attributes.json"),
            Some(json!("4.0.0"))
        );
        for (current, expected) in [
            (r#"{"u":1,"n5":"2.0.0"}"#, Some(r#"{"n5":"4.0.0","u":1}"#)),
            (r#"{"n5":"3.0.0"}"#, Some(r#"{"n5":"4.0.0"}"#)),
            (r#"{"n5":"4.0.0"}"#, None),
            (r#"{"n5":"4.1.2-SNAPSHOT"}"#, None),
        ] {
            let creation = create(&[("attributes.json", current)], "a");
            let raised = creation
                .put
                .iter()
                .find(|document| document.key == "attributes.json");
            assert_eq!(raised.is_some(), expected.is_some(), "{current}");
            let Some(document) = raised else { continue };
            assert_eq!(document.existing, ExistingDocument::Complete);
            let value =
                crate::complete_document(document, Some(current.as_bytes())).expect("an object");
            let mut text = String::from_utf8(value.expect("raised").to_vec()).expect("text");
            text.retain(|c| !c.is_ascii_whitespace());
            assert_eq!(Some(text.as_str()), expected);
            // Another process may have been faster.
            let by_then = Some(&br#"{"n5":"4.0.0","u":2}"#[..]);
            assert!(
                crate::complete_document(document, by_then)
                    .expect("an object")
                    .is_none()
            );
        }
        // A container below the root of the store, and groups with their own versions, as
        // zarr-python 2 makes them.
        let store = [
            ("v.n5/attributes.json", r#"{"n5":"2.0.0"}"#),
            ("v.n5/g/attributes.json", r#"{"n5":"2.0.0"}"#),
        ];
        let creation = create(&store, "v.n5/g/a");
        assert_eq!(creation.put.len(), 3);
        assert_eq!(
            n5_of(&creation, "v.n5/attributes.json"),
            Some(json!("4.0.0"))
        );
        assert_eq!(
            n5_of(&creation, "v.n5/g/attributes.json"),
            Some(json!("4.0.0"))
        );
        assert_eq!(n5_of(&creation, "attributes.json"), None);
    }
    // Numbers never raise the version, however old the container is.
    let numbers = request(&[5, 4], &[3, 2]);
    let creation = create(
        &[("attributes.json", r#"{"n5":"1.5.0"}"#)],
        "a",
        &numbers,
        &n5(),
    )
    .expect("free");
    assert_eq!(creation.put.len(), 1);
}

#[test]
fn n5_what_is_there_stays() {
    let request = request(&[5, 4], &[3, 2]);
    let refused = |store: &[(&str, &str)], at: &str| match create(store, at, &request, &n5()) {
        Err(MetadataError::Occupied { path, .. }) => path,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&[("a/attributes.json", RAW)], "a"), "/a");
    assert_eq!(refused(&[("a/attributes.json", r#"{"k":1}"#)], "a"), "/a");
    assert_eq!(refused(&[("a/b/attributes.json", RAW)], "a"), "/a");
    assert_eq!(
        refused(&[("a/0/0", "a block of a lost dataset")], "a"),
        "/a"
    );
    assert_eq!(refused(&[("a/attributes.json", RAW)], "a/b"), "/a");
    assert_eq!(refused(&[("a/attributes.json", RAW)], "a/b/c"), "/a");
    let replace = CreateOptions {
        existing: Existing::Replace,
        ..n5()
    };
    let creation =
        create(&[("a/attributes.json", RAW)], "a", &request, &replace).expect("replaced");
    assert_eq!(creation.erase_prefixes, ["a/"]);
    assert!(
        json_of(&creation, "a/attributes.json")
            .expect("written")
            .get("k")
            .is_none()
    );
    assert!(
        create(&[("a/attributes.json", RAW)], "a/b", &request, &replace).is_err(),
        "never above"
    );
    assert!(
        create(
            &[("a/attributes.json", "null"), ("a/x.__lock", "")],
            "a",
            &request,
            &n5()
        )
        .is_ok()
    );
    // A dataset may be there that Java is writing.
    let blank = [("a/attributes.json", "")];
    assert!(create(&blank, "a", &request, &n5()).is_err());
    assert!(create(&blank, "a", &request, &replace).is_ok());
    assert!(create(&blank, "a/b", &request, &replace).is_err());
    assert!(matches!(
        create(&[], "a/x.__lock", &request, &n5()),
        Err(MetadataError::Path { .. })
    ));
    assert!(matches!(
        create(&[], "attributes.json/a", &request, &n5()),
        Err(MetadataError::Path { .. })
    ));
}

#[test]
fn n5_groups_are_made_with_a_document() {
    let creation = create_group(&[], "g/h", json!({"k": null}), &n5()).expect("free");
    assert_eq!(
        json_of(&creation, "attributes.json"),
        Some(json!({"n5": "2.0.0"}))
    );
    assert_eq!(
        json_of(&creation, "g/h/attributes.json"),
        Some(json!({"k": null}))
    );
    assert_eq!(creation.put.len(), 2);
    assert_eq!(creation.node.kind, NodeKind::Group);
    // zarr-python 2 only sees groups with a document.
    let all = CreateOptions {
        n5_group_documents: N5GroupDocuments::All,
        ..n5()
    };
    let creation = create_group(&[], "g/h", json!({}), &all).expect("free");
    let keys: Vec<&str> = creation
        .put
        .iter()
        .map(|document| document.key.as_str())
        .collect();
    assert_eq!(
        keys,
        [
            "attributes.json",
            "g/attributes.json",
            "g/h/attributes.json"
        ]
    );
    assert!(
        creation
            .put
            .iter()
            .all(|document| document.value.windows(7).any(|w| w == b"\"2.0.0\""))
    );
    let creation = create_group(&[], "", json!({"k": 1}), &n5()).expect("free");
    assert_eq!(
        json_of(&creation, "attributes.json"),
        Some(json!({"n5": "2.0.0", "k": 1}))
    );
    assert_eq!(creation.node.attributes, attributes(json!({"k": 1})));
    // An implicit group may become explicit; an explicit one exists already.
    assert!(create_group(&[("g/a/attributes.json", RAW)], "g", json!({}), &n5()).is_ok());
    assert!(create_group(&[("g/attributes.json", "{}")], "g", json!({}), &n5()).is_err());
    assert!(create_group(&[("g/attributes.json", RAW)], "g", json!({}), &n5()).is_err());
    assert!(create_group(&[("g/attributes.json", RAW)], "g/h", json!({}), &n5()).is_err());
    assert!(create_group(&[], "g", json!({"n5": "9"}), &n5()).is_err());
}

#[test]
fn n5_what_has_no_form_is_refused() {
    let base = || request(&[5, 4], &[3, 2]);
    let refused = |what: &str, change: &dyn Fn(&mut ArrayRequest)| {
        let mut request = base();
        change(&mut request);
        let result = create(&[], "a", &request, &n5());
        assert!(
            matches!(result, Err(MetadataError::Inexpressible { .. })),
            "{what}: {result:?}"
        );
    };
    refused("little endian", &|r| r.endian = Some(Endian::Little));
    refused("order F", &|r| r.order = Order::F);
    refused("shards", &|r| r.shard_shape = Some(vec![6, 4]));
    refused("separator", &|r| r.separator = Some('.'));
    refused("key encoding", &|r| r.key_encoding = Some("v2".to_owned()));
    refused("fill 1", &|r| {
        r.fill_value = FillRequest::Value(FillValue::defined([1, 0]))
    });
    refused("fill 1 as JSON", &|r| {
        r.fill_value = FillRequest::Json(json!(1))
    });
    refused("fill -0.0", &|r| {
        r.fill_value = FillRequest::Json(json!(-0.0))
    });
    refused("no fill", &|r| r.fill_value = FillRequest::Undefined);
    refused("bool", &|r| r.data_type = DataType::Bool);
    refused("float16", &|r| r.data_type = DataType::Float { bits: 16 });
    refused("complex", &|r| r.data_type = DataType::Complex { bits: 64 });
    refused("rank", &|r| r.chunk_shape = vec![3]);
    refused("rank 0", &|r| (r.shape, r.chunk_shape) = (vec![], vec![]));
    refused("block 0", &|r| r.chunk_shape = vec![3, 0]);
    refused("large blocks", &|r| r.chunk_shape = vec![1 << 15, 1 << 15]);
    refused("overflow", &|r| {
        r.chunk_shape = vec![0x7fff_ffff, 0x7fff_ffff]
    });
    refused("long dimensions", &|r| r.shape = vec![1 << 63, 4]);
    refused("reserved attribute", &|r| {
        r.attributes = attributes(json!({"dataType": 1}))
    });
    refused("sharding attribute", &|r| {
        r.attributes = attributes(json!({"codecs": []}))
    });
    refused("some names", &|r| {
        r.dimension_names = Some(vec![Some("x".into()), None])
    });
    refused("equal names", &|r| {
        r.dimension_names = Some(vec![Some("x".into()), Some("x".into())])
    });
    refused("names and axes", &|r| {
        r.dimension_names = Some(vec![Some("x".into()), Some("y".into())]);
        r.attributes = attributes(json!({"axes": ["a", "b"]}));
    });
    refused("names and those of Python in the same order", &|r| {
        r.dimension_names = Some(vec![Some("x".into()), Some("y".into())]);
        r.attributes = attributes(json!({"_ARRAY_DIMENSIONS": ["x", "y"]}));
    });
    let mut fine = base();
    fine.dimension_names = Some(vec![Some("x".into()), Some("y".into())]);
    fine.attributes = attributes(json!({"_ARRAY_DIMENSIONS": ["y", "x"]}));
    fine.endian = Some(Endian::Big);
    fine.separator = Some('/');
    fine.fill_value = FillRequest::Json(json!(0.0));
    fine.shape = vec![0, 4];
    assert!(create(&[], "a", &fine, &n5()).is_ok());
}

#[test]
fn n5_reversed_axes_are_turned_round_once() {
    let mut request = request(&[4, 5], &[2, 3]);
    request.dimension_names = Some(vec![Some("y".into()), Some("x".into())]);
    request.edge_blocks = EdgeBlocks::Padded;
    let options = CreateOptions {
        n5_axes: N5Axes::Reversed,
        ..n5()
    };
    let creation = create(&[], "a", &request, &options).expect("free");
    let document = json_of(&creation, "a/attributes.json").expect("written");
    assert_eq!(document["dimensions"], json!([5, 4]));
    assert_eq!(document["blockSize"], json!([3, 2]));
    assert_eq!(document["axes"], json!(["x", "y"]));
    let spec = creation.node.kind.array().expect("an array");
    assert_eq!(
        (&spec.shape[..], &spec.unit_shape[..]),
        (&[4, 5][..], &[2, 3][..])
    );
    assert_eq!(spec.dimension_names, request.dimension_names);
    assert!(
        matches!(&spec.codecs[0].config, CodecConfig::N5Block(b) if b.edge_blocks == EdgeBlocks::Padded)
    );
}
