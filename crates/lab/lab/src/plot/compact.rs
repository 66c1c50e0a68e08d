//! Drawings in fewer bytes, for a page that has many: the same picture in other elements.
//!
//! plotters writes an element with all of its attributes for each line, dot and label. Here
//! neighbours of the same look share one path or one group, and coordinates are differences.

use std::fmt::Write;

/// An element with its attributes and its text.
struct Element<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    text: &'a str,
}

/// An element in its short form. Neighbours with the same `around` are joined.
struct Short {
    around: Around,
    body: String,
}

/// The part of an element that neighbours can share.
#[derive(PartialEq)]
enum Around {
    /// Attributes of a path, whose pieces follow each other.
    Path(String),
    /// Attributes of a group of labels.
    Labels(String),
    /// Nothing.
    Apart,
}

/// The drawing without the parts of its text that change nothing on the screen. `svg` is a drawing
/// of this crate; another one comes back as it is.
pub(super) fn compact(svg: &str) -> String {
    let inner = svg.split_once('>').and_then(|(head, rest)| {
        let (body, _) = rest.rsplit_once("</svg>")?;
        Some((head, elements(body)?))
    });
    let Some((head, elements)) = inner else { return svg.to_owned() };
    let mut out = format!("{head}>");
    let mut last = Around::Apart;
    for element in &elements {
        let Short { around, body } = short(element);
        if around != last || around == Around::Apart {
            close(&mut out, &last);
            match &around {
                Around::Path(look) => out += &format!("<path{look} d=\""),
                Around::Labels(look) => out += &format!("<g{look}>"),
                Around::Apart => {}
            }
        }
        out += &body;
        last = around;
    }
    close(&mut out, &last);
    out + "</svg>"
}

fn close(out: &mut String, around: &Around) {
    match around {
        Around::Path(_) => *out += "\"/>",
        Around::Labels(_) => *out += "</g>",
        Around::Apart => {}
    }
}

/// The elements of a drawing, which are not nested; `None` if they are.
fn elements(body: &str) -> Option<Vec<Element<'_>>> {
    let mut found = Vec::new();
    let mut rest = body.trim();
    while !rest.is_empty() {
        let (tag, behind) = rest.strip_prefix('<')?.split_once('>')?;
        let is_empty = tag.ends_with('/');
        let (name, inside) = tag.trim_end_matches('/').split_once(' ')?;
        let (text, behind) = match is_empty {
            true => ("", behind),
            false => behind.split_once(&format!("</{name}>"))?,
        };
        let mut attributes = Vec::new();
        let mut inside = inside.trim();
        while !inside.is_empty() {
            let (key, value) = inside.split_once("=\"")?;
            let (value, next) = value.split_once('"')?;
            attributes.push((key.trim(), value));
            inside = next.trim();
        }
        found.push(Element { name, attributes, text: text.trim() });
        rest = behind.trim();
    }
    Some(found)
}

fn short(element: &Element<'_>) -> Short {
    let path = match element.name {
        "line" => line(element),
        "polyline" => polyline(element),
        "polygon" => polygon(element),
        "rect" => rectangle(element),
        "circle" => dot(element),
        "text" => return label(element),
        _ => None,
    };
    match path {
        // Pieces of one path do not darken each other, as translucent ones do.
        Some((look, pieces)) if element.get("opacity") == "1" => {
            Short { around: Around::Path(look), body: pieces }
        }
        Some((look, pieces)) => {
            let opacity = element.get("opacity");
            let body = format!("<path opacity=\"{opacity}\"{look} d=\"{pieces}\"/>");
            Short { around: Around::Apart, body }
        }
        None => Short { around: Around::Apart, body: element.whole() },
    }
}

impl<'a> Element<'a> {
    fn get(&self, key: &str) -> &'a str {
        self.attributes.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| value)
    }

    fn number(&self, key: &str) -> Option<i32> {
        self.get(key).parse().ok()
    }

    fn whole(&self) -> String {
        let mut text = format!("<{}", self.name);
        for (key, value) in &self.attributes {
            let _ = write!(text, " {key}=\"{value}\"");
        }
        text + &format!(">{}</{}>", self.text, self.name)
    }

    /// Attributes of a path that is a line of the element's look.
    fn stroke(&self) -> String {
        let (colour, width) = (self.get("stroke"), self.get("stroke-width"));
        let width = if width == "1" { String::new() } else { format!(" stroke-width=\"{width}\"") };
        format!(" fill=\"none\" stroke=\"{colour}\"{width}")
    }

    fn fill(&self) -> String {
        format!(" fill=\"{}\"", self.get("fill"))
    }

    /// The points of a polyline or a polygon.
    fn points(&self) -> Option<Vec<[i32; 2]>> {
        let pair = |pair: &str| {
            let (x, y) = pair.split_once(',')?;
            Some([x.parse().ok()?, y.parse().ok()?])
        };
        self.get("points").split_whitespace().map(pair).collect()
    }
}

type Path = Option<(String, String)>;

fn line(element: &Element<'_>) -> Path {
    let at = |x, y| Some([element.number(x)?, element.number(y)?]);
    Some((element.stroke(), through(&[at("x1", "y1")?, at("x2", "y2")?])))
}

fn polyline(element: &Element<'_>) -> Path {
    let points = element.points().filter(|_| element.get("fill") == "none")?;
    Some((element.stroke(), through(&points)))
}

fn polygon(element: &Element<'_>) -> Path {
    Some((element.fill(), through(&element.points()?) + "z"))
}

