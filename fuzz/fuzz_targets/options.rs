//! Any text as the agent's options: parsed or refused, never a panic in somebody's JVM.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // The first line is the command line, the rest is the file that `config=` names.
    let (options, file) = text.split_once('\n').unwrap_or((text, ""));
    let _ = jfr_chains_agent::options::parse(options, &mut |_| Ok(file.to_owned()));
});
