//! Writers of different attributes of one node.

use std::path::Path;

use ndzarr::{AnyNode, Group};
use serde_json::json;

use crate::common::foreign_writer::patiently;
use crate::common::layout::{Layout, open};
use crate::common::process::{Worker, answer_lines};
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture, until_lost};

const WRITERS: usize = 4;

/// Processes that set different attributes of one array and of one group.
pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let n = torture.times(50);
    for layout in Layout::FORMATS {
        let lost = set_together(layout, &torture.folder, "set-attributes", n)?;
        let name = format!("attributes lost, {WRITERS} processes, {layout}");
        table.row(
            name,
            lost,
            format_args!("of {}", 2 * WRITERS * n + 1),
            Expect::None,
        )?;
    }
    let (lost, tries) = until_lost(|| {
        set_together(
            Layout::V3,
            &torture.quick_folder,
            "set-attributes-unlocked",
            n,
        )
    })?;
    let of = format!("of {}", tries * (WRITERS * n + 1));
    table.row(
        "  by a writer of another make, without locks, v3",
        lost,
        of,
        Expect::Some,
    )
}

/// Lets workers set a number of attributes each; returns how many are missing afterwards.
fn set_together(layout: Layout, folder: &Path, worker: &str, n: usize) -> Outcome<u64> {
    let root = folder.join(format!("attributes-{layout}-{worker}"));
    if root.exists() {
        std::fs::remove_dir_all(&root)?;
    }
    layout
        .builder(&[4], &[4])
        .attributes(json!({"kept": true}))
        .create((root.as_path(), "a"))?;
    Group::create((root.as_path(), "g"), layout.format())?;
    let path = root.to_string_lossy();
    let mut workers = Vec::new();
    for index in 0..WRITERS {
        workers.push(Worker::start(&[worker, &path, &index.to_string()])?);
    }
    for worker in &mut workers {
        worker.receive()?;
    }
    for worker in &mut workers {
        worker.send(&n.to_string())?;
    }
    for worker in &mut workers {
        worker.receive()?;
    }
    workers.into_iter().try_for_each(Worker::end)?;
    let mut lost = 0;
    let array = open(&root)?;
    let group = Group::open((root.as_path(), "g"))?;
    let both = worker == "set-attributes";
    for writer in 0..WRITERS {
        for i in 0..n {
            let name = format!("{writer}-{i}");
            lost += u64::from(array.attributes().get(&name) != Some(&json!(i)));
            lost += u64::from(both && group.attributes().get(&name) != Some(&json!(i)));
        }
    }
    Ok(lost + u64::from(array.attributes().get("kept") != Some(&json!(true))))
}

/// A worker that sets its own attributes.
pub(crate) fn set(root: &Path, writer: usize) -> Outcome {
    let mut array = open(root)?;
    let AnyNode::Group(mut group) = AnyNode::open((root, "g"))? else {
        return Err("the group is not a group".into());
    };
    crate::common::process::send_line("ready")?;
    answer_lines(|line| {
        for i in 0..line.parse::<usize>()? {
            let name = format!("{writer}-{i}");
            array.merge_attributes(json!({ &name: i }))?;
            group.merge_attributes(json!({ &name: i }))?;
        }
        Ok("done".to_owned())
    })
}

/// A worker that works like many programs: it reads the document, and renames a new one over it.
pub(crate) fn set_unlocked(root: &Path, writer: usize) -> Outcome {
    let document = root.join("a/zarr.json");
    let temporary = root.join(format!("a/zarr.json.{writer}.partial"));
    crate::common::process::send_line("ready")?;
    answer_lines(|line| {
        for i in 0..line.parse::<usize>()? {
            let text = patiently(|| std::fs::read(&document))?;
            let mut value: serde_json::Value = serde_json::from_slice(&text)?;
            value["attributes"][format!("{writer}-{i}")] = json!(i);
            std::fs::write(&temporary, serde_json::to_vec(&value)?)?;
            patiently(|| std::fs::rename(&temporary, &document))?;
        }
        Ok("done".to_owned())
    })
}
