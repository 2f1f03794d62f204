//! Where a cluster's database is: the URL, as libpq reads it, and how TLS is verified.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::pass_file::{self, Found, Wanted};
use crate::causes::Cause;

/// How long a database may take to answer before it counts as silent: to open a connection, and to say that it is still at work on a statement.
pub const ANSWER: Duration = Duration::from_secs(4);
/// What is said of a password in a URL.
const IN_PROCESS_LIST: &str = "the URL of the database has a password, which every user of this machine sees in the list of processes: leave it out, and set PGPASSWORD, or write it to ~/.pgpass (mode 600)";

/// Why a URL isn't the address of a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It doesn't begin as such a URL does.
    #[error(
        "the address of a cluster is a URL such as postgres://USER@HOST/DATABASE, or postgres:///DATABASE?host=/run/postgresql for a Unix socket"
    )]
    NotPostgres,
    /// The client can't read it.
    #[error("the URL of the cluster's database can't be read")]
    Unreadable(#[source] tokio_postgres::Error),
    /// It names no server.
    #[error("the URL of the cluster's database names no server: write postgres://USER@HOST/DATABASE")]
    NoHost,
    /// A mode of TLS that falls back to plain text, or one that doesn't exist.
    #[error(
        "sslmode={0} isn't supported: use verify-full (the default for servers that are reached over a network), or disable for a network that is encrypted by other means"
    )]
    SslMode(String),
    /// The file of `sslrootcert`.
    #[error("the certificates of {} (sslrootcert) can't be read", .path.display())]
    Roots {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Cause,
    },
    /// The file of `sslcert` or `sslkey`.
    #[error("the client's certificate or key in {} ({parameter}) can't be used", .path.display())]
    Client {
        /// The parameter that names it.
        parameter: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: Cause,
    },
    /// One of the two without the other.
    #[error("a client's certificate needs sslcert=FILE and sslkey=FILE (or PGSSLCERT and PGSSLKEY), and TLS")]
    HalfClient,
    /// TLS can't be set up.
    #[error("TLS can't be set up")]
    Tls(#[from] rustls::Error),
}

/// The address of a cluster's database. Its text has no password.
///
/// `sslmode` is `verify-full` unless each server is a Unix socket: the certificate has to be valid for the host's name, by the
/// authorities of the file `sslrootcert`, or by those of the system where none is given. `require` and `verify-ca` mean the same.
/// `disable` sends everything in plain text. `sslcert` and `sslkey` are the files of a client's certificate and its key.
/// The variables `PGSSLROOTCERT`, `PGSSLCERT` and `PGSSLKEY` name files that the URL doesn't. A password that isn't in the URL
/// is taken from the variable `PGPASSWORD`, or else from the file that `PGPASSFILE` names, or `~/.pgpass`.
#[derive(Clone)]
pub struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
    /// How long its connections wait for locks; as long as the server says where none is set.
    pub(super) lock_timeout: Option<Duration>,
    warnings: Vec<String>,
}

impl Address {
    /// The same for the connections of a worker, by which others recognise them.
    #[must_use]
    pub fn of_worker(mut self, id: i64) -> Self {
        self.config.application_name(format!("crawl worker {id}"));
        self
    }

    /// A further database of the crawl whose first one this is: its password, where the URL has none, and the name of its connections are the same.
    pub(super) fn further(&self, url: &str) -> Result<Self, AddressError> {
        let mut further: Self = url.parse()?;
        if further.config.get_password().is_none()
            && let Some(password) = self.config.get_password()
        {
            further.config.password(password);
        }
        further.config.application_name(self.config.get_application_name().unwrap_or("crawl").to_owned());
        Ok(further)
    }

