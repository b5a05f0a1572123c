//! The one way to say that a test could not run here.

/// Says on stderr that `name` was skipped and what is missing.
///
/// `cargo xtask test` collects these lines and lists them at the end; with `JFR_CHAINS_STRICT=1`
/// (set there when everything could be installed) a skip is a failure.
pub fn skip(name: &str, missing: &str) {
    let line = format!("skipped: {name}: {missing}");
    let strict = std::env::var_os("JFR_CHAINS_STRICT").is_some_and(|value| value == "1");
    assert!(!strict, "{line} (JFR_CHAINS_STRICT=1)");
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("JFR_CHAINS_SKIPS") {
        use std::io::Write as _;
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}
