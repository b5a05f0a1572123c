//! Which JVM and program the agent finds itself in, and whether it works there. Pure.

use std::fmt;

/// What the JVM says of itself before Java code runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// `java.vm.name`.
    pub vm_name: Option<String>,
    /// `java.vm.version`.
    pub vm_version: Option<String>,
    /// `sun.java.command`: main class and arguments, as the launcher set it.
    pub command: Option<String>,
    /// JVMTI version, (major, minor).
    pub jvmti: Option<(u16, u16)>,
}

/// Why the agent stays out of this JVM.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A tool of the JDK, which inherited the agent through `JAVA_TOOL_OPTIONS`.
    JdkTool(String),
    /// Not HotSpot.
    OtherVm(String),
    /// No allocation sampler: JDK 10 or older.
    TooOld(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JdkTool(main) => write!(f, "not active in the JDK tool {main}"),
            Self::OtherVm(name) => {
                write!(
                    f,
                    "this JVM is {name}, the agent works in HotSpot (OpenJDK 11 and newer) only; it stays idle"
                )
            }
            Self::TooOld(version) => {
                write!(
                    f,
                    "this JVM is version {version}, which cannot sample allocations (JDK 11 is the oldest that can); it stays idle"
                )
            }
        }
    }
}

/// Main classes of the JDK's modules that run the user's own program.
const LAUNCHERS: [&str; 2] = ["com.sun.tools.javac.launcher.", "jdk.internal.jrtfs."];

/// Whether the agent works here; the reason when it does not.
///
/// # Errors
/// The first [`Refusal`] that applies: another VM, too old, a JDK tool.
pub fn judge(facts: &HostFacts) -> Result<(), Refusal> {
    let name = facts.vm_name.as_deref().unwrap_or("of unknown make");
    if ["OpenJ9", "Zing", "SubstrateVM"]
        .iter()
        .any(|other| name.contains(other))
    {
        return Err(Refusal::OtherVm(name.to_owned()));
    }
    // JDK 9 and 10 report JVMTI 9.0 and 10.0, JDK 8 1.2 (OpenJ9 of any release reports 1.2 or 11).
    if facts.jvmti.is_some_and(|(major, _)| major < 11) {
        let version = facts
            .vm_version
            .clone()
            .unwrap_or_else(|| "unknown".to_owned());
        return Err(Refusal::TooOld(version));
    }
    match facts.command.as_deref().and_then(jdk_tool) {
        Some(main) => Err(Refusal::JdkTool(main.to_owned())),
        None => Ok(()),
    }
}

/// The main class when `command` (`module/main.Class arguments`) starts a tool of the JDK.
fn jdk_tool(command: &str) -> Option<&str> {
    let (module, main) = command.split_whitespace().next()?.split_once('/')?;
    // A path such as `/opt/app.jar` has a slash too, but no module name before it.
    let of_the_jdk = module.starts_with("jdk.") || module.starts_with("java.");
    let launches = LAUNCHERS.iter().any(|prefix| main.starts_with(prefix));
    (of_the_jdk && !launches).then_some(main)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hotspot(command: &str) -> HostFacts {
        HostFacts {
            vm_name: Some("OpenJDK 64-Bit Server VM".into()),
            vm_version: Some("17.0.15+6".into()),
            command: Some(command.into()),
            jvmti: Some((17, 0)),
        }
    }

    #[test]
    fn applications_are_taken() {
        for command in [
            "orders.OrderService 10",
            "/opt/app.jar --port 1",
            "./jdk.app/x.jar",
            "com.acme/com.acme.Main",
        ] {
            assert_eq!(judge(&hotspot(command)), Ok(()), "{command}");
        }
        assert_eq!(
            judge(&HostFacts {
                command: None,
                ..hotspot("")
            }),
            Ok(())
        );
    }

    #[test]
    fn a_source_file_run_by_the_launcher_is_an_application() {
        assert_eq!(
            judge(&hotspot(
                "jdk.compiler/com.sun.tools.javac.launcher.SourceLauncher A.java"
            )),
            Ok(())
        );
    }

    #[test]
    fn jdk_tools_are_skipped() {
        for command in [
            "jdk.jcmd/sun.tools.jcmd.JCmd 12 JFR.dump",
            "jdk.compiler/com.sun.tools.javac.Main A.java",
            "jdk.jfr/jdk.jfr.internal.tool.Main print x.jfr",
            "java.base/sun.security.tools.keytool.Main -list",
        ] {
            assert!(
                matches!(judge(&hotspot(command)), Err(Refusal::JdkTool(_))),
                "{command}"
            );
        }
    }

    #[test]
    fn openj9_and_old_jdks_get_one_clear_sentence() {
        let j9 = HostFacts {
            vm_name: Some("Eclipse OpenJ9 VM".into()),
            ..hotspot("a.B")
        };
        assert!(
            judge(&j9)
                .unwrap_err()
                .to_string()
                .contains("Eclipse OpenJ9 VM")
        );
        let eight = HostFacts {
            jvmti: Some((1, 2)),
            vm_version: Some("25.412-b08".into()),
            ..hotspot("a.B")
        };
        assert!(
            judge(&eight)
                .unwrap_err()
                .to_string()
                .contains("25.412-b08")
        );
    }
}
