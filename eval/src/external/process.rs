//! An engine's process: lines to it, lines from it with a deadline, and a transcript of both.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::Fault;

/// The longest line taken in; what is longer comes in parts.
const LINE_BYTES: usize = 1 << 16;
/// Lines that wait to be read; then the engine has to wait.
const LINES: usize = 1024;
/// The longest transcript, standard error included.
const TRANSCRIPT_BYTES: u64 = 64 << 20;
/// How often a wait looks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long an engine may take to end after it was told to.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long the standard error of an engine that has ended may take to come.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What came of waiting for a line.
pub(super) enum Heard {
    /// A line, without its end.
    Line(String),
    /// None before the deadline; the beginning of one, if there is any.
    Nothing(Option<String>),
    /// There will be no more.
    Ended,
    /// Told to stop.
    Stopped,
}

/// A running engine. Dropped, it is killed at once, with all processes it has started.
pub(super) struct Process {
    child: Child,
    /// `None` once its input is closed.
    input: Option<Sender<String>>,
    output: Receiver<String>,
    /// What has come of a line that has no end yet.
    unfinished: Arc<Mutex<Vec<u8>>>,
    transcript: Arc<Mutex<Transcript>>,
    /// Disconnected once its standard error has ended and stands in the transcript.
    errors: Receiver<()>,
    ended: bool,
}