    /// Its servers, each by itself, in their order.
    pub(super) fn servers(&self) -> Vec<Config> {
        let (hosts, ports) = (self.config.get_hosts(), self.config.get_ports());
        let addresses = self.config.get_hostaddrs();
        if hosts.len() < 2 || !addresses.is_empty() && addresses.len() != hosts.len() {
            // One; or the client says what is wrong.
            return vec![self.config.clone()];
        }
        let one = |(at, host): (usize, &Host)| {
            let mut one = Config::new();
            match host {
                Host::Tcp(name) => one.host(name),
                #[cfg(unix)]
                Host::Unix(path) => one.host_path(path),
            };
            addresses.get(at).map(|address| one.hostaddr(*address));
            ports.get(at).or(ports.first()).map(|port| one.port(*port));
            let all = &self.config;
            all.get_user().map(|user| one.user(user));
            all.get_password().map(|password| one.password(password));
            all.get_dbname().map(|name| one.dbname(name));
            all.get_options().map(|options| one.options(options));
            all.get_application_name().map(|name| one.application_name(name));
            all.get_connect_timeout().map(|most| one.connect_timeout(*most));
            all.get_tcp_user_timeout().map(|most| one.tcp_user_timeout(*most));
            all.get_keepalives_interval().map(|interval| one.keepalives_interval(interval));
            all.get_keepalives_retries().map(|retries| one.keepalives_retries(retries));
            one.ssl_mode(all.get_ssl_mode())
                .ssl_negotiation(all.get_ssl_negotiation())
                .keepalives(all.get_keepalives())
                .keepalives_idle(all.get_keepalives_idle())
                .target_session_attrs(all.get_target_session_attrs())
                .channel_binding(all.get_channel_binding());
            one
        };
        hosts.iter().enumerate().map(one).collect()
    }

    /// Whether the URL of a database has a password in it.
    pub(super) fn has_password(url: &str) -> Result<bool, AddressError> {
        let config: Config = without_ssl(url).0.parse().map_err(AddressError::Unreadable)?;
        Ok(config.get_password().is_some())
    }

    /// What whoever gave the URL should know of it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The same for connections that wait for locks no longer than this.
    pub(super) fn with_lock_timeout(mut self, most: Duration) -> Self {
        self.lock_timeout = Some(most);
        self
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.config.get_hosts().iter().map(host_name).collect();
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        write!(f, "{database} on {}", hosts.join(", "))
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(url: &str) -> Result<Self, AddressError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(AddressError::NotPostgres);
        }
        let (url, ssl) = without_ssl(url);
        let mut config: Config = url.parse().map_err(AddressError::Unreadable)?;
        if config.get_hosts().is_empty() {
            return Err(AddressError::NoHost);
        }
        let is_local = config.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)));
        let is_plain = match ssl.mode.as_deref() {
            None => is_local,
            Some("require" | "verify-ca" | "verify-full") => false,
            Some("disable") => true,
            Some(other) => return Err(AddressError::SslMode(other.to_owned())),
        };
        config.ssl_mode(if is_plain { SslMode::Disable } else { SslMode::Require });
        // Of several servers, the one that takes writes: after a failover, another one.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.application_name("crawl");
        let mut warnings = Vec::new();
        if config.get_password().is_some() {
            warnings.push(IN_PROCESS_LIST.to_owned());
        } else if let Ok(password) = std::env::var("PGPASSWORD") {
            config.password(password);
        } else {
            match from_pass_file(&config) {
                Found::Password(password) => {
                    config.password(password);
                }
                Found::Nothing => {}
                Found::Unused(why) => warnings.push(why),
            }
        }
        // A connection that is cut without a word is noticed.
        if config.get_connect_timeout().is_none() {
            // Each server has its part of the time in which the database has to answer.
            config.connect_timeout(ANSWER / u32::try_from(config.get_hosts().len().max(1)).unwrap_or(1));
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(10));
        }
        config.keepalives_idle(Duration::from_secs(10));
        config.keepalives_interval(Duration::from_secs(3));
        config.keepalives_retries(3);
        // Without TLS the variables mean nothing.
        let ssl = if is_plain { ssl } else { ssl.or_variables(|name| std::env::var_os(name)) };
        let roots = if is_plain { RootCertStore::empty() } else { roots(ssl.roots)? };
        let client = match (ssl.certificate, ssl.key) {
            (None, None) => None,
            (Some(certificate), Some(key)) if !is_plain => Some(client(&certificate, &key)?),
            _ => return Err(AddressError::HalfClient),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let tls = match client {
            None => tls.with_no_client_auth(),
            Some((chain, key)) => tls.with_client_auth_cert(chain, key)?,
        };
        Ok(Self { config, tls: MakeRustlsConnect::new(tls), lock_timeout: None, warnings })
    }
}

/// What a URL says of TLS.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ssl {
    mode: Option<String>,
    roots: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl Ssl {
    /// Files that aren't named are those of the variables that libpq reads (PostgreSQL manual, "Environment Variables"); an empty one counts as unset.
    fn or_variables(mut self, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        for (path, name) in [
            (&mut self.roots, "PGSSLROOTCERT"),
            (&mut self.certificate, "PGSSLCERT"),
            (&mut self.key, "PGSSLKEY"),
        ] {
            if path.is_none() {
                *path = variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
            }
        }
        self
    }
}

