//! Pages in which one can explore results: one self-contained HTML file each, with the Parquet
//! tables of a run, a sweep, a study or a capture in it, which the page reads itself.
//!
//! This crate collects what a page shows and puts the file together. The page's own code is
//! JavaScript in `web`, which the build script bundles. Nothing here opens a browser.
//!
//! ```no_run
//! let page = fairwave_show::of("out/run".as_ref())?;
//! std::fs::write("run.html", page.html()?)?;
//! # Ok::<(), fairwave_show::Error>(())
//! ```

#[cfg(not(target_arch = "wasm32"))]
mod captured;
mod compared;
pub mod laboratory;
mod page;
pub mod report;
mod runs;

#[cfg(not(target_arch = "wasm32"))]
pub use captured::of_capture;
pub use compared::of_comparison;
pub use page::{Error, Page};
pub use runs::{Finished, of_runs};

/// Script and style by which figures of other pages can be explored, such as those of a study's
/// report. Both are empty if the crate was built without npm.
#[cfg(not(target_arch = "wasm32"))]
pub fn explorer() -> fairwave_lab::plot::Explorer {
    fairwave_lab::plot::Explorer {
        script: include_str!(concat!(env!("OUT_DIR"), "/figures.js")),
        style: include_str!(concat!(env!("OUT_DIR"), "/figures.css")),
    }
}

/// The page of results at `path`: a run directory, a directory with runs below it, or a capture.
///
/// # Errors
/// If there are no results, or they cannot be read.
#[cfg(not(target_arch = "wasm32"))]
pub fn of(path: &std::path::Path) -> Result<Page, Error> {
    if path.is_dir() { of_runs(path) } else { of_capture(path) }
}
