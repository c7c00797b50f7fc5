//! Steps that change the shape.

use futures_util::future::LocalBoxFuture;
use ndzarr::ndarray::ArrayD;
use ndzarr::{Group, asynchronous};
use serde_json::json;

use super::Checked;
use super::machine::{LogLine, Machine, failed};
use super::model::Region;
use super::together::{Together, call};
use crate::common::drive::Drive;

impl Machine {
    pub(super) fn append(&mut self, log: LogLine<'_>) -> Checked {
        let (axis, block) = self.block();
        let fails = self.fail_once();
        let mut array = self.handle().with_options(self.options());
        log(format!(
            "append {:?} along {axis}, a fault: {fails}",
            block.shape()
        ));
        self.tally.calls += 1;
        let result = array.append(axis, &block);
        self.heal();
        self.add_handle(array);
        self.append_returned(result, axis, block, fails, log)
    }

    pub(super) fn append_async(&mut self, log: LogLine<'_>) -> Checked {
        let (axis, block) = self.block();
        let fails = self.fail_once();
        let drive = Drive::any(&mut self.random);
        let mut array = asynchronous::Array::from(self.handle().with_options(self.options()));
        log(format!(
            "append_async {:?} along {axis}, {drive:?}, a fault: {fails}",
            block.shape()
        ));
        self.tally.calls += 1;
        let result = drive.run(array.append(axis, &block));
        self.heal();
        match result {
            Some(result) => {
                self.add_handle(array.into());
                self.append_returned(result, axis, block, fails, log)
            }
            None => {
                self.tally.dropped += 1;
                self.resize_again(fails)?;
                self.adopt_append(axis, &block, log)
            }
        }
    }

    /// After a dropped call whose store may have failed while the call removed what it had written:
    /// no caller saw the error, and a resize to the same shape tries again.
    fn resize_again(&mut self, fails: bool) -> Checked {
        if !fails || self.may_be_refused() {
            return Ok(());
        }
        self.change_document()?;
        let mut array = self.fresh()?;
        let shape = array.shape().to_vec();
        array.resize(&shape).map_err(failed)
    }

    /// Two appends at once on one thread.
    pub(super) fn join_appends(&mut self, log: LogLine<'_>) -> Checked {
        if !self.place.takes_turns() || self.may_be_refused() {
            return Ok(());
        }
        let (axis, one) = self.block();
        let mut shape = self.model.shape();
        shape[axis] = self.random.below(3) + 1;
        let two = self.elements(&shape);
        let together = Together::any(&mut self.random);
        log(format!(
            "append_async {:?} and {:?} along {axis}, {together:?}",
            one.shape(),
            two.shape()
        ));
        let first = self.append_call(axis, &one)?;
        let second = self.append_call(axis, &two)?;
        self.both(together, first, second)?;
        self.appended(axis, vec![one, two])
    }

    /// An append at the same time as another change of the document, or of older elements.
    pub(super) fn join_different(&mut self, log: LogLine<'_>) -> Checked {
        if !self.place.takes_turns() || self.may_be_refused() {
            return Ok(());
        }
        let (axis, block) = self.block();
        let together = Together::any(&mut self.random);
        let first = self.append_call(axis, &block)?;
        let mut array = self.fresh()?;
        let others: Vec<&str> = ["merge_attributes", "write_async", "append", "shard writer"]
            .into_iter()
            .filter(|&other| other != "shard writer" || self.spec.has_shards())
            .collect();
        let other = others[self.random.below(others.len() as u64) as usize];
        log(format!(
            "append_async {:?} along {axis} and {other}, {together:?}",
            block.shape()
        ));
        match other {
            "merge_attributes" => {
                let second = call(async move { array.merge_attributes(json!({"joined": 1})) });
                self.both(together, first, second)?;
                self.model.attributes.insert("joined".to_owned(), 1);
            }
            "write_async" => {
                // Not in the chunks that the append writes, whose shape this handle does not see.
                let mut region = self.random.region(&self.model.shape());
                let n = self.model.shape()[axis];
                let unit = self.spec.unit[axis];
                region[axis].end = region[axis].end.min((n - 1) / unit * unit);
                region[axis].start = region[axis].start.min(region[axis].end);
                let elements = self.elements_of(&region);
                self.model.set(&region, &elements);
                let second = call(async move {
                    asynchronous::Array::from(array.clone())
                        .write(&region, &elements)
                        .await
                });
                self.both(together, first, second)?;
            }
            "append" => {
                // It blocks the thread that the first one is polled on.
                let mut shape = self.model.shape();
                shape[axis] = 1;
                let two = self.elements(&shape);
                let elements = two.clone();
                let second = call(async move { array.append(axis, &elements) });
                self.both(together, first, second)?;
                return self.appended(axis, vec![block, two]);
            }
            _ => {
                let writer = array
                    .shard_writer(&vec![0; self.spec.unit.len()])
                    .map_err(failed)?;
                self.both(
                    together,
                    first,
                    call(asynchronous::ShardWriter::from(writer).finish()),
                )?;
            }
        }
        self.appended(axis, vec![block])
    }

