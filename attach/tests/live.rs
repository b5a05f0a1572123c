//! Attaching to real JVMs: what works, and each way in which it cannot.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use attach::{Error, Jvm, OPTIONS_MAX, connect};
use jfr_chains_tests::{Child, Jdk, Running, java_fixtures, skip};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// Arguments of a JVM that idles for a minute and says so.
fn idle(java: Child, flags: &[&str]) -> Child {
    idle_on(java, flags, java_fixtures().unwrap().classes())
}

fn idle_on(java: Child, flags: &[&str], classes: &Path) -> Child {
    java.args(flags)
        .args(["-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp"])
        .arg(classes)
        .args([
            "orders.OrderService",
            "leak=off",
            "seconds=60",
            "garbage=1",
            "orders=10",
        ])
}

/// Starts it and waits until it serves, so that its signal handlers are in place.
fn started(child: Child) -> Running {
    let mut running = child.start().unwrap();
    let serves = running.wait_until(PATIENCE, |java| java.stdout().contains("serving"));
    assert!(serves, "{}{}", running.stdout(), running.stderr());
    running
}

/// The JDKs that these tests run on, or a skip.
fn jdks(name: &str) -> Vec<Jdk> {
    let found: Vec<Jdk> = [11, 17, 21, 25]
        .into_iter()
        .filter_map(Jdk::feature)
        .collect();
    for wanted in [17, 25] {
        if !found.iter().any(|jdk| jdk.release() == wanted) {
            skip(name, &format!("JDK {wanted}"));
        }
    }
    found
}

#[test]
fn a_listener_is_started_and_answers_commands() {
    for jdk in jdks("a_listener_is_started_and_answers_commands") {
        let java = started(idle(Child::java(&jdk), &[]));
        let jvm = Jvm::find(java.pid()).unwrap();
        assert_eq!(jvm.main_class(), Some("orders.OrderService"));
        assert_eq!(jvm.version(), Some(jdk.version()));
        assert!(!jvm.is_contained());
        let mut listener = connect(&jvm, PATIENCE).unwrap();
        assert!(
            listener.jcmd("VM.version").unwrap().contains("JDK"),
            "JDK {}",
            jdk.version()
        );
        connect(&jvm, PATIENCE).unwrap();
        assert!(!java.stdout().contains("Full thread dump"));
        assert!(attach::list().contains(&jvm));
    }
}

#[test]
fn a_jvm_is_found_by_its_main_class() {
    let Some(jdk) = Jdk::feature(17) else {
        return skip("a_jvm_is_found_by_its_main_class", "JDK 17");
    };
    let child = Child::java(&jdk)
        .args(["-Xmx64m", "-cp"])
        .arg(java_fixtures().unwrap().classes());
    let mut java = child
        .args(["shapes.S25RingBuffer", "seconds=60", "garbage=1"])
        .start()
        .unwrap();
    let found = |_: &Running| {
        matches!(
            Jvm::named("S25RingBuffer"),
            Ok(_) | Err(Error::Ambiguous { .. })
        )
    };
    assert!(java.wait_until(PATIENCE, found));
}

#[test]
fn a_library_that_does_not_exist_is_told_in_the_jvms_words() {
    for jdk in jdks("a_library_that_does_not_exist_is_told_in_the_jvms_words") {
        let java = started(idle(Child::java(&jdk), &[]));
        let mut listener = connect(&Jvm::find(java.pid()).unwrap(), PATIENCE).unwrap();
        let error = listener
            .load(Path::new("/nowhere/agent.so"), "")
            .unwrap_err();
        let Error::NotLoaded { reason, .. } = &error else {
            panic!("JDK {}: {error}", jdk.version())
        };
        assert!(
            reason.contains("agent.so"),
            "JDK {}: {reason}",
            jdk.version()
        );
    }
}

