//! Cost of a datagram in the driver: see `run`.

#[cfg(target_os = "linux")]
mod run;

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    run::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
