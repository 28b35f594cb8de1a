//! All channels of this server, and the file that keeps what was said of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use env::Env;
use parking_lot::{Mutex, MutexGuard};

use super::channel::{Channel, SourceThreads};
use super::failover::FailoverSources;
use super::file::{ChannelsFile, FILE, StoredChannels};
use super::filters::{FilterOption, Filters};
use datum::error::{self, Result, SqlError};

/// As many as MySQL allows.
pub const CHANNELS_MAX: usize = 256;

/// All channels by name.
#[derive(Default)]
pub struct Channels {
    by_name: Mutex<BTreeMap<String, Arc<Channel>>>,
    threads: Mutex<Option<Arc<dyn SourceThreads>>>,
    /// The rules of a channel that is made.
    filters: Mutex<Filters>,
    /// Where receivers go whose source is lost.
    failover: Mutex<FailoverSources>,
    /// Rules that the server's options say, and since when.
    options: Mutex<(Vec<FilterOption>, u64)>,
    /// Where they are kept; none in tests.
    file: Option<ChannelsFile>,
    /// Why the file can't be used; `None` if it can be (F1 of `file.rs`).
    damage: Mutex<Option<String>>,
    /// Held by statements that change channels, while the file is written, too.
    administration: Mutex<()>,
}

impl Channels {
    /// What is wrong with a data directory's file of channels, if anything; its name, and why.
    pub fn file_error(env: Arc<dyn Env>, datadir: &Path) -> Option<(&'static str, String)> {
        Some((FILE, ChannelsFile::new(env, datadir).read().err()?))
    }

    /// Those that the file of a data directory has. One that can't be used is told of in the error
    /// log, and stays as it is.
    pub fn open(env: Arc<dyn Env>, datadir: &Path) -> Self {
        let file = ChannelsFile::new(env, datadir);
        let channels = Self { file: Some(file.clone()), ..Self::default() };
        if let Err(damage) = channels.load() {
            tracing::error!(
                "{} can't be used: {damage}. This server follows no source until the file is mended or removed; it is \
                 not changed. Everything else works",
                file.path().display()
            );
        }
        channels
    }

    fn load(&self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let stored = file.read().inspect_err(|damage| *self.damage.lock() = Some(damage.clone()))?;
        *self.filters.lock() = stored.filters;
        *self.failover.lock() = stored.failover;
        for (name, source, filters) in stored.channels {
            let channel = Channel::new(&name, source);
            channel.with(|state| {
                state.filters = filters;
                state.begin_anew();
            });
            self.put(Arc::new(channel));
        }
        *self.damage.lock() = None;
        Ok(())
    }

