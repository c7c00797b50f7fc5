//! Custom data types.

use ndarray::{arr1, arr2};
use ndzarr::{
    Any, AnyArray, AnyNode, Array, ArrayRequest, CopyOptions, CustomType, DataType, Element,
    ErrorKind, Extensions, Field, FillRequest, Format, Group, MemoryStore, OpenOptions, StructType,
    TypeRules, codec, copy,
};
use serde_json::{Value, json};

/// A digit from 1 to 9, which is stored as uint8.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Digit(u8);

struct DigitRules;

impl TypeRules for DigitRules {
    fn is_any(&self) -> bool {
        false
    }

    fn is_element(&self, element: &[u8]) -> bool {
        (1..=9).contains(&element[0])
    }

    fn parse_fill(&self, json: &Value) -> Result<Option<Vec<u8>>, String> {
        match json.as_str() {
            Some("one") => Ok(Some(vec![1])),
            Some("many") => Ok(Some(vec![1, 1])),
            Some(text) => Err(format!("{text:?} is no digit")),
            None => Ok(None),
        }
    }

    fn fill_json(&self, element: &[u8]) -> Option<Value> {
        (element == [1]).then(|| json!("one"))
    }
}

fn digit() -> CustomType {
    CustomType::new("example.digit", DataType::UInt { bits: 8 }).with_rules(DigitRules)
}

impl Element for Digit {
    fn accepts(stored: &DataType) -> bool {
        matches!(stored, DataType::Custom(custom) if custom.name() == "example.digit")
    }

    fn new_type() -> Option<DataType> {
        Some(digit().into())
    }

    fn to_content(&self, _: &DataType, out: &mut Vec<u8>) -> Result<(), String> {
        out.push(self.0);
        Ok(())
    }

    fn from_content(content: &[u8], _: &DataType) -> Option<Self> {
        content.first().map(|&byte| Self(byte))
    }
}

fn options() -> OpenOptions {
    OpenOptions::new().extensions(extensions())
}

fn extensions() -> Extensions {
    Extensions::new().with_data_type("example.digit", |configuration| {
        match configuration.as_object() {
            Some(members) if members.is_empty() => Ok(digit()),
            _ => Err("takes no configuration".to_owned()),
        }
    })
}

fn open<T: Element>(store: &MemoryStore, path: &str) -> ndzarr::Result<Array<T>> {
    options().open_array::<T>((store, path))
}

/// A change of a document.
type Change = fn(&mut Value);

fn with_document(change: impl FnOnce(&mut Value)) -> MemoryStore {
    let mut document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "example.digit",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": "one", "codecs": [{"name": "bytes"}],
    });
    change(&mut document);
    let store = MemoryStore::new();
    store.set("a/zarr.json", document.to_string()).expect("set");
    store
}

#[test]
fn documents_have_the_name_and_the_fill_value_of_the_type() {
    let store = MemoryStore::new();
    Array::<Digit>::builder([2])
        .fill_value(Digit(1))
        .create((&store, "a"))
        .expect("created");
    let document: Value =
        serde_json::from_slice(&store.get("a/zarr.json").expect("a document")).expect("JSON");
    assert_eq!(document["data_type"], "example.digit");
    assert_eq!(document["fill_value"], "one");
    assert_eq!(
        document["codecs"],
        json!([{"name": "bytes"}]),
        "no byte order"
    );
    // The layout provides the form that the type leaves to it.
    Array::<Digit>::builder([2])
        .fill_value(Digit(7))
        .create((&store, "b"))
        .expect("created");
    let document: Value =
        serde_json::from_slice(&store.get("b/zarr.json").expect("a document")).expect("JSON");
    assert_eq!(document["fill_value"], 7);
    assert_eq!(
        open::<Digit>(&store, "b").expect("opens").fill_value(),
        Digit(7)
    );
}

