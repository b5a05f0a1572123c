//! Tells the command whether an agent library goes inside: `cargo xtask dist` names it in `JFR_CHAINS_AGENT_SO`.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(embedded_agent)");
    println!("cargo::rerun-if-env-changed=JFR_CHAINS_AGENT_SO");
    if let Some(path) = std::env::var_os("JFR_CHAINS_AGENT_SO").filter(|path| !path.is_empty()) {
        let path = path.to_string_lossy();
        println!("cargo::rerun-if-changed={path}");
        println!("cargo::rustc-env=JFR_CHAINS_AGENT_SO={path}");
        println!("cargo::rustc-cfg=embedded_agent");
    }
}
