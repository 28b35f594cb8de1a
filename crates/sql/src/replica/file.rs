//! The file that keeps what was said of channels: `replica-channels` in the data directory.
//!
//! It is lines of text, `name=value`, in sections: `[filters]`, for all channels, and `[channel]`,
//! once for each. `docs/formats/replica-channels.md` lists them. It is written whole, beside, and
//! renamed; only the server's own user may read it, for it has passwords. Its last line is a
//! checksum of what stands before, for which a person who changes the file says `none`.
//!
//! (F1) A file that can't be read, or has what is not understood, stays as it is: no channel is
//!      known then, and no statement that would write it is done (R2 of ARCHITECTURE.md).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use env::Env;

use super::failover::{FailoverSource, FailoverSources};
use super::filters::{Filter, FilterRule, Filters};
use super::source::{AnonymousGtids, SourceConfig};

/// Its name in the data directory.
pub const FILE: &str = "replica-channels";

const HEAD: &str =
    "# What CHANGE REPLICATION SOURCE and CHANGE REPLICATION FILTER have said. It has passwords.\n";
const AUTO_FAILOVER: &str = "source_connection_auto_failover";
const ROW_FORMAT: &str = "require_row_format";
const CHECKSUM: &str = "# checksum: ";
/// What a person says for it.
const NO_CHECKSUM: &str = "none";

/// What the file holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredChannels {
    /// The rules for all channels.
    pub filters: Filters,
    /// Where receivers go whose source is lost.
    pub failover: FailoverSources,
    /// Name, source and rules of each.
    pub channels: Vec<(String, SourceConfig, Filters)>,
}

/// Where it is.
#[derive(Clone)]
pub struct ChannelsFile {
    env: Arc<dyn Env>,
    path: PathBuf,
}

