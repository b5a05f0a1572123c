//! The agent's options: `k=v,k=v` after `-agentpath:...=`, or one `k=v` a line in `config=FILE`.
//!
//! Parsing is pure: the caller hands in what reads a file. Names, units, defaults and ranges are the table of
//! the specification "Commands, options, outputs".

mod value;

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use value::{flag, one_of, percent, ratio, size, time, whole};

/// Most bytes that a `config=` file may have.
pub const MAX_CONFIG_BYTES: usize = 64 * 1024;

/// What arms the leak signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Track {
    /// Ages of surviving samples.
    Generations,
    /// Live samples only: arms the signal together with reference chains.
    LiveHeap,
}

/// Which engine walks the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkEngine {
    /// Plain JNI reads beside the running application.
    Concurrent,
    /// FollowReferences inside safepoints.
    Safepoint,
}

/// How the concurrent engine remembers what it has visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visited {
    /// The engine chooses.
    Auto,
    /// Identity hash and class.
    Hash,
    /// JVMTI tags.
    Tags,
}

/// How much the agent says on stderr; each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What makes the agent useless.
    Error,
    /// What the user should know (default).
    Warn,
    /// Milestones.
    Info,
    /// Everything.
    Debug,
}

/// What a second load (an attach) asks of the agent that already runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Begin to work with the other options given.
    Start,
    /// Write what is known to the file now.
    Dump,
    /// End: callbacks off, references and tags released.
    Stop,
    /// Say what the agent does.
    Status,
}

/// Every option, with its default where none was given. `None` means "tuned to the machine" unless it says else.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Path template of the own recording (`%p` pid, `%t` time); `None`: live with the JVM's recordings.
    pub file: Option<String>,
    /// Stop the own recording after this; `None`: never.
    pub duration: Option<Duration>,
    /// Most bytes of the own recording: its oldest chunks go first; `None`: no limit.
    pub max_size_bytes: Option<u64>,
    /// What arms the signal.
    pub track: Track,
    /// Whether reference chains are searched for.
    pub chains: bool,
    /// Mean bytes between two allocation samples.
    pub interval_bytes: u32,
    /// Share of samples that are tracked, 0.01..=1.
    pub live_ratio: f64,
    /// Most frames of an allocation stack.
    pub depth_frames: u16,
    /// Walking engine.
    pub walk: WalkEngine,
    /// Visited set of the concurrent engine.
    pub visited: Visited,
    /// Bytes for a search, concurrent engine.
    pub memcap_bytes: Option<u64>,
    /// Frontier entries, safepoint engine.
    pub framecap_entries: u32,
    /// Whether `framecap` was given: an unset one is tuned to the machine.
    pub framecap_given: bool,
    /// Longest chain, runs collapsed.
    pub hops: u32,
    /// Edges a pass.
    pub budget_edges: Option<u32>,
    /// Edges of the root pass, safepoint engine; `None`: ten budgets.
    pub first_pass_budget_edges: Option<u32>,
    /// Life of a search; zero: off.
    pub ttl: Option<Duration>,
    /// The controller's pause target.
    pub pause_target: Duration,
    /// Refill of both cost budgets in percent.
    pub pain_budget_percent: Option<f64>,
    /// Heap-walk-call time allowed in any 60 s.
    pub stop_cap: Duration,
    /// Search threads' share of one core in percent.
    pub cpu_cap_percent: u8,
    /// Verbosity on stderr.
    pub log: LogLevel,
    /// Whether a load failure fails the JVM's start.
    pub strict: bool,
    /// What an attach asks for.
    pub command: Option<Command>,
    /// File that takes the answer to an attached command; the client has made it.
    pub reply: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            file: None,
            duration: None,
            max_size_bytes: Some(1 << 30),
            track: Track::Generations,
            chains: true,
            interval_bytes: 524_287,
            live_ratio: 0.1,
            depth_frames: 64,
            walk: WalkEngine::Concurrent,
            visited: Visited::Auto,
            memcap_bytes: None,
            framecap_entries: 65_536,
            framecap_given: false,
            hops: 200,
            budget_edges: None,
            first_pass_budget_edges: None,
            ttl: None,
            pause_target: Duration::from_millis(50),
            pain_budget_percent: None,
            stop_cap: Duration::from_millis(500),
            cpu_cap_percent: 50,
            log: LogLevel::Warn,
            strict: false,
            command: None,
            reply: None,
        }
    }
}

