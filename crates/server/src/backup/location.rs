//! What `--to` and `--from` name: a folder, or an address in object storage with all that it takes
//! to get there.
//!
//! Credentials come from the environment, by the names that each provider's own tools use; they are
//! in no address and in no message. What is sent goes through TLS, unless it stays on this machine
//! or the user has said that it need not.

use super::backend::Backend;
use super::bucket::Bucket;
use super::folder::Folder;
use crate::log_tool::ToolError;
use crate::log_tool::arguments::{Arguments, Takes};
use crate::tool::real;
use env::Env;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::multipart::MultipartStore;
use object_store::{ClientConfigKey, ObjectStore, RetryConfig};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Options of all commands that go to object storage.
pub(super) const OPTIONS: [Takes; 3] =
    [Takes::Value("endpoint"), Takes::Nothing("allow-http"), Takes::Value("lease")];

/// A request, its answer included, may take so long. At 8 MiB this is 140 kB a second.
const REQUEST: &str = "60 seconds";
const CONNECT: &str = "10 seconds";
/// What fails is tried again so often, and for so long.
const RETRIES: usize = 8;
const RETRY: Duration = Duration::from_secs(90);
/// How long a lock outlives its program, if nothing else is said.
const LEASE: u64 = 60;
const LEASE_MAX: u64 = 3600;

/// Where a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    Folder(PathBuf),
    Bucket { provider: Provider, bucket: String, prefix: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    S3,
    Google,
    Azure,
}

impl Provider {
    fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Google => "gs",
            Self::Azure => "az",
        }
    }
}

impl Location {
    /// What an option's value means. `s3://bucket/prefix`, or a folder.
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        let wrong = |why: &str| {
            // It may have a password in it.
            Err(ToolError::Options(format!(
                "an address is s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX: {why}"
            )))
        };
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(Self::Folder(real(Path::new(text))));
        };
        let provider = match scheme {
            "s3" => Provider::S3,
            "gs" => Provider::Google,
            "az" => Provider::Azure,
            _ => return wrong("it begins with something else"),
        };
        if rest.contains(['@', '?', '#', '%', '\\']) || rest.contains(|c: char| c.is_control()) {
            return wrong(
                "neither credentials nor anything else stands in it (credentials are taken from the environment)",
            );
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        if bucket.is_empty() {
            return wrong("the bucket is missing");
        }
        if prefix.split('/').any(|part| matches!(part, "." | "..") || part.is_empty() && !prefix.is_empty()) {
            return wrong("the prefix has an empty part, or '.' or '..'");
        }
        Ok(Self::Bucket { provider, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// The files there.
    pub(super) fn connect(
        &self,
        env: &Arc<dyn Env>,
        arguments: &Arguments,
    ) -> Result<Box<dyn Backend>, ToolError> {
        let (provider, bucket, prefix) = match self {
            Self::Folder(path) => {
                if let Some(option) = OPTIONS.iter().find(|option| arguments.has(option.name())) {
                    return Err(arguments.wrong(format!("--{} is for object storage", option.name())));
                }
                return Ok(Box::new(Folder::new(env, path)));
            }
            Self::Bucket { provider, bucket, prefix } => (*provider, bucket, prefix),
        };
        let lease = arguments.positive("lease")?.unwrap_or(LEASE);
        if !(2..=LEASE_MAX).contains(&lease) {
            return Err(arguments.wrong(format!("--lease is 2 to {LEASE_MAX} seconds")));
        }
        let endpoint = arguments.value("endpoint");
        let allow_http = arguments.has("allow-http");
        let (store, multipart) = match provider {
            Provider::S3 => s3(bucket, endpoint, allow_http),
            Provider::Google => google(bucket, endpoint, allow_http),
            Provider::Azure => azure(bucket, endpoint, allow_http),
        }?;
        let slash = if prefix.is_empty() { "" } else { "/" };
        let address = format!("{}://{bucket}{slash}{prefix}", provider.scheme());
        let lease = Duration::from_secs(lease);
        Ok(Box::new(Bucket::new(env, store, multipart, prefix, address, lease)?))
    }
}

type Store = (Arc<dyn ObjectStore>, Option<Arc<dyn MultipartStore>>);

fn refused(e: &object_store::Error) -> ToolError {
    ToolError::Options(format!("object storage: {e}"))
}

fn retry() -> RetryConfig {
    RetryConfig { max_retries: RETRIES, retry_timeout: RETRY, ..RetryConfig::default() }
}

/// True if http may be spoken to the endpoint; an error if it is http and may not.
fn may_http(endpoint: Option<&str>, is_allowed: bool) -> Result<bool, ToolError> {
    let Some(endpoint) = endpoint else { return Ok(is_allowed) };
    let Some((scheme, rest)) = endpoint.split_once("://") else {
        return Err(ToolError::Options("the endpoint is http://HOST:PORT or https://HOST:PORT".into()));
    };
    let host_and_port = rest.split('/').next().unwrap_or_default();
    if rest.contains('@') {
        return Err(ToolError::Options(
            "the endpoint has no credentials in it: these are in the environment".into(),
        ));
    }
    let host = match host_and_port.strip_prefix('[') {
        Some(inside) => inside.split(']').next().unwrap_or_default(),
        None => host_and_port.split(':').next().unwrap_or_default(),
    };
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    match scheme {
        "https" => Ok(is_allowed),
        "http" if is_here || is_allowed => Ok(true),
        "http" => Err(ToolError::Options(format!(
            "the backups would go to '{host}' by http, for everybody on the way to read and to change: use https, or say --allow-http"
        ))),
        _ => Err(ToolError::Options("the endpoint begins with http:// or https://".into())),
    }
}

fn s3(bucket: &str, endpoint: Option<&str>, allow_http: bool) -> Result<Store, ToolError> {
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry());
    if let Some(endpoint) = endpoint {
        builder = builder
            .with_config(AmazonS3ConfigKey::S3Endpoint, endpoint)
            .with_config(AmazonS3ConfigKey::Endpoint, endpoint);
    }
    let set = |key| builder.get_config_value(&key).filter(|value| !value.is_empty());
    let endpoint = set(AmazonS3ConfigKey::S3Endpoint).or_else(|| set(AmazonS3ConfigKey::Endpoint));
    let is_allowed = set(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp)).is_some_and(|v| v == "true");
    let allow_http = may_http(endpoint.as_deref(), allow_http || is_allowed)?;
    let client = AmazonS3ConfigKey::Client;
    let store = builder
        .with_config(client(ClientConfigKey::Timeout), REQUEST)
        .with_config(client(ClientConfigKey::ConnectTimeout), CONNECT)
        .with_config(client(ClientConfigKey::AllowHttp), allow_http.to_string())
        .build()
        .map_err(|e| refused(&e))?;
    let store = Arc::new(store);
    Ok((store.clone(), Some(store)))
}

