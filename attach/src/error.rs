//! Every way in which attaching fails.

use std::io;
use std::path::PathBuf;

/// Why a JVM could not be attached to or driven. The text names the cause and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No process has that id.
    #[error(
        "no process {pid} (a pid inside a container has another number outside: see `jfr-chains list`)"
    )]
    NoProcess {
        /// As given.
        pid: u32,
    },
    /// No running JVM's main class matches.
    #[error("no JVM runs {name:?}; `jfr-chains list` shows those that can be seen")]
    NoSuchMainClass {
        /// As given.
        name: String,
    },
    /// Several running JVMs match.
    #[error("{name:?} fits several JVMs ({pids:?}); give the pid")]
    Ambiguous {
        /// As given.
        name: String,
        /// Those that match.
        pids: Vec<u32>,
    },
    /// The process has no `libjvm.so` mapped.
    #[error("process {pid} ({command}) is no JVM: it has no libjvm.so loaded")]
    NotJvm {
        /// Its id.
        pid: u32,
        /// Its name.
        command: String,
    },
    /// A JVM of another make.
    #[error(
        "process {pid} is an OpenJ9 JVM; the agent needs HotSpot (OpenJDK, Temurin, Corretto, Zulu ...)"
    )]
    OpenJ9 {
        /// Its id.
        pid: u32,
    },
    /// The JVM belongs to somebody else, and we are not root.
    #[error(
        "process {pid} belongs to uid {uid}, we are uid {ours}: run as that user (`sudo -u '#{uid}' ...`) or as root"
    )]
    OtherUser {
        /// Its id.
        pid: u32,
        /// Its effective uid.
        uid: u32,
        /// Our effective uid.
        ours: u32,
    },
    /// The JVM runs with `-XX:+DisableAttachMechanism`.
    #[error(
        "process {pid} runs with -XX:+DisableAttachMechanism: it cannot be attached to; start it with -agentpath instead"
    )]
    AttachDisabled {
        /// Its id.
        pid: u32,
    },
    /// The JVM does not handle SIGQUIT (yet), which would end it.
    #[error(
        "process {pid} does not handle SIGQUIT: it is still starting, or something took the signal from the JVM; no \
         signal was sent, since it would end the process. Try again, or start it with -agentpath"
    )]
    NoSignalHandler {
        /// Its id.
        pid: u32,
    },
    /// The process is stopped or traced, so that its listener cannot start.
    #[error("process {pid} is stopped (state {state}): continue it first (kill -CONT {pid})")]
    Stopped {
        /// Its id.
        pid: u32,
        /// State letter of /proc.
        state: char,
    },
    /// The request file that the JVM looks for cannot be made.
    #[error(
        "cannot write {path} (pid {pid}, namespace pid {namespace_pid}, uid {uid}): {cause}; \
         the JVM looks for it in its working folder and in its /tmp"
    )]
    RequestFile {
        /// Where it should be.
        path: PathBuf,
        /// The JVM's id.
        pid: u32,
        /// Its id in its own namespace.
        namespace_pid: u32,
        /// Its effective uid.
        uid: u32,
        /// What the system said.
        cause: io::Error,
    },
    /// The listener did not appear.
    #[error(
        "process {pid} started no attach listener within {seconds} s: no {socket} (namespace pid {namespace_pid}, uid \
         {uid}). It may be in a long pause, or its /tmp may be another folder than the one seen from here"
    )]
    NoListener {
        /// The JVM's id.
        pid: u32,
        /// Its id in its own namespace.
        namespace_pid: u32,
        /// Its effective uid.
        uid: u32,
        /// How long we waited.
        seconds: u64,
        /// The socket that should have appeared.
        socket: PathBuf,
    },
    /// The listener's socket exists and takes no connection.
    #[error(
        "cannot connect to {socket} of process {pid}: {cause}; if no JVM owns the file any more, delete it"
    )]
    Connect {
        /// The JVM's id.
        pid: u32,
        /// The socket.
        socket: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A request that the JVM would drop without an answer.
    #[error(
        "the agent's options have {length} bytes, the attach protocol takes {max}: write them to a file, one k=v a \
         line, and pass config=FILE"
    )]
    OptionsTooLong {
        /// Bytes given.
        length: usize,
        /// Bytes allowed.
        max: usize,
    },
    /// A zero byte in an argument.
    #[error("an option with a zero byte cannot be sent")]
    ZeroByte,
    /// The JVM closed the connection without a word.
    #[error(
        "process {pid} closed the connection without an answer: it is ending, or does not accept our user"
    )]
    NoAnswer {
        /// The JVM's id.
        pid: u32,
    },
    /// The JVM ended or stopped answering in the middle.
    #[error("talking to process {pid}: {cause}")]
    Talk {
        /// The JVM's id.
        pid: u32,
        /// What the system said.
        cause: io::Error,
    },
    /// `-XX:-EnableDynamicAgentLoading`.
    #[error(
        "process {pid} runs with -XX:-EnableDynamicAgentLoading: it takes no agent while it runs; start it with \
         -agentpath:{library}"
    )]
    DynamicLoadingDisabled {
        /// The JVM's id.
        pid: u32,
        /// The library as the JVM sees it.
        library: PathBuf,
    },
    /// The JVM could not load the library.
    #[error("process {pid} could not load {library}: {reason}")]
    NotLoaded {
        /// The JVM's id.
        pid: u32,
        /// The library as the JVM sees it.
        library: PathBuf,
        /// The JVM's words.
        reason: String,
    },
    /// The agent was loaded and refused.
    #[error(
        "the agent in process {pid} refused with code {code}; its reason is on the process's stderr"
    )]
    Refused {
        /// The JVM's id.
        pid: u32,
        /// What `Agent_OnAttach` returned.
        code: i32,
    },
    /// The JVM refused an operation.
    #[error("process {pid} answered {status}: {text}")]
    Failed {
        /// The JVM's id.
        pid: u32,
        /// The status line.
        status: String,
        /// What followed.
        text: String,
    },
    /// The library cannot be put where the JVM sees it.
    #[error("cannot put the agent library at {path} for process {pid}: {cause}")]
    Place {
        /// The JVM's id.
        pid: u32,
        /// Where, as seen from here.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A glibc library for a JVM that runs on musl.
    #[error(
        "process {pid} runs on musl libc (Alpine), {library} is built for glibc: use the musl build of the agent"
    )]
    Musl {
        /// The JVM's id.
        pid: u32,
        /// The library.
        library: PathBuf,
    },
    /// A file of /proc could not be read.
    #[error("cannot look at process {pid}: {cause}")]
    Proc {
        /// The process's id.
        pid: u32,
        /// What the system said.
        cause: io::Error,
    },
}
