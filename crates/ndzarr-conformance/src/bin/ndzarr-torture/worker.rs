//! The workers of this program, by their arguments.

use std::path::Path;

use crate::common::layout::{Layout, policy};
use crate::common::torture::Outcome;
use crate::concurrent::{appends, attributes, create, dask, hosts, one_unit, torn};
use crate::failing::soak;
use crate::interrupted::{kills, power};
use crate::memory;

/// Runs this program as a worker.
pub(crate) fn work(words: &[String]) -> Outcome {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["count", root, index, name] => {
            one_unit::count(Path::new(root), index.parse()?, policy(name))
        }
        ["update", root, index, name] => {
            one_unit::update(Path::new(root), index.parse()?, policy(name))
        }
        ["create", root, layout, index] => {
            create::create(Path::new(root), Layout::parse(layout)?, index.parse()?)
        }
        ["create-looking", root, _, index] => {
            create::create_looking(Path::new(root), index.parse()?)
        }
        ["set-attributes", root, index] => attributes::set(Path::new(root), index.parse()?),
        ["overwrite-until-killed", kind, root, base] => {
            kills::write_until_killed(kills::Kind::parse(kind)?, Path::new(root), base.parse()?)
        }
        ["replace", root, how] => torn::replace(Path::new(root), torn::Replace::parse(how)),
        ["blocks", root, name, seed] => dask::work(Path::new(root), policy(name), seed.parse()?),
        ["memory", what, layout, root, scale] => memory::work(
            what,
            Layout::parse(layout)?,
            Path::new(root),
            memory::Scale::parse(scale),
        ),
        ["on-host", root, work, writer, n, lease] => {
            let work = hosts::Work::parse(work)?;
            hosts::work(
                Path::new(root),
                work,
                writer.parse()?,
                n.parse()?,
                lease.parse()?,
            )
        }
        ["soak", dialect, endpoint, role, index, first] => soak::worker(
            dialect,
            endpoint,
            soak::Role::parse(role, index.parse()?)?,
            first.parse()?,
        ),
        #[cfg(target_os = "linux")]
        ["beside-java", what, role, root] => {
            crate::concurrent::java::work(what, role, Path::new(root))
        }
        ["write-until-power-cut", root, level, n_writes, device] => power::write_all(
            Path::new(root),
            power::level(level)?,
            n_writes.parse()?,
            device,
        ),
        ["check-after-power-cut", root, acknowledged] => {
            power::check(Path::new(root), acknowledged.parse()?)
        }
        ["append", root, index] => appends::append(Path::new(root), index.parse()?),
        ["set-attributes-unlocked", root, index] => {
            attributes::set_unlocked(Path::new(root), index.parse()?)
        }
        _ => Err(format!("no worker does {words:?}").into()),
    }
}
