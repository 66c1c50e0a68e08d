//! Axes of a matrix that a command line names.

/// Converts `KEY=VALUE,VALUE` to a setting of an axis. Values that are neither numbers nor booleans
/// become text. Its quotes and escapes are those of JSON, which TOML accepts too.
pub fn axis(over: &str) -> String {
    // The argument parser has checked that there is an equals sign.
    let (key, values) = over.split_once('=').unwrap_or((over, ""));
    let value = |value: &str| match value.trim() {
        value @ ("true" | "false") => value.to_owned(),
        value => number(value).unwrap_or_else(|| serde_json::Value::from(value).to_string()),
    };
    let values: Vec<String> = values.split(',').map(value).collect();
    format!("sweep.{}=[{}]", key.trim(), values.join(", "))
}

/// A number in TOML's syntax, which does not accept `.5`, `5.` and `05`.
fn number(text: &str) -> Option<String> {
    let whole = text.parse::<i64>().ok().map(|number| number.to_string());
    let real = || text.parse::<f64>().ok().filter(|number| number.is_finite());
    whole.or_else(|| real().map(|number| format!("{number:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_the_command_line_is_one_of_a_sweep() {
        assert_eq!(axis("link.w.rate=5 Mbps, 1 Gbps"), r#"sweep.link.w.rate=["5 Mbps", "1 Gbps"]"#);
        assert_eq!(axis("link.w.loss=0,0.01"), "sweep.link.w.loss=[0, 0.01]");
        assert_eq!(axis("a=.5,5.,05,+7,-0.25"), "sweep.a=[0.5, 5.0, 5, 7, -0.25]");
        assert_eq!(axis("a=1e300,1_0"), r#"sweep.a=[1e300, "1_0"]"#);
        assert_eq!(axis("a=nan"), r#"sweep.a=["nan"]"#);
    }
}
