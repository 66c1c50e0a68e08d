//! Plots as SVG and PNG.

use super::*;

fn curves() -> Figure {
    let band = |x: f64| {
        (x, Interval { mean: 0.9 - x / 50.0, low: 0.85 - x / 50.0, high: 0.95 - x / 50.0 })
    };
    let plain = |x: f64| (x, Interval::exact(0.5));
    let xs = [2.0, 4.0, 8.0, 16.0, 32.0];
    Figure {
        title: "Fairness among uploads".to_owned(),
        x_label: "Uploads".to_owned(),
        y_label: "Fairness index".to_owned(),
        y_range: Some((0.0, 1.02)),
        content: Content::Curves(vec![
            Curve { label: "Reno".into(), points: xs.map(band).into(), mark: Mark::DottedLine },
            Curve { label: "Reno + remedy".into(), points: xs.map(plain).into(), mark: Mark::Line },
            Curve { label: "drops".into(), points: xs.map(plain).into(), mark: Mark::Strokes },
        ]),
    }
}

fn bars() -> Figure {
    let value = |mean: f64| Some(Interval { mean, low: mean - 0.2, high: mean + 0.2 });
    Figure {
        title: "Goodput <by> flow".to_owned(),
        x_label: "Flow".to_owned(),
        y_label: "Goodput (Mbps)".to_owned(),
        y_range: None,
        content: Content::Bars {
            groups: (1..=8).map(|i| i.to_string()).collect(),
            series: vec![
                BarSeries {
                    label: "without".into(),
                    values: (1..=8).map(|i| value(f64::from(i))).collect(),
                },
                BarSeries { label: "with".into(), values: vec![value(3.0); 8] },
            ],
        },
    }
}

fn map() -> Figure {
    Figure {
        title: "Unfairness by buffer and terminals".to_owned(),
        x_label: "Terminals".to_owned(),
        y_label: "Access point".to_owned(),
        y_range: Some((0.0, 1.0)),
        content: Content::Map(Map {
            columns: (2..=5).map(|n| n.to_string()).collect(),
            rows: vec!["255 packets".into(), "31 packets".into()],
            cells: vec![
                vec![Some(0.0), Some(0.25), Some(0.5), Some(1.0)],
                vec![Some(0.125), None, Some(0.75), Some(1.0)],
            ],
            line: vec![Some(2.5), Some(-4.0)],
        }),
    }
}

#[test]
fn a_map_has_a_cell_for_each_value_a_scale_and_a_line() {
    let svg = map().to_svg().unwrap();
    // Ends of the scale: the darkest and the lightest colour, of the cells 0 and 1.
    assert_eq!(svg.matches("#00224E").count(), 1, "0 of the first row");
    assert_eq!(svg.matches("#FEE838").count(), 2, "1 of both rows");
    assert!(svg.contains("0.13") && svg.contains("255 packets") && svg.contains("<polyline"));
    let mut figure = map();
    let Content::Map(map) = &mut figure.content else { panic!("a map is a map") };
    map.cells[0][0] = Some(f64::INFINITY);
    assert!(figure.to_svg().unwrap_err().to_string().contains("not finite"));
}

/// Values of a curve, of bars and of a map, without bounds.
fn unbounded(values: [Interval; 2]) -> [Figure; 3] {
    let points = [1.0, 2.0].into_iter().zip(values).collect();
    let curve = Curve { label: "c".into(), points, mark: Mark::Line };
    let series = vec![BarSeries { label: "b".into(), values: values.map(Some).into() }];
    let groups = ["a", "b"].map(str::to_owned).into();
    let cells = vec![values.map(|value| Some(value.mean)).into()];
    let map = Map { columns: groups, rows: vec!["r".into()], cells, line: Vec::new() };
    let groups = map.columns.clone();
    [Content::Curves(vec![curve]), Content::Bars { groups, series }, Content::Map(map)]
        .map(|content| Figure { content, y_range: None, ..curves() })
}

/// The heights of the rectangles of a colour, in pixels.
fn heights(svg: &str, fill: &str) -> Vec<f64> {
    let value = |tag: &str, key: &str| -> Option<f64> {
        let (_, rest) = tag.split_once(&format!(" {key}=\""))?;
        rest.split('"').next()?.parse().ok()
    };
    let tags = svg.split("<rect").skip(1).filter(|tag| tag.contains(fill));
    tags.filter_map(|tag| value(tag, "height")).collect()
}

#[test]
fn values_below_zero_have_their_place() {
    let [curve, bars, map] = unbounded([-2.0, -4.0].map(Interval::exact));
    for figure in [&curve, &bars, &map] {
        let svg = figure.to_svg().unwrap();
        assert!(svg.contains("\n-4\n") && svg.contains("\n-2\n"), "{svg}");
    }
    let svg = bars.to_svg().unwrap();
    let bars = heights(&svg, "#0072B2");
    assert!(bars.windows(2).any(|pair| (pair[1] / pair[0] - 2.0).abs() < 0.05), "{bars:?}");
    let svg = map.to_svg().unwrap();
    assert!(heights(&svg, "#00224E").len() == 1, "the least value has the darkest colour");
}

/// A mean of none or more has no interval below zero in truth.
#[test]
fn an_interval_alone_moves_no_axis_below_zero() {
    let of = |low| {
        let value = Interval { mean: 1.0, low, high: 2.0 };
        unbounded([value; 2]).map(|figure| figure.to_svg().unwrap().contains("\n-"))
    };
    assert_eq!(of(-1.0), of(0.5));
}

