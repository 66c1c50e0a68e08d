//! The executable `fairwave`.

fn main() -> std::process::ExitCode {
    fairwave_cli::run(std::env::args_os().collect(), None).into()
}
