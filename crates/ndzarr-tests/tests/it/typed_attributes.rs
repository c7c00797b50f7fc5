//! Attributes as Rust types, of arrays and groups, in every format and on both sides.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndzarr::{Array, ErrorKind, Format, Group, MemoryStore, Storage, asynchronous};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on};
use serde::{Deserialize, Serialize};
use serde_json::json;

type Outcome = Result<(), ndzarr::Error>;

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::DraftA,
    Format::DraftB,
    Format::N5,
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Scale {
    factor: f64,
    #[serde(default)]
    names: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct All {
    units: String,
    scale: Option<Scale>,
}

#[test]
fn attributes_are_read_and_set_in_every_format() -> Outcome {
    for format in FORMATS {
        let store = MemoryStore::new();
        let given = json!({"units": "K", "kept": [1]});
        let builder = Array::<u8>::builder([4]).format(format).attributes(given);
        let mut array = builder.create((&store, "g/a"))?;
        let mut group = Group::open((&store, "g"))?;

        assert_eq!(
            array.attribute::<String>("units")?.as_deref(),
            Some("K"),
            "{format}"
        );
        assert_eq!(array.attribute::<Vec<u8>>("kept")?, Some(vec![1]));
        assert_eq!(array.attribute::<Scale>("scale")?, None);
        assert_eq!(
            array.attributes_as::<All>()?,
            All {
                units: "K".to_owned(),
                scale: None
            }
        );

        let scale = Scale {
            factor: 0.5,
            names: vec!["x".to_owned()],
        };
        array.set_attribute("scale", &scale)?;
        group.set_attribute("n", &7)?;
        group.set_attribute("words", "two words")?;
        let again = Array::<u8>::open((&store, "g/a"))?;
        let above = Group::open((&store, "g"))?;
        assert_eq!(array.attribute("scale")?, Some(scale.clone()), "{format}");
        assert_eq!(again.attribute("scale")?, Some(scale.clone()));
        assert_eq!(
            again.attributes_as::<All>()?,
            All {
                units: "K".to_owned(),
                scale: Some(scale)
            }
        );
        assert_eq!(again.attributes()["kept"], json!([1]));
        assert_eq!(above.attribute("n")?, Some(7u64));
        assert_eq!(
            above.attributes_as::<BTreeMap<String, serde_json::Value>>()?["words"],
            "two words"
        );
    }
    Ok(())
}

#[test]
fn errors_name_the_attribute_and_the_node() -> Outcome {
    let store = MemoryStore::new();
    let attributes = json!({"units": "K", "scale": {"factor": "large"}});
    let mut array = Array::<u8>::builder([4])
        .attributes(attributes)
        .create((&store, "g/t2m"))?;
    let check = |error: ndzarr::Error, expected: &str| {
        assert!(error.to_string().starts_with(expected), "{error}");
        assert_eq!(
            (error.kind(), error.key()),
            (ErrorKind::WrongType, Some("g/t2m/zarr.json"))
        );
        assert!(error.store().is_some());
    };
    let text = array.attribute::<f64>("units").expect_err("a text");
    check(
        text,
        "the attribute \"units\" of \"/g/t2m\" has another form: invalid type: string \"K\", expected f64",
    );
    let inner = array.attributes_as::<All>().expect_err("no number");
    check(
        inner,
        "the attribute \"scale\" of \"/g/t2m\" has another form: invalid type: string \"large\", expected f64",
    );
    let missing = array.attributes_as::<Scale>().expect_err("no factor");
    check(
        missing,
        "the attributes of \"/g/t2m\" have another form: missing field `factor`",
    );
    let update = array.update_attribute("units", |_: Option<u8>| panic!("it is not called"));
    check(
        update.expect_err("a text"),
        "the attribute \"units\" of \"/g/t2m\" has another form",
    );
    assert_eq!(array.attributes()["units"], "K");

    let group = Group::builder()
        .attributes(json!({"n": 1.5}))
        .create(MemoryStore::new())?;
    let error = group.attribute::<u8>("n").expect_err("no integer");
    assert!(
        error
            .to_string()
            .starts_with("the attribute \"n\" of \"/\" has another form"),
        "{error}"
    );
    // A map whose keys are not text has no form in JSON.
    let keys = BTreeMap::from([((1, 2), 3)]);
    let error = array.set_attribute("map", &keys).expect_err("no JSON");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error
            .to_string()
            .starts_with("the attribute \"map\" of \"/g/t2m\" cannot be JSON"),
        "{error}"
    );
    Ok(())
}

