//! Stored units of an array: lists, copies and erasures of them.

use std::thread;

use ndarray::{Array1, ArrayD};
use ndzarr::store::{Key, Precondition};
use ndzarr::{
    AnyArray, Array, ArrayBuilder, Cancel, ErrorKind, Format, FsStore, MemoryStore, N5Axes,
    OpenOptions, Result, RunOptions, Storage, Store, asynchronous, codec,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, PlainStore, block_on};

use crate::chunks::FORMATS;

/// Arrays of every format, with and without shards.
fn kinds() -> Vec<(&'static str, ArrayBuilder<u16>)> {
    let plain = |format| Array::<u16>::builder([9, 7]).chunks([2, 3]).format(format);
    let little = serde_json::json!({"name": "bytes", "configuration": {"endian": "little"}});
    let shards = |chunks: [u64; 2], codec: serde_json::Value| {
        serde_json::json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": chunks, "codecs": [codec], "index_codecs": [little, {"name": "crc32c"}]}})
    };
    let nested = serde_json::json!([shards([2, 3], shards([1, 3], little.clone()))]);
    vec![
        (
            "v2",
            plain(Format::Zarr2)
                .order(ndzarr::Order::F)
                .codecs([codec::gzip(1)]),
        ),
        ("v2 folders", plain(Format::Zarr2).separator('/')),
        ("v3", plain(Format::Zarr3)),
        ("v3 dots", plain(Format::Zarr3).key_encoding("v2")),
        (
            "shards",
            plain(Format::Zarr3).shards([4, 6]).codecs([codec::zstd(1)]),
        ),
        (
            "nested shards",
            Array::<u16>::builder([9, 7])
                .chunks([4, 6])
                .codecs_json(nested),
        ),
        ("draft A", plain(Format::DraftA)),
        ("draft B", plain(Format::DraftB).shards([4, 6])),
        ("n5", plain(Format::N5)),
        ("n5 reversed", plain(Format::N5).n5_axes(N5Axes::Reversed)),
    ]
}

/// Runs a test on stores of each kind.
fn on_each(run: impl Fn(&Storage, &str, ArrayBuilder<u16>) -> Result<()>) {
    for (name, builder) in kinds() {
        let folder = tempfile::tempdir().expect("a folder");
        let storages = [
            Storage::from(MemoryStore::new()),
            Storage::folder(folder.path()),
            Storage::blocking(PlainStore::new(MemoryStore::new())),
            Storage::asynchronous(AsyncMemoryStore::new(Latency::default())),
        ];
        for storage in &storages {
            // It reads before it writes a part of a shard, and nothing else writes.
            let run = run(storage, name, builder.clone());
            run.unwrap_or_else(|error| panic!("{name} in {}: {error}", storage.name()));
        }
    }
}

#[test]
fn units_are_listed_copied_and_erased_in_every_format() {
    on_each(|storage, name, builder| {
        let a = builder.clone().create((storage, "a"))?;
        let copy = builder.create((storage, "copy"))?;
        let units: Vec<_> = a.units().iter().collect();
        assert_eq!(units, a.units().into_iter().collect::<Vec<_>>());
        assert_eq!(
            units.len(),
            if a.shard_shape().is_some() { 6 } else { 15 },
            "{name}"
        );
        assert_eq!(a.units().stored()?.len(), 0);
        // All but the second.
        for unit in units.iter().filter(|unit| *unit != &units[1]) {
            let elements = ArrayD::from_elem(
                unit.shape(),
                1 + unit.index[0] as u16 * 10 + unit.index[1] as u16,
            );
            a.write(unit, &elements)?;
            assert!(a.units().is_stored(&unit.index)?);
        }
        assert!(
            !a.units().is_stored(&units[1].index)? && a.units().encoded(&units[1].index)?.is_none()
        );
        let stored: Vec<_> = a.units().stored()?.collect();
        let expected: Vec<_> = units.iter().filter(|unit| *unit != &units[1]).collect();
        assert_eq!(
            stored.iter().map(|unit| &unit.index).collect::<Vec<_>>(),
            expected.iter().map(|unit| &unit.index).collect::<Vec<_>>(),
            "{name}"
        );
        for unit in &stored {
            let bytes = a.units().encoded(&unit.index)?.expect("it is stored");
            assert_eq!(unit.byte_len, Some(bytes.len() as u64), "{name}");
            copy.units().write_encoded(&unit.index, bytes)?;
        }
        assert_eq!(copy.read(..)?, a.read(..)?, "{name}");
        let mut left = a.read(..)?;
        for range in [&units[0], &units[3]] {
            copy.units().erase(&range.index)?;
            copy.units().erase(&range.index)?;
            left.slice_each_axis_mut(|axis| {
                let range = &range.ranges[axis.axis.0];
                (range.start as isize..range.end as isize).into()
            })
            .fill(0);
        }
        assert_eq!(copy.read(..)?, left, "{name}");
        assert_eq!(copy.units().stored()?.len(), stored.len() - 2);

        // As futures, and without a type.
        let future = asynchronous::Array::from(a.clone());
        block_on(async {
            assert_eq!(future.units().stored().await?.collect::<Vec<_>>(), stored);
            let bytes = future
                .units()
                .encoded(&units[0].index)
                .await?
                .expect("it is stored");
            let copy = asynchronous::Array::from(copy.clone());
            copy.units().write_encoded(&units[0].index, bytes).await?;
            assert!(copy.units().is_stored(&units[0].index).await?);
            copy.units().erase(&units[2].index).await?;
            assert!(!copy.units().is_stored(&units[2].index).await?);
            assert_eq!(copy.read(&units[0]).await?, a.read(&units[0])?);
            Ok::<_, ndzarr::Error>(())
        })?;
        let any = AnyArray::from(a.clone());
        assert_eq!(any.units().stored()?.collect::<Vec<_>>(), stored);
        assert_eq!(any.units().key(&[1, 0]), a.units().key(&[1, 0]));
        Ok(())
    });
}

