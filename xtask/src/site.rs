//! The documentation site: `docs` and the pages that it links to, by MkDocs Material.

use crate::web;
use std::fs;
use std::path::Path;
use xtask::shell::{Outcome, command, root, run, run_aside};
use xtask::workspace::target;

/// Parts of the site, as paths for git. A page may link to any of it.
const PARTS: [&str; 13] = [
    "docs",
    "results",
    "scenarios",
    "studies",
    "maps",
    "packaging",
    "benches",
    ":(glob)site/extra.*",
    ":(glob)*.md",
    ":(glob)LICENSE*",
    "crates/lab/lab/src/store/record.rs",
    "crates/lab/scenario/examples",
    "crates/python/examples",
];
/// The page whose headings and links are the site's navigation.
const INDEX: &str = "docs/README.md";

/// Builds the site in `target/site`. A link that leads nowhere is an error.
pub(crate) fn build() -> Outcome {
    let (place, out) = (target().join("site-source"), target().join("site"));
    let pages = place.join("pages");
    stage(&pages)?;
    let read = |path: &str| fs::read_to_string(root().join(path)).map_err(named(path));
    let settings = read("site/mkdocs.yml")?;
    let nav = navigation(&read(INDEX)?);
    let site = out.display();
    let settings = format!("{settings}docs_dir: pages\nsite_dir: {site}\nnav:\n{nav}");
    fs::write(place.join("mkdocs.yml"), settings).map_err(named("mkdocs.yml"))?;
    let tools = install()?;
    let mut build = command(&tools.join("bin/mkdocs").to_string_lossy(), &[]);
    build.args(["build", "--strict", "--quiet", "--clean", "--config-file"]);
    build.arg(place.join("mkdocs.yml")).env("NO_MKDOCS_2_WARNING", "1");
    run_aside(build)?;
    println!("wrote {}", out.join("index.html").display());
    Ok(())
}

/// Reads the site in Chromium.
pub(crate) fn browser() -> Outcome {
    web::install(web::WEB)?;
    let mut node = command("node", &["crates/lab/show/web/tests/site.js"]);
    node.arg(target().join("site"));
    run(node)
}

/// Copies the files that git knows, since the pages lie beside the files to which they link.
fn stage(pages: &Path) -> Outcome {
    if pages.exists() {
        fs::remove_dir_all(pages).map_err(named("site-source"))?;
    }
    let mut list = command("git", &["ls-files", "--cached", "--others", "--exclude-standard"]);
    let output = list.args(PARTS).output().map_err(|error| format!("git: {error}"))?;
    for file in String::from_utf8_lossy(&output.stdout).lines() {
        let to = pages.join(file);
        let parent = to.parent().expect("a file lies in a directory");
        fs::create_dir_all(parent).map_err(named(file))?;
        fs::copy(root().join(file), &to).map_err(named(file))?;
    }
    Ok(())
}

/// Installs the pinned packages from PyPI, unless they are there. Returns their environment.
fn install() -> Result<std::path::PathBuf, String> {
    let tools = target().join("tools/site");
    let installed = tools.join("requirements.txt");
    let wanted = fs::read(root().join("site/requirements.txt")).map_err(named("requirements"))?;
    if fs::read(&installed).is_ok_and(|found| found == wanted) {
        return Ok(tools);
    }
    run_aside(command("python3", &["-m", "venv", &tools.to_string_lossy()]))?;
    let python = tools.join("bin/python");
    let pip = ["-m", "pip", "install", "--quiet", "--requirement", "site/requirements.txt"];
    run_aside(command(&python.to_string_lossy(), &pip))?;
    fs::write(installed, wanted).map_err(named("requirements.txt"))?;
    Ok(tools)
}

/// The navigation in YAML: a section for each heading of the index, a group for each line that ends
/// in a colon, and an entry for each link to a page.
fn navigation(index: &str) -> String {
    let mut nav = "  - Home: README.md\n".to_owned();
    let mut indent = "  ";
    for line in index.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let name = heading.split(':').next().unwrap_or(heading);
            nav += &format!("  - {name}:\n");
            indent = "      ";
        } else if let Some(group) = line.strip_suffix(':').filter(|line| !line.starts_with('-')) {
            let name = group.split(',').next().unwrap_or(group);
            nav += &format!("      - {name}:\n");
            indent = "          ";
        }
        for (title, page) in links(line) {
            nav += &format!("{indent}- \"{title}\": {page}\n");
        }
    }
    nav
}

/// Titles and paths, from the root, of the links to pages in a line of the index.
fn links(line: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    for part in line.split('[').skip(1) {
        let Some((title, rest)) = part.split_once("](") else { continue };
        let Some((path, _)) = rest.split_once(')') else { continue };
        if !path.ends_with(".md") {
            continue;
        }
        let from_root = path.strip_prefix("../").map(str::to_owned);
        found.push((title, from_root.unwrap_or_else(|| format!("docs/{path}"))));
    }
    found
}

fn named(file: &str) -> impl Fn(std::io::Error) -> String + '_ {
    move |error| format!("{file}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_navigation() {
        let index = "# Manual\n\n[Start](start.md). In [results](../results).\n\n\
                     ## Simulate: from a question\n\n- [Keys](scenario.md): each key.\n\n\
                     Studies, each a paper:\n\n- [a](studies/a.md), [b](../B.md): two.\n\n\
                     ## Measure: networks\n\n- [P](p.md)\n";
        let expected = [
            "  - Home: README.md",
            "  - \"Start\": docs/start.md",
            "  - Simulate:",
            "      - \"Keys\": docs/scenario.md",
            "      - Studies:",
            "          - \"a\": docs/studies/a.md",
            "          - \"b\": B.md",
            "  - Measure:",
            "      - \"P\": docs/p.md",
        ];
        assert_eq!(navigation(index).lines().collect::<Vec<_>>(), expected);
    }
}
