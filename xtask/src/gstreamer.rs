//! The elements of GStreamer, a workspace of their own.

use xtask::shell::{Outcome, cargo, run};
use xtask::system::{self, Need, Sign};
use xtask::workspace;

/// Headers to compile them, and the other elements of their tests.
const NEEDED: [Need; 3] = [
    Need {
        sign: Sign::File("/usr/include/gstreamer-1.0/gst/gst.h"),
        package: "libgstreamer1.0-dev",
        why: "compiles the elements of GStreamer",
    },
    Need {
        sign: Sign::File("/usr/share/doc/gstreamer1.0-plugins-base"),
        package: "gstreamer1.0-plugins-base",
        why: "has the picture that those elements carry",
    },
    Need {
        sign: Sign::File("/usr/share/doc/gstreamer1.0-plugins-good"),
        package: "gstreamer1.0-plugins-good",
        why: "encodes that picture and packs it in RTP",
    },
];

/// Streams a picture through both elements.
pub(crate) fn check() -> Outcome {
    system::ensure(&NEEDED)?;
    let target = workspace::target().join("gstreamer").display().to_string();
    let test = ["test", "--locked", "--quiet", "--manifest-path", "gstreamer/Cargo.toml"];
    run(cargo(&[&test[..], &["--target-dir", &target]].concat()))
}
