//! The machine: an array, its model, and the choice of the next step.

use std::path::Path;

use ndzarr::ndarray::{ArrayD, IxDyn};
use ndzarr::{Any, Array, Error, Group, RunOptions};
use ndzarr_testkit::Random;
use serde_json::json;

use super::Checked;
use super::model::{Model, Region};
use super::setting::{Kind, Place, Spec};

/// The numbers of calls, and of those that were dropped or refused.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) calls: u64,
    pub(super) dropped: u64,
    pub(super) refused: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.dropped += other.dropped;
        self.refused += other.refused;
    }
}

/// An array `a` in a store, and its expected content.
pub(super) struct Machine {
    pub(super) place: Place,
    pub(super) spec: Spec,
    pub(super) model: Model,
    /// Some of which were opened before the array got its shape.
    pub(super) handles: Vec<Array<u32>>,
    pub(super) random: Random,
    pub(super) tally: Tally,
    /// Makes each element written unique.
    written: u32,
}

/// Logs what a step does, before it does it.
pub(super) type LogLine<'s> = &'s mut dyn FnMut(String);

/// A step and how often it is taken.
type Step = (u64, fn(&mut Machine, LogLine<'_>) -> Checked);

const STEPS: [Step; 26] = [
    (4, Machine::read),
    (10, Machine::write),
    (3, Machine::fill),
    (14, Machine::write_async),
    (4, Machine::join_writes),
    (8, Machine::append),
    (8, Machine::append_async),
    (3, Machine::join_appends),
    (6, Machine::resize),
    (6, Machine::resize_async),
    (2, Machine::join_resizes),
    (3, Machine::attributes),
    (4, Machine::open),
    (4, Machine::write_in_tasks),
    (3, Machine::append_in_tasks),
    (3, Machine::link),
    (2, Machine::convert),
    (2, Machine::again),
    (6, Machine::shard_writer),
    (3, Machine::join_different),
    (2, Machine::read_virtual),
    (3, Machine::wait_for_lock),
    (1, Machine::linked_folders),
    (2, Machine::convert_onto_itself),
    (2, Machine::erase_by_mistake),
    (1, Machine::erase_a_group),
];

impl Machine {
    pub(super) fn begin(random: &mut Random, folder: &Path) -> Checked<Self> {
        let place = Place::any(random, folder);
        let spec = Spec::any(random);
        let array = spec.create(&place, place.options(random))?;
        let model = Model::new(&spec.shape, spec.fill, spec.regular_unit());
        let random = random.clone();
        let tally = Tally::default();
        Ok(Self {
            place,
            spec,
            model,
            handles: vec![array],
            random,
            tally,
            written: 0,
        })
    }

    pub(super) fn describe(&self) -> String {
        let Spec {
            layout,
            format,
            shape,
            unit,
            inner,
            fill,
            slow,
            consolidated,
        } = &self.spec;
        format!(
            "{:?}: {format} {layout} of {shape:?} in {unit:?} of {inner:?}, fill value {fill}{}{}",
            self.place.kind,
            if *slow { ", gzip" } else { "" },
            if *consolidated { ", consolidated" } else { "" },
        )
    }

    /// Takes a step and compares everything.
    pub(super) fn step(&mut self, log: LogLine<'_>) -> Checked {
        let all = STEPS.iter().map(|(weight, _)| weight).sum();
        let mut at = self.random.below(all);
        for (weight, step) in STEPS {
            if at < weight {
                step(self, log)?;
                return self.check();
            }
            at -= weight;
        }
        Ok(())
    }

    /// Elements, shape and attributes as a new handle sees them.
    pub(super) fn check(&mut self) -> Checked {
        let array = self.fresh()?;
        self.model.check(&self.found(&array)?)?;
        let attributes =
            serde_json::to_value(array.attributes()).map_err(|error| error.to_string())?;
        if attributes != json!(self.model.attributes) {
            return Err(format!(
                "the attributes are {attributes}, not {:?}",
                self.model.attributes
            ));
        }
        if self.spec.consolidated && self.place.takes_turns() {
            let root = Group::open(&self.place.storage).map_err(|error| error.to_string())?;
            let copy = root
                .array::<Any>("a")
                .map_err(|error| format!("through the group: {error}"))?;
            if copy.shape() != array.shape() || copy.attributes() != array.attributes() {
                return Err(format!(
                    "its copy is old: {:?}, {:?}",
                    copy.shape(),
                    copy.attributes()
                ));
            }
        }
        self.no_leftovers()
    }

    /// No lock file stays.
    fn no_leftovers(&self) -> Checked {
        let Some(root) = &self.place.root else {
            return Ok(());
        };
        let left = crate::common::layout::leftovers(root).map_err(|error| error.to_string())?;
        // An abandoned job may be about to remove its own.
        if left.is_empty() || self.tally.dropped > 0 {
            Ok(())
        } else {
            Err(format!("{left:?} is left"))
        }
    }

    /// A new handle of the array, opened by its path or through the storage.
    pub(super) fn fresh(&mut self) -> Checked<Array<u32>> {
        let path = self.place.root.as_ref().map(|root| root.join("a"));
        let array = match path {
            Some(path) if self.random.below(4) == 0 => Array::open(path),
            _ => Array::open((&self.place.storage, "a")),
        };
        let options = self.place.options(&mut self.random);
        array
            .map(|array| array.with_options(options))
            .map_err(|error| format!("cannot be opened: {error}"))
    }

    pub(super) fn options(&mut self) -> RunOptions {
        self.place.options(&mut self.random)
    }

    pub(super) fn found(&self, array: &Array<u32>) -> Checked<ArrayD<u32>> {
        array
            .read(..)
            .map_err(|error| format!("cannot be read: {error}"))
    }

    /// A handle, sometimes outdated.
    pub(super) fn handle(&mut self) -> Array<u32> {
        let at = self.random.below(self.handles.len() as u64) as usize;
        self.handles[at].clone()
    }

    /// A handle that can write to the region without undoing what it does not see, and a region.
    pub(super) fn handle_and_region(&mut self) -> Checked<(Array<u32>, Region)> {
        let handle = self.handle();
        let seen = handle.shape().to_vec();
        let shape = self.model.shape();
        let both: Vec<u64> = seen
            .iter()
            .zip(&shape)
            .map(|(&seen, &n)| seen.min(n))
            .collect();
        let region = self.random.region(&both);
        if self.model.hides_some(&region, &seen) {
            let fresh = self.fresh()?;
            return Ok((fresh, self.random.region(&shape)));
        }
        Ok((handle, region))
    }

    /// Elements that were never written before.
    pub(super) fn elements(&mut self, shape: &[u64]) -> ArrayD<u32> {
        let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        let fill = self.spec.fill;
        ArrayD::from_shape_simple_fn(IxDyn(&shape), || {
            self.written += 1;
            // An odd factor: other numbers give other elements, and none that compress.
            let element = self.written.wrapping_mul(2_654_435_761);
            if element == fill { u32::MAX } else { element }
        })
    }

    pub(super) fn elements_of(&mut self, region: &Region) -> ArrayD<u32> {
        let shape: Vec<u64> = region.iter().map(|range| range.end - range.start).collect();
        self.elements(&shape)
    }

    /// After a call on `region` that was abandoned or failed: each chunk is old or new, and nothing
    /// changes from now on.
    ///
    /// A chunk that was being published when the call was abandoned may still appear, under its
    /// lock. So each one is written to before it is examined, or all of it afterwards: acknowledged
    /// elements must not be lost.
    pub(super) fn adopt(
        &mut self,
        region: &Region,
        new: &ArrayD<u32>,
        log: LogLine<'_>,
    ) -> Checked {
        let fresh = self.fresh()?;
        let mut new = self.model.with(region, new);
        let writes_all = self.random.below(2) == 0 || self.spec.is_rectilinear();
        if !writes_all {
            for at in self.model.one_of_each_unit(&new) {
                let one = at.iter().map(|&at| at..at + 1).collect();
                let element = self.elements(&[1]);
                log(format!("write to {at:?}"));
                let element = element
                    .into_shape_with_order(vec![1; at.len()])
                    .map_err(|error| error.to_string())?;
                fresh.write(&one, &element).map_err(failed)?;
                self.model.set(&one, &element);
                let at: Vec<usize> = at.iter().map(|&at| at as usize).collect();
                new[IxDyn(&at)] = self.model.elements[IxDyn(&at)];
            }
        }
        let found = self.found(&fresh)?;
        self.model.adopt(found, &new)?;
        if writes_all {
            let elements = self.elements_of(region);
            log(format!("write of {region:?} over it"));
            fresh.write(region, &elements).map_err(failed)?;
            self.model.set(region, &elements);
        }
        Ok(())
    }

    /// True if calls may be refused, as by a grid of chunks of varying lengths.
    pub(super) fn may_be_refused(&self) -> bool {
        self.spec.is_rectilinear()
    }

    pub(super) fn in_folder(&self) -> bool {
        self.place.kind == Kind::Folder
    }
}

pub(super) fn failed(error: Error) -> String {
    format!("the call failed: {error}")
}
