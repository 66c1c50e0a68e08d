//! SVG to PNG, with a font inside the binary.

use super::figure::Error;
use super::layout::Layout;
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// Renders one of our SVGs for a screen.
pub fn to_png(svg: &str) -> Result<Vec<u8>, Error> {
    to_png_as(svg, Layout::SCREEN)
}

/// Renders one of our SVGs, which has this layout.
pub fn to_png_as(svg: &str, layout: Layout) -> Result<Vec<u8>, Error> {
    let scale = layout.scale;
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
    let (width, height) = ((size.width() * scale) as u32, (size.height() * scale) as u32);
    let mut pixels = tiny_skia::Pixmap::new(width, height)
        .ok_or_else(|| fail(format!("no picture of {width} by {height}")))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| fail(e.to_string()))
}