/// Takes `sslmode`, `sslrootcert`, `sslcert` and `sslkey` out of a URL: the client knows the first only in part, and the others not at all.
fn without_ssl(url: &str) -> (String, Ssl) {
    let mut ssl = Ssl::default();
    let Some((before, query)) = url.split_once('?') else { return (url.to_owned(), ssl) };
    let mut others = Vec::new();
    for parameter in query.split('&') {
        // A plus sign is itself in the URLs of libpq.
        let parameter_of_form = parameter.replace('+', "%2B");
        let decoded = url::form_urlencoded::parse(parameter_of_form.as_bytes()).next();
        match decoded.as_ref().map(|(name, value)| (name.as_ref(), value.as_ref())) {
            Some(("sslmode", mode)) => ssl.mode = Some(mode.to_owned()),
            Some(("sslrootcert", path)) => ssl.roots = Some(path.into()),
            Some(("sslcert", path)) => ssl.certificate = Some(path.into()),
            Some(("sslkey", path)) => ssl.key = Some(path.into()),
            _ => others.push(parameter),
        }
    }
    let others = others.join("&");
    (if others.is_empty() { before.to_owned() } else { format!("{before}?{others}") }, ssl)
}

/// The password for the first of the servers that the file of passwords has.
fn from_pass_file(config: &Config) -> Found {
    let Some(path) = pass_file::path(|name| std::env::var_os(name)) else { return Found::Nothing };
    let user = match config.get_user() {
        Some(user) => user.to_owned(),
        None => std::env::var("USER").unwrap_or_default(),
    };
    let hosts: Vec<String> = config.get_hosts().iter().map(host_name).collect();
    let ports = config.get_ports();
    let wanted = hosts.iter().enumerate().map(|(at, host)| Wanted {
        host,
        // One port holds for all servers.
        port: ports.get(at).or(ports.first()).copied().unwrap_or(5432),
        database: config.get_dbname().unwrap_or(&user),
        user: &user,
    });
    pass_file::look_up(&path, &wanted.collect::<Vec<_>>())
}

/// A server's name, or the directory of its socket.
fn host_name(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    }
}

/// A client's certificate with those that certify it, and its key, which is its user's alone.
fn client(
    certificate: &Path,
    key: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), AddressError> {
    let failed = |parameter, path: &Path| {
        let path = path.to_owned();
        move |source: Cause| AddressError::Client { parameter, path, source }
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed("sslcert", certificate)(error.into()))?;
    if chain.is_empty() {
        return Err(failed("sslcert", certificate)("it has no certificate".into()));
    }
    // As libpq has it: a key that belongs to root may be read by its group.
    let about = std::fs::metadata(key).map_err(|error| failed("sslkey", key)(error.into()))?;
    let refused = if about.uid() == 0 { 0o027 } else { 0o077 };
    if about.mode() & refused != 0 {
        return Err(failed("sslkey", key)("its group or others have access; run `chmod 600` on it".into()));
    }
    let read = PrivateKeyDer::from_pem_file(key).map_err(|error| failed("sslkey", key)(error.into()))?;
    Ok((chain, read))
}