/// Why an option was refused. Its text names the option and what it accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// No option has this name.
    Unknown(String),
    /// A part without `=`.
    NoValue(String),
    /// A value outside what the option accepts.
    Value {
        /// The option.
        name: &'static str,
        /// What was given, shortened.
        given: String,
        /// What it accepts.
        accepts: &'static str,
    },
    /// The `config=` file could not be used.
    Config {
        /// Its path.
        path: String,
        /// Why.
        cause: String,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(
                f,
                "option {name:?} does not exist; known: {}",
                NAMES.join(", ")
            ),
            Self::NoValue(part) => write!(
                f,
                "option {part:?} has no value: options are name=value,name=value (a value with a comma goes into config=FILE)"
            ),
            Self::Value {
                name,
                given,
                accepts,
            } => write!(
                f,
                "option {name}={given:?} is wrong: {name} takes {accepts}"
            ),
            Self::Config { path, cause } => write!(f, "option config={path:?}: {cause}"),
        }
    }
}

impl std::error::Error for OptionError {}

/// Names of all options, in the order of the specification's table; `maxsize` is ours.
pub const NAMES: [&str; 25] = [
    "file",
    "duration",
    "maxsize",
    "track",
    "chains",
    "interval",
    "live-ratio",
    "depth",
    "walk",
    "visited",
    "memcap",
    "framecap",
    "hops",
    "budget",
    "firstpassbudget",
    "ttl",
    "pausetarget",
    "painbudget",
    "stopcap",
    "cpucap",
    "log",
    "strict",
    "config",
    "cmd",
    "reply",
];

/// What a text of options says: the good ones applied, the bad ones named.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// Options with every acceptable value applied; a later value replaces an earlier one.
    pub options: Options,
    /// What was refused, in order.
    pub errors: Vec<OptionError>,
}

/// Parses the text after `=` of `-agentpath`; empty text gives the defaults.
///
/// `read` answers the contents of the file that `config=` names, or why it cannot; it is called at most once for
/// each `config=`, never from inside a configuration file.
pub fn parse(text: &str, read: &mut dyn FnMut(&str) -> Result<String, String>) -> Parsed {
    let mut parsed = Parsed {
        options: Options::default(),
        errors: Vec::new(),
    };
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let Some((name, value)) = split(part, &mut parsed.errors) else {
            continue;
        };
        if name != "config" {
            apply(&mut parsed, name, value);
            continue;
        }
        match read(value) {
            Ok(lines) => parse_config(&mut parsed, &lines),
            Err(cause) => parsed.errors.push(OptionError::Config {
                path: shorten(value),
                cause,
            }),
        }
    }
    parsed
}

fn parse_config(parsed: &mut Parsed, lines: &str) {
    for line in lines
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let Some((name, value)) = split(line, &mut parsed.errors) else {
            continue;
        };
        if name == "config" {
            let cause = "a configuration file cannot name another one".to_owned();
            parsed.errors.push(OptionError::Config {
                path: shorten(value),
                cause,
            });
        } else {
            apply(parsed, name, value);
        }
    }
}

fn split<'t>(part: &'t str, errors: &mut Vec<OptionError>) -> Option<(&'t str, &'t str)> {
    let Some((name, value)) = part.split_once('=') else {
        errors.push(OptionError::NoValue(shorten(part)));
        return None;
    };
    Some((name.trim(), value.trim()))
}

/// A given text as messages show it: at most 60 characters.
fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.to_owned();
    }
    text.chars().take(57).chain("...".chars()).collect()
}

fn apply(parsed: &mut Parsed, name: &str, given: &str) {
    let Some(&name) = NAMES.iter().find(|known| **known == name) else {
        parsed.errors.push(OptionError::Unknown(shorten(name)));
        return;
    };
    if let Err(accepts) = set(&mut parsed.options, name, given) {
        parsed.errors.push(OptionError::Value {
            name,
            given: shorten(given),
            accepts,
        });
    }
}