#[test]
fn options_too_long_for_the_protocol_never_reach_the_jvm() {
    let Some(jdk) = Jdk::feature(17) else {
        return skip("options_too_long", "JDK 17");
    };
    let java = started(idle(Child::java(&jdk), &[]));
    let mut listener = connect(&Jvm::find(java.pid()).unwrap(), PATIENCE).unwrap();
    let error = listener
        .load(Path::new("/a.so"), &"x".repeat(OPTIONS_MAX + 1))
        .unwrap_err();
    assert!(matches!(error, Error::OptionsTooLong { .. }), "{error}");
}

#[test]
fn disabled_dynamic_loading_is_named_with_the_flag_to_use() {
    for jdk in jdks("disabled_dynamic_loading_is_named") {
        let java = started(idle(Child::java(&jdk), &["-XX:-EnableDynamicAgentLoading"]));
        let mut listener = connect(&Jvm::find(java.pid()).unwrap(), PATIENCE).unwrap();
        let error = listener.load(Path::new("/a.so"), "").unwrap_err();
        assert!(
            matches!(error, Error::DynamicLoadingDisabled { .. }),
            "JDK {}: {error}",
            jdk.version()
        );
        assert!(error.to_string().contains("-agentpath:/a.so"), "{error}");
    }
}

#[test]
fn a_jvm_that_takes_no_requests_gets_no_signal() {
    for jdk in jdks("a_jvm_that_takes_no_requests_gets_no_signal") {
        let java = started(idle(Child::java(&jdk), &["-XX:+DisableAttachMechanism"]));
        let error = connect(&Jvm::find(java.pid()).unwrap(), PATIENCE).unwrap_err();
        assert!(
            matches!(error, Error::AttachDisabled { .. }),
            "JDK {}: {error}",
            jdk.version()
        );
        assert!(
            !java.stdout().contains("thread dump"),
            "a SIGQUIT reached it"
        );
    }
}

#[test]
fn a_jvm_with_reduced_signals_listens_from_its_start() {
    for jdk in jdks("a_jvm_with_reduced_signals_listens_from_its_start") {
        let java = started(idle(Child::java(&jdk), &["-Xrs"]));
        let jvm = Jvm::find(java.pid()).unwrap();
        let mut listener = connect(&jvm, PATIENCE).unwrap();
        assert!(
            listener.jcmd("VM.version").unwrap().contains("JDK"),
            "JDK {}",
            jdk.version()
        );
        assert_eq!(Jvm::find(java.pid()).unwrap(), jvm, "no signal ended it");
    }
}

#[test]
fn a_stopped_jvm_is_named_as_stopped() {
    let Some(jdk) = Jdk::feature(17) else {
        return skip("a_stopped_jvm_is_named_as_stopped", "JDK 17");
    };
    let mut java = started(idle(Child::java(&jdk), &[]));
    let pid = java.pid().to_string();
    assert!(
        Child::new("kill")
            .args(["-STOP", &pid])
            .run(PATIENCE)
            .unwrap()
            .ok()
    );
    let status = format!("/proc/{pid}/status");
    let stopped =
        |_: &Running| std::fs::read_to_string(&status).is_ok_and(|text| text.contains("State:\tT"));
    assert!(java.wait_until(PATIENCE, stopped));
    let error = connect(&Jvm::find(java.pid()).unwrap(), PATIENCE).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn root_attaches_to_a_jvm_of_another_user() {
    let name = "root_attaches_to_a_jvm_of_another_user";
    if !is_root() {
        return skip(name, "root");
    }
    // What another user can reach: no folder of root's home.
    let classes = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o755))
        .tempdir()
        .unwrap();
    let from = java_fixtures().unwrap().classes().join("orders");
    assert!(
        Child::new("cp")
            .arg("-r")
            .arg(from)
            .arg(classes.path())
            .run(PATIENCE)
            .unwrap()
            .ok()
    );
    for jdk in jdks(name)
        .into_iter()
        .filter(|jdk| jdk.home().starts_with("/usr"))
    {
        let java =
            Child::new("setpriv").args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        let java = started(idle_on(
            java.current_dir("/").arg(jdk.java()),
            &[],
            classes.path(),
        ));
        let jvm = Jvm::find(java.pid()).unwrap();
        assert_eq!(jvm.uid(), 65534);
        let mut listener = connect(&jvm, PATIENCE).unwrap();
        assert!(
            listener.jcmd("VM.version").unwrap().contains("JDK"),
            "JDK {}",
            jdk.version()
        );
    }
}

