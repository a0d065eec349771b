//! What long work needs: a flag that Ctrl-C sets, progress on stderr, files that appear whole.

use std::fs::{self, File, TryLockError};
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use selfplay::derive_seed;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Ended by Ctrl-C or SIGTERM, with what the user can do next.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; {0}")]
pub(crate) struct Interrupted(pub(crate) String);

/// The flag that the first Ctrl-C or SIGTERM sets; the second one ends the program at once.
pub(crate) fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("stopping: what is finished is kept; once more to stop at once");
    })
    .context("cannot handle Ctrl-C")?;
    Ok(stop)
}

/// A number that stands for a name, to derive seeds from.
pub(crate) fn number_of(name: &str) -> u64 {
    derive_seed(&name.bytes().map(u64::from).collect::<Vec<_>>())
}

/// Number of threads: the one given, or all cores.
pub(crate) fn threads(given: Option<usize>) -> usize {
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
}

/// Makes the threads that work in the background as many as given, or as there are cores.
pub(crate) fn use_threads(given: Option<usize>) -> anyhow::Result<()> {
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads(given)).build_global()?)
}

/// Reads a number of threads.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "expected a number from 1 on".to_string())
}

/// A bar on a terminal, otherwise a line every few seconds.
pub(crate) struct Bar {
    bar: Option<ProgressBar>,
    what: String,
    last: Mutex<Instant>,
}

/// Between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

impl Bar {
    pub(crate) fn new(what: &str, length: u64) -> Bar {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{prefix:24} {bar:24} {pos}/{len} {elapsed} left {eta} {msg}");
            bar.set_style(style.expect("the template is well-formed"));
            bar.set_prefix(what.to_string());
            bar
        });
        Bar { bar, what: what.to_string(), last: Mutex::new(Instant::now()) }
    }

    pub(crate) fn set(&self, done: u64, length: u64, message: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_length(length);
            bar.set_position(done);
            bar.set_message(message());
        } else if let Ok(mut last) = self.last.try_lock()
            && (last.elapsed() >= LINE_EVERY)
        {
            *last = Instant::now();
            eprintln!("{}: {done}/{length} {}", self.what, message());
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Takes the bar away and leaves a line.
    pub(crate) fn finish(self, message: &str) {
        self.clear();
        eprintln!("{}: {message}", self.what);
    }
}

/// Writes a file aside, syncs it and renames it, so that it is there whole or not at all.
pub(crate) fn write_whole(path: &Path, text: &str) -> anyhow::Result<()> {
    let context = || format!("cannot write {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(context)?;
    let aside = path.with_added_extension("tmp");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&aside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&aside, path)?;
        File::open(folder)?.sync_all()
    };
    write().with_context(context)
}

/// [`write_whole`] of a JSON document.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value).with_context(|| format!("{}: cannot be JSON", path.display()))?;
    write_whole(path, &(text + "\n"))
}

/// Reads a JSON document, or `None` if there is no such file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Option<T>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    serde_json::from_str(&text)
        .map(Some)
        .with_context(|| format!("{} is damaged; remove it to make it again", path.display()))
}

/// Keeps other processes off a run directory while it lives.
pub(crate) struct RunLock(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File);

impl RunLock {
    pub(crate) fn take(run: &Path) -> anyhow::Result<RunLock> {
        fs::create_dir_all(run).with_context(|| format!("cannot make {}", run.display()))?;
        let path = run.join(".lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(RunLock(file)),
            Err(TryLockError::WouldBlock) => {
                bail!("another process works in {}; wait for it or stop it", run.display())
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        }
    }
}

/// Appends one event to a run's `metrics.jsonl`. A line that a kill left unfinished is taken off first.
pub(crate) fn log_event(run: &Path, event: &serde_json::Value) -> anyhow::Result<()> {
    let path: PathBuf = run.join("metrics.jsonl");
    let append = || -> std::io::Result<()> {
        let mut file = File::options().create(true).truncate(false).read(true).write(true).open(&path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(format!("{event}\n").as_bytes())
    };
    append().with_context(|| format!("cannot write {}", path.display()))
}
