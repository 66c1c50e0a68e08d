//! SVG to PNG, with a font inside the binary.

use super::figure::Error;
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// Pixels of the PNG for each of the SVG: sharp on a dense screen and in print.
const SCALE: f32 = 2.0;

/// Renders one of our SVGs.
pub fn to_png(svg: &str) -> Result<Vec<u8>, Error> {
    let fail = |why: String| Error::new("PNG", why);
    let mut options = usvg::Options { font_family: "Ubuntu".to_owned(), ..Default::default() };
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let families = fonts.faces().next().map(|face| face.families.clone()).unwrap_or_default();
    if let Some((family, _)) = families.first() {
        fonts.set_sans_serif_family(family.clone());
    }
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| fail(e.to_string()))?;
    let size = tree.size();
    let (width, height) = ((size.width() * SCALE) as u32, (size.height() * SCALE) as u32);
    let mut pixels = tiny_skia::Pixmap::new(width, height)
        .ok_or_else(|| fail(format!("no picture of {width} by {height}")))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| fail(e.to_string()))
}
