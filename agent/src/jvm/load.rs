//! `Agent_OnLoad`, `Agent_OnAttach`, `Agent_OnUnload`: the library's three exported functions.

use std::ffi::{CStr, c_char, c_void};
use std::time::Duration;

use super::env::raw_jni::{JNI_ERR, JNI_OK, JavaVM, jint};
use super::env::{Jvmti, Phase, Vm};
use super::{guard, lifecycle};
use crate::agent;
use crate::control::Requests;
use crate::host::{self, HostFacts, Refusal};
use crate::log;
use crate::options::{self, Command, Options};
use crate::session::{self, Session};

/// How long an attached command waits for the worker.
const COMMAND_WAIT: Duration = Duration::from_secs(10);

/// Why the library does not work in this JVM after a load.
enum Failure {
    /// Said, or not worth saying; the JVM goes on whatever `strict` says.
    Quiet,
    /// One line each; fails the load when `strict` is on or when a client waits for the answer.
    Said(Vec<String>),
}

impl From<String> for Failure {
    fn from(line: String) -> Self {
        Self::Said(vec![line])
    }
}

/// The JVM loads the library at its start.
///
/// # Safety
/// Called by the JVM only.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _: *mut c_void,
) -> jint {
    guard::install_hook();
    guard::guarded(JNI_OK, || {
        // SAFETY: the JVM passes its own interface and a terminated string or null.
        let (vm, text) = unsafe { (Vm::from_raw(vm), option_text(options)) };
        load(vm, &text, false)
    })
}

/// A client loads the library into a running JVM; again and again, for each command.
///
/// # Safety
/// Called by the JVM only.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *mut c_char,
    _: *mut c_void,
) -> jint {
    guard::install_hook();
    guard::guarded(JNI_ERR, || {
        // SAFETY: as in `Agent_OnLoad`.
        let (vm, text) = unsafe { (Vm::from_raw(vm), option_text(options)) };
        load(vm, &text, true)
    })
}

/// The JVM is about to unload the library.
///
/// # Safety
/// Called by the JVM only.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnUnload(_: *mut JavaVM) {
    guard::guarded((), lifecycle::on_unload);
}

/// # Safety
/// `text` is null or terminated.
unsafe fn option_text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

fn load(vm: Option<Vm>, text: &str, attached: bool) -> jint {
    let parsed = options::parse(text, &mut read_config);
    // A command leaves the working session's level alone.
    if !agent::get().is_some_and(|agent| agent.control.is_running()) {
        log::set_level(parsed.options.log);
    }
    let strict = parsed.options.strict || attached;
    let reply = parsed.options.reply.clone();
    let errors: Vec<String> = parsed.errors.iter().map(ToString::to_string).collect();
    let outcome = match vm {
        None => Err(Failure::from("the JVM gave no interface".to_owned())),
        Some(vm) if errors.is_empty() => load_into(vm, parsed.options, attached),
        // What the host is comes first: a JDK tool that inherited bad options says nothing.
        Some(vm) => Err(refused_quietly(vm, attached).unwrap_or_else(|| {
            if !strict {
                session::record_refusal(&parsed.options, &errors);
            }
            Failure::Said(errors)
        })),
    };
    match outcome {
        Ok(text) => {
            answer(reply.as_deref(), &text);
            JNI_OK
        }
        Err(Failure::Quiet) => JNI_OK,
        Err(Failure::Said(lines)) => {
            let end = if strict {
                ""
            } else {
                "; the agent is idle, the application runs on"
            };
            // Who asked by attaching reads the answer; the application's stderr is not the place for it.
            if reply.is_none() {
                for line in &lines {
                    crate::error!("{line}{end}");
                }
            }
            answer(reply.as_deref(), &lines.join("\n"));
            if strict { JNI_ERR } else { JNI_OK }
        }
    }
}

fn refused_quietly(vm: Vm, attached: bool) -> Option<Failure> {
    let jvmti = vm.new_jvmti().ok()?;
    let quiet = matches!(judge_host(jvmti, attached), Err(Failure::Quiet));
    // SAFETY: made above, no callback was ever set, no copy is kept.
    let _disposed = unsafe { jvmti.dispose() };
    quiet.then_some(Failure::Quiet)
}