fn rectangle(element: &Element<'_>) -> Path {
    let [x, y, wide, high] =
        ["x", "y", "width", "height"].map(|key| element.number(key)).map(Option::unwrap_or_default);
    let look = match element.get("fill") {
        "none" => element.stroke(),
        _ => element.fill(),
    };
    Some((look, format!("M{x} {y}h{wide}v{high}h{}z", -wide)))
}

/// A disc as the round end of a line of no length.
fn dot(element: &Element<'_>) -> Path {
    let [x, y, r] = ["cx", "cy", "r"].map(|key| element.number(key));
    let (x, y, r) = (x?, y?, r?);
    let wide = 2 * r;
    if element.get("fill") == "none" {
        let half = |wide: i32| format!("a{r} {r} 0 1 0 {wide} 0");
        return Some((element.stroke(), format!("M{} {y}{}{}", x - r, half(wide), half(-wide))));
    }
    let colour = element.get("fill");
    let look = format!(" stroke=\"{colour}\" stroke-width=\"{wide}\" stroke-linecap=\"round\"");
    Some((look, format!("M{x} {y}h0")))
}

/// A path through points, in differences.
fn through(points: &[[i32; 2]]) -> String {
    let Some([x, y]) = points.first() else { return String::new() };
    let mut path = format!("M{x} {y}");
    let mut verb = 'M';
    for pair in points.windows(2) {
        let [dx, dy] = [pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]];
        let next = match (dx, dy) {
            (0, 0) => continue,
            (_, 0) => 'h',
            (0, _) => 'v',
            _ => 'l',
        };
        let first = if next == 'v' { dy } else { dx };
        match next == verb {
            true if first >= 0 => path.push(' '),
            true => {}
            false => path.push(next),
        }
        verb = next;
        let _ = match next {
            'h' => write!(path, "{dx}"),
            'v' => write!(path, "{dy}"),
            _ if dy < 0 => write!(path, "{dx}{dy}"),
            _ => write!(path, "{dx} {dy}"),
        };
    }
    path
}

/// A label. Its size, colour and alignment are those of its group.
fn label(element: &Element<'_>) -> Short {
    let (mut look, mut own) = (String::new(), String::new());
    for (key, value) in &element.attributes {
        let is_usual = matches!((*key, *value), ("opacity", "1") | ("text-anchor", "start"));
        // A hundredth of a pixel more or less is not seen.
        let value = match value.parse::<f64>() {
            Ok(number) if *key == "font-size" => format!("{}", (number * 100.0).round() / 100.0),
            _ => (*value).to_owned(),
        };
        match *key {
            _ if is_usual => {}
            "x" | "y" | "transform" | "dy" => own += &format!(" {key}=\"{value}\""),
            _ => look += &format!(" {key}=\"{value}\""),
        }
    }
    let body = format!("<text{own}>{}</text>", element.text);
    Short { around: Around::Labels(look), body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_look_share_an_element() {
        let shape = |name: &str, rest: &str| format!("<{name} opacity=\"1\" {rest}/>\n");
        let line = "stroke=\"#E1E1E1\" stroke-width=\"1\"";
        let dot = |cx: u32, cy: u32| {
            let look = "r=\"4\" fill=\"#0072B2\" stroke=\"none\" stroke-width=\"1\"";
            shape("circle", &format!("cx=\"{cx}\" cy=\"{cy}\" {look}"))
        };
        let svg = [
            "<svg viewBox=\"0 0 9 9\">\n".to_owned(),
            shape("rect", "x=\"0\" y=\"0\" width=\"9\" height=\"8\" fill=\"#FFFFFF\""),
            shape("line", &format!("{line} x1=\"3\" y1=\"5\" x2=\"3\" y2=\"1\"")),
            shape("polyline", &format!("fill=\"none\" {line} points=\"1,2 3,1 4,3 4,3 6,3 \"")),
            dot(1, 2),
            dot(5, 6),
            dot(5, 6).replace("opacity=\"1\"", "opacity=\"0.5\""),
            "<text x=\"16\" y=\"12\" dy=\"0.76em\" text-anchor=\"start\" ".to_owned(),
            "font-size=\"14.516129\" opacity=\"1\" fill=\"#282828\">\na &lt; b\n</text>\n</svg>\n"
                .to_owned(),
        ]
        .concat();
        let round = "stroke=\"#0072B2\" stroke-width=\"8\" stroke-linecap=\"round\"";
        let expected = [
            "<svg viewBox=\"0 0 9 9\"><path fill=\"#FFFFFF\" d=\"M0 0h9v8h-9z\"/>".to_owned(),
            "<path fill=\"none\" stroke=\"#E1E1E1\" d=\"M3 5v-4M1 2l2-1 1 2h2\"/>".to_owned(),
            format!("<path {round} d=\"M1 2h0M5 6h0\"/>"),
            format!("<path opacity=\"0.5\" {round} d=\"M5 6h0\"/>"),
            "<g font-size=\"14.52\" fill=\"#282828\">".to_owned(),
            "<text x=\"16\" y=\"12\" dy=\"0.76em\">".to_owned(),
            "a &lt; b</text></g></svg>".to_owned(),
        ]
        .concat();
        assert_eq!(compact(&svg), expected);
    }

    #[test]
    fn a_foreign_drawing_stays_as_it_is() {
        for svg in ["", "<svg><g><g/></g></svg>", "<svg>words</svg>"] {
            assert_eq!(compact(svg), svg);
        }
    }
}
