//! The page in a real browser. Needs `chromium`; without it the tests say so and count as skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::model::Report;
use crate::report::sample;

/// Appended to a copy of the page whose content policy is taken out: opens what can be opened and
/// writes what it measured into the document.
const PROBE: &str = r#"<pre id="probe"></pre><script>
const errors = [];
window.onerror = (message) => errors.push(message);
const all = [...document.querySelectorAll("details")];
for (const d of all) d.open = false;
const flags = [...document.querySelectorAll(".flag")];
const closed = document.documentElement.scrollHeight;
for (const d of all) d.querySelector("summary").click();
const out = {
    details: all.length,
    opened: all.filter((d) => d.open).length,
    taller: document.documentElement.scrollHeight > closed,
    inner: window.innerWidth,
    wide: document.documentElement.scrollWidth,
    background: getComputedStyle(document.body).backgroundColor,
    polylines: document.querySelectorAll("svg polyline").length,
    scripts: document.querySelectorAll("script").length,
    images: document.querySelectorAll("img, iframe, object, embed").length,
    broken: flags.filter((flag) => flag.getBoundingClientRect().height > 30).map((flag) => flag.textContent),
    flags: flags.length,
    errors: errors,
};
document.getElementById("probe").textContent = "PROBE" + JSON.stringify(out) + "END";
</script></body>"#;

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|dir| ["chromium", "chromium-browser", "google-chrome"].map(|n| dir.join(n)))
        .find(|candidate| candidate.is_file())
}

/// Runs the browser on `page`; its standard output and error.
fn browse(browser: &Path, dir: &Path, page: &Path, more: &[&str]) -> (String, String) {
    let profile = tempfile::tempdir_in(dir).unwrap();
    let stdout = dir.join("stdout");
    let stderr = dir.join("stderr");
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            "--hide-scrollbars",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&stdout).unwrap())
        .stderr(std::fs::File::create(&stderr).unwrap())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(90);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser did not end within 90 s");
        }
        std::thread::park_timeout(Duration::from_millis(20));
    };
    let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let (out, err) = (read(&stdout), read(&stderr));
    assert!(status.success(), "{err}");
    (out, err)
}

fn page(report: &Report) -> String {
    let mut out = Vec::new();
    super::write(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// What the probe measured, in a window of this size.
fn probe(report: &Report, window: &str, dark: bool) -> Option<serde_json::Value> {
    let Some(browser) = chromium() else {
        eprintln!("skipped: chromium is not installed");
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let html = page(report);
    let policy = html.find("<meta http-equiv=").unwrap();
    let end = policy + html[policy..].find('>').unwrap() + 1;
    let open = format!("{}{}", &html[..policy], &html[end..]).replace("</body>", PROBE);
    let file = dir.path().join("probe.html");
    std::fs::write(&file, open).unwrap();
    let window = format!("--window-size={window}");
    let mut more = vec!["--dump-dom", &window];
    if dark {
        more.push("--blink-settings=preferredColorScheme=0");
    }
    let (dom, errors) = browse(&browser, dir.path(), &file, &more);
    assert!(!errors.contains("CONSOLE"), "{errors}");
    let found = dom
        .split("PROBE{")
        .nth(1)
        .and_then(|rest| rest.split("}END").next());
    let json = format!("{{{}}}", found.expect("the probe wrote its result"));
    Some(serde_json::from_str(&json.replace("&quot;", "\"")).unwrap())
}

#[test]
fn everything_that_folds_can_be_opened_without_an_error() {
    let Some(seen) = probe(&sample::leak(), "1200,900", false) else {
        return;
    };
    assert!(seen["details"].as_u64().unwrap() >= 3, "{seen}");
    assert_eq!(seen["details"], seen["opened"], "{seen}");
    assert_eq!(seen["taller"], true, "{seen}");
    assert_eq!(seen["errors"], serde_json::json!([]), "{seen}");
    assert!(seen["polylines"].as_u64().unwrap() >= 3, "{seen}");
}

/// The report of a recording of our own programs.
fn of_recording(name: &str) -> Report {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/recordings");
    let recording = crate::reader::Recording::open(&dir.join(name)).unwrap();
    let read = crate::model::build::read(&recording, &|_| {});
    crate::model::merge::merge(vec![read])
}

#[test]
fn a_phone_needs_no_sideways_scrolling() {
    for report in [
        sample::leak(),
        sample::hostile(),
        of_recording("two-leaks.jfr"),
        of_recording("jdk-paths.jfr"),
    ] {
        let Some(seen) = probe(&report, "500,900", false) else {
            return;
        };
        let (inner, wide) = (seen["inner"].as_u64(), seen["wide"].as_u64());
        assert!(wide.unwrap() <= inner.unwrap(), "{seen}");
    }
}

#[test]
fn no_flag_of_a_jvm_is_broken_behind_its_hyphen() {
    let mut report = sample::leak();
    // Some place in this sentence is the end of a line, whatever the width.
    let flags = "try -XX:+UseG1GC ".repeat(30);
    report.hints = vec![flags];
    let Some(seen) = probe(&report, "500,900", false) else {
        return;
    };
    assert_eq!(seen["flags"], 30, "{seen}");
    assert_eq!(seen["broken"], serde_json::json!([]), "{seen}");
}

#[test]
fn hostile_names_make_no_element() {
    let Some(seen) = probe(&sample::hostile(), "1200,900", false) else {
        return;
    };
    assert_eq!(seen["scripts"], 1, "only the probe's own: {seen}");
    assert_eq!(seen["images"], 0, "{seen}");
}

#[test]
fn dark_is_dark() {
    let (Some(light), Some(dark)) = (
        probe(&sample::leak(), "1200,900", false),
        probe(&sample::leak(), "1200,900", true),
    ) else {
        return;
    };
    assert_ne!(light["background"], dark["background"]);
}

#[test]
fn the_page_itself_logs_nothing_and_can_be_photographed() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: chromium is not installed");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    for (name, report) in [("leak", sample::leak()), ("hostile", sample::hostile())] {
        let file = dir.path().join(format!("{name}.html"));
        std::fs::write(&file, page(&report)).unwrap();
        let picture = dir.path().join(format!("{name}.png"));
        let shot = format!("--screenshot={}", picture.display());
        let (_, errors) = browse(
            &browser,
            dir.path(),
            &file,
            &[&shot, "--window-size=1200,2400"],
        );
        assert!(!errors.contains("CONSOLE"), "{errors}");
        assert!(std::fs::metadata(&picture).unwrap().len() > 20_000);
        if let Some(keep) = std::env::var_os("JFR_CHAINS_KEEP_PAGES") {
            for path in [&file, &picture] {
                let to = Path::new(&keep).join(path.file_name().unwrap());
                std::fs::copy(path, to).unwrap();
            }
        }
    }
}