#[test]
fn a_list_has_neither_other_keys_nor_what_is_outside() -> Result<()> {
    for format in FORMATS {
        let memory = MemoryStore::new();
        let mut a = Array::<u8>::builder([6])
            .chunks([2])
            .format(format)
            .create((&memory, "a"))?;
        a.fill(.., 1)?;
        let beyond = a.units().key(&[2]);
        let value = memory.get(&beyond).expect("it is stored");
        a.resize([4])?;
        // Written by another program that still has the larger array.
        memory.set(&beyond, value)?;
        for other in ["x", "01", "-1", "c/x", "0/0/0", "0.part"] {
            memory.set(&a.units().key(&[1]).replace('1', other), "other")?;
        }
        let stored: Vec<_> = a.units().stored()?.map(|unit| unit.index[0]).collect();
        assert_eq!(stored, [0, 1], "{format}");
        assert_eq!(
            a.units().encoded(&[2]).expect_err("outside").kind(),
            ErrorKind::WrongShape
        );
    }
    Ok(())
}

#[test]
fn a_damaged_unit_is_listed_and_can_be_replaced() -> Result<()> {
    let memory = MemoryStore::new();
    let good = MemoryStore::new();
    let shards = Array::<u8>::builder([8]).chunks([2]).shards([4]);
    let a = shards.clone().create((&memory, "a"))?;
    let b = shards.create((&good, "a"))?;
    a.fill(.., 1)?;
    b.fill(.., 2)?;
    memory.set("a/c/1", "odd")?;
    assert_eq!(
        a.read(..).expect_err("it is broken").kind(),
        ErrorKind::Corrupt
    );
    assert_eq!(
        a.units().stored()?.map(|unit| unit.byte_len).last(),
        Some(Some(3))
    );
    a.units()
        .write_encoded(&[1], b.units().encoded(&[1])?.expect("it is stored"))?;
    assert_eq!(
        a.read(..)?.into_raw_vec_and_offset().0,
        [1, 1, 1, 1, 2, 2, 2, 2]
    );
    // What is written is not examined.
    a.units().write_encoded(&[0], "odd")?;
    assert_eq!(
        a.read([0..1]).expect_err("it is broken").kind(),
        ErrorKind::Corrupt
    );
    a.units().erase(&[0])?;
    assert_eq!(a.read([0..4])?.to_vec(), [0; 4]);
    Ok(())
}

/// `c` is the key of some writers for the only chunk of a 0-d array, `c0` that of others.
#[test]
fn the_other_key_of_a_scalar_counts_too() -> Result<()> {
    let memory = MemoryStore::new();
    let a = Array::<u8>::builder([0u64; 0])
        .format(Format::DraftB)
        .create((&memory, "a"))?;
    memory.set("data/root/a/c", vec![5])?;
    assert!(a.units().is_stored(&[])?);
    assert_eq!(a.units().encoded(&[])?.as_deref(), Some(&[5][..]));
    assert_eq!(
        a.units()
            .stored()?
            .map(|unit| unit.byte_len)
            .collect::<Vec<_>>(),
        [Some(1)]
    );
    memory.set("data/root/a/c0", vec![6, 7])?;
    assert_eq!(
        a.units()
            .stored()?
            .map(|unit| unit.byte_len)
            .collect::<Vec<_>>(),
        [Some(2)]
    );
    a.units().write_encoded(&[], vec![8])?;
    assert_eq!(
        (a.read(())?.into_scalar(), memory.get("data/root/a/c")),
        (8, None)
    );
    memory.set("data/root/a/c", vec![5])?;
    a.units().erase(&[])?;
    assert!(!a.units().is_stored(&[])? && a.read(())?.into_scalar() == 0);
    Ok(())
}