impl Process {
    /// Starts a program with a transcript in `folder`.
    pub(super) fn start(command: &[String], folder: &Path, keep_transcript: bool) -> Result<Process, Fault> {
        let transcript = Transcript::new(&command[0], folder, keep_transcript)
            .map_err(|error| Fault::Transcript { folder: folder.to_owned(), error })?;
        let mut program = Command::new(&command[0]);
        program.args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C reaches this program alone, which ends the engine in order, and all of the group.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut program, 0);
        let mut child = program.spawn().map_err(|error| {
            transcript.remove();
            Fault::Start(error)
        })?;
        let mut stdin = child.stdin.take().expect("piped");
        let stdout = child.stdout.take().expect("piped");
        let mut stderr = child.stderr.take().expect("piped");
        // Each way has a thread, so that nothing an engine does or leaves undone holds up this one.
        let (input, lines) = mpsc::channel::<String>();
        std::thread::spawn(move || {
            for line in lines {
                if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        let (lines, output) = mpsc::sync_channel(LINES);
        let unfinished = Arc::new(Mutex::new(Vec::new()));
        let part = unfinished.clone();
        std::thread::spawn(move || read_lines(BufReader::new(stdout), &part, &lines));
        let transcript = Arc::new(Mutex::new(transcript));
        let copy = transcript.clone();
        let (open, errors) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            let _open = open;
            let mut bytes = [0; 1 << 13];
            loop {
                match stderr.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(length) => lock(&copy).append(&bytes[..length]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        });
        Ok(Process { child, input: Some(input), output, unfinished, transcript, errors, ended: false })
    }

    pub(super) fn send(&mut self, line: &str) {
        lock(&self.transcript).write('>', line);
        // That it does not listen any more shows where an answer is missing.
        if let Some(input) = &self.input {
            input.send(format!("{line}\n")).ok();
        }
    }

    /// Waits for the next line.
    pub(super) fn receive(&mut self, deadline: Instant, stop: &dyn Fn() -> bool) -> Heard {
        loop {
            if stop() {
                return Heard::Stopped;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(line) => {
                    lock(&self.transcript).write('<', &line);
                    // Also where lines never stop.
                    return if left.is_zero() { Heard::Nothing(None) } else { Heard::Line(line) };
                }
                Err(RecvTimeoutError::Timeout) => {
                    // What it has left behind would hold its output open.
                    let ended = self.status().is_some();
                    if left.is_zero() {
                        return if ended { Heard::Ended } else { Heard::Nothing(self.take_unfinished()) };
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Heard::Ended,
            }
        }
    }

    /// The beginning of a line whose end has not come.
    fn take_unfinished(&mut self) -> Option<String> {
        let bytes = std::mem::take(&mut *lock(&self.unfinished));
        let line = Some(text(&bytes)).filter(|line| !line.is_empty())?;
        lock(&self.transcript).write('<', &format!("{line} (without its end)"));
        Some(line)
    }

    /// Forgets games before this one in the transcript, unless all is kept.
    pub(super) fn new_game(&mut self) {
        lock(&self.transcript).new_game();
    }

    pub(super) fn transcript(&self) -> PathBuf {
        lock(&self.transcript).path.clone()
    }

    /// The transcript stays, for there is something to see in it.
    pub(super) fn keep_transcript(&mut self) {
        lock(&self.transcript).keep = true;
    }

    /// Lets the engine end, after a command that tells it to.
    pub(super) fn quit(mut self, command: &str) {
        self.send(command);
        self.wait(FAREWELL);
    }

    /// Closes its input and waits for its end.
    pub(super) fn wait(&mut self, most: Duration) -> Option<ExitStatus> {
        self.input = None;
        let deadline = Instant::now() + most;
        loop {
            if let Some(status) = self.status() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            // What it still says must not hold it up.
            while self.output.try_recv().is_ok() {}
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// How it ended, if it has. All processes that it has left behind end with it.
    fn status(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().ok()??;
        if !self.ended {
            // At once: a later group may have its number only when nobody of this one is left.
            self.ended = true;
            self.kill_group();
        }
        Some(status)
    }

    fn kill_group(&self) {
        #[cfg(unix)]
        if let Ok(group) = i32::try_from(self.child.id()) {
            let group = nix::unistd::Pid::from_raw(group);
            nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).ok();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended {
            self.kill_group();
            self.child.kill().ok();
            self.child.wait().ok();
        }
        let keep = lock(&self.transcript).keep;
        if keep {
            self.errors.recv_timeout(LAST_WORDS).ok();
        } else {
            lock(&self.transcript).remove();
        }
    }
}

/// Sends on all lines, without their ends and what is blank around them. What has come of the next one is in `part`.
fn read_lines(mut output: impl BufRead, part: &Mutex<Vec<u8>>, lines: &SyncSender<String>) {
    loop {
        let bytes = match output.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => &[],
        };
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        let line = {
            let mut part = lock(part);
            part.extend_from_slice(&bytes[..taken]);
            let whole = end.is_some() || taken == 0 || part.len() >= LINE_BYTES;
            (whole && !part.is_empty()).then(|| std::mem::take(&mut *part))
        };
        output.consume(taken);
        let listens = line.is_none_or(|line| lines.send(text(&line)).is_ok());
        if taken == 0 || !listens {
            return;
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_string()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics with the lock")
}

/// Everything said to (`>`) and by (`<`) an engine, with seconds since its start; what it writes to its standard error
/// stands between.
struct Transcript {
    path: PathBuf,
    file: File,
    keep: bool,
    start: Instant,
    /// Bytes in the file, and how many of them belong to no game.
    length: u64,
    preface: Option<u64>,
}

impl Transcript {
    fn new(program: &str, folder: &Path, keep: bool) -> std::io::Result<Transcript> {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        std::fs::create_dir_all(folder)?;
        let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{name}-{}-{number}.txt", std::process::id()));
            match File::options().append(true).create_new(true).open(&path) {
                Ok(file) => {
                    return Ok(Transcript { path, file, keep, start: Instant::now(), length: 0, preface: None });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write(&mut self, direction: char, line: &str) {
        self.append(format!("{:9.3} {direction} {line}\n", self.start.elapsed().as_secs_f64()).as_bytes());
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.length >= TRANSCRIPT_BYTES {
            return;
        }
        self.length += bytes.len() as u64;
        // A disk that is full ends no game.
        self.file.write_all(bytes).ok();
        if self.length >= TRANSCRIPT_BYTES {
            self.file.write_all(b"\n(more is not written down)\n").ok();
        }
    }

    fn new_game(&mut self) {
        let preface = *self.preface.get_or_insert(self.length);
        if !self.keep && self.file.set_len(preface).is_ok() {
            self.length = preface;
        }
    }

    fn remove(&self) {
        std::fs::remove_file(&self.path).ok();
    }
}
