//! One JVM, every kind of recording that users know: settings, duration, maximum age and size, several at once, dumps
//! of one and of all, the exit file; each gets the chain, however late it starts. Then what JDK Mission Control says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{
    Child, Jdk, JmcView, Running, agent_library, cli_binary, java_fixtures, jmc_views, report,
    scratch,
};
use jfr_format::schema;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(300);
/// What the path of the order service's leak begins with.
const CHAIN: &str = "static-field orders.OrderCache.BY_CUSTOMER -> ::BY_CUSTOMER java.util.HashMap";

/// The leaking service with the agent in the JVM's own recordings.
fn service(jdk: &Jdk, folder: &Path, flags: &[String]) -> Running {
    let library = agent_library().unwrap();
    Child::java(jdk)
        .args(["-Xcheck:jni", "-Xmx256m"])
        .args(flags)
        .arg(format!(
            "-agentpath:{}=log=info,interval=64k,live-ratio=1",
            library.display()
        ))
        .arg("-cp")
        .arg(java_fixtures().unwrap().classes())
        .args(["orders.OrderService", "leak=on", "seconds=600"])
        .current_dir(folder)
        .start()
        .unwrap()
}

fn chain_is_found(java: &mut Running) {
    // Something else may be found first.
    let said = format!("chain found: {CHAIN}");
    let found = java.wait_until(LIMIT, |java| java.stderr().contains(&said));
    assert!(found, "{}", java.stderr());
}

/// SIGTERM; the JVM writes its exit file.
fn ends(java: Running) {
    java.terminate().unwrap();
    let out = java.finish(LIMIT).unwrap();
    assert_eq!(out.code(), Some(143), "{out}");
    let said = format!("{}{}", out.stdout, out.stderr);
    assert!(!said.contains("WARNING in native"), "{out}");
}

fn jcmd(jdk: &Jdk, java: &Running, command: &[&str]) -> String {
    let out = Child::new(jdk.tool("jcmd").unwrap())
        .arg(java.pid().to_string())
        .args(command)
        .run(LIMIT)
        .unwrap();
    assert!(out.ok(), "{out}");
    out.stdout
}

fn print(jdk: &Jdk, file: &Path) -> String {
    let out = Child::new(jdk.tool("jfr").unwrap())
        .args(["print", "--events", "jfrchains.*"])
        .arg(file)
        .run(LIMIT)
        .unwrap();
    assert!(out.ok(), "{out}");
    out.stdout
}

/// The report of a recording has the chain; the report.
fn reports_the_chain(file: &Path) -> Value {
    let report = report(&cli_binary().unwrap(), file).unwrap();
    let chains = report["chains"].as_array().unwrap();
    let held = chains
        .iter()
        .any(|chain| chain["root"]["field"] == "BY_CUSTOMER");
    assert!(held, "{report:#}");
    report
}

/// Dumps until the dump has the chain.
fn dumps_the_chain(jdk: &Jdk, java: &mut Running, command: &[&str], file: &Path) {
    let option = format!("filename={}", file.display());
    let mut printed = String::new();
    let has = java.wait_until(LIMIT, |java| {
        jcmd(jdk, java, &[command, &[&option]].concat());
        printed = print(jdk, file);
        printed.contains(CHAIN)
    });
    assert!(has, "{command:?}: {printed}");
}

/// Every flow on one JDK; the exit file, and a copy of it with linked chains.
fn flows(jdk: &Jdk, folder: &Path) -> [PathBuf; 2] {
    let file = |name: &str| folder.join(name);
    let to = |name: &str| format!("filename={}", file(name).display());
    let mut java = service(jdk, folder, &[]);
    assert!(java.wait_until(LIMIT, |java| java.stdout().contains("serving")));

    // Alone, so that no other recording switches the event on: one event type of ours is off. The plus is for an
    // event that the settings file does not name.
    let off = "+jfrchains.SearchPass#enabled=false";
    let said = jcmd(
        jdk,
        &java,
        &["JFR.start", "name=quiet", off, &to("quiet.jfr")],
    );
    assert!(!said.contains("Warning"), "{said}");
    chain_is_found(&mut java);
    jcmd(jdk, &java, &["JFR.dump", "name=quiet", &to("alone.jfr")]);
    let alone = print(jdk, &file("alone.jfr"));
    assert!(alone.contains("jfrchains.SearchStarted {"), "{alone}");
    assert!(!alone.contains("jfrchains.SearchPass {"), "{alone}");

    // Three more beside it, long after the search: the chain is told again to each.
    jcmd(
        jdk,
        &java,
        &["JFR.start", "name=short", "duration=20s", &to("short.jfr")],
    );
    jcmd(
        jdk,
        &java,
        &["JFR.start", "name=aged", "maxage=5m", "maxsize=100m"],
    );
    jcmd(
        jdk,
        &java,
        &[
            "JFR.start",
            "name=exit",
            "settings=default",
            "dumponexit=true",
            &to("exit.jfr"),
        ],
    );
    dumps_the_chain(
        jdk,
        &mut java,
        &["JFR.dump", "name=aged"],
        &file("aged.jfr"),
    );
    dumps_the_chain(jdk, &mut java, &["JFR.dump"], &file("all.jfr"));

    // One that stops leaves the others alone.
    jcmd(jdk, &java, &["JFR.stop", "name=quiet"]);
    let quiet = print(jdk, &file("quiet.jfr"));
    assert!(quiet.contains(CHAIN) && quiet.contains("jfrchains.SearchCompleted {"));
    dumps_the_chain(
        jdk,
        &mut java,
        &["JFR.dump", "name=exit"],
        &file("named.jfr"),
    );
    let over = "no recording takes the agent's events any more";
    assert!(!java.stderr().contains(over), "{}", java.stderr());

    // The short one has ended by itself.
    let ended = java.wait_until(LIMIT, |java| {
        !jcmd(jdk, java, &["JFR.check"]).contains("name=short")
    });
    assert!(ended);
    assert!(print(jdk, &file("short.jfr")).contains("repeated = true"));

    ends(java);
    assert!(print(jdk, &file("exit.jfr")).contains(CHAIN));
    let report = reports_the_chain(&file("exit.jfr"));
    assert_eq!(report["verdict"], "leak", "{report:#}");
    let exported = file("exported.jfr");
    let out = Child::new(cli_binary().unwrap())
        .arg("export")
        .arg(file("exit.jfr"))
        .arg("-o")
        .arg(&exported)
        .run(LIMIT)
        .unwrap();
    assert!(out.ok(), "{out}");
    [file("exit.jfr"), exported]
}

