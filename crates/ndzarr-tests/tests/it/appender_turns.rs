//! Shards that grow frame by frame: two files take turns, and what others do to them.

use ndarray::Array2;
use ndzarr::{Array, Result};

fn large_frame(n: u64) -> Array2<u16> {
    Array2::from_shape_fn((32, 32), |(y, x)| (n * 40_503 + y as u64 * 251 + x as u64 * 7919) as u16)
}

/// On Linux two files take turns, and each byte is written twice; it was O(n^2).
#[test]
#[cfg(target_os = "linux")]
fn each_frame_is_written_twice_however_often_it_is_published() -> Result<()> {
    use ndzarr::{FsStore, Storage};
    use ndzarr_testkit::CountingStore;

    use crate::appender::walkdir;

    let folder = tempfile::tempdir().expect("a folder");
    let store = CountingStore::new(FsStore::new(folder.path()));
    let a = Array::<u16>::builder([0, 32, 32]).chunks([1, 32, 32]).shards([64, 32, 32]);
    let mut appender = a.create((Storage::blocking(store.clone()), "a"))?.appender(0)?;
    for n in 0..64 {
        appender.push(&large_frame(n))?;
        appender.publish()?;
    }
    appender.finish()?;
    let counts = store.reset();
    // A frame has 2048 bytes, each file an index of 1028 at a time, a document less than 1000.
    let most = 64 * (2 * 2048 + 1028 + 1000);
    assert!(counts.bytes_written < most, "{counts:?}");
    assert_eq!(walkdir(folder.path()).len(), 3, "{:?}", walkdir(folder.path()));
    let stored = Array::<u16>::open((folder.path(), "a"))?;
    for n in 0..64 {
        assert_eq!(stored.read((n, .., ..))?, large_frame(n), "{n}");
    }
    Ok(())
}

/// A reader that has an index, and opens the file anew for each chunk, as zarr-python does: each index
/// is true for every later file.
#[test]
#[cfg(target_os = "linux")]
fn what_an_index_says_stays_true_while_the_shard_grows() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a/c/0/0/0");
    let mut seen: Vec<Vec<u8>> = Vec::new();
    let a = Array::<u16>::builder([0, 32, 32]).chunks([1, 32, 32]).shards([64, 32, 32]).codecs([]);
    let mut appender = a.create((folder.path(), "a"))?.appender(0)?;
    for n in 0..20 {
        appender.push(&large_frame(n))?;
        appender.publish()?;
        seen.push(std::fs::read(&file).expect("the shard"));
    }
    for (older, newer) in seen.iter().zip(&seen[1..]) {
        // 64 entries of 16 bytes and a checksum.
        let (inner_chunks, _) = older.split_at(older.len() - (64 * 16 + 4));
        assert!(newer.starts_with(inner_chunks));
        assert_eq!(newer.len() - older.len(), 2 * 32 * 32);
    }
    Ok(())
}

/// Who holds a file open keeps it as it is.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_a_reader_has_open_is_not_written_to() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a/c/0/0/0");
    let a = Array::<u16>::builder([0, 32, 32]).chunks([1, 32, 32]).shards([64, 32, 32]);
    let mut appender = a.create((folder.path(), "a"))?.appender(0)?;
    let mut readers = Vec::new();
    for n in 0..20 {
        appender.push(&large_frame(n))?;
        appender.publish()?;
        if n % 5 < 2 {
            readers.push((std::fs::File::open(&file).expect("the shard"), std::fs::read(&file).expect("it")));
        }
        if n == 7 {
            // A copy of hard links.
            std::fs::hard_link(&file, folder.path().join("linked")).expect("a link");
        }
    }
    let linked = std::fs::read(folder.path().join("linked")).expect("the copy");
    appender.finish()?;
    for (mut reader, before) in readers {
        let mut now = Vec::new();
        std::io::Read::read_to_end(&mut reader, &mut now).expect("the shard");
        assert_eq!(now, before);
    }
    assert_eq!(std::fs::read(folder.path().join("linked")).expect("the copy"), linked);
    let stored = Array::<u16>::open((folder.path(), "a"))?;
    assert_eq!(stored.shape()[0], 20);
    for n in 0..20 {
        assert_eq!(stored.read((n, .., ..))?, large_frame(n), "{n}");
    }
    Ok(())
}

/// What another handle, or a program without locks, makes of the shard between two publications stays.
#[test]
fn changes_by_others_between_publications_stay() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a/c/0/0/0");
    let a = Array::<u16>::builder([0, 32, 32]).chunks([1, 32, 32]).shards([64, 32, 32]);
    let mut appender = a.create((folder.path(), "a"))?.appender(0)?;
    let other = large_frame(1000);
    for n in 0..20 {
        appender.push(&large_frame(n))?;
        match n {
            // While a frame waits to be published, and while none does.
            4 | 12 => Array::<u16>::open((folder.path(), "a"))?.write((n - 2, .., ..), &other)?,
            _ => {}
        }
        appender.publish()?;
        match n {
            8 => Array::<u16>::open((folder.path(), "a"))?.write((n - 2, .., ..), &other)?,
            16 => {
                std::fs::copy(&file, folder.path().join("copy")).expect("a copy");
                std::fs::rename(folder.path().join("copy"), &file).expect("a new file");
            }
            _ => {}
        }
    }
    let stored = Array::<u16>::open((folder.path(), "a"))?;
    for n in 0..20 {
        let expected = if [2, 6, 10].contains(&n) { other.clone() } else { large_frame(n) };
        assert_eq!(stored.read((n, .., ..))?, expected, "{n}");
    }
    Ok(())
}

/// What a killed append or a power cut has left beyond the shape is overwritten, read or not.
#[test]
fn what_is_beyond_the_shape_is_not_in_the_way() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a/c/0/0/0");
    let array = |n| Array::<u16>::builder([n, 32, 32]).chunks([1, 32, 32]).shards([64, 32, 32]).codecs([]);
    array(20).create((folder.path(), "other"))?.fill(.., 7)?;
    let other = std::fs::read(folder.path().join("other/c/0/0/0")).expect("a shard");
    for stray in [&b""[..], b"broken", &other] {
        let a = array(0).overwrite().create((folder.path(), "a"))?;
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        std::fs::write(&file, stray).expect("a file");
        let mut appender = a.appender(0)?;
        for n in 0..3 {
            appender.push(&large_frame(n))?;
            appender.publish()?;
        }
        let byte_len = std::fs::metadata(&file).expect("a shard").len();
        assert_eq!(byte_len, 3 * 2 * 32 * 32 + 64 * 16 + 4);
        let stored = Array::<u16>::open((folder.path(), "a"))?;
        for n in 0..3 {
            assert_eq!(stored.read((n, .., ..))?, large_frame(n), "{n}");
        }
    }
    Ok(())
}