impl ChannelsFile {
    /// The file of a data directory.
    pub fn new(env: Arc<dyn Env>, datadir: &Path) -> Self {
        Self { env, path: datadir.join(FILE) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds; nothing if there is none.
    ///
    /// # Errors
    /// It can't be read, or has what is not understood: the text says what and where.
    pub fn read(&self) -> Result<StoredChannels, String> {
        if !self.env.exists(&self.path) {
            return Ok(StoredChannels::default());
        }
        let bytes = self.env.read_file(&self.path).map_err(|e| e.to_string())?;
        parse(std::str::from_utf8(&bytes).map_err(|_| "it is not text".to_owned())?)
    }

    /// Replaces it; after a failure or a power cut it is as before or as asked for.
    ///
    /// # Errors
    /// The operating system's.
    pub fn write(&self, stored: &StoredChannels) -> std::io::Result<()> {
        self.env.replace_private_file(&self.path, text(stored).as_bytes())
    }
}

/// What the file holds: lines of UTF-8, a checksum last.
fn text(stored: &StoredChannels) -> String {
    let mut out = HEAD.to_owned();
    out += "[filters]\n";
    write_filters(&mut out, &stored.filters);
    write_failover(&mut out, &stored.failover);
    for (name, source, filters) in &stored.channels {
        out += "[channel]\n";
        for (key, value) in values(name, source) {
            out += &format!("{key}={}\n", escaped(&value));
        }
        write_filters(&mut out, filters);
    }
    let sum = crc32fast::hash(out.as_bytes());
    out + &format!("{CHECKSUM}{sum:08x}\n")
}

fn write_filters(out: &mut String, filters: &Filters) {
    for (rule, filter) in filters.iter().filter(|(_, filter)| !filter.of_option) {
        let of = if filter.of_channel { "channel" } else { "global" };
        *out += &format!("{}={of}\t{}", rule.name().to_ascii_lowercase(), filter.since);
        for (first, second) in &filter.values {
            *out += &format!("\t{}\t{}", escaped(first), escaped(second));
        }
        out.push('\n');
    }
}

/// A section, if there are sources: a file without them is read by versions that have none.
fn write_failover(out: &mut String, sources: &FailoverSources) {
    for (number, source) in sources.iter().enumerate() {
        if number == 0 {
            *out += "[failover_sources]\n";
        }
        let FailoverSource { channel, host, port, weight } = source;
        *out += &format!("source={}\t{}\t{port}\t{weight}\n", escaped(channel), escaped(host));
    }
}

/// The lines of a channel, but for its filters.
fn values(name: &str, source: &SourceConfig) -> Vec<(&'static str, String)> {
    let flag = |on: bool| u8::from(on).to_string();
    let ids: Vec<_> = source.ignored_server_ids.iter().map(u32::to_string).collect();
    let mut values = vec![
        ("name", name.to_owned()),
        ("source_host", source.host.clone()),
        ("source_port", source.port.to_string()),
        ("source_user", source.user.clone()),
        ("source_password", source.password.clone()),
        ("source_log_file", source.log_file.clone()),
        ("source_log_pos", source.log_position.to_string()),
        ("position_given_at", source.position_given_at.to_string()),
        ("begun_at", source.begun_at.to_string()),
        ("source_auto_position", flag(source.auto_position)),
        ("source_connect_retry", source.connect_retry.as_secs().to_string()),
        ("source_retry_count", source.retry_count.to_string()),
        ("source_heartbeat_period_ms", source.heartbeat_period.as_millis().to_string()),
        ("source_delay", source.delay.as_secs().to_string()),
        ("ignore_server_ids", ids.join(",")),
        ("source_ssl", flag(source.tls)),
        ("source_ssl_ca", source.tls_ca.clone()),
        ("source_ssl_verify_server_cert", flag(source.tls_verify)),
        ("get_source_public_key", flag(source.get_public_key)),
        ("source_compression_algorithms", source.compression.clone()),
        ("source_zstd_compression_level", source.zstd_level.to_string()),
        ("assign_gtids_to_anonymous_transactions", source.anonymous.to_string()),
    ];
    // Versions that do not know one can't read a file that has it.
    for (key, is_on) in [(AUTO_FAILOVER, source.auto_failover), (ROW_FORMAT, source.requires_row_format)] {
        if is_on {
            values.push((key, flag(true)));
        }
    }
    values
}

/// What a line sets, of a channel whose section it stands in.
fn assign(name: &mut String, source: &mut SourceConfig, key: &str, value: String) -> Option<()> {
    let flag = |text: &str| match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    };
    let seconds = |text: &str| text.parse().ok().map(Duration::from_secs);
    match key {
        "name" => *name = value,
        "source_host" => source.host = value,
        "source_port" => source.port = value.parse().ok()?,
        "source_user" => source.user = value,
        "source_password" => source.password = value,
        "source_log_file" => source.log_file = value,
        "source_log_pos" => source.log_position = value.parse().ok()?,
        "position_given_at" => source.position_given_at = value.parse().ok()?,
        "begun_at" => source.begun_at = value.parse().ok()?,
        AUTO_FAILOVER => source.auto_failover = flag(&value)?,
        ROW_FORMAT => source.requires_row_format = flag(&value)?,
        "source_auto_position" => source.auto_position = flag(&value)?,
        "source_connect_retry" => source.connect_retry = seconds(&value)?,
        "source_retry_count" => source.retry_count = value.parse().ok()?,
        "source_heartbeat_period_ms" => {
            source.heartbeat_period = Duration::from_millis(value.parse().ok()?);
        }
        "source_delay" => source.delay = seconds(&value)?,
        "ignore_server_ids" => {
            let ids = value.split(',').filter(|id| !id.is_empty());
            source.ignored_server_ids = ids.map(|id| id.parse().ok()).collect::<Option<_>>()?;
        }
        "source_ssl" => source.tls = flag(&value)?,
        "source_ssl_ca" => source.tls_ca = value,
        "source_ssl_verify_server_cert" => source.tls_verify = flag(&value)?,
        "get_source_public_key" => source.get_public_key = flag(&value)?,
        "source_compression_algorithms" => source.compression = value,
        "source_zstd_compression_level" => source.zstd_level = value.parse().ok()?,
        "assign_gtids_to_anonymous_transactions" => {
            source.anonymous = match value.as_str() {
                "OFF" => AnonymousGtids::Off,
                "LOCAL" => AnonymousGtids::Local,
                _ => AnonymousGtids::Uuid(value),
            };
        }
        _ => return None,
    }
    Some(())
}

/// What a line is of.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    None,
    Filters,
    FailoverSources,
    Channel,
}

