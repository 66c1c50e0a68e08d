//! Names of source files and functions, as the page and the flame graphs print them.

/// The part of the program that a source file belongs to: a crate of the workspace (for `dot11`
/// with its module), a library, or the compiler's and the system's own.
pub(super) fn part(file: &str) -> String {
    if let Some((_, inside)) = file.split_once("crates/") {
        let mut names = inside.split('/');
        let (_floor, name) = (names.next(), names.next().unwrap_or_default());
        let module = inside.split_once("dot11/src/channel/").map(|(_, module)| module);
        return match module {
            Some(module) if module.starts_with("air") => "dot11: air".into(),
            Some(module) if module.starts_with("contention") => "dot11: contention".into(),
            Some(_) => "dot11: exchanges".into(),
            None => name.into(),
        };
    }
    if let Some((_, inside)) = file.split_once("/registry/src/") {
        let package = inside.split('/').nth(1).unwrap_or_default();
        let name = package.rsplit_once('-').map_or(package, |(name, _version)| name);
        return if name.starts_with("rand") { "random numbers" } else { "other libraries" }.into();
    }
    if file.contains("/rustc/") || file.contains("library/") {
        return "Rust's library".into();
    }
    "C library".into()
}

/// A short name of a function or a file for a flame graph.
pub(super) fn label(name: &str) -> String {
    if name.ends_with(".rs") || name.ends_with(".c") || name.ends_with(".S") {
        let inside = name.split_once("crates/").and_then(|(_, inside)| inside.split_once('/'));
        let short = inside.map(|(_floor, file)| file.replace("/src/", "/"));
        return short.unwrap_or_else(|| name.rsplit('/').next().unwrap_or(name).to_owned());
    }
    plain(name).replace(';', ":")
}

/// A function's name without its types' parameters and the prefix of the project.
fn plain(name: &str) -> String {
    let mut depth = 0_u32;
    let mut kept = String::new();
    for (at, letter) in name.char_indices() {
        match letter {
            // A leading `<A as B>` is the only name that a method of a trait has.
            '<' if at > 0 => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    kept.replace("fairwave_", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_parts() {
        let dot11 = "/work/crates/protocols/dot11/src/";
        for (file, belongs) in [
            (format!("{dot11}channel/air/collision.rs"), "dot11: air"),
            (format!("{dot11}channel/contention/deadlines.rs"), "dot11: contention"),
            (format!("{dot11}channel/exchange.rs"), "dot11: exchanges"),
            (format!("{dot11}error_model.rs"), "dot11"),
            ("/work/crates/protocols/tcp/src/connection.rs".into(), "tcp"),
            ("/root/.cargo/registry/src/a-1/rand_core-0.9.3/src/lib.rs".into(), "random numbers"),
            ("/root/.cargo/registry/src/a-1/slab-0.4.12/src/lib.rs".into(), "other libraries"),
            ("/rustc/5980/library/core/src/option.rs".into(), "Rust's library"),
            ("???".into(), "C library"),
        ] {
            assert_eq!(part(&file), belongs, "{file}");
        }
    }

    #[test]
    fn labels_are_short() {
        for (name, short) in [
            ("/work/crates/hosts/sim/src/network/channel.rs", "sim/network/channel.rs"),
            ("/rustc/1/library/core/src/option.rs", "option.rs"),
            ("fairwave_sim::run", "sim::run"),
            ("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push"),
            ("<fairwave_tcp::Sender as Machine>::poll", "<tcp::Sender as Machine>::poll"),
        ] {
            assert_eq!(label(name), short);
        }
    }
}