    fn append_call(
        &mut self,
        axis: usize,
        block: &ArrayD<u32>,
    ) -> Checked<LocalBoxFuture<'static, ndzarr::Result<()>>> {
        let array = self.fresh()?;
        let block = block.clone();
        Ok(call(async move {
            asynchronous::Array::from(array).append(axis, &block).await
        }))
    }

    fn both(
        &mut self,
        together: Together,
        first: LocalBoxFuture<'static, ndzarr::Result<()>>,
        second: LocalBoxFuture<'static, ndzarr::Result<()>>,
    ) -> Checked {
        self.tally.calls += 2;
        let (first, second) = together.run(first, second)?;
        first.and(second).map_err(failed)
    }

    pub(super) fn resize(&mut self, log: LogLine<'_>) -> Checked {
        let shape = self.other_shape();
        let fails = self.fail_once();
        let mut array = self.handle().with_options(self.options());
        log(format!("resize {shape:?}, a fault: {fails}"));
        self.tally.calls += 1;
        let result = array.resize(&shape);
        self.heal();
        self.add_handle(array);
        self.resize_returned(result, &shape, fails, log)
    }

    pub(super) fn resize_async(&mut self, log: LogLine<'_>) -> Checked {
        let shape = self.other_shape();
        let fails = self.fail_once();
        let drive = Drive::any(&mut self.random);
        let mut array = asynchronous::Array::from(self.handle().with_options(self.options()));
        log(format!(
            "resize_async {shape:?}, {drive:?}, a fault: {fails}"
        ));
        self.tally.calls += 1;
        let result = drive.run(array.resize(&shape));
        self.heal();
        match result {
            Some(result) => {
                self.add_handle(array.into());
                self.resize_returned(result, &shape, fails, log)
            }
            None => {
                self.tally.dropped += 1;
                self.resize_again(fails)?;
                self.adopt_resize(&shape, log)
            }
        }
    }

    pub(super) fn join_resizes(&mut self, log: LogLine<'_>) -> Checked {
        if !self.place.takes_turns() || self.may_be_refused() {
            return Ok(());
        }
        let shapes = [self.other_shape(), self.other_shape()];
        let together = Together::any(&mut self.random);
        let first = self.handle();
        let second = self.fresh()?;
        log(format!(
            "resize_async {:?} and {:?}, {together:?}",
            shapes[0], shapes[1]
        ));
        let [one, two] = shapes.clone();
        let first = call(async move { asynchronous::Array::from(first).resize(&one).await });
        let second = call(async move { asynchronous::Array::from(second).resize(&two).await });
        self.both(together, first, second)?;
        let fresh = self.fresh()?;
        // The current shape came last.
        let order = if fresh.shape() == shapes[1] {
            [0, 1]
        } else {
            [1, 0]
        };
        order
            .into_iter()
            .for_each(|i| self.model.resize(&shapes[i]));
        self.add_fresh_handle();
        self.model.check(&self.found(&fresh)?)
    }

    pub(super) fn attributes(&mut self, log: LogLine<'_>) -> Checked {
        let name = format!("k{}", self.random.below(4));
        let value = self.random.below(100);
        log(format!("merge_attributes {name}: {value}"));
        self.tally.calls += 1;
        let mut array = self.handle().with_options(self.options());
        array
            .merge_attributes(json!({ &name: value }))
            .map_err(failed)?;
        self.model.attributes.insert(name, value);
        Ok(())
    }

    /// An axis, and elements to be appended along it.
    pub(super) fn block(&mut self) -> (usize, ArrayD<u32>) {
        let mut shape = self.model.shape();
        let axis = self.random.below(shape.len() as u64) as usize;
        let most = if self.spec.slow {
            2 * self.spec.unit[0]
        } else {
            5
        };
        shape[axis] = self.random.below(most) + 1;
        let elements = self.elements(&shape);
        (axis, elements)
    }

    fn other_shape(&mut self) -> Vec<u64> {
        let shape = self.model.shape();
        let unit = self.spec.unit.clone();
        shape
            .iter()
            .zip(unit)
            .map(|(&n, unit)| self.random.below(n + unit) + 1)
            .collect()
    }

    /// Adds a handle of the new shape. If chunks have varying lengths, they have moved by then,
    /// which older handles do not know.
    pub(super) fn add_handle(&mut self, array: ndzarr::Array<u32>) {
        if self.spec.is_rectilinear() {
            self.handles.clear();
        }
        if self.handles.len() > 3 {
            self.handles.remove(0);
        }
        self.handles.push(array);
    }

    /// Adds a handle after changes of shape that no handle here has seen.
    fn add_fresh_handle(&mut self) {
        if self.spec.is_rectilinear()
            && let Ok(fresh) = self.fresh()
        {
            self.add_handle(fresh);
        }
    }

    /// Changes the document after an abandoned call, which works under the document's lock: it has
    /// then ended. It may have changed the document and not its copies, like a killed process.
    fn change_document(&mut self) -> Checked {
        self.add_fresh_handle();
        let after = self.tally.calls;
        let mut array = self.fresh()?;
        let options = self.options();
        if !self.may_be_refused() {
            // In Zarr v2 the shape is in another document than the attributes.
            let mut shape = array.shape().to_vec();
            shape[0] = 0;
            let nothing = self.elements(&shape);
            array.append(0, &nothing).map_err(failed)?;
        }
        array
            .merge_attributes(json!({"after": after}))
            .map_err(failed)?;
        self.model.attributes.insert("after".to_owned(), after);
        if self.spec.consolidated && self.place.takes_turns() {
            let root = Group::open(&self.place.storage).map_err(failed)?;
            root.with_options(options).consolidate().map_err(failed)?;
        }
        Ok(())
    }

    /// Takes over blocks that were all appended.
    pub(super) fn appended(&mut self, axis: usize, blocks: Vec<ArrayD<u32>>) -> Checked {
        let fresh = self.fresh()?;
        let found = self.found(&fresh)?;
        self.model.appended(axis, blocks, found)
    }

    fn append_returned(
        &mut self,
        result: ndzarr::Result<()>,
        axis: usize,
        block: ArrayD<u32>,
        fails: bool,
        log: LogLine<'_>,
    ) -> Checked {
        match result {
            Ok(()) => self.appended(axis, vec![block]),
            Err(_) if fails || self.may_be_refused() => {
                self.tally.refused += 1;
                self.adopt_append(axis, &block, log)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// After an append that was abandoned or failed.
    fn adopt_append(&mut self, axis: usize, block: &ArrayD<u32>, log: LogLine<'_>) -> Checked {
        self.change_document()?;
        let fresh = self.fresh()?;
        let old = self.model.shape();
        if fresh.shape() == old {
            self.model.check(&self.found(&fresh)?)?;
            // Others append, and their elements must stay; or the range is examined.
            let mut shape = old;
            shape[axis] += block.shape()[axis] as u64;
            return match self.random.below(3) {
                0 => self.append(log),
                1 if !self.may_be_refused() => {
                    log(format!("resize {shape:?} to look at the place"));
                    let mut array = fresh.clone();
                    array.resize(&shape).map_err(failed)?;
                    self.model.resize(&shape);
                    self.add_handle(array);
                    Ok(())
                }
                _ => Ok(()),
            };
        }
        let mut shape = old.clone();
        shape[axis] += block.shape()[axis] as u64;
        if fresh.shape() != shape {
            return Err(format!(
                "the shape is {:?}, neither {old:?} nor {shape:?}",
                fresh.shape()
            ));
        }
        self.model.resize(&shape);
        let mut region: Region = shape.iter().map(|&n| 0..n).collect();
        region[axis].start = old[axis];
        if self.in_folder() {
            // A reader that sees the shape sees the elements.
            self.model.set(&region, block);
            return self.model.check(&self.found(&fresh)?);
        }
        self.adopt(&region, block, log)
    }

    fn resize_returned(
        &mut self,
        result: ndzarr::Result<()>,
        shape: &[u64],
        fails: bool,
        log: LogLine<'_>,
    ) -> Checked {
        match result {
            Ok(()) => {
                self.model.resize(shape);
                Ok(())
            }
            Err(_) if fails || self.may_be_refused() => {
                self.tally.refused += 1;
                self.adopt_resize(shape, log)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// After a resize that was abandoned or failed.
    fn adopt_resize(&mut self, shape: &[u64], log: LogLine<'_>) -> Checked {
        self.change_document()?;
        let fresh = self.fresh()?;
        if fresh.shape() == shape && fresh.shape() != self.model.shape() {
            self.model.resize(shape);
            return Ok(());
        }
        let all: Region = self.model.shape().iter().map(|&n| 0..n).collect();
        let cut = self.model.cut(shape);
        self.adopt(&all, &cut, log)
    }
}