fn load_into(vm: Vm, options: Options, attached: bool) -> Result<String, Failure> {
    if let Some(agent) = agent::get() {
        return again(agent, options, attached);
    }
    if matches!(
        options.command,
        Some(Command::Stop | Command::Dump | Command::Status)
    ) {
        return Err("the agent is not loaded in this JVM".to_owned().into());
    }
    let jvmti = vm
        .new_jvmti()
        .map_err(|error| format!("this JVM offers no JVMTI ({error})"))?;
    judge_host(jvmti, attached)?;
    let session = Session::open(options)?;
    lifecycle::prepare(jvmti)
        .map_err(|error| format!("the JVM refuses what the agent needs: {error}"))?;
    let agent =
        agent::make(vm, || jvmti).map_err(|_| "loaded twice at the same time".to_owned())?;
    if jvmti.phase() == Some(Phase::Live) {
        lifecycle::begin(agent, session)?;
    } else {
        lifecycle::begin_at_vm_init(jvmti, session)
            .map_err(|error| format!("the JVM refuses its start event: {error}"))?;
    }
    Ok("started".to_owned())
}

/// The library was loaded before: an attach is a command, a second `-agentpath` a mistake.
fn again(
    agent: &'static agent::Agent,
    options: Options,
    attached: bool,
) -> Result<String, Failure> {
    if !attached {
        crate::warning!(
            "loaded twice: the options of the first -agentpath hold, these are ignored"
        );
        return Err(Failure::Quiet);
    }
    match options.command {
        None | Some(Command::Start) => {
            if agent.control.is_running() {
                return Err(
                    "the agent works already in this JVM; stop it first (cmd=stop)"
                        .to_owned()
                        .into(),
                );
            }
            let session = Session::open(options)?;
            lifecycle::begin(agent, session)?;
            Ok("started".to_owned())
        }
        Some(_) if !agent.control.is_running() => Err(
            "the agent is loaded but not at work: it was stopped, or refused to start"
                .to_owned()
                .into(),
        ),
        Some(Command::Stop) => {
            if lifecycle::end(agent, COMMAND_WAIT) {
                Ok("stopped".to_owned())
            } else {
                Err("the agent is still stopping".to_owned().into())
            }
        }
        Some(Command::Dump) => {
            let ask = Requests {
                dump: true,
                ..Requests::default()
            };
            Ok(agent
                .control
                .ask(ask, COMMAND_WAIT)
                .ok_or_else(|| "the agent did not answer in time".to_owned())?)
        }
        Some(Command::Status) => {
            let ask = Requests {
                status: true,
                ..Requests::default()
            };
            Ok(agent
                .control
                .ask(ask, COMMAND_WAIT)
                .ok_or_else(|| "the agent did not answer in time".to_owned())?)
        }
    }
}

fn judge_host(jvmti: Jvmti, attached: bool) -> Result<(), Failure> {
    let facts = HostFacts {
        vm_name: jvmti.system_property(c"java.vm.name"),
        vm_version: jvmti.system_property(c"java.vm.version"),
        // Who attaches to a JDK tool means it.
        command: if attached {
            None
        } else {
            jvmti.system_property(c"sun.java.command")
        },
        jvmti: jvmti.version(),
    };
    host::judge(&facts).map_err(|refusal| match refusal {
        Refusal::JdkTool(_) => {
            crate::debug!("{refusal}");
            Failure::Quiet
        }
        other => Failure::from(other.to_string()),
    })
}

fn read_config(path: &str) -> Result<String, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a file".into());
    }
    if metadata.len() > options::MAX_CONFIG_BYTES as u64 {
        return Err(format!(
            "larger than {} KiB",
            options::MAX_CONFIG_BYTES / 1024
        ));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// Writes the answer into the file that the client made for it.
fn answer(reply: Option<&str>, text: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    const O_NOFOLLOW: i32 = 0o400_000;
    let Some(path) = reply else { return };
    // The client owns the file: it must be there already, and a link is never followed.
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .custom_flags(O_NOFOLLOW)
        .open(path);
    if let Err(error) = opened.and_then(|mut file| {
        file.write_all(text.trim_end().as_bytes())?;
        file.write_all(b"\n")
    }) {
        crate::warning!("the answer could not be written to {path}: {error}");
    }
}