fn roots(file: Option<PathBuf>) -> Result<RootCertStore, AddressError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = file.filter(|path| path.as_os_str() != "system") else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let failed = |source: Cause| AddressError::Roots { path: path.clone(), source };
    let mut found = 0;
    for certificate in CertificateDer::pem_file_iter(&path).map_err(|error| failed(error.into()))? {
        roots
            .add(certificate.map_err(|error| failed(error.into()))?)
            .map_err(|error| failed(error.into()))?;
        found += 1;
    }
    if found == 0 { Err(failed("it has no certificate".into())) } else { Ok(roots) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> Result<SslMode, AddressError> {
        url.parse::<Address>().map(|address| address.config.get_ssl_mode())
    }

    #[test]
    fn tls_is_verified_unless_the_server_is_on_a_unix_socket_or_the_url_says_plain() {
        for (url, wanted) in [
            ("postgres://u@db.example/crawl", SslMode::Require),
            ("postgresql://u@db.example/crawl?sslmode=verify-full", SslMode::Require),
            ("postgres://u@db.example/crawl?sslmode=require&connect_timeout=3", SslMode::Require),
            ("postgres://u@127.0.0.1/crawl", SslMode::Require),
            ("postgres://u@db.example/crawl?connect_timeout=3&sslmode=disable", SslMode::Disable),
            ("postgres:///crawl?host=/run/postgresql&user=u", SslMode::Disable),
            ("postgres://u@%2Frun%2Fpostgresql/crawl", SslMode::Disable),
            ("postgres://u@%2Frun%2Fpostgresql,db.example/crawl", SslMode::Require),
        ] {
            assert_eq!(mode(url).ok(), Some(wanted), "{url}");
        }
        // libpq would connect without encryption where the server offers none.
        for word in ["prefer", "allow", "full"] {
            let error = mode(&format!("postgres://u@db.example/crawl?sslmode={word}"));
            assert!(matches!(&error, Err(AddressError::SslMode(found)) if found == word), "{error:?}");
        }
    }

    #[test]
    fn bad_addresses_say_what_is_wrong() {
        assert!(matches!(mode("mysql://db.example/crawl"), Err(AddressError::NotPostgres)));
        assert!(matches!(mode("postgres:///crawl"), Err(AddressError::NoHost)));
        assert!(matches!(mode("postgres://u@db.example:port/crawl"), Err(AddressError::Unreadable(_))));
        let missing = mode("postgres://u@db.example/crawl?sslrootcert=/nowhere/ca.pem");
        assert!(matches!(&missing, Err(AddressError::Roots { path, .. }) if path.ends_with("ca.pem")));
    }

    #[test]
    fn each_server_of_an_address_has_its_part_of_the_time() {
        let url = "postgres://u:secret@db1.example:5433,db2.example:5434/crawl?sslmode=disable";
        let servers = url.parse::<Address>().unwrap().servers();
        let places: Vec<_> =
            servers.iter().map(|server| (server.get_hosts().to_vec(), server.get_ports().to_vec())).collect();
        let place = |name: &str, port| (vec![Host::Tcp(name.to_owned())], vec![port]);
        assert_eq!(places, [place("db1.example", 5433), place("db2.example", 5434)]);
        for server in servers {
            assert_eq!((server.get_dbname(), server.get_user()), (Some("crawl"), Some("u")));
            assert_eq!(server.get_password(), Some(&b"secret"[..]));
            assert_eq!(server.get_connect_timeout(), Some(&(ANSWER / 2)));
            assert_eq!(server.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
            assert_eq!(server.get_ssl_mode(), SslMode::Disable);
        }
    }

    #[test]
    fn a_password_in_a_url_is_warned_of_wherever_it_is() {
        for url in [
            "postgres://u:p@h/d",
            "postgres://u@h/d?password=p",
            "postgres:///d?host=/run/p&user=u&password=p",
        ] {
            let address: Address = url.parse().unwrap();
            let [warning] = address.warnings() else { panic!("{url}: {:?}", address.warnings()) };
            assert!(warning.contains("PGPASSWORD") && warning.contains(".pgpass"), "{warning}");
        }
    }

    #[test]
    fn a_clients_certificate_needs_its_key_and_tls() {
        for rest in ["sslcert=/a.pem", "sslkey=/a.key", "sslcert=/a.pem&sslkey=/a.key&sslmode=disable"] {
            let error = mode(&format!("postgres://u@db.example/crawl?{rest}"));
            assert!(matches!(error, Err(AddressError::HalfClient)), "{rest}: {error:?}");
        }
        let error = mode("postgres://u@db.example/crawl?sslcert=/nowhere/a.pem&sslkey=/nowhere/a.key");
        assert!(matches!(&error, Err(AddressError::Client { parameter: "sslcert", .. })), "{error:?}");
    }

    #[test]
    fn variables_name_the_files_that_a_url_does_not() {
        let set = |name: &str| {
            let value = match name {
                "PGSSLROOTCERT" => "/v/ca.pem",
                "PGSSLCERT" => "/v/own.pem",
                "PGSSLKEY" => "",
                _ => return None,
            };
            Some(value.into())
        };
        let found = without_ssl("postgres://u@h/d?sslcert=/u/own.pem").1.or_variables(set);
        assert_eq!(found.roots.as_deref(), Some("/v/ca.pem".as_ref()));
        assert_eq!(found.certificate.as_deref(), Some("/u/own.pem".as_ref()));
        assert_eq!(found.key, None);
    }

    #[test]
    fn the_text_of_an_address_has_no_password() {
        let address: Address = "postgres://u:secret@db1.example,db2.example/crawl".parse().unwrap();
        assert_eq!(address.to_string(), "crawl on db1.example, db2.example");
        assert!(!format!("{address:?}").contains("secret"));
    }
}
