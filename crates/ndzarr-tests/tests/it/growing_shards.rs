//! Shards that grow frame by frame, and what others do to them.

use ndarray::Array2;
use ndzarr::{Array, Result};

fn large_frame(n: u64) -> Array2<u16> {
    Array2::from_shape_fn((32, 32), |(y, x)| {
        (n * 40_503 + y as u64 * 251 + x as u64 * 7919) as u16
    })
}

/// A reader that has an index, and opens the file anew for each chunk, as zarr-python does: each
/// index is true for every later file.
#[test]
fn what_an_index_says_stays_true_while_the_shard_grows() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a/c/0/0/0");
    let mut seen: Vec<Vec<u8>> = Vec::new();
    let a = Array::<u16>::builder([0, 32, 32])
        .chunks([1, 32, 32])
        .shards([64, 32, 32])
        .codecs([]);
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

/// How a reader holds a value. A socket refers to the pages of a file that is closed and has one
/// name.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug)]
enum HeldBy {
    OpenFile,
    AnotherName,
    Socket,
}

/// A reader that holds a value sees that one, however it holds it.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_was_the_value_is_never_written_to() -> Result<()> {
    use std::fs::File;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    for held_by in [HeldBy::OpenFile, HeldBy::AnotherName, HeldBy::Socket] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a/c/0/0/0");
        // Frames that end within a page.
        let frame = |n| Array2::from_elem((25, 31), n + 1);
        let a = Array::<u16>::builder([0, 25, 31])
            .chunks([1, 25, 31])
            .shards([64, 25, 31]);
        let mut appender = a.create((folder.path(), "a"))?.appender(0)?;
        let mut held: Vec<(Box<dyn Read>, Vec<u8>)> = Vec::new();
        for n in 0..12_u16 {
            appender.push(&frame(n))?;
            appender.publish()?;
            let value = std::fs::read(&file).expect("the shard");
            let open = File::open(&file).expect("the shard");
            let reader: Box<dyn Read> = match held_by {
                HeldBy::OpenFile => Box::new(open),
                HeldBy::AnotherName => {
                    let linked = folder.path().join(n.to_string());
                    std::fs::hard_link(&file, &linked).expect("a link");
                    Box::new(File::open(linked).expect("the link"))
                }
                HeldBy::Socket => {
                    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
                    let client = TcpStream::connect(listener.local_addr().expect("an address"))
                        .expect("a client");
                    let (server, _) = listener.accept().expect("a server");
                    // `std::io::copy` copies the bytes.
                    let n = rustix::fs::sendfile(&server, &open, None, value.len());
                    assert_eq!(n.expect("it is sent"), value.len(), "it fits the buffers");
                    Box::new(client)
                }
            };
            held.push((reader, value));
        }
        appender.finish()?;
        for (mut reader, value) in held {
            let mut now = Vec::new();
            reader.read_to_end(&mut now).expect("the shard");
            assert!(now == value, "{held_by:?}");
        }
    }
    Ok(())
}

/// What another handle, or a program without locks, makes of the shard between two publications
/// stays.
#[test]
fn changes_by_others_between_publications_stay() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a/c/0/0/0");
    let a = Array::<u16>::builder([0, 32, 32])
        .chunks([1, 32, 32])
        .shards([64, 32, 32]);
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
        let expected = if [2, 6, 10].contains(&n) {
            other.clone()
        } else {
            large_frame(n)
        };
        assert_eq!(stored.read((n, .., ..))?, expected, "{n}");
    }
    Ok(())
}

/// What a killed append or a power cut has left beyond the shape is overwritten, read or not.
#[test]
fn stray_values_beyond_the_shape_are_overwritten() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a/c/0/0/0");
    let array = |n| {
        Array::<u16>::builder([n, 32, 32])
            .chunks([1, 32, 32])
            .shards([64, 32, 32])
            .codecs([])
    };
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