/// Handles that do not know of each other's changes count to 4 * 25.
#[test]
fn no_update_is_lost() -> Outcome {
    for format in FORMATS {
        let store = MemoryStore::new();
        Array::<u8>::builder([4])
            .format(format)
            .create((&store, "g/a"))?;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let store = &store;
                scope.spawn(move || -> Outcome {
                    let mut array = Array::<u8>::open((store, "g/a"))?;
                    let mut group = Group::open((store, "g"))?;
                    for _ in 0..25 {
                        array.update_attribute("n", |n: Option<u32>| n.unwrap_or(0) + 1)?;
                        group.update_attribute("n", |n: Option<u32>| n.unwrap_or(0) + 1)?;
                    }
                    Ok(())
                });
            }
        });
        assert_eq!(
            Array::<u8>::open((&store, "g/a"))?.attribute("n")?,
            Some(100u32),
            "{format}"
        );
        assert_eq!(
            Group::open((&store, "g"))?.attribute("n")?,
            Some(100u32),
            "{format}"
        );
    }
    Ok(())
}

#[test]
fn asynchronous_calls_do_the_same() -> Outcome {
    let memory = MemoryStore::new();
    for (name, storage) in [
        ("blocking", Storage::from(memory.clone())),
        (
            "async",
            Storage::asynchronous(AsyncMemoryStore::over(memory.clone(), Latency::default())),
        ),
    ] {
        block_on(async {
            let place = || (&storage, name);
            let mut array = asynchronous::Array::<u8>::builder([4])
                .create(place())
                .await?;
            let mut other = asynchronous::Array::<u8>::open(place()).await?;
            array.set_attribute("n", &1).await?;
            static CALLS: AtomicUsize = AtomicUsize::new(0);
            let add = |n: Option<u32>| {
                CALLS.fetch_add(1, Ordering::Relaxed);
                n.unwrap_or(0) + 10
            };
            other.update_attribute("n", add).await?;
            assert!(CALLS.swap(0, Ordering::Relaxed) > 0);
            assert_eq!(other.attribute("n")?, Some(11));
            assert_eq!(array.attribute("n")?, Some(1), "what it knew");
            assert!(
                array
                    .update_attribute("n", |text: Option<String>| text.unwrap_or_default())
                    .await
                    .is_err()
            );
            array.update_attribute("n", add).await?;
            assert_eq!(array.attributes_as::<BTreeMap<String, u32>>()?["n"], 21);

            let mut group = asynchronous::Group::open((&storage, "")).await?;
            group.set_attribute(name, &[1.5]).await?;
            group
                .update_attribute(name, |list: Option<Vec<f64>>| {
                    let mut list = list.unwrap_or_default();
                    list.push(2.5);
                    list
                })
                .await?;
            assert_eq!(group.attribute::<[f64; 2]>(name)?, Some([1.5, 2.5]));
            Ok::<_, ndzarr::Error>(())
        })?;
    }
    Ok(())
}

/// What describes a dataset of N5 is in the same document as the attributes, and not one of them.
#[test]
fn members_that_are_no_attributes_stay() -> Outcome {
    let store = MemoryStore::new();
    let mut array = Array::<u8>::builder([4])
        .format(Format::N5)
        .create((&store, "a"))?;
    assert_eq!(array.attribute::<Vec<u64>>("dimensions")?, None);
    assert!(
        array
            .update_attribute("dimensions", |_: Option<Vec<u64>>| vec![9])
            .is_err()
    );
    assert_eq!(Array::<u8>::open((&store, "a"))?.shape(), [4]);
    Ok(())
}