#[test]
fn a_figure_carries_its_title_axes_and_legend() {
    for figure in [curves(), bars(), map()] {
        let svg = figure.to_svg().unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for text in [&figure.x_label, &figure.y_label] {
            assert!(svg.contains(text.as_str()), "{text} is missing");
        }
    }
    let svg = curves().to_svg().unwrap();
    assert!(svg.contains("Reno + remedy") && svg.contains("<polygon"));
    assert_eq!(svg.matches("<circle").count(), 5);
    let svg = bars().to_svg().unwrap();
    assert!(svg.contains("Goodput &lt;by&gt; flow"), "text is escaped");
}

/// Curves and bars of twelve series: their colours repeat after eight, their strokes and fills
/// differ, and the axes have the height that they have beside a legend of one row.
#[test]
fn many_series_differ_and_leave_the_axes_their_space() {
    let label = |i: usize| format!("congestion_control = algorithm number {i}");
    let curve = |i| Curve {
        label: label(i),
        points: vec![(0.0, Interval::exact(i as f64)), (9.0, Interval::exact(1.0 + i as f64))],
        mark: Mark::Line,
    };
    let bar = |i| BarSeries { label: label(i), values: vec![Some(Interval::exact(1.0))] };
    let of = |count: usize| {
        let content = Content::Curves((0..count).map(curve).collect());
        Figure { content, ..curves() }
    };
    let height = |svg: &str| {
        let (_, rest) = svg.split_once("height=\"").unwrap();
        rest.split('"').next().unwrap().parse::<u32>().unwrap()
    };
    let (one, many) = (of(1).to_svg().unwrap(), of(12).to_svg().unwrap());
    assert_eq!((height(&one), height(&many)), (440, 440 + 5 * 20), "two labels a row");
    let first = many.matches("#0072B2").count();
    assert!(first > 20, "dashes are pieces: {first}");
    let series = (0..12).map(bar).collect();
    let bars = Figure { content: Content::Bars { groups: vec!["a".into()], series }, ..bars() };
    let svg = bars.to_svg().unwrap();
    assert!(svg.contains("opacity=\"0.5\""), "a lighter fill");
}

#[test]
fn a_figure_for_a_column_has_its_width_and_no_title() {
    let layout = Layout::printed(fairwave_units::Metres(0.085));
    for figure in [curves(), bars(), map()] {
        let svg = figure.to_svg_as(layout).unwrap();
        // 85 mm are 321 pixels, of which an inch has 96.
        assert!(svg.starts_with("<svg width=\"321\""), "{}", &svg[..40]);
        assert!(!svg.contains(&figure.title) && svg.contains(figure.x_label.as_str()));
        let png = to_png_as(&svg, layout).unwrap();
        assert_eq!(&png[16..20], 2006_u32.to_be_bytes(), "600 for each inch");
    }
}

#[test]
fn drawing_twice_gives_the_same_bytes() {
    let svg = curves().to_svg().unwrap();
    assert_eq!(svg, curves().to_svg().unwrap());
    let png = to_png(&svg).unwrap();
    assert_eq!(png, to_png(&svg).unwrap());
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
}

#[test]
fn text_needs_no_system_font() {
    let mut figure = curves();
    let with_title = to_png(&figure.to_svg().unwrap()).unwrap();
    figure.title = "Another".to_owned();
    assert_ne!(with_title, to_png(&figure.to_svg().unwrap()).unwrap());
}

#[test]
fn what_is_not_finite_is_refused() {
    let mut figure = curves();
    let Content::Curves(curves) = &mut figure.content else { panic!("curves are curves") };
    curves[0].points[0].1.mean = f64::NAN;
    assert!(figure.to_svg().unwrap_err().to_string().contains("not finite"));
}

#[test]
fn nothing_to_show_is_an_empty_frame() {
    let mut figure = curves();
    figure.content = Content::Curves(Vec::new());
    figure.to_svg().unwrap();
    figure.content = Content::Bars { groups: Vec::new(), series: Vec::new() };
    figure.to_svg().unwrap();
    figure.content = Content::Map(Map::default());
    figure.to_svg().unwrap();
}

/// A long series takes the space of its pixels and loses no peak.
#[test]
fn a_long_series_is_drawn_as_its_pixels_are() {
    let of = |points: Vec<(f64, f64)>, mark| {
        let points = points.into_iter().map(|(x, y)| (x, Interval::exact(y))).collect();
        let curve = Curve { label: "long".into(), points, mark };
        Figure { content: Content::Curves(vec![curve]), ..curves() }.to_svg().unwrap()
    };
    let peak = 51_234;
    let flat = |i: u32| (f64::from(i), if i == peak { 1.0 } else { f64::from(i % 7) / 70.0 });
    for mark in [Mark::Line, Mark::Strokes, Mark::Dots] {
        let long = of((0..100_000).map(flat).collect(), mark);
        assert!(long.len() < 750_000, "{mark:?}: {} bytes", long.len());
        let without = of((0..100_000).filter(|i| *i != peak).map(flat).collect(), mark);
        assert_ne!(to_png(&long).unwrap(), to_png(&without).unwrap(), "{mark:?}: the peak");
        let few = [(0.0, 0.1), (1.0, 0.9), (2.0, 0.4), (500.0, 0.2)];
        let often = few.iter().flat_map(|point| vec![*point; 50]).collect();
        assert!(of(often, mark) == of(few.to_vec(), mark), "{mark:?}: each point fifty times");
    }
}