impl StoredChannels {
    /// Takes a line; `None` if it is not understood.
    fn take(&mut self, section: Section, key: &str, value: &str) -> Option<()> {
        let rule = FilterRule::find(&key.to_ascii_uppercase());
        match (section, rule, self.channels.last_mut()) {
            (Section::Filters, Some(rule), _) => self.filters.set(rule, filter(value)?),
            (Section::FailoverSources, ..) if key == "source" => {
                self.failover.add(failover_source(value)?).then_some(())?;
            }
            (Section::Channel, Some(rule), Some((.., filters))) => filters.set(rule, filter(value)?),
            (Section::Channel, None, Some((name, source, _))) => {
                assign(name, source, key, unescaped(value)?)?;
            }
            _ => return None,
        }
        Some(())
    }
}

fn failover_source(value: &str) -> Option<FailoverSource> {
    let fields: Vec<_> = value.split('\t').collect();
    let [channel, host, port, weight] = fields.as_slice() else { return None };
    Some(FailoverSource {
        channel: unescaped(channel)?,
        host: unescaped(host)?,
        port: port.parse().ok().filter(|port| *port > 0)?,
        weight: weight.parse().ok().filter(|weight| (1..=100).contains(weight))?,
    })
}

fn parse(text: &str) -> Result<StoredChannels, String> {
    check_sum(text)?;
    let mut stored = StoredChannels::default();
    let mut section = Section::None;
    for (number, line) in text.lines().enumerate() {
        let wrong = || format!("line {} is not understood", number + 1);
        match line {
            "" => {}
            _ if line.starts_with('#') => {}
            "[filters]" => section = Section::Filters,
            "[failover_sources]" => section = Section::FailoverSources,
            "[channel]" => {
                section = Section::Channel;
                stored.channels.push((String::new(), SourceConfig::default(), Filters::default()));
            }
            _ => {
                let (key, value) = line.split_once('=').ok_or_else(wrong)?;
                stored.take(section, key, value).ok_or_else(wrong)?;
            }
        }
    }
    if section == Section::None {
        // What was written has one, and there is no file where nothing was said.
        return Err("it has no section: it was cut off".to_owned());
    }
    let names: std::collections::BTreeSet<_> = stored.channels.iter().map(|(name, ..)| name).collect();
    match names.len() == stored.channels.len() {
        true => Ok(stored),
        false => Err("two channels have the same name".to_owned()),
    }
}

/// Verifies the last line, without which the file was cut off.
fn check_sum(text: &str) -> Result<(), String> {
    const ADVICE: &str = "whoever changes it ends it with the line '# checksum: none'";
    let Some(at) = text.rfind(CHECKSUM) else {
        return Err(format!("it has no checksum at its end: it was cut off; {ADVICE}"));
    };
    let sum = text[at + CHECKSUM.len()..].trim_end();
    match sum == NO_CHECKSUM || u32::from_str_radix(sum, 16) == Ok(crc32fast::hash(&text.as_bytes()[..at])) {
        true => Ok(()),
        false => Err(format!("it is not what was written, by its checksum; {ADVICE}")),
    }
}

fn filter(value: &str) -> Option<Filter> {
    let mut fields = value.split('\t');
    let of_channel = match fields.next()? {
        "channel" => true,
        "global" => false,
        _ => return None,
    };
    let since = fields.next()?.parse().ok()?;
    let mut values = Vec::new();
    while let Some(first) = fields.next() {
        values.push((unescaped(first)?, unescaped(fields.next()?)?));
    }
    Some(Filter { values, of_channel, since, ..Filter::default() })
}

