//! `fairwave web`: options, and the server until it is interrupted.

use crate::answers::Laboratory;
use crate::guard::Guard;
use crate::runs::Runs;
use crate::serve::serve;
use clap::Args;
use fairwave_console::{Console, Failure};
use fairwave_lab::results::write_file;
use fairwave_show::laboratory::Engine;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;

/// Examples at the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  fairwave web
  fairwave web --no-open --port 8000 --dir out
  fairwave web --page lab.html --module fairwave.wasm

The first line of the output is the address of the page, with a token. Anyone who knows the token
can start runs. Only programs of this machine reach it. Runs of the page are kept in a new directory
web-N of --dir, and nothing is written elsewhere.

Exit code 1: the port cannot be listened at, or --dir cannot be written; 2: an option is wrong.";

/// Options of `fairwave web`.
#[derive(Args, Debug)]
pub struct Web {
    /// Port of the page [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Directory for runs of the page; complete runs below it are listed, and shown as by
    /// `fairwave show`
    #[arg(long, value_name = "DIR", default_value = "fairwave-out")]
    pub dir: PathBuf,
    /// Print the address, and open no browser
    #[arg(long)]
    pub no_open: bool,
    /// Instead of serving: write the page, with the module in it, into this file; it needs no
    /// server
    #[arg(long, value_name = "FILE", requires = "module")]
    pub page: Option<PathBuf>,
    /// With --page: the module, which `cargo xtask laboratory` makes
    #[arg(long, value_name = "FILE", requires = "page")]
    pub module: Option<PathBuf>,
}

/// Serves the page until it is interrupted. `open` opens an address in the user's browser; it may
/// return only when the browser ends.
///
/// # Errors
/// If the port or the directory cannot be used, or no browser can be opened.
pub fn run(
    console: &dyn Console,
    web: &Web,
    open: impl FnOnce(&str) -> Result<(), Failure> + Send + 'static,
) -> Result<(), Failure> {
    if let (Some(page), Some(module)) = (&web.page, &web.module) {
        return write(page, module);
    }
    let runs = Runs::new(&web.dir).map_err(Failure::at(&web.dir))?;
    let stop = console.stop()?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().map_err(Failure::run)?;
    let served = runtime.block_on(async {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, web.port));
        let listener = TcpListener::bind(at).await;
        let listener = listener.map_err(|error| Failure::Run(format!("{at}: {error}")))?;
        let bound = listener.local_addr().map_err(Failure::run)?;
        let guard = Guard::new(bound).map_err(Failure::run)?;
        let address = guard.address();
        console.print(&format!("{address}\n"))?;
        let served = serve(listener, Arc::new(Laboratory::new(guard, runs)), &stop);
        if web.no_open {
            return served.await;
        }
        tokio::select! {
            served = served => served,
            failure = failure_of(move || open(&address)) => Err(failure),
        }
    });
    // Runs under way are not waited for: without a summary their directories are incomplete. Nor is
    // a browser in the foreground.
    runtime.shutdown_background();
    served
}

/// The failure of opening a browser. If a browser opens, the future never ends.
async fn failure_of(open: impl FnOnce() -> Result<(), Failure> + Send + 'static) -> Failure {
    // A browser in the foreground asks for the page while `open` waits for its end.
    match tokio::task::spawn_blocking(open).await {
        Ok(Ok(())) => std::future::pending().await,
        Ok(Err(failure)) => failure,
        Err(error) => Failure::run(error),
    }
}

/// Writes the page for the file system or a static server.
fn write(page: &Path, module: &Path) -> Result<(), Failure> {
    let bytes = std::fs::read(module).map_err(Failure::at(module))?;
    let html = Engine::Module(&bytes).page().map_err(Failure::run)?;
    write_file(page, html.as_bytes()).map_err(Failure::run)
}
