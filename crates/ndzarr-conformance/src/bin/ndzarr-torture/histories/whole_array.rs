//! Steps about the array as a whole, its files and its shards.

use std::path::{Path, PathBuf};

use ndzarr::{Array, CopyOptions, Format, Group, MemoryStore, asynchronous, copy};

use super::Checked;
use super::machine::{LogLine, Machine, failed};
use super::model::{Model, Region};
use super::setting::Spec;
use crate::common::drive::Drive;

impl Machine {
    /// Opens one more handle.
    pub(super) fn open(&mut self, log: LogLine<'_>) -> Checked {
        log("open another handle".to_owned());
        let array = self.fresh()?;
        self.add_handle(array);
        Ok(())
    }

    /// Makes a chunk a dangling link, which must not count as absent or be replaced.
    pub(super) fn link(&mut self, log: LogLine<'_>) -> Checked {
        let Some(root) = self.place.root.clone() else {
            return Ok(());
        };
        let files = chunk_files(&root).map_err(|error| error.to_string())?;
        if files.is_empty() || !cfg!(unix) {
            return Ok(());
        }
        let file = &files[self.random.below(files.len() as u64) as usize];
        log(format!("make {} a link to nowhere", file.display()));
        let aside = root.join("aside");
        let result = (|| {
            std::fs::rename(file, &aside)?;
            #[cfg(unix)]
            std::os::unix::fs::symlink("../not/fetched", file)?;
            Ok::<_, std::io::Error>(())
        })();
        result.map_err(|error| error.to_string())?;
        let array = self.fresh()?;
        if let Ok(found) = array.read(..) {
            // A call that failed or was abandoned may have left a chunk outside the shape, which is
            // never read.
            let is_read = std::fs::remove_file(file).is_ok()
                && self.model.check(&self.found(&array)?).is_err();
            if !is_read && self.tally.dropped + self.tally.refused > 0 {
                return std::fs::rename(&aside, file).map_err(|error| error.to_string());
            }
            return Err(format!(
                "a chunk that is a link to nowhere is read as {:?}",
                found.iter().next()
            ));
        }
        // The link stays if only a part of the chunk is new.
        let region: Region = self
            .model
            .shape()
            .iter()
            .map(|&n| n / 2..n / 2 + 1)
            .collect();
        let elements = self.elements_of(&region);
        let is_whole =
            self.spec.unit.iter().all(|&n| n == 1) || self.model.shape().iter().all(|&n| n == 1);
        let written = !is_whole && array.write(&region, &elements).is_ok();
        let is_link = std::fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink());
        if !is_link && self.spec.regular_unit().is_some() && !self.covers_a_chunk(&region) {
            return Err("a partial write replaced a link to nowhere".to_owned());
        }
        std::fs::rename(&aside, file).map_err(|error| error.to_string())?;
        if written && is_link {
            self.model.set(&region, &elements);
        } else if !is_link {
            // The chunk was replaced as a whole, and is restored.
            return Ok(());
        }
        self.tally.refused += 1;
        Ok(())
    }

    /// True if a region is all that a chunk has inside the array.
    fn covers_a_chunk(&self, region: &Region) -> bool {
        let inside = self
            .model
            .shape()
            .into_iter()
            .zip(&self.spec.unit)
            .zip(region);
        inside
            .map(|((n, unit), range)| (n - range.start / unit * unit).min(*unit))
            .all(|n| n == 1)
    }

    /// Copies the array to another store, in any format, where it must have the same elements.
    pub(super) fn convert(&mut self, log: LogLine<'_>) -> Checked {
        let formats = [
            Format::Zarr2,
            Format::Zarr3,
            Format::DraftA,
            Format::DraftB,
            Format::N5,
        ];
        let format = formats[self.random.below(5) as usize];
        let options = CopyOptions::new()
            .format(format)
            .record_losses()
            .run(self.options());
        let target = MemoryStore::new();
        log(format!("convert to {format}"));
        self.tally.calls += 1;
        match copy((&self.place.storage, "a"), (&target, "b"), &options) {
            Ok(_) => {
                let array = Array::<u32>::open((&target, "b")).map_err(failed)?;
                self.model
                    .check(&self.found(&array)?)
                    .map_err(|why| format!("what was made: {why}"))
            }
            Err(_) if self.may_be_refused() => {
                self.tally.refused += 1;
                Ok(())
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Erases the array, and makes another one at its path.
    pub(super) fn again(&mut self, log: LogLine<'_>) -> Checked {
        let old = self.fresh()?;
        let is_open =
            self.spec.has_shards() && self.place.takes_turns() && self.random.below(2) == 0;
        let overwrites = self.random.below(2) == 0;
        let writer = is_open.then(|| self.begin_shard(&old)).transpose()?;
        let format = self.spec.format;
        self.spec = Spec {
            format,
            consolidated: self.spec.consolidated,
            ..self.other_spec()
        };
        let how = if overwrites {
            "overwrite"
        } else {
            "erase and create"
        };
        log(format!(
            "{how}, a writer is open: {is_open}: {}",
            self.describe()
        ));
        self.tally.calls += 1;
        let root = Group::open(&self.place.storage)
            .map_err(failed)?
            .with_options(self.options());
        let builder = if overwrites {
            self.spec.builder().overwrite()
        } else {
            root.erase("a").map_err(failed)?;
            self.spec.builder()
        };
        let array = root.create_array("a", builder).map_err(failed)?;
        // Its content belongs to an array that is gone. Without its own temporary it cannot know
        // this.
        if self.in_folder() && writer.is_some_and(|writer| writer.finish().is_ok()) {
            return Err("a writer of an erased array has stored its shard".to_owned());
        }
        self.handles = vec![array.with_options(self.options())];
        self.model = Model::new(&self.spec.shape, self.spec.fill, self.spec.regular_unit());
        Ok(())
    }

    fn other_spec(&mut self) -> Spec {
        loop {
            let spec = Spec::any(&mut self.random);
            if spec.format == self.spec.format {
                return spec;
            }
        }
    }

    fn begin_shard(&mut self, array: &Array<u32>) -> Checked<ndzarr::ShardWriter<u32>> {
        let shard: Vec<u64> = self.spec.unit.iter().map(|_| 0).collect();
        let writer = array.shard_writer(&shard).map_err(failed)?;
        let region = self.inner_region(&shard);
        let elements = self.elements_of(&region);
        writer.write_chunk(&shard, &elements).map_err(failed)?;
        Ok(writer)
    }

    /// The part of an inner chunk inside the array.
    fn inner_region(&self, index: &[u64]) -> Region {
        let shape = self.model.shape();
        let axes = index.iter().zip(&self.spec.inner).zip(shape);
        axes.map(|((&i, &n), end)| i * n..((i + 1) * n).min(end))
            .collect()
    }

    pub(super) fn shard_writer(&mut self, log: LogLine<'_>) -> Checked {
        if !self.spec.has_shards() || !self.place.takes_turns() {
            return Ok(());
        }
        let array = self.fresh()?;
        let shape = self.model.shape();
        let unit = self.spec.unit.clone();
        let inner = self.spec.inner.clone();
        let shard: Vec<u64> = shape
            .iter()
            .zip(&unit)
            .map(|(&n, &unit)| self.random.below(n.div_ceil(unit)))
            .collect();
        let writer = array.shard_writer(&shard).map_err(failed)?;
        let mut model = self.model.elements.clone();
        let n = self.random.below(6);
        for _ in 0..n {
            let index: Vec<u64> = (0..shape.len())
                .map(|axis| {
                    let first = shard[axis] * unit[axis] / inner[axis];
                    let inside =
                        (shape[axis].min((shard[axis] + 1) * unit[axis])).div_ceil(inner[axis]);
                    first + self.random.below(inside - first)
                })
                .collect();
            let region = self.inner_region(&index);
            let elements = self.elements_of(&region);
            writer.write_chunk(&index, &elements).map_err(failed)?;
            std::mem::swap(&mut self.model.elements, &mut model);
            self.model.set(&region, &elements);
            std::mem::swap(&mut self.model.elements, &mut model);
        }
        self.tally.calls += n + 1;
        let how = self.random.below(4);
        let drive = Drive::any(&mut self.random);
        log(format!(
            "shard {shard:?} of {n} inner chunks: {}",
            ["finish", "drop"]
                .get(how as usize)
                .map_or_else(|| format!("finish_async {drive:?}"), |&how| how.to_owned())
        ));
        match how {
            0 => writer.finish().map_err(failed)?,
            1 => {
                drop(writer);
                return Ok(());
            }
            _ => match drive.run(asynchronous::ShardWriter::from(writer).finish()) {
                Some(result) => result.map_err(failed)?,
                None => {
                    self.tally.dropped += 1;
                    let all: Region = shape.iter().map(|&n| 0..n).collect();
                    return self.adopt(&all, &model, log);
                }
            },
        }
        self.model.elements = model;
        Ok(())
    }
}

/// All files below a folder.
pub(super) fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in crate::common::layout::entries(folder)? {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Files that are not documents.
pub(super) fn chunk_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in crate::common::layout::entries(folder)? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name == "meta" {
            // Documents of the draft.
        } else if path.is_dir() {
            found.extend(chunk_files(&path)?);
        } else if !name.starts_with('.') && !name.ends_with(".json") && !name.ends_with("__lock") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
