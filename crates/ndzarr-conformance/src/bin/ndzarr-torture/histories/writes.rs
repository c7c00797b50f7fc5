//! Steps that read and write elements.

use futures_util::future::join;
use ndzarr::asynchronous;
use ndzarr::store::StoreError;
use ndzarr_testkit::{Call, block_on};

use super::Checked;
use super::machine::{LogLine, Machine, failed};
use super::model::{Region, differs};
use super::setting::Faults;
use crate::common::drive::Drive;

impl Machine {
    pub(super) fn read(&mut self, log: LogLine<'_>) -> Checked {
        let array = self.fresh()?;
        let region = self.random.region(&self.model.shape());
        let drive = Drive::any(&mut self.random);
        let expected = self.model.get(&region);
        log(format!("read {region:?}, and by futures: {drive:?}"));
        self.tally.calls += 2;
        differs(&array.read(&region).map_err(failed)?, &expected)?;
        match drive.run(asynchronous::Array::from(array.clone()).read(&region)) {
            Some(found) => differs(&found.map_err(failed)?, &expected),
            None => {
                self.tally.dropped += 1;
                Ok(())
            }
        }
    }

    pub(super) fn write(&mut self, log: LogLine<'_>) -> Checked {
        let (array, region) = self.handle_and_region()?;
        let elements = self.elements_of(&region);
        let fails = self.fail_once();
        log(format!(
            "write {region:?} by a handle of {:?}, a fault: {fails}",
            array.shape()
        ));
        self.tally.calls += 1;
        let result = array.with_options(self.options()).write(&region, &elements);
        self.write_returned(result, &region, &elements, fails, log)
    }

    pub(super) fn fill(&mut self, log: LogLine<'_>) -> Checked {
        let (array, region) = self.handle_and_region()?;
        let value = if self.random.below(2) == 0 {
            self.spec.fill
        } else {
            self.elements(&[1])[[0]]
        };
        log(format!(
            "fill {region:?} with {value} by a handle of {:?}",
            array.shape()
        ));
        self.tally.calls += 1;
        array
            .with_options(self.options())
            .fill(&region, value)
            .map_err(failed)?;
        let elements = self.model.get(&region).mapv(|_| value);
        self.model.set(&region, &elements);
        Ok(())
    }

    pub(super) fn write_async(&mut self, log: LogLine<'_>) -> Checked {
        let (array, region) = self.handle_and_region()?;
        let elements = self.elements_of(&region);
        let drive = Drive::any(&mut self.random);
        let fails = self.fail_once();
        log(format!(
            "write_async {region:?} by a handle of {:?}, {drive:?}, a fault: {fails}",
            array.shape()
        ));
        self.tally.calls += 1;
        let array = asynchronous::Array::from(array.with_options(self.options()));
        match drive.run(array.write(&region, &elements)) {
            Some(result) => self.write_returned(result, &region, &elements, fails, log),
            None => {
                self.heal();
                self.tally.dropped += 1;
                self.adopt(&region, &elements, log)
            }
        }
    }

    /// Joins two writes on one thread.
    pub(super) fn join_writes(&mut self, log: LogLine<'_>) -> Checked {
        if !self.place.takes_turns() {
            return Ok(());
        }
        let array = self.fresh()?;
        let shape = self.model.shape();
        let regions = [self.random.region(&shape), self.random.region(&shape)];
        let elements = [self.elements_of(&regions[0]), self.elements_of(&regions[1])];
        log(format!(
            "join write_async {:?} and {:?}",
            regions[0], regions[1]
        ));
        self.tally.calls += 2;
        let array = asynchronous::Array::from(array);
        let (first, second) = block_on(join(
            array.write(&regions[0], &elements[0]),
            array.write(&regions[1], &elements[1]),
        ));
        first.and(second).map_err(failed)?;
        // Where they overlap, either may be last.
        let found = self.found(&array.into())?;
        self.model.set(&regions[0], &elements[0]);
        self.model.set(&regions[1], &elements[1]);
        let second_last = self.model.elements.clone();
        self.model.set(&regions[0], &elements[0]);
        self.model.adopt(found, &second_last)
    }

    /// Sometimes sets a fault. Returns true if it did.
    pub(super) fn fail_once(&mut self) -> bool {
        if self.random.below(6) > 0 {
            return false;
        }
        let call = [
            Call::Put,
            Call::Write,
            Call::Publish,
            Call::Lock,
            Call::Fetch,
        ][self.random.below(5) as usize];
        let after = self.random.below(3);
        let what = "it is broken".to_owned();
        let error = StoreError::Other {
            action: "reach",
            key: "the disk".to_owned(),
            what,
        };
        match &self.place.faults {
            Some(Faults::Folder(store)) => store.fail_nth(call, after, error),
            Some(Faults::Memory(store)) => store.fail_nth(call, after, error),
            None => return false,
        }
        true
    }

    pub(super) fn heal(&self) {
        match &self.place.faults {
            Some(Faults::Folder(store)) => store.heal(),
            Some(Faults::Memory(store)) => store.heal(),
            None => {}
        }
    }

    fn write_returned(
        &mut self,
        result: ndzarr::Result<()>,
        region: &Region,
        elements: &ndzarr::ndarray::ArrayD<u32>,
        fails: bool,
        log: LogLine<'_>,
    ) -> Checked {
        self.heal();
        match result {
            Ok(()) => {
                self.model.set(region, elements);
                Ok(())
            }
            Err(_) if fails => {
                self.tally.refused += 1;
                self.adopt(region, elements, log)
            }
            Err(error) => Err(failed(error)),
        }
    }
}
