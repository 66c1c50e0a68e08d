//! The file system under run directories: the system's, or files in memory where there is none, as
//! in WebAssembly. The writers of tables, captures and summaries are the same for both.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use of_the_system::{
    File, create_dir_all, names_in, read_to_string, remove_file, rename,
};

#[cfg(target_arch = "wasm32")]
pub(crate) use super::memory::{
    File, create_dir_all, names_in, read_to_string, remove_file, rename,
};

#[cfg(not(target_arch = "wasm32"))]
mod of_the_system {
    pub(crate) use std::fs::{File, create_dir_all, read_to_string, remove_file, rename};
    use std::io;
    use std::path::Path;

    /// The names of the files in a directory that are UTF-8.
    pub(crate) fn names_in(directory: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }
}
