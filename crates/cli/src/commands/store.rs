//! `fairwave store`: size and contents of the store of results.

use crate::args::{Common, Store, StoreTask};
use crate::outcome::Failure;
use crate::output;
use crate::printed_store::{StoreOutput, StoreVersion};
use crate::store;
use crate::table::Table;
use fairwave_lab::store::{self as lab, Content, OfVersion, Version};
use fairwave_units::{Bytes, several};
use serde_json::json;
use std::path::Path;

/// Shows, checks, limits or empties the store.
pub(crate) fn run(common: &Common, args: &Store) -> Result<(), Failure> {
    let path = store::path(&args.choice)
        .ok_or_else(|| Failure::Usage("there is no home directory: name the store".into()))?;
    let mine = Version::of_this_program();
    if common.json && !matches!(args.task, None | Some(StoreTask::Stat)) {
        return Err(Failure::Usage("--json goes with stat alone".into()));
    }
    match args.task.as_ref().unwrap_or(&StoreTask::Stat) {
        StoreTask::Limit { size } => lab::set_limit(&path, *size).map_err(Failure::run),
        // No result has been stored there yet.
        _ if !path.exists() => said(common, &path, &Content::none(), &mine),
        StoreTask::Stat => {
            let content = lab::stat(&path, &mine).map_err(Failure::run)?;
            said(common, &path, &content, &mine)
        }
        StoreTask::Verify => verify(&path),
        StoreTask::Clear { others } => {
            let freed = lab::clear(&path, others.then_some(&mine)).map_err(Failure::run)?;
            Ok(output::print(&format!("Removed {}\n", megabytes(freed)))?)
        }
    }
}

fn said(common: &Common, path: &Path, content: &Content, mine: &Version) -> Result<(), Failure> {
    if common.json {
        let version = |of: &OfVersion| StoreVersion {
            version: of.version.map(|version| version.short()),
            is_this: of.version == Some(*mine),
            results: of.results,
            bytes: of.size.0,
        };
        return Ok(output::print_json(&json!(StoreOutput {
            directory: path.display().to_string(),
            limit_bytes: content.limit.0,
            bytes: content.size.0,
            versions: content.versions.iter().map(version).collect(),
        }))?);
    }
    let (size, limit) = (megabytes(content.size), megabytes(content.limit));
    let mut text = format!("{}: {size} of at most {limit}\n", path.display());
    if !content.versions.is_empty() {
        let mut table = Table::new("", &["version", "results", "MB"]);
        for of in &content.versions {
            let name = match of.version {
                Some(version) if version == *mine => format!("{} (this program)", version.short()),
                Some(version) => version.short(),
                None => "cannot be read".to_owned(),
            };
            let size = format!("{:.1}", of.size.0 as f64 / 1e6);
            table.row(vec![name, of.results.to_string(), size]);
        }
        text.push_str(&table.render());
    }
    Ok(output::print(&text)?)
}

fn verify(path: &Path) -> Result<(), Failure> {
    let verified = lab::verify(path).map_err(Failure::run)?;
    let whole = several(verified.whole, "result");
    if verified.damaged.is_empty() {
        return Ok(output::print(&format!("{whole}, each as it was written\n"))?);
    }
    verified.damaged.iter().for_each(|damage| output::warn(damage));
    let count = several(verified.damaged.len() as u64, "place");
    Err(Failure::Run(format!("{count} damaged beside {whole}; those runs are made again")))
}

fn megabytes(size: Bytes) -> String {
    format!("{:.1} MB", size.0 as f64 / 1e6)
}