/// A JVM as pid 1 of its own pid and mount namespaces with a `/tmp` of its own, as in a container. The
/// returned pid is the JVM's as seen from here.
fn contained(jdk: &Jdk) -> Option<(Running, u32)> {
    let unshare = || {
        Child::new("unshare").args(["--pid", "--mount", "--fork", "--kill-child", "--mount-proc"])
    };
    if !is_root()
        || !unshare()
            .arg("true")
            .run(PATIENCE)
            .is_ok_and(|out| out.ok())
    {
        return None;
    }
    let inner = "mount -t tmpfs tmpfs /tmp && cd / && exec \"$@\"";
    let java = started(idle(
        unshare().args(["sh", "-c", inner, "sh"]).arg(jdk.java()),
        &[],
    ));
    let children =
        std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", java.pid())).unwrap();
    let pid = children.trim().parse().unwrap();
    Some((java, pid))
}

#[test]
fn a_jvm_in_other_namespaces_is_reached_through_its_own_root() {
    let name = "a_jvm_in_other_namespaces_is_reached_through_its_own_root";
    for jdk in jdks(name) {
        let Some((java, pid)) = contained(&jdk) else {
            return skip(name, "root with unshare");
        };
        let jvm = Jvm::find(pid).unwrap();
        assert!(jvm.is_contained());
        assert_eq!(jvm.namespace_pid(), 1);
        assert_eq!(jvm.main_class(), Some("orders.OrderService"));
        let mut listener = connect(&jvm, PATIENCE).unwrap();
        assert!(
            listener.jcmd("VM.version").unwrap().contains("JDK"),
            "JDK {}",
            jdk.version()
        );
        assert!(!java.stdout().contains("Full thread dump"));
    }
}

#[test]
fn a_library_is_copied_into_a_container_once() {
    let name = "a_library_is_copied_into_a_container_once";
    let Some(jdk) = Jdk::feature(17) else {
        return skip(name, "JDK 17");
    };
    let Some((_java, pid)) = contained(&jdk) else {
        return skip(name, "root with unshare");
    };
    let dir = jfr_chains_tests::scratch("place").unwrap();
    let library = dir.path().join("libany.so");
    std::fs::write(&library, b"no real library").unwrap();
    let jvm = Jvm::find(pid).unwrap();
    let seen = attach::place(&jvm, &library).unwrap();
    assert!(
        seen.starts_with("/tmp") && !seen.exists(),
        "our own /tmp is another one"
    );
    assert_eq!(
        std::fs::read(jvm.inside(&seen)).unwrap(),
        b"no real library"
    );
    use std::os::unix::fs::MetadataExt as _;
    let inode = std::fs::metadata(jvm.inside(&seen)).unwrap().ino();
    assert_eq!(attach::place(&jvm, &library).unwrap(), seen);
    assert_eq!(
        std::fs::metadata(jvm.inside(&seen)).unwrap().ino(),
        inode,
        "the same file, not another copy"
    );
    let mut listener = connect(&jvm, PATIENCE).unwrap();
    let error = listener.load(&seen, "").unwrap_err();
    assert!(matches!(error, Error::NotLoaded { .. }), "{error}");
}

#[test]
fn without_root_a_jvm_in_our_own_root_gets_the_library_as_it_is() {
    let Some(jdk) = Jdk::feature(17) else {
        return skip("library_as_it_is", "JDK 17");
    };
    let java = started(idle(Child::java(&jdk), &[]));
    let jvm = Jvm::find(java.pid()).unwrap();
    let dir = jfr_chains_tests::scratch("place").unwrap();
    let library = dir.path().join("libany.so");
    std::fs::write(&library, b"x").unwrap();
    assert_eq!(
        attach::place(&jvm, &library).unwrap(),
        library.canonicalize().unwrap()
    );
}
