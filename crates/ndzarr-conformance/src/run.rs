//! Runs one command of the tool.

use std::io::Write;

use ndzarr::{Group, Storage};

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;
use crate::{block, copy, dataset, elements, image, info, read, select, write};

/// Runs one command and prints its output to `out`.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(path) = &arguments.array_path {
        return elements::print(path, out);
    }
    match &arguments.command {
        Some(Command::Info { node }) => info::print(node, out),
        Some(Command::List {
            store,
            format,
            consolidated,
        }) => info::list(store, format.map(Into::into), (*consolidated).into(), out),
        Some(Command::Read(read)) => read::run(read, out),
        Some(Command::Write(write)) => write::run(write),
        Some(Command::Convert(arguments)) => copy::run(arguments, out),
        Some(Command::Consolidate { store, node }) => {
            Ok(Group::open((Storage::folder(store), node))?.consolidate()?)
        }
        Some(Command::Select { store, node }) => select::run(store, node, out),
        Some(Command::Dataset {
            store,
            create: None,
        }) => dataset::read(store, out),
        Some(Command::Dataset {
            store,
            create: Some(format),
        }) => dataset::write(store, (*format).into()),
        Some(Command::Image {
            paths,
            validate: true,
            ..
        }) => image::validate(paths, out),
        Some(Command::Image { paths, create, .. }) => match (&paths[..], create) {
            ([store], None) => image::describe(store, out),
            ([store], Some(format)) => image::create(store, (*format).into()),
            _ => Err(Failure::new("one directory at a time")),
        },
        Some(Command::Block(arguments)) => block::run(arguments, out),
        Some(Command::Batch) => Err(Failure::new("a batch cannot run a batch")),
        // Clap asks for one of the two.
        None => Err(Failure::new("nothing to do")),
    }
}
