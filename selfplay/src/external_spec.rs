//! Players outside this program as text: `cecp:COMMAND[,KEY=VALUE]…` and `usi:COMMAND[,KEY=VALUE]…`.
//!
//! Commas separate; the command is words separated by spaces. `'…'` takes everything in it as it stands, `"…"` all but
//! `\"` and `\\`, and `\` before any other character takes that one as it stands.

use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

/// What an engine speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// The protocol of XBoard and WinBoard, version 2.
    Cecp,
    /// The universal shogi interface.
    Usi,
}

/// An engine and how it is to play.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExternalSpec {
    /// What it speaks.
    pub protocol: Protocol,
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// `time=SECONDS` it may think for each move.
    pub time: Option<Duration>,
    /// `depth=PLIES` it may look ahead.
    pub depth: Option<u32>,
    /// `deadline=SECONDS` after which a move does not come any more.
    pub deadline: Option<Duration>,
    /// `start=SECONDS` after which it will not get ready any more.
    pub start: Option<Duration>,
    /// `memory=MB` it may use, where its protocol knows of memory.
    pub memory: Option<u32>,
    /// `variant=NAME`: what it calls the game.
    pub variant: Option<String>,
    /// `transcript=FOLDER` where everything that was said is kept.
    pub transcript: Option<PathBuf>,
    /// `option.NAME=VALUE`: its own options, in the order given.
    pub options: Vec<(String, String)>,
}

impl ExternalSpec {
    /// What the engine may think for each move where only the depth is limited: as good as for ever.
    const UNLIMITED: Duration = Duration::from_secs(36_000);

    /// Time for each move: what the spec says, otherwise a second, or no limit if the depth is limited.
    pub fn time(&self) -> Duration {
        self.time.unwrap_or(if self.depth.is_some() { Self::UNLIMITED } else { Duration::from_secs(1) })
    }

    /// How long a move is waited for: what the spec says, otherwise ten seconds and ten times the time for a move, or ten
    /// minutes if only the depth is limited.
    pub fn deadline(&self) -> Duration {
        self.deadline.unwrap_or(match (self.time, self.depth) {
            (None, Some(_)) => Duration::from_secs(600),
            _ => Duration::from_secs(10) + 10 * self.time(),
        })
    }

    /// How long the engine may take to get ready: what the spec says, otherwise thirty seconds.
    pub fn start(&self) -> Duration {
        self.start.unwrap_or(Duration::from_secs(30))
    }

    /// Reads what stands after `cecp:` or `usi:`.
    pub(crate) fn parse(protocol: Protocol, text: &str) -> Result<ExternalSpec, String> {
        let mut items = items(text)?.into_iter();
        let command = items.next().filter(|command| !command.is_empty()).ok_or("no command")?;
        let mut spec = ExternalSpec {
            protocol,
            command,
            time: None,
            depth: None,
            deadline: None,
            start: None,
            memory: None,
            variant: None,
            transcript: None,
            options: Vec::new(),
        };
        for item in items {
            let item = item.concat();
            let name_at = if item.starts_with(OPTION) { OPTION.len() } else { 0 };
            let Some((name, value)) = item[name_at..].split_once('=') else {
                return Err(format!("`{item}` is no KEY=VALUE"));
            };
            if name_at > 0 {
                if name.is_empty() || spec.options.iter().any(|(given, _)| given == name) {
                    return Err(format!("`{item}` names no option, or one twice"));
                }
                spec.options.push((name.to_string(), value.to_string()));
                continue;
            }
            let twice = || format!("`{name}` twice");
            match name {
                "time" => set(&mut spec.time, seconds(name, value)?).ok_or_else(twice)?,
                "deadline" => set(&mut spec.deadline, seconds(name, value)?).ok_or_else(twice)?,
                "start" => set(&mut spec.start, seconds(name, value)?).ok_or_else(twice)?,
                "depth" => set(&mut spec.depth, number(name, value)?).ok_or_else(twice)?,
                "memory" => set(&mut spec.memory, number(name, value)?).ok_or_else(twice)?,
                "variant" => set(&mut spec.variant, one_line(name, value)?).ok_or_else(twice)?,
                "transcript" => set(&mut spec.transcript, one_line(name, value)?.into()).ok_or_else(twice)?,
                _ => return Err(format!("no key `{name}`")),
            }
        }
        Ok(spec)
    }
}

const OPTION: &str = "option.";

fn set<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

fn seconds(name: &str, value: &str) -> Result<Duration, String> {
    let seconds = value.parse().ok().filter(|seconds: &f64| (0.001..=86_400.0).contains(seconds));
    let seconds = seconds.ok_or_else(|| format!("`{name}={value}`: expected seconds, 0.001 to 86400"))?;
    Ok(Duration::from_millis((1000.0 * seconds).round() as u64))
}