/// A value in one line, without tabs.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            c => out.push(c),
        }
    }
    out
}

/// The value again; `None` if there is no such escape.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                _ => return None,
            },
            c => c,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn stored() -> StoredChannels {
        let mut filters = Filters::default();
        let values = vec![("a\tb".to_owned(), "c\\\n".to_owned())];
        filters.set(FilterRule::DoTable, Filter { values, of_channel: true, since: 7, ..Filter::default() });
        filters.set(FilterRule::IgnoreDatabase, Filter::default());
        let source = SourceConfig {
            host: "h".into(),
            password: "p=\\n\r[channel]".into(),
            port: 1,
            log_file: "b.000001".into(),
            log_position: u64::MAX,
            position_given_at: 5,
            begun_at: 3,
            auto_position: true,
            heartbeat_period: Duration::from_millis(1500),
            ignored_server_ids: [1, u32::MAX].into(),
            anonymous: AnonymousGtids::Uuid("u".into()),
            tls: true,
            auto_failover: true,
            requires_row_format: true,
            ..SourceConfig::default()
        };
        let mut failover = FailoverSources::default();
        for (channel, host) in [("", "h"), ("a\tb\\\n", "h2")] {
            failover.add(FailoverSource {
                channel: channel.into(),
                host: host.into(),
                port: 3306,
                weight: 100,
            });
        }
        let second = ("two".to_owned(), SourceConfig::default(), Filters::default());
        let channels = vec![(String::new(), source, filters.clone()), second];
        StoredChannels { filters, failover, channels }
    }

    #[test]
    fn what_is_written_is_read() {
        for stored in [stored(), StoredChannels::default()] {
            assert_eq!(parse(&text(&stored)), Ok(stored));
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        let changed = text(&stored()).replace("source_port=1", "source_port=x");
        assert!(parse(&changed).unwrap_err().contains("checksum"));
        let parse_changed = |text: &str| parse(&format!("{text}{CHECKSUM}none\n"));
        let (without_sum, _) = changed.rsplit_once(CHECKSUM).unwrap();
        let line = without_sum.lines().position(|line| line == "source_port=x").unwrap() + 1;
        assert_eq!(parse_changed(without_sum).unwrap_err(), format!("line {line} is not understood"));
        assert!(
            parse_changed("source_port=1\n").is_err() && parse_changed("[channel]\nno_such=1\n").is_err()
        );
        assert!(parse_changed("[channel]\nname=a\n[channel]\nname=a\n").is_err());
        for source in ["h\t1\t1", "c\th\t1\t101", "c\th\t0\t1", "c\th\tx\t1", "c\th\t1\t1\nsource=C\tH\t1\t2"]
        {
            assert!(parse_changed(&format!("[failover_sources]\nsource={source}\n")).is_err(), "{source}");
        }
        assert!(parse_changed("[channel]\nname=a\n").is_ok() && parse_changed("[filters]\n").is_ok());
        assert_eq!(parse_changed("").unwrap_err(), "it has no section: it was cut off");
    }

    /// Where the end was missing the rest was taken: without password, position or failover.
    #[test]
    fn a_file_that_was_cut_off_is_an_error() {
        let text = text(&stored());
        for end in (0..text.len() - 1).filter(|&end| text.is_char_boundary(end)) {
            assert!(parse(&text[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_power_cut_leaves_the_file_as_it_was_or_as_it_is() {
        for seed in 0..20 {
            let env = Arc::new(env::SimEnv::new(seed));
            let datadir = Path::new("/data");
            env.create_dir_all(datadir).unwrap();
            env.sync_dir(Path::new("/")).unwrap();
            let file = ChannelsFile::new(env.clone(), datadir);
            assert_eq!(file.read(), Ok(StoredChannels::default()));
            file.write(&stored()).unwrap();
            env.power_cut();
            let again = ChannelsFile::new(Arc::new(env.reboot()), datadir);
            assert_eq!(again.read(), Ok(stored()), "seed {seed}");
        }
    }
}