#[test]
fn every_kind_of_recording_gets_the_chain_and_opens_in_mission_control() {
    let test = "every_kind_of_recording_gets_the_chain_and_opens_in_mission_control";
    let jdks = Jdk::among(test, &[17, 25]);
    let folder = scratch("flows").unwrap();
    let files: Vec<[PathBuf; 2]> = std::thread::scope(|scope| {
        let running: Vec<_> = jdks
            .iter()
            .map(|jdk| {
                let folder = folder.path().join(jdk.release().to_string());
                std::fs::create_dir(&folder).unwrap();
                scope.spawn(move || flows(jdk, &folder))
            })
            .collect();
        running
            .into_iter()
            .map(|flow| flow.join().unwrap())
            .collect()
    });
    let paths: Vec<&Path> = files.iter().flatten().map(PathBuf::as_path).collect();
    let Some(views) = jmc_views(test, &paths).unwrap() else {
        return;
    };
    for pair in views.chunks(2) {
        shows_the_jvms_own_recording(&pair[0]);
        let leaks = &pair[1].leaks;
        let held = |leak: &&jfr_chains_tests::JmcLeak| leak.root.contains("OrderCache.BY_CUSTOMER");
        assert!(leaks.iter().any(|leak| held(&leak)), "{leaks:#?}");
    }
}

/// Events made by EventFactory look like those of our own file, and no rule stumbles over them.
fn shows_the_jvms_own_recording(view: &JmcView) {
    for schema in schema::all() {
        let shown = &view.types[schema.name];
        assert_eq!(shown.label, schema.label);
        assert_eq!(shown.category, "Java Virtual Machine/Reference Chains");
        let class = &view.types["jfrchains.ReferenceChain"].fields;
        assert_eq!(class["retainedSampledBytes"].1, "memory");
        assert_eq!(class["share"].1, "percentage");
    }
    assert!(view.types["jfrchains.ReferenceChain"].count > 0);
    assert!(view.types["jfrchains.Hop"].count > 0);
    let ran = view.rules.values().filter(|rule| rule.severity != "NA");
    assert!(ran.count() > 10, "{:#?}", view.rules);
    let failed = view.rules.values().find(|rule| rule.severity == "FAILED");
    assert!(failed.is_none(), "{failed:?}");
}

#[test]
fn a_chain_of_the_last_moment_is_in_the_exit_file_of_every_jdk() {
    let test = "a_chain_of_the_last_moment_is_in_the_exit_file_of_every_jdk";
    let folder = scratch("exit_file").unwrap();
    // The runtimes of 11 and 21 run the main flow; 17 and 25 more than that above.
    std::thread::scope(|scope| {
        for jdk in Jdk::among(test, &[11, 21]) {
            let file = folder.path().join(format!("exit-{}.jfr", jdk.release()));
            scope.spawn(move || {
                let start = format!(
                    "-XX:StartFlightRecording=dumponexit=true,filename={}",
                    file.display()
                );
                let mut java = service(&jdk, file.parent().unwrap(), &[start]);
                chain_is_found(&mut java);
                ends(java);
                reports_the_chain(&file);
            });
        }
    });
}

#[test]
fn children_and_jdk_tools_inherit_the_agent() {
    let test = "children_and_jdk_tools_inherit_the_agent";
    for jdk in Jdk::among(test, &[17, 25]) {
        let folder = scratch("inherit").unwrap();
        let options = format!(
            "-agentpath:{}=file={}/own-%p.jfr",
            agent_library().unwrap().display(),
            folder.path().display()
        );
        // A JVM that starts a JVM and a tool of the JDK, and passes their exit codes on.
        let out = Child::java(&jdk)
            .arg("-cp")
            .arg(java_fixtures().unwrap().classes())
            .arg("life.Parent")
            .arg(jdk.java())
            .arg(java_fixtures().unwrap().classes())
            .arg(jdk.tool("javap").unwrap())
            .env("JAVA_TOOL_OPTIONS", &options)
            .run(LIMIT)
            .unwrap();
        assert_eq!(out.code(), Some(0), "{out}");
        assert!(
            out.stdout.contains("ready\n") && out.stdout.contains("class life.Exits"),
            "{out}"
        );
        let recordings: Vec<PathBuf> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        // Parent and child; the tool is left alone.
        assert_eq!(recordings.len(), 2, "{recordings:?}");
        for file in recordings {
            assert!(
                print(&jdk, &file).contains("code = \"stopped\""),
                "{}",
                file.display()
            );
        }
    }
}
