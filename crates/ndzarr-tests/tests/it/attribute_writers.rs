//! Processes that set different attributes of one node: all are kept.

use std::env;
use std::error::Error;
use std::process::{Command, Stdio};

use ndzarr::{Array, Format, Group};
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

const ROLE: &str = "NDZARR_ATTRIBUTE_WRITER";
const UPDATES: usize = 25;
const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::DraftA,
    Format::DraftB,
    Format::N5,
];

fn write(role: &str) -> Outcome {
    let (name, root) = role.split_once(' ').ok_or("the role has two words")?;
    let mut array = Array::<u8>::open((root, "a"))?;
    let mut group = Group::open((root, "g"))?;
    for i in 0..UPDATES {
        array.merge_attributes(json!({ format!("{name} {i}"): i }))?;
        group.merge_attributes(json!({ format!("{name} {i}"): i }))?;
    }
    Ok(())
}

/// Starts itself as the other processes.
#[test]
fn processes_keep_each_others_attributes() -> Outcome {
    if let Ok(role) = env::var(ROLE) {
        return write(&role);
    }
    for format in FORMATS {
        let folder = tempfile::tempdir()?;
        let root = folder.path().to_str().ok_or("a path in UTF-8")?;
        let builder = Array::<u8>::builder([4])
            .format(format)
            .attributes(json!({"kept": [1, 2]}));
        builder.create((root, "a"))?;
        Group::create((root, "g"), format)?;
        let start = |name: &str| {
            let mut command = Command::new(env::current_exe()?);
            command.args([
                "--exact",
                "attribute_writers::processes_keep_each_others_attributes",
            ]);
            command
                .env(ROLE, format!("{name} {root}"))
                .stdout(Stdio::null())
                .spawn()
        };
        for mut child in [start("one")?, start("two")?, start("three")?] {
            assert!(child.wait()?.success());
        }
        let array = Array::<u8>::open((root, "a"))?;
        let group = Group::open((root, "g"))?;
        assert_eq!(array.attributes()["kept"], json!([1, 2]), "{format}");
        for name in ["one", "two", "three"] {
            for i in 0..UPDATES {
                assert_eq!(array.attributes()[&format!("{name} {i}")], i, "{format}");
                assert_eq!(group.attributes()[&format!("{name} {i}")], i, "{format}");
            }
        }
    }
    Ok(())
}
