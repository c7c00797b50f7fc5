//! Listing groups of arrays.

use bench_protocol::{Measure, Operation, Request};
use serde_json::Value;

pub(crate) fn run(request: &Request) {
    let read = |path: std::path::PathBuf| -> Value {
        serde_json::from_slice(&std::fs::read(path).expect("a document")).expect("JSON")
    };
    let measure = Measure::start();
    let mut found = Vec::new();
    let root = read(request.path.join("zarr.json"));
    if request.operation == Operation::ListConsolidated {
        let entries = root["consolidated_metadata"]["metadata"]
            .as_object()
            .expect("entries");
        for (path, node) in entries
            .iter()
            .filter(|(_, node)| node["node_type"] == "array")
        {
            found.push((path.clone(), node["shape"].clone()));
        }
    } else {
        for group in std::fs::read_dir(&request.path)
            .expect("a folder")
            .flatten()
            .filter(is_folder)
        {
            for array in std::fs::read_dir(group.path())
                .expect("a folder")
                .flatten()
                .filter(is_folder)
            {
                let path = format!(
                    "{}/{}",
                    group.file_name().display(),
                    array.file_name().display()
                );
                found.push((path, read(array.path().join("zarr.json"))["shape"].take()));
            }
        }
    }
    let report = measure.stop();
    let mut lines: Vec<String> = found
        .into_iter()
        .map(|(path, shape)| {
            let shape: Vec<u64> = serde_json::from_value(shape).expect("a shape");
            format!("{path} {shape:?}")
        })
        .collect();
    lines.sort();
    report.print_for_text(&lines.join("\n"));
}

fn is_folder(entry: &std::fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}