    /// Keeps other statements from changing channels. If the file could not be used, it is read
    /// again: somebody may have mended or removed it.
    ///
    /// # Errors
    /// 1201: the file can't be used.
    pub(crate) fn administer(&self) -> Result<MutexGuard<'_, ()>> {
        let guard = self.administration.lock();
        let is_damaged = self.damage.lock().is_some();
        if let (Some(file), true) = (&self.file, is_damaged) {
            self.load().map_err(|damage| SqlError {
                message: format!(
                    "Could not initialize connection metadata structure: {} can't be used: {damage}. Mend or \
                     remove the file",
                    file.path().display()
                ),
                ..error::MASTER_INFO.plain()
            })?;
        }
        Ok(guard)
    }

    /// What the file has to hold.
    pub(crate) fn to_store(&self) -> StoredChannels {
        let of = |channel: &Arc<Channel>| {
            channel.with(|state| (channel.name().to_owned(), state.source.clone(), state.filters.clone()))
        };
        let channels = self.all().iter().map(of).collect();
        StoredChannels { filters: self.filters(), failover: self.failover(), channels }
    }

    /// Writes the file, before what it says takes effect.
    ///
    /// # Errors
    /// 1026: it can't be written, and is as before.
    pub(crate) fn store(&self, stored: &StoredChannels) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        file.write(stored)
            .map_err(|e| error::ERROR_ON_WRITE.with(&[&file.path().display(), &format_args!("{e}")]))
    }

    /// The channel of this name.
    pub fn get(&self, name: &str) -> Option<Arc<Channel>> {
        self.by_name.lock().get(name).cloned()
    }

    /// All, by name.
    pub fn all(&self) -> Vec<Arc<Channel>> {
        self.by_name.lock().values().cloned().collect()
    }

    /// Adds one; one of the same name goes. The file is not written.
    pub fn put(&self, channel: Arc<Channel>) {
        self.apply_options(&channel);
        self.by_name.lock().insert(channel.name().to_owned(), channel);
    }

    /// Forgets one (RESET REPLICA ALL). The file is not written.
    pub fn remove(&self, name: &str) {
        self.by_name.lock().remove(name);
    }

    /// Rules that the server's options say, of channels to come, too: they take the place of what a
    /// statement said of the same rule before.
    pub fn set_options(&self, options: Vec<FilterOption>, since: u64) {
        self.filters.lock().set_options(&options, None, since);
        *self.options.lock() = (options, since);
        self.all().iter().for_each(|channel| self.apply_options(channel));
    }

    fn apply_options(&self, channel: &Channel) {
        let (options, since) = &*self.options.lock();
        channel.with(|state| state.filters.set_options(options, Some(channel.name()), *since));
    }

    /// The rules for all channels.
    pub fn filters(&self) -> Filters {
        self.filters.lock().clone()
    }

    pub(crate) fn set_filters(&self, filters: Filters) {
        *self.filters.lock() = filters;
    }

    /// The sources that receivers go to when theirs is lost.
    pub fn failover(&self) -> FailoverSources {
        self.failover.lock().clone()
    }

    /// Changes the lists of sources, the file first. `change` gives its result, or why it changes
    /// nothing.
    ///
    /// # Errors
    /// Those of `change`; 1201 and 1026, of the file.
    pub(crate) fn change_failover(
        &self,
        change: impl FnOnce(&mut FailoverSources) -> Result<()>,
    ) -> Result<()> {
        let _administers = self.administer()?;
        let mut stored = self.to_store();
        change(&mut stored.failover)?;
        self.store(&stored)?;
        *self.failover.lock() = stored.failover;
        Ok(())
    }

    /// Says who starts threads: without, START REPLICA is refused.
    pub fn set_threads(&self, threads: Arc<dyn SourceThreads>) {
        *self.threads.lock() = Some(threads);
    }

    /// Who starts threads.
    pub fn threads(&self) -> Option<Arc<dyn SourceThreads>> {
        self.threads.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::replica::SourceConfig;
    use env::SimEnv;

    /// A start destroys nothing, and what a person mends is taken without another start.
    #[test]
    fn a_damaged_file_stays_and_is_read_again_once_it_is_mended() {
        let env: Arc<dyn Env> = Arc::new(SimEnv::new(1));
        let datadir = Path::new("/data");
        env.create_dir_all(datadir).unwrap();
        let channels = Channels::open(env.clone(), datadir);
        let source = SourceConfig { host: "h".into(), ..SourceConfig::default() };
        let mut stored = channels.to_store();
        stored.channels.push(("c".into(), source, Filters::default()));
        channels.store(&stored).unwrap();
        let path = datadir.join(crate::replica::file::FILE);
        let whole = env.read_file(&path).unwrap();

        let damaged = [&whole[..whole.len() / 2], b"x", &whole[whole.len() / 2..]].concat();
        env.replace_file(&path, &damaged).unwrap();
        let channels = Channels::open(env.clone(), datadir);
        assert!(channels.all().is_empty());
        let refused = channels.administer().err().unwrap();
        assert!(refused.number == 1201 && refused.message.contains("replica-channels"), "{refused}");
        assert_eq!(env.read_file(&path).unwrap(), damaged);

        env.replace_file(&path, &whole).unwrap();
        assert!(channels.administer().is_ok());
        assert_eq!(channels.get("c").unwrap().with(|state| state.source.host.clone()), "h");
    }
}
