//! Checksums of shards. Those of `RUN/games/gen-000003` are in `RUN/checksums/games-gen-000003.sha256`, so that the folder
//! holds nothing but shards; in `RUN`, `sha256sum -c checksums/*` of coreutils checks them too.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::error::DataError;
use super::schema::ShardKind;
use super::writer::{aside, remove_aside};

/// The folder of the lists in a run.
const LISTS: &str = "checksums";
const EXTENSION: &str = "sha256";

/// The file that lists the checksums of the shards in a folder, `RUN/games/…` or `RUN/positions/…`. `None` if it is neither.
pub fn sums_file(folder: &Path) -> Option<PathBuf> {
    let (run, parts) = split(folder)?;
    Some(run.join(LISTS).join(format!("{}.{EXTENSION}", parts.join("-"))))
}

/// The folder whose shards a file lists, if it is such a file: the inverse of [`sums_file`].
pub(super) fn listed_folder(file: &Path) -> Option<PathBuf> {
    let lists = file.parent().filter(|folder| folder.file_name().is_some_and(|name| name == LISTS))?;
    let (kind, rest) =
        file.file_stem().filter(|_| file.extension().is_some_and(|e| e == EXTENSION))?.to_str()?.split_once('-')?;
    Some(lists.parent()?.join(kind).join(rest)).filter(|folder| split(folder).is_some())
}

/// The run of a folder of shards, and the folder's path in it, which begins with the kind of shards.
fn split(folder: &Path) -> Option<(PathBuf, Vec<&str>)> {
    let parts: Vec<&OsStr> = folder.iter().collect();
    let kinds = [ShardKind::Games, ShardKind::Positions].map(ShardKind::as_str);
    let at = parts.iter().rposition(|part| kinds.iter().any(|kind| part == kind))?;
    let inside = parts[at..].iter().map(|part| part.to_str()).collect::<Option<Vec<_>>>()?;
    Some((parts[..at].iter().collect(), inside))
}

/// The SHA-256 of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum([u8; 32]);

impl Checksum {
    /// The checksum of what is in a file now.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of_file(path: &Path) -> Result<Checksum, DataError> {
        let mut hasher = HashingWriter::new(io::sink());
        let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut hasher));
        copied.map_err(DataError::io(path))?;
        Ok(hasher.finish().1)
    }

    /// The checksum with these 64 hexadecimal digits.
    fn parse(text: &str) -> Option<Checksum> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(Checksum(bytes))
    }
}

/// 64 hexadecimal digits.
impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Hashes what it passes on.
pub(super) struct HashingWriter<W> {
    inner: W,
    hasher: Sha256,
}

impl<W> HashingWriter<W> {
    pub(super) fn new(inner: W) -> HashingWriter<W> {
        HashingWriter { inner, hasher: Sha256::new() }
    }

    /// The writer inside and the checksum of all that went into it.
    pub(super) fn finish(self) -> (W, Checksum) {
        (self.inner, Checksum(self.hasher.finalize().into()))
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The checksums of a folder, by the names of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checksums {
    by_name: BTreeMap<String, Checksum>,
}

impl Checksums {
    /// The checksums listed for a folder; none if there is no list.
    ///
    /// # Errors
    /// If the file cannot be read or a line is not as `sha256sum` writes it.
    pub fn read(folder: &Path) -> Result<Checksums, DataError> {
        let Some((path, (_, inside))) = sums_file(folder).zip(split(folder)) else { return Ok(Checksums::default()) };
        let before = inside.join("/") + "/";
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Checksums::default()),
            Err(source) => return Err(DataError::Io { path, source }),
        };
        let mut by_name = BTreeMap::new();
        for (i, line) in text.lines().enumerate() {
            let line = parse_line(line).and_then(|(name, checksum)| Some((name.strip_prefix(&before)?, checksum)));
            let Some((name, checksum)) = line else {
                let what =
                    format!("line {}: expected a SHA-256 in 64 hexadecimal digits, two blanks and {before}NAME", i + 1);
                return Err(DataError::Schema { path, what });
            };
            if by_name.insert(name.to_owned(), checksum).is_some() {
                let what = format!("line {}: {name} has a line already", i + 1);
                return Err(DataError::Schema { path, what });
            }
        }
        Ok(Checksums { by_name })
    }

    /// The checksum listed for the file of this name.
    pub fn get(&self, name: &str) -> Option<Checksum> {
        self.by_name.get(name).copied()
    }

    /// The names listed, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    pub(crate) fn insert(&mut self, name: String, checksum: Checksum) {
        self.by_name.insert(name, checksum);
    }

    /// Writes the list for a folder, sorted by name: aside, synced and renamed, so that there is always a whole one.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), DataError> {
        let Some((path, (_, inside))) = sums_file(folder).zip(split(folder)) else { return Ok(()) };
        let aside = aside(&path);
        let inside = inside.join("/");
        let lines = self.by_name.iter().map(|(name, checksum)| format!("{checksum}  {inside}/{name}\n"));
        let text: String = lines.collect();
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            let mut file = File::create(&aside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&aside, &path)
        };
        // The folder is not synced: what a power cut takes back of a list is completed when the generation is opened again.
        write().map_err(DataError::io(&path)).inspect_err(|_| remove_aside(&aside))
    }
}