#[test]
fn a_list_reads_no_value() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let store = CountingStore::new(FsStore::new(folder.path()));
    let a = Array::<u8>::builder([40])
        .chunks([4])
        .create((Storage::blocking(store.clone()), "a"))?;
    a.fill([0..32], 1)?;
    store.reset();
    assert_eq!(
        a.units()
            .stored()?
            .filter_map(|unit| unit.byte_len)
            .sum::<u64>(),
        32
    );
    assert!(a.units().is_stored(&[0])? && !a.units().is_stored(&[9])?);
    assert_eq!(store.counts().bytes_read, 0);
    Ok(())
}

/// Two chunks of each shard for each thread.
#[test]
fn writers_of_chunks_of_one_shard_lose_nothing() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    for storage in [
        Storage::folder(folder.path()),
        Storage::from(MemoryStore::new()),
    ] {
        let a = Array::<u16>::builder([64])
            .chunks([2])
            .shards([16])
            .create((&storage, "a"))?;
        thread::scope(|scope| {
            for writer in 0..4 {
                let a = &a;
                scope.spawn(move || {
                    for chunk in (0..32).filter(|chunk| chunk % 4 == writer) {
                        a.write_chunk(&[chunk], &Array1::from_elem(2, 1 + chunk as u16))
                            .expect("a write");
                    }
                });
            }
        });
        assert_eq!(
            a.read(..)?.into_raw_vec_and_offset().0,
            (0..64).map(|i| 1 + i / 2).collect::<Vec<u16>>()
        );
        assert_eq!(a.units().stored()?.len(), 4);
    }
    Ok(())
}

#[test]
fn cancelled_calls_change_no_unit() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    for storage in [
        Storage::folder(folder.path()),
        Storage::from(MemoryStore::new()),
    ] {
        let a = Array::<u8>::builder([4])
            .chunks([2])
            .create((&storage, "a"))?;
        a.fill(.., 1)?;
        let cancel = Cancel::new();
        let b = a
            .clone()
            .with_options(RunOptions::default().cancel(cancel.clone()));
        cancel.cancel();
        for result in [
            b.units().write_encoded(&[0], vec![9, 9]),
            b.units().erase(&[0]),
        ] {
            assert_eq!(result.expect_err("cancelled").kind(), ErrorKind::Cancelled);
        }
        let future = asynchronous::Array::from(b);
        for result in block_on(async {
            [
                future.units().write_encoded(&[0], vec![9, 9]).await,
                future.units().erase(&[0]).await,
            ]
        }) {
            assert_eq!(result.expect_err("cancelled").kind(), ErrorKind::Cancelled);
        }
        assert_eq!(a.read(..)?.into_raw_vec_and_offset().0, [1; 4]);
    }
    Ok(())
}

#[test]
fn units_of_a_read_only_store_are_listed_and_not_changed() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.zip");
    let archive = ndzarr::store::ZipWriter::create_file(&path)?;
    Array::<u8>::builder([4])
        .chunks([2])
        .create((&archive, "a"))?
        .fill(.., 1)?;
    archive.finish()?;
    let url = format!("{}|zip:a", path.to_str().expect("a name"));
    let a = OpenOptions::new().open_array::<u8>(&*url)?;
    assert_eq!(
        a.units()
            .stored()?
            .filter_map(|unit| unit.byte_len)
            .sum::<u64>(),
        4
    );
    assert!(a.units().erase(&[0]).is_err() && a.units().write_encoded(&[0], vec![1, 2]).is_err());
    Ok(())
}

#[test]
fn a_store_without_lengths_in_its_lists_asks_for_each() -> Result<()> {
    let memory = MemoryStore::new();
    let a = Array::<u8>::builder([6])
        .chunks([2])
        .create((Storage::blocking(PlainStore::new(memory.clone())), "a"))?;
    a.fill(.., 1)?;
    memory.erase(&Key::new("a/c/1")?, Precondition::None)?;
    assert_eq!(
        a.units()
            .stored()?
            .map(|unit| unit.index[0])
            .collect::<Vec<_>>(),
        [0, 2]
    );
    Ok(())
}
