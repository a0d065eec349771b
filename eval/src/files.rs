//! Files that are there whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Writes a file aside, syncs it and renames it; an older file stays if that fails.
pub(crate) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let aside = path.with_added_extension("tmp");
    let write = || {
        let mut file = File::create(&aside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&aside, path)?;
        // Only Unix can open a folder to sync it; elsewhere the rename itself is what there is.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    };
    write().inspect_err(|_| drop(fs::remove_file(&aside)))
}
