//! Documents whose values would take many times the memory of their text.

use ndzarr::{AnyArray, ConsolidatedUse, ErrorKind, MemoryStore, OpenOptions};
use ndzarr_testkit::in_own_process;
use serde_json::json;

use crate::with_peak;

/// What the values of a document may take, in bytes.
const VALUES: usize = 256 << 20;

/// For copies of the text, too, and for the room that a growing list takes beyond its items.
const MOST: usize = 2 * VALUES;

/// Opens the group with these documents. Returns also the most memory that it took, in bytes.
fn open(documents: &[(&str, String)], options: &OpenOptions) -> (Result<(), ndzarr::Error>, usize) {
    let store = MemoryStore::new();
    for (key, text) in documents {
        store.set(key, text.clone()).expect("a key");
    }
    with_peak(|| options.open_node(&store).map(drop))
}

/// JSON whose text is shorter than a tenth of the memory that its values would take.
fn values(of: &str) -> String {
    match of {
        "objects" => format!("[{}0]", r#"{"":0},"#.repeat(500_000)),
        "lists" => format!("[{}0]", "[0],".repeat(5_000_000)),
        "numbers" => format!("[{}0]", "0,".repeat(10_000_000)),
        _ => {
            let members: Vec<String> = (0..3_000_000).map(|i| format!("\"{i:x}\":0")).collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

#[test]
fn large_documents_are_read() {
    in_own_process!();
    let text = "x".repeat(100 << 20);
    let document =
        format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"a":"{text}"}}}}"#);
    let (opened, taken) = open(&[("zarr.json", document)], &OpenOptions::new());
    opened.expect("it opens");
    assert!(taken <= 2 * text.len() + (4 << 20), "{taken} bytes");

    let nodes: Vec<String> = (0..100_000)
        .map(|i| {
            format!(
                r#""group/{i}/.zgroup":{{"zarr_format":2}},"group/{i}/.zattrs":{{"a":[1,2,3]}}"#
            )
        })
        .collect();
    let group = r#"".zgroup":{"zarr_format":2},"group/.zgroup":{"zarr_format":2}"#;
    let consolidated = format!(
        r#"{{"zarr_consolidated_format":1,"metadata":{{{group},{}}}}}"#,
        nodes.join(",")
    );
    let documents = [
        (".zgroup", r#"{"zarr_format":2}"#.to_owned()),
        (".zmetadata", consolidated),
    ];
    let (opened, _) = open(
        &documents,
        &OpenOptions::new().consolidated(ConsolidatedUse::Require),
    );
    opened.expect("it opens");
}

/// Short labels of long texts: padded, each of them would have a MiB.
#[test]
fn labels_take_the_memory_of_their_text() {
    in_own_process!();
    let labels: Vec<String> = (0..256).map(|i| format!("{i}")).collect();
    let filter =
        json!({"id": "categorize", "labels": labels, "dtype": "<U262144", "astype": "<u2"});
    let document = json!({"zarr_format": 2, "shape": [4], "chunks": [1], "dtype": "<U262144", "order": "C",
        "compressor": null, "fill_value": "", "filters": [filter]});
    let store = MemoryStore::new();
    store.set(".zarray", document.to_string()).expect("a key");
    let (opened, taken) = with_peak(|| AnyArray::open(&store).map(drop));
    opened.expect("it opens");
    // A few elements, such as the fill value.
    assert!(taken <= 32 << 20, "{taken} bytes");
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn values_of_documents_are_bounded() {
        in_own_process!();
        for of in ["objects", "lists", "numbers", "members"] {
            let attributes = format!(r#"{{"a":{}}}"#, values(of));
            let v3 =
                format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{attributes}}}"#);
            let v2 = [
                (".zgroup", r#"{"zarr_format":2}"#.to_owned()),
                (".zattrs", attributes.clone()),
            ];
            let n5 = format!(r#"{{"n5":"4.0.0",{}"#, &attributes[1..]);
            for documents in [&[("zarr.json", v3)][..], &v2, &[("attributes.json", n5)]] {
                let (opened, taken) = open(documents, &OpenOptions::new());
                let error = opened.expect_err("too large");
                assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{of}: {error}");
                assert!(
                    error
                        .to_string()
                        .contains("would take more than 256 MiB of memory"),
                    "{of}: {error}"
                );
                assert!(taken <= MOST, "{of}, {}: {taken} bytes", documents[0].0);
            }
        }
        let entries: Vec<String> = (0..2_000_000)
            .map(|i| format!("\"{i:x}/.zgroup\":0"))
            .collect();
        let consolidated = format!(
            r#"{{"zarr_consolidated_format":1,"metadata":{{{}}}}}"#,
            entries.join(",")
        );
        let documents = [
            (".zgroup", r#"{"zarr_format":2}"#.to_owned()),
            (".zmetadata", consolidated),
        ];
        let (opened, taken) = open(
            &documents,
            &OpenOptions::new().consolidated(ConsolidatedUse::Require),
        );
        assert!(opened.is_err_and(|error| error.to_string().contains("256 MiB")));
        assert!(taken <= MOST, "{taken} bytes");
    }
}
