//! ALTER INSTANCE ROTATE INNODB MASTER KEY and ROTATE BINLOG MASTER KEY: the keys of files are
//! wrapped anew (`env/src/encryption.rs` has the steps), their content stays as it is.
//!
//! It is not in the log: each server has a key file of its own.

use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use env::Rows;
use env::encryption::EncryptionError;
use std::io::ErrorKind;
use std::path::Path;
use storage::{STORE_FOLDER, TEMPORARY_FOLDER};
use syntax::ast::MasterKey;

pub(super) fn rotate(cx: &Context, of: MasterKey) -> Result<()> {
    let env = cx.instance.env();
    let rows = match of {
        MasterKey::Tables => Rows::Tables,
        MasterKey::Log if !env.encrypts(Rows::Log) => {
            return Err(error::RPL_ENCRYPTION_CANNOT_ROTATE_BINLOG_MASTER_KEY.plain());
        }
        MasterKey::Log => Rows::Log,
    };
    let datadir = cx.instance.globals().text(ids::DATADIR);
    let datadir = Path::new(&*datadir);
    let folders = [datadir.to_owned(), datadir.join(STORE_FOLDER), datadir.join(TEMPORARY_FOLDER)];
    let folders: Vec<&Path> = folders.iter().map(|folder| &**folder).filter(|f| env.exists(f)).collect();
    match env.rotate_master_key(rows, &folders) {
        Ok(rotated) => {
            tracing::info!(?rows, key = %rotated.key, files = rotated.files, "the master key was rotated");
            Ok(())
        }
        Err(e) if e.kind() == ErrorKind::Unsupported => {
            tracing::error!("the master key can't be rotated: there is no duramen_master_key_file");
            Err(error::CANNOT_FIND_KEY_IN_KEYRING.plain())
        }
        Err(e) if EncryptionError::of(&e).is_some_and(|e| matches!(e, EncryptionError::NoKeyFile { .. })) => {
            tracing::error!("the master key can't be rotated: {e}");
            Err(error::CANNOT_FIND_KEY_IN_KEYRING.plain())
        }
        Err(e) => {
            tracing::error!("the master key was not rotated for all files: {e}");
            Err(SqlError::internal(format_args!("the master key was not rotated for all files: {e}")))
        }
    }
}
