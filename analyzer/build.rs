//! Tells the command which agent libraries go inside: `cargo xtask dist` names them, one for each C library.

/// Variable with the library's path, and what the code asks for.
const AGENTS: [(&str, &str); 2] = [
    ("JFR_CHAINS_AGENT_SO", "embedded_agent"),
    ("JFR_CHAINS_AGENT_MUSL_SO", "embedded_musl_agent"),
];

fn main() {
    for (variable, cfg) in AGENTS {
        println!("cargo::rustc-check-cfg=cfg({cfg})");
        println!("cargo::rerun-if-env-changed={variable}");
        if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
            let path = path.to_string_lossy();
            println!("cargo::rerun-if-changed={path}");
            println!("cargo::rustc-env={variable}={path}");
            println!("cargo::rustc-cfg={cfg}");
        }
    }
}