impl FromParallelIterator<(String, Checksum)> for Checksums {
    fn from_par_iter<I: IntoParallelIterator<Item = (String, Checksum)>>(lines: I) -> Checksums {
        Checksums { by_name: lines.into_par_iter().collect() }
    }
}

/// The name and the checksum in a line; a star before the name, as `sha256sum --binary` writes it, means the same.
fn parse_line(line: &str) -> Option<(&str, Checksum)> {
    let (digits, name) = line.split_once(' ')?;
    let name = name.strip_prefix([' ', '*']).filter(|name| !name.is_empty())?;
    Some((name, Checksum::parse(digits)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-2, appendix B: messages of one block and of two; the empty one as `sha256sum /dev/null` prints it.
    const PUBLISHED: [(&str, &str); 3] = [
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ];

    #[test]
    fn checksums_are_the_published_ones() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("message");
        for (message, expected) in PUBLISHED {
            fs::write(&path, message).expect("writable");
            assert_eq!(Checksum::of_file(&path).expect("readable").to_string(), expected);
            let mut writer = HashingWriter::new(Vec::new());
            // In two calls.
            let (first, second) = message.split_at(message.len() / 2);
            writer.write_all(first.as_bytes()).and_then(|()| writer.write_all(second.as_bytes())).expect("in memory");
            let (written, checksum) = writer.finish();
            assert_eq!((written.as_slice(), checksum.to_string().as_str()), (message.as_bytes(), expected));
        }
    }

    #[test]
    fn lists_come_back_sorted() {
        let run = tempfile::tempdir().expect("a folder");
        let folder = run.path().join("games/gen-000003");
        let list = run.path().join("checksums/games-gen-000003.sha256");
        assert_eq!(sums_file(&folder).as_ref(), Some(&list));
        assert_eq!(listed_folder(&list).as_ref(), Some(&folder));
        assert_eq!((sums_file(run.path()), listed_folder(&folder)), (None, None));
        assert_eq!(Checksums::read(&folder).expect("none is no error"), Checksums::default());
        let [(_, abc), (_, two_blocks), _] = PUBLISHED;
        let mut sums = Checksums::default();
        sums.insert("b.parquet".to_owned(), Checksum::parse(abc).expect("64 digits"));
        sums.insert("a.parquet".to_owned(), Checksum::parse(two_blocks).expect("64 digits"));
        sums.write(&folder).expect("writable");
        // The format of coreutils' sha256sum: digits, two blanks, name.
        let text = fs::read_to_string(&list).expect("there");
        let [a, b] = ["a", "b"].map(|name| format!("games/gen-000003/{name}.parquet"));
        assert_eq!(text, format!("{two_blocks}  {a}\n{abc}  {b}\n"));
        assert_eq!(fs::read_dir(run.path().join("checksums")).expect("a folder").count(), 1, "nothing is left aside");
        assert_eq!(Checksums::read(&folder).expect("readable"), sums);
        assert_eq!(sums.names().collect::<Vec<_>>(), ["a.parquet", "b.parquet"]);

        // What `sha256sum --binary` writes, and capital digits, which it reads.
        fs::write(&list, format!("{} *{b}\n", abc.to_uppercase())).expect("writable");
        let read = Checksums::read(&folder).expect("readable");
        assert_eq!(read.get("b.parquet").expect("listed").to_string(), abc);
    }

    #[test]
    fn a_line_of_another_format_is_an_error() {
        let run = tempfile::tempdir().expect("a folder");
        let folder = run.path().join("games");
        let list = run.path().join("checksums/games.sha256");
        fs::create_dir(run.path().join("checksums")).expect("writable");
        let [(_, abc), ..] = PUBLISHED;
        let double = format!("{abc}  games/a\n{abc}  games/a");
        let cases = [
            ("hello", "line 1: expected"),
            (&abc[1..], "line 1: expected"),
            (abc, "line 1: expected"),
            (&format!("{abc}  "), "line 1: expected"),
            (&format!("{abc}  games/a\n\n"), "line 2: expected"),
            (&format!("{abc}  positions/a\n"), "line 1: expected"),
            (&format!("{}é  a", &abc[2..]), "line 1: expected"),
            (&double, "line 2: a has a line already"),
        ];
        for (text, expected) in cases {
            fs::write(&list, text).expect("writable");
            let error = Checksums::read(&folder).expect_err("not a list").to_string();
            assert!(error.contains("games.sha256") && error.contains(expected), "{text:?}: {error}");
        }
    }
}