fn number(name: &str, value: &str) -> Result<u32, String> {
    let number = value.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| format!("`{name}={value}`: expected a number, 1 to 1000000"))
}

fn one_line(name: &str, value: &str) -> Result<String, String> {
    if value.is_empty() { Err(format!("`{name}=` is empty")) } else { Ok(value.to_string()) }
}

/// The words of the command, then the other items, each a word.
fn items(text: &str) -> Result<Vec<Vec<String>>, String> {
    if text.chars().any(char::is_control) {
        return Err("a control character".to_string());
    }
    let mut items = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let in_command = items.len() == 1;
        match character {
            ',' => {
                let item = items.last_mut().expect("there is one from the start");
                item.extend(word.take());
                items.push(Vec::new());
            }
            ' ' if in_command => items[0].extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        None => return Err(format!("{character} is not closed")),
                        Some(next) if next == character => break,
                        Some('\\') if character == '"' => {
                            let next = characters.next().ok_or("\\ at the end")?;
                            if !matches!(next, '"' | '\\') {
                                word.push('\\');
                            }
                            word.push(next);
                        }
                        Some(next) => word.push(next),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(characters.next().ok_or("\\ at the end")?),
            other => word.get_or_insert_default().push(other),
        }
    }
    items.last_mut().expect("there is one from the start").extend(word);
    Ok(items)
}

/// A word so that [`items`] reads it as one.
fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && !word.contains([' ', ',', '\'', '"', '\\']);
    if plain { word.to_string() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

impl fmt::Display for ExternalSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.protocol {
            Protocol::Cecp => "cecp:",
            Protocol::Usi => "usi:",
        })?;
        let words: Vec<_> = self.command.iter().map(|word| quoted(word)).collect();
        f.write_str(&words.join(" "))?;
        let mut keys = String::new();
        let mut key = |name: &str, value: Option<String>| match value {
            Some(value) => write!(keys, ",{name}={value}"),
            None => Ok(()),
        };
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64().to_string());
        key("time", seconds(self.time))?;
        key("depth", self.depth.map(|depth| depth.to_string()))?;
        key("deadline", seconds(self.deadline))?;
        key("start", seconds(self.start))?;
        key("memory", self.memory.map(|memory| memory.to_string()))?;
        key("variant", self.variant.as_deref().map(quoted))?;
        key("transcript", self.transcript.as_ref().map(|folder| quoted(&folder.to_string_lossy())))?;
        for (name, value) in &self.options {
            write!(keys, ",{}", quoted(&format!("{OPTION}{name}={value}")))?;
        }
        f.write_str(&keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ExternalSpec, String> {
        ExternalSpec::parse(Protocol::Cecp, text)
    }

    #[test]
    fn commands_may_have_spaces_commas_and_quotes() {
        let check = |text: &str, command: &[&str]| {
            let spec = read(text).expect(text);
            assert_eq!(spec.command, command);
            let shown = spec.to_string();
            assert_eq!(read(shown.strip_prefix("cecp:").expect("its protocol")).as_ref(), Ok(&spec), "{shown}");
        };
        check("hachu", &["hachu"]);
        check("nice -n 5  hachu", &["nice", "-n", "5", "hachu"]);
        check("'my engines/h' a,time=1", &["my engines/h", "a"]);
        check(r#"sh -c "echo \"a, b\" \n""#, &["sh", "-c", r#"echo "a, b" \n"#]);
        check(r"a\ b\,c 'it'\''s' ''", &["a b,c", "it's", ""]);
    }

    #[test]
    fn keys_are_read() {
        let spec =
            read("hachu,time=0.1,option.Allow repeats=1,'option.Tsume=no, never',memory=32,depth=3").expect("spec");
        assert_eq!(spec.time(), Duration::from_millis(100));
        assert_eq!((spec.deadline(), spec.start()), (Duration::from_secs(11), Duration::from_secs(30)));
        assert_eq!((spec.memory, spec.depth), (Some(32), Some(3)));
        let option = |name: &str, value: &str| (name.to_string(), value.to_string());
        assert_eq!(spec.options, [option("Allow repeats", "1"), option("Tsume", "no, never")]);
        assert_eq!(read("a").expect("spec").time(), Duration::from_secs(1));
        assert_eq!(read("a,depth=2").expect("spec").deadline(), Duration::from_secs(600));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let check = |text: &str, part: &str| {
            let error = read(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        };
        check("", "no command");
        check(",time=1", "no command");
        check("a,'b", "not closed");
        check("a\\", "at the end");
        check("a\nb", "control character");
        check("a,fast", "`fast` is no KEY=VALUE");
        check("a,speed=1", "no key `speed`");
        check("a,time=0", "`time=0`");
        check("a,time=NaN", "`time=NaN`");
        check("a,time=1,time=1", "`time` twice");
        check("a,depth=-1", "`depth=-1`");
        check("a,option.X=1,option.X=2", "twice");
        check("a,variant=", "empty");
    }
}