fn google(bucket: &str, endpoint: Option<&str>, allow_http: bool) -> Result<Store, ToolError> {
    let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(retry());
    if let Some(endpoint) = endpoint {
        builder = builder.with_base_url(endpoint);
    }
    let allow_http = may_http(endpoint, allow_http)?;
    let client = GoogleConfigKey::Client;
    let store = builder
        .with_config(client(ClientConfigKey::Timeout), REQUEST)
        .with_config(client(ClientConfigKey::ConnectTimeout), CONNECT)
        .with_config(client(ClientConfigKey::AllowHttp), allow_http.to_string())
        .build()
        .map_err(|e| refused(&e))?;
    let store = Arc::new(store);
    Ok((store.clone(), Some(store)))
}

fn azure(container: &str, endpoint: Option<&str>, allow_http: bool) -> Result<Store, ToolError> {
    let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(container).with_retry(retry());
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint.to_owned());
    }
    let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
    let allow_http = may_http(endpoint.as_deref(), allow_http)?;
    let client = AzureConfigKey::Client;
    let store = builder
        .with_config(client(ClientConfigKey::Timeout), REQUEST)
        .with_config(client(ClientConfigKey::ConnectTimeout), CONNECT)
        .with_config(client(ClientConfigKey::AllowHttp), allow_http.to_string())
        .build()
        .map_err(|e| refused(&e))?;
    Ok((Arc::new(store), None))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn addresses() {
        let bucket = |provider, bucket: &str, prefix: &str| Location::Bucket {
            provider,
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        };
        assert_eq!(Location::parse("s3://b/a/b/").unwrap(), bucket(Provider::S3, "b", "a/b"));
        assert_eq!(Location::parse("s3://b").unwrap(), bucket(Provider::S3, "b", ""));
        assert_eq!(Location::parse("gs://b/").unwrap(), bucket(Provider::Google, "b", ""));
        assert_eq!(Location::parse("az://c/p").unwrap(), bucket(Provider::Azure, "c", "p"));
        assert!(matches!(Location::parse("/backup").unwrap(), Location::Folder(_)));
        for wrong in [
            "s3://",
            "s3:///p",
            "s3://b//p",
            "s3://b/../p",
            "http://b/p",
            "s3://key:secret@b/p",
            "s3://b/p?x=y",
        ] {
            let text = Location::parse(wrong).unwrap_err().to_string();
            assert!(text.contains("s3://BUCKET/PREFIX") && !text.contains("secret"), "{wrong}: {text}");
        }
    }

    #[test]
    fn http_stays_on_this_machine_unless_it_is_asked_for() {
        for here in ["http://localhost:9000", "http://127.0.0.1:9", "http://127.8.8.8", "http://[::1]:9000/x"]
        {
            assert!(may_http(Some(here), false).unwrap(), "{here}");
        }
        for there in
            ["http://example.com", "http://10.0.0.1:9000", "http://localhost.example.com", "http://[2001::1]"]
        {
            let text = may_http(Some(there), false).unwrap_err().to_string();
            assert!(text.contains("--allow-http"), "{text}");
            assert!(may_http(Some(there), true).unwrap());
        }
        assert!(!may_http(Some("https://example.com"), false).unwrap());
        assert!(!may_http(None, false).unwrap());
        assert!(may_http(Some("example.com"), false).is_err());
        let text = may_http(Some("http://key:secret@localhost"), true).unwrap_err().to_string();
        assert!(!text.contains("secret"), "{text}");
    }
}