/// Applies one value; the error is what the option accepts.
fn set(o: &mut Options, name: &str, v: &str) -> Result<(), &'static str> {
    const K: u64 = 1024;
    match name {
        "file" if v.is_empty() => return Err("a path; %p is replaced by the pid, %t by the time"),
        "file" => o.file = Some(v.to_owned()),
        "duration" => {
            let given = time(v).filter(|d| *d >= Duration::from_secs(1));
            o.duration = Some(given.ok_or("a time of at least 1s (units ms, s, m, h)")?);
        }
        "maxsize" if v == "0" => o.max_size_bytes = None,
        "maxsize" => {
            o.max_size_bytes = Some(
                size(v, K * K, u64::MAX)
                    .ok_or("0 for no limit, or a size of at least 1m (units k, m, g)")?,
            );
        }
        "track" => {
            let known = [
                ("generations", Track::Generations),
                ("liveheap", Track::LiveHeap),
            ];
            o.track = one_of(v, &known).ok_or("generations or liveheap")?;
        }
        "chains" => o.chains = flag(v).ok_or("on or off")?,
        "interval" => {
            let bytes = size(v, K, K * K * K).ok_or("a size in 1k..1g (units k, m, g)")?;
            // JVMTI takes a jint: 1g is its one value that needs 31 bits, which fits.
            o.interval_bytes =
                u32::try_from(bytes).map_err(|_| "a size in 1k..1g (units k, m, g)")?;
        }
        "live-ratio" => o.live_ratio = ratio(v, 0.01, 1.0).ok_or("a number in 0.01..1")?,
        "depth" => o.depth_frames = whole(v, 0, 512).ok_or("a whole number of frames in 0..512")?,
        "walk" => {
            let known = [
                ("concurrent", WalkEngine::Concurrent),
                ("safepoint", WalkEngine::Safepoint),
            ];
            o.walk = one_of(v, &known).ok_or("concurrent or safepoint")?;
        }
        "visited" => {
            let known = [
                ("auto", Visited::Auto),
                ("hash", Visited::Hash),
                ("tags", Visited::Tags),
            ];
            o.visited = one_of(v, &known).ok_or("auto, hash or tags")?;
        }
        "memcap" if v == "auto" => o.memcap_bytes = None,
        "memcap" => {
            o.memcap_bytes = Some(
                size(v, 8 * K * K, u64::MAX)
                    .ok_or("auto or a size of at least 8m (units k, m, g)")?,
            );
        }
        "framecap" => {
            o.framecap_entries =
                whole(v, 1, 65_536_000).ok_or("a whole number of entries in 1..65536000")?;
            o.framecap_given = true;
        }
        "hops" => o.hops = whole(v, 1, 200_000).ok_or("a whole number of hops in 1..200000")?,
        "budget" if v == "auto" => o.budget_edges = None,
        "budget" => {
            o.budget_edges = Some(
                whole(v, 1, 10_000_000).ok_or("auto or a whole number of edges in 1..10000000")?,
            );
        }
        "firstpassbudget" => {
            o.first_pass_budget_edges =
                Some(whole(v, 0, 10_000_000).ok_or("a whole number of edges in 0..10000000")?);
        }
        "ttl" if v == "auto" => o.ttl = None,
        "ttl" => o.ttl = Some(time(v).ok_or("auto, 0 for off, or a time (units ms, s, m, h)")?),
        "pausetarget" => o.pause_target = time(v).ok_or("a time, 0 or more (units ms, s, m, h)")?,
        "painbudget" if v == "auto" => o.pain_budget_percent = None,
        "painbudget" => {
            o.pain_budget_percent =
                Some(percent(v, 0.0, 100.0).ok_or("auto or a percentage in 0..100")?);
        }
        "stopcap" => {
            let range = Duration::from_millis(1)..=Duration::from_secs(60);
            o.stop_cap = time(v)
                .filter(|d| range.contains(d))
                .ok_or("a time in 1ms..60s, allowed in any 60 s (units ms, s, m)")?;
        }
        "cpucap" => {
            let number = v.strip_suffix('%').unwrap_or(v);
            o.cpu_cap_percent =
                whole(number, 1, 100).ok_or("a percentage of one core in 1..100")?;
        }
        "log" => {
            let known = [
                ("off", LogLevel::Off),
                ("error", LogLevel::Error),
                ("warn", LogLevel::Warn),
                ("info", LogLevel::Info),
                ("debug", LogLevel::Debug),
            ];
            o.log = one_of(v, &known).ok_or("off, error, warn, info or debug")?;
        }
        "strict" => {
            // The words that mean "on" elsewhere are taken too: a strict start that is silently lenient is worse.
            let known = [("true", true), ("false", false)];
            o.strict = flag(v).or_else(|| one_of(v, &known)).ok_or("on or off")?;
        }
        "cmd" => {
            let known = [
                ("start", Command::Start),
                ("dump", Command::Dump),
                ("stop", Command::Stop),
                ("status", Command::Status),
            ];
            o.command = Some(one_of(v, &known).ok_or("start, dump, stop or status")?);
        }
        "reply" if v.is_empty() => return Err("a path"),
        "reply" => o.reply = Some(v.to_owned()),
        _ => {}
    }
    Ok(())
}