#[test]
fn elements_are_checked_by_the_rules() {
    let store = with_document(|_| {});
    let a = open::<Digit>(&store, "a").expect("opens");
    assert_eq!(a.read([0..2]).expect("read"), arr1(&[Digit(1), Digit(1)]));
    a.write([0..2], &arr1(&[Digit(3), Digit(9)]))
        .expect("written");
    assert_eq!(store.get("a/c/0").as_deref(), Some(&[3, 9][..]));
    assert_eq!(
        a.write([0..1], &arr1(&[Digit(10)]))
            .expect_err("has to be refused")
            .kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        AnyArray::from(a.clone())
            .write_bytes(&[0..1], &[0])
            .expect_err("has to be refused")
            .kind(),
        ErrorKind::InvalidArgument
    );

    store.set("a/c/0", vec![3, 77]).expect("set");
    assert_eq!(
        a.read([0..2]).expect_err("has to be refused").kind(),
        ErrorKind::Corrupt
    );
    assert_eq!(
        AnyArray::from(a.clone())
            .read_bytes(&[0..2])
            .expect_err("has to be refused")
            .kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn errors_name_the_type() {
    let error = |change: Change| {
        open::<Digit>(&with_document(change), "a")
            .expect_err("has to be refused")
            .to_string()
    };
    let cases: [(Change, &str); 6] = [
        (
            |document| {
                document["data_type"] = json!({"name": "example.digit", "configuration": {"a": 1}})
            },
            "takes no configuration",
        ),
        (
            |document| document["fill_value"] = json!("nine"),
            "\"nine\" is no digit",
        ),
        // Of another size than an element, and a value valid only in the layout.
        (
            |document| document["fill_value"] = json!("many"),
            "not a value of example.digit",
        ),
        (
            |document| document["fill_value"] = json!(0),
            "not a value of example.digit",
        ),
        (
            |document| document["fill_value"] = json!(300),
            "not a value of example.digit",
        ),
        (
            |document| document["data_type"] = json!("example.letter"),
            "unsupported data type example.letter",
        ),
    ];
    for (change, expected) in cases {
        let error = error(change);
        assert!(error.contains(expected), "{error}");
    }
    let plain = Array::<Digit>::open((with_document(|_| {}), "a")).expect_err("has to be refused");
    assert_eq!(plain.kind(), ErrorKind::Unsupported);
    assert!(
        plain
            .to_string()
            .contains("unsupported data type example.digit"),
        "{plain}"
    );
    // Zero is not a digit, so a fill value must be given.
    let error = Array::<Digit>::builder([1])
        .create((MemoryStore::new(), "a"))
        .expect_err("has to be refused")
        .to_string();
    assert!(
        error.contains("zero is not a value of example.digit"),
        "{error}"
    );
    // N5 only has the fill value zero.
    for format in [Format::Zarr2, Format::DraftA, Format::DraftB] {
        let new = Array::<Digit>::builder([1])
            .format(format)
            .fill_value(Digit(1));
        let error = new
            .create((MemoryStore::new(), "a"))
            .expect_err("has to be refused");
        assert!(error.to_string().contains("example.digit"), "{error}");
    }
}

#[test]
fn names_of_the_library_cannot_be_replaced() {
    let extensions = Extensions::new().with_data_type("uint8", |_| Ok(digit()));
    let options = OpenOptions::new().extensions(extensions);
    let store = with_document(|document| {
        document["data_type"] = json!("uint8");
        document["fill_value"] = json!(0);
    });
    let a = options.open_array::<Any>((&store, "a")).expect("opens");
    assert_eq!(a.data_type(), &DataType::UInt { bits: 8 });
    // Nor can a type be created under the name of another.
    let extensions = Extensions::new().with_data_type("example.other", |_| Ok(digit()));
    let options = OpenOptions::new().extensions(extensions);
    let store = with_document(|document| document["data_type"] = json!("example.other"));
    let error = options
        .open_array::<Any>((&store, "a"))
        .expect_err("has to be refused")
        .to_string();
    assert!(
        error.contains("was made with the name \"example.digit\""),
        "{error}"
    );
}

/// Shards, filters, resizing, attributes: each reads the document again, or the layout.
#[test]
fn an_array_of_a_custom_type_is_like_any_other() {
    let store = MemoryStore::new();
    let mut a = Array::<Digit>::builder([2, 4])
        .shards([2, 4])
        .chunks([1, 2])
        .codecs([codec::delta(DataType::UInt { bits: 8 }), codec::gzip(1)])
        .fill_value(Digit(1))
        .create((&store, "a"))
        .expect("created");
    a.write(
        [0..2, 0..4],
        &arr2(&[[1, 2, 3, 4], [9, 8, 7, 6]]).mapv(Digit),
    )
    .expect("written");
    a.merge_attributes(json!({"a": 1})).expect("changed");
    a.resize([2, 5]).expect("resized");
    a.append(0, &arr2(&[[5; 5]]).mapv(Digit).into_dyn())
        .expect("appended");
    let mut a = open::<Digit>(&store, "a").expect("opens");
    let expected = arr2(&[[1, 2, 3, 4, 1], [9, 8, 7, 6, 1], [5, 5, 5, 5, 5]]).mapv(Digit);
    assert_eq!(a.read([0..3, 0..5]).expect("read"), expected);
    a.resize([1, 2]).expect("resized");
    a.merge_attributes(json!({"b": 1})).expect("changed");
    assert_eq!(
        a.read([0..1, 0..2]).expect("read"),
        arr2(&[[1, 2]]).mapv(Digit)
    );
}

#[test]
fn groups_pass_custom_types_on() {
    let store = MemoryStore::new();
    let root = Group::builder()
        .extensions(extensions())
        .create(&store)
        .expect("created");
    let below = root.create_group("below").expect("created");
    below
        .create_array("a", Array::<Digit>::builder([1]).fill_value(Digit(5)))
        .expect("created");
    assert_eq!(
        below.array::<Digit>("a").expect("opens").fill_value(),
        Digit(5)
    );
    assert_eq!(
        root.group("below")
            .expect("opens")
            .array::<Digit>("a")
            .expect("opens")
            .fill_value(),
        Digit(5)
    );
    let check = || {
        let root = options().open_group(&store).expect("opens");
        assert_eq!(
            root.array::<Digit>("below/a").expect("opens").fill_value(),
            Digit(5)
        );
        let AnyNode::Group(root) = options().open_node(&store).expect("opens") else {
            panic!("a group")
        };
        assert_eq!(
            root.group("below")
                .expect("opens")
                .array::<Any>("a")
                .expect("opens")
                .shape(),
            [1]
        );
        let plain = Group::open(&store).expect("opens");
        assert_eq!(
            plain.walk().expect("walks").len(),
            2,
            "to list takes no types"
        );
        assert_eq!(
            plain
                .array::<Any>("below/a")
                .expect_err("has to be refused")
                .kind(),
            ErrorKind::Unsupported
        );
    };
    check();
    Group::open(&store)
        .expect("opens")
        .consolidate()
        .expect("consolidated");
    check();
}

#[test]
fn a_group_without_extensions_creates_arrays_of_custom_types() {
    let store = MemoryStore::new();
    let root = Group::create(&store, Format::Zarr3).expect("created");
    let mut a = root
        .create_array("a", Array::<Digit>::builder([2]).fill_value(Digit(5)))
        .expect("created");
    a.set_attribute("n", &1).expect("changed");
    a.resize([3]).expect("resized");
    let a = open::<Digit>(&store, "a").expect("opens");
    assert_eq!(a.shape(), [3]);
    assert_eq!(a.attribute::<u32>("n").expect("a number"), Some(1));
}

/// Numbers but zero.
#[derive(Clone, Debug, PartialEq)]
struct Positive(std::num::NonZeroU8);

impl Element for Positive {
    fn accepts(stored: &DataType) -> bool {
        *stored == DataType::UInt { bits: 8 }
    }

    fn new_type() -> Option<DataType> {
        Some(DataType::UInt { bits: 8 })
    }

    fn to_content(&self, _: &DataType, out: &mut Vec<u8>) -> Result<(), String> {
        out.push(self.0.get());
        Ok(())
    }

    fn from_content(content: &[u8], _: &DataType) -> Option<Self> {
        std::num::NonZeroU8::new(*content.first()?).map(Self)
    }
}

#[test]
fn a_fill_value_that_is_no_value_of_the_rust_type_is_refused() {
    let store = MemoryStore::new();
    for (path, fill) in [("zero", 0), ("one", 1)] {
        Array::<u8>::builder([2])
            .fill_value(fill)
            .create((&store, path))
            .expect("created");
    }
    let one = Array::<Positive>::open((&store, "one")).expect("opens");
    assert_eq!(one.fill_value().0.get(), 1);
    let error = Array::<Positive>::open((&store, "zero")).expect_err("has to be refused");
    assert_eq!(error.kind(), ErrorKind::WrongType, "{error}");
    assert!(error.to_string().contains("fill value"), "{error}");
}

#[test]
fn fields_may_be_of_custom_types() {
    let fields = [
        Field::new("n", DataType::UInt { bits: 16 }),
        Field::new("digit", digit().into()),
    ];
    let data_type = DataType::Struct(StructType::new(fields).expect("two names"));
    let store = MemoryStore::new();
    let mut request = ArrayRequest::new(vec![2], vec![2], data_type);
    request.fill_value = FillRequest::Json(json!({"n": 258, "digit": "one"}));
    let create = |path, request: &ArrayRequest| {
        AnyArray::builder(&request.shape)
            .request(request.clone())
            .create((&store, path))
    };
    create("a", &request).expect("created");
    let a = options().open_array::<Any>((&store, "a")).expect("opens");
    assert_eq!(
        a.read_bytes(&[1..2]).expect("read"),
        [&258u16.to_ne_bytes()[..], &[1]].concat()
    );
    assert_eq!(a.read_field::<u16, _>("n", [0..1]).expect("read")[0], 258);
    assert!(a.write_bytes(&[0..1], &[0, 0, 10]).is_err(), "no digit");
    a.write_bytes(&[0..1], &[0, 0, 9]).expect("written");
    assert_eq!(store.get("a/c/0").as_deref(), Some(&[0, 0, 9, 2, 1, 1][..]));
    request.fill_value = FillRequest::Json(json!({"n": 258, "digit": 0}));
    assert!(create("b", &request).is_err(), "no digit");
}

/// A type with the layout of a string has its codec.
#[test]
fn custom_types_may_be_of_variable_size() {
    let word = || CustomType::new("example.word", DataType::String);
    let store = MemoryStore::new();
    let request = ArrayRequest::new(vec![2], vec![2], word().into());
    AnyArray::builder(&request.shape)
        .request(request.clone())
        .format(Format::Zarr3)
        .create((&store, "a"))
        .expect("created");
    let extensions = Extensions::new().with_data_type("example.word", move |_| Ok(word()));
    let options = OpenOptions::new().extensions(extensions);
    let a = options.open_array::<Any>((&store, "a")).expect("opens");
    assert_eq!(a.spec().codecs[0].config.name(), "vlen-utf8");
    a.write_vlen(&[0..2], &[b"a".to_vec(), b"bc".to_vec()])
        .expect("written");
    assert_eq!(a.read_vlen(&[0..2]).expect("read"), [&b"a"[..], b"bc"]);
    // Count, then length and content of each string.
    let stored = [&[2u8, 0, 0, 0, 1, 0, 0, 0][..], b"a", &[2, 0, 0, 0], b"bc"].concat();
    assert_eq!(store.get("a/c/0").as_deref(), Some(&stored[..]));
}

#[test]
fn chunks_of_custom_types_are_copied() {
    let store = MemoryStore::new();
    let a = Array::<Digit>::builder([3])
        .chunks([2])
        .fill_value(Digit(2))
        .create((&store, "a"))
        .expect("created");
    a.write([0..1], &arr1(&[Digit(8)])).expect("written");
    let other = MemoryStore::new();
    let convert_options = CopyOptions::new().format(Format::Zarr3).open(options());
    copy((&store, "a"), (&other, "b"), &convert_options).expect("converted");
    assert_eq!(
        open::<Digit>(&other, "b")
            .expect("opens")
            .read([0..3])
            .expect("read"),
        arr1(&[8, 2, 2]).mapv(Digit)
    );
}
