//! The bytes of the protocol, version 1: a request with three arguments, an answer of status line and text.

use crate::Error;
use std::path::Path;

/// Longest argument in bytes; longer ones make the JVM close the connection without an answer.
pub const OPTIONS_MAX: usize = 1024;
/// Arguments of every request; missing ones are empty.
const ARGUMENTS: usize = 3;

/// Version, operation and arguments, each ended by a zero byte. Errs when an argument is too long or
/// holds a zero byte.
pub fn request(operation: &str, arguments: [&str; ARGUMENTS]) -> Result<Vec<u8>, Error> {
    if let Some(long) = arguments
        .iter()
        .find(|argument| argument.len() > OPTIONS_MAX)
    {
        return Err(Error::OptionsTooLong {
            length: long.len(),
            max: OPTIONS_MAX,
        });
    }
    if arguments.iter().any(|argument| argument.contains('\0')) {
        return Err(Error::ZeroByte);
    }
    let mut bytes = Vec::new();
    for part in ["1", operation].into_iter().chain(arguments) {
        bytes.extend_from_slice(part.as_bytes());
        bytes.push(0);
    }
    Ok(bytes)
}

/// The text of an answer, errs when its status line is not 0 or it is empty.
pub fn answer(pid: u32, bytes: &[u8]) -> Result<String, Error> {
    let all = String::from_utf8_lossy(bytes);
    if all.is_empty() {
        return Err(Error::NoAnswer { pid });
    }
    let (status, text) = all.split_once('\n').unwrap_or((&all, ""));
    if status.trim() == "0" {
        return Ok(text.to_owned());
    }
    Err(Error::Failed {
        pid,
        status: status.trim().to_owned(),
        text: text.trim().to_owned(),
    })
}

/// What an answer to `load` means. JDK 17 tells failures in the status line, JDK 21 and later answer
/// status 0 with the reason as text, JDK 8 gives the agent's code alone.
pub fn loaded(pid: u32, library: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |text: &str| {
        let library = library.to_path_buf();
        if text.contains("ynamic agent loading is not enabled") {
            Error::DynamicLoadingDisabled { pid, library }
        } else {
            Error::NotLoaded {
                pid,
                library,
                reason: text.trim().to_owned(),
            }
        }
    };
    let text = match answer(pid, bytes) {
        Ok(text) => text,
        Err(Error::Failed { status, text, .. }) if !text.is_empty() => {
            return Err(match code(&text) {
                Some(code) => Error::Refused { pid, code },
                None => failed(&format!("{text} (status {status})")),
            });
        }
        Err(error) => return Err(error),
    };
    match code(&text) {
        Some(0) => Ok(()),
        Some(code) => Err(Error::Refused { pid, code }),
        None => Err(failed(&text)),
    }
}

/// The agent's return code: `return code: 0`, or a bare number.
fn code(text: &str) -> Option<i32> {
    let line = text.lines().find(|line| !line.trim().is_empty())?.trim();
    line.strip_prefix("return code:")
        .unwrap_or(line)
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::{OPTIONS_MAX, answer, loaded, request};
    use crate::Error;
    use std::path::Path;

    fn load(bytes: &str) -> Result<(), Error> {
        loaded(7, Path::new("/tmp/agent.so"), bytes.as_bytes())
    }

    #[test]
    fn a_request_has_five_parts_each_with_its_zero() {
        let bytes = request("load", ["/tmp/agent.so", "true", "file=a"]).unwrap();
        assert_eq!(bytes, b"1\0load\0/tmp/agent.so\0true\0file=a\0");
        assert_eq!(request("jcmd", ["", "", ""]).unwrap(), b"1\0jcmd\0\0\0\0");
    }

    #[test]
    fn options_that_the_jvm_would_drop_are_refused_before_it_is_asked() {
        let long = "x".repeat(OPTIONS_MAX + 1);
        let error = request("load", ["a", "true", &long]).unwrap_err();
        assert!(error.to_string().contains("config=FILE"), "{error}");
        assert!(request("load", ["a", "true", &"x".repeat(OPTIONS_MAX)]).is_ok());
        assert!(matches!(
            request("load", ["a\0b", "", ""]),
            Err(Error::ZeroByte)
        ));
    }

    #[test]
    fn success_is_told_by_the_agents_code() {
        assert!(load("0\nreturn code: 0\n").is_ok());
        assert!(load("0\n0\n").is_ok());
        assert!(matches!(
            load("0\nreturn code: -1\n"),
            Err(Error::Refused { code: -1, .. })
        ));
    }

    #[test]
    fn failure_is_understood_in_the_status_line_and_in_the_text() {
        let text = "/tmp/agent.so was not loaded.\n/tmp/agent.so: cannot open shared object file\n";
        for bytes in [format!("0\n{text}"), format!("100\n{text}")] {
            let Err(Error::NotLoaded { reason, .. }) = load(&bytes) else {
                panic!("{bytes}")
            };
            assert!(reason.contains("cannot open"), "{reason}");
        }
        let disabled = "Dynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch target VM.";
        for bytes in [format!("0\n{disabled}"), format!("1\n{disabled}")] {
            assert!(matches!(
                load(&bytes),
                Err(Error::DynamicLoadingDisabled { .. })
            ));
        }
    }

    #[test]
    fn an_empty_answer_is_no_success() {
        assert!(matches!(load(""), Err(Error::NoAnswer { pid: 7 })));
        assert!(matches!(load("0\n"), Err(Error::NotLoaded { .. })));
        assert_eq!(answer(7, b"0\nVM.version\nok").unwrap(), "VM.version\nok");
    }
}
