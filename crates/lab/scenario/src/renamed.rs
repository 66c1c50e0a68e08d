//! Keys of scenarios that once had another name. Such a key is refused with a message that names
//! the present one: a scenario means the same in every version that accepts it.

/// Former names of keys, each with the present name.
const KEYS: &[(&str, &str)] = &[
    ("gradual_window", "rcv_ssthresh"),
    ("kept_percent", "alpha_percent"),
    ("kernel_laws", "kernel_congestion_control"),
    ("least", "min"),
    ("meanwhile", "while_away"),
    ("most", "max"),
    ("push_bursts", "psh_each_burst"),
    ("receive_buffer_most", "receive_buffer_max"),
    ("send_buffer_most", "send_buffer_max"),
];

/// Returns the present name of a key by a former one.
pub(crate) fn key(former: &str) -> Option<&'static str> {
    KEYS.iter().find(|(old, _)| *old == former).map(|(_, new)| *new)
}

#[cfg(test)]
mod tests {
    use super::KEYS;
    use crate::Scenario;

    #[test]
    fn a_former_key_is_refused_with_the_present_name() {
        let text = |key: &str| format!("duration = \"1 s\"\n[tcp]\n{key} = \"off\"\n");
        for former in ["send_buffer_most", "receive_buffer_most", "gradual_window", "push_bursts"] {
            let (_, new) = KEYS.iter().find(|(old, _)| *old == former).unwrap();
            let error = Scenario::parse("former.toml", &text(former)).unwrap_err().to_string();
            assert!(error.contains(&format!("is called `{new}` now")), "{error}");
        }
        for (former, new) in [("least", "min"), ("most", "max")] {
            let web = format!("[[flow]]\nname = \"f\"\nweb = {{ objects = {{ {former} = 9 }} }}\n");
            let error = Scenario::parse("former.toml", &web).unwrap_err().to_string();
            let expected = format!("flow.f.web.objects.{former}: this key is called `{new}` now");
            assert!(error.contains(&expected), "{error}");
        }
        // Where the present key does not belong, neither did the former.
        let error = Scenario::parse("former.toml", &text("kept_percent")).unwrap_err().to_string();
        assert!(error.contains("unknown key"), "{error}");
    }
}
