//! Macros that declare the files of a study: its experiments in `studies/`, its grid in `maps/`.

/// An [`Experiment`](fairwave_study::Experiment) whose scenario is `studies/STUDY/FILE.toml`, read
/// into the binary: name (that of the file where none is given), file, settings of the quick form,
/// and whether its runs keep their series.
macro_rules! experiment {
    ($study:literal, $file:literal, $quick:expr, $series:expr) => {
        $crate::declare::experiment!($study, $file, $file, $quick, $series)
    };
    ($study:literal, $name:expr, $file:literal, $quick:expr, $series:expr) => {
        fairwave_study::Experiment {
            name: $name,
            file: concat!("studies/", $study, "/", $file, ".toml"),
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../../studies/",
                $study,
                "/",
                $file,
                ".toml"
            )),
            quick: $quick,
            series: $series,
        }
    };
}

/// The grid `maps/STUDY.toml` over the conditions that a paper leaves open, read into the binary.
macro_rules! map {
    ($study:literal) => {
        fairwave_study::map::file::Source {
            file: concat!("maps/", $study, ".toml"),
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../../maps/",
                $study,
                ".toml"
            )),
        }
    };
}

pub(crate) use {experiment, map};
