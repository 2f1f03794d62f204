//! `crawl serve`, and `--serve` of `run` and `resume`: a crawl in a browser. `--serve` of `worker`: its metrics.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
#[cfg(feature = "cluster")]
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
#[cfg(feature = "cluster")]
use crawler::cluster::Address;
use crawler::crawl_dir::refuse_links;
use crawler::engine::Stop as Request;
use crawler::live::Copies;
#[cfg(feature = "cluster")]
use crawler::serve::{Board, serve_worker};
use crawler::serve::{Bound, PORT, ServeError, ServeOptions, Served, Server};
use tokio::sync::watch;

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::reading::ReadingArgs;
use crate::terminal::Console;

/// Where a crawl is served unless another address is given.
const LISTEN: &str = "127.0.0.1:8470";

/// Options of `serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Serves until Ctrl-C. A running crawl is read through its own process, as by every command. A crawl
that doesn't run is open, and its directory locked, from a request until 5 seconds after it. Where
that can't be written, a copy of its database is read, and kept until the crawl goes on.
A loopback address can be used by every user of this machine, unless a token is required. There
is no TLS: for other machines, use an SSH tunnel or a proxy.

Examples:
  crawl serve crawl-data
  ssh -L 8470:127.0.0.1:8470 -L 8471:127.0.0.1:8471 server.university.example
  crawl serve crawl-data --listen 192.0.2.7:8470 --token-file token.txt
  curl -s http://127.0.0.1:8470/api/v1/status | jq .state
  crawl serve --cluster postgres://crawl@db.example.org/study --warc worker-1/warc --warc worker-2/warc")]
pub(crate) struct ServeArgs {
    /// Directory of the crawl
    #[cfg_attr(feature = "cluster", arg(required_unless_present = "cluster"))]
    #[cfg_attr(not(feature = "cluster"), arg(required = true))]
    dir: Option<PathBuf>,
    /// Instead of a directory: the crawl on many machines in this PostgreSQL database
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DATABASE", value_parser = crate::database::address, conflicts_with_all = ["dir", "allow_control"])]
    cluster: Option<Address>,
    /// With --cluster: `warc` directory of a worker, for archived copies; repeatable
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DIR", requires = "cluster")]
    warc: Vec<PathBuf>,
    /// With --cluster: directory of the index that `crawl index --cluster` built, for the search
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DIR", requires = "cluster")]
    index: Option<PathBuf>,
    /// Address and port [default: 127.0.0.1:8470]; archived copies are shown from the next port
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// File with a token that a visitor must give, at least 16 characters; required if others than this machine can connect
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Name under which the server is asked, such as that of a proxy, besides its address and localhost; repeatable
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Let visitors pause, slow down and stop the crawl
    #[arg(long)]
    allow_control: bool,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Options of `run`, `resume` and `recrawl`, and of `worker`, which has help of its own.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServeWhileArgs {
    /// Serve the crawl to browsers while it runs [default address: 127.0.0.1:8470]; `crawl serve --help` says more
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = LISTEN,
        value_parser = address,
        help_heading = "Messages"
    )]
    serve: Option<SocketAddr>,
    /// File with a token that a visitor of --serve must give, at least 16 characters
    #[arg(long, value_name = "FILE", requires = "serve", help_heading = "Messages")]
    token_file: Option<PathBuf>,
}

/// Reads `ADDRESS:PORT`, `ADDRESS` or `:PORT`.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, PORT));
    }
    let port =
        text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).and_then(|port| port.parse().ok());
    let local = |port| SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port);
    port.map(local).ok_or_else(|| format!("expected an address and a port, as in {LISTEN}"))
}

/// The token of a file that nobody else may read.
fn token(file: &Path) -> anyhow::Result<String> {
    let path = path_text(file);
    let about = std::fs::metadata(file).with_context(|| format!("can't read {path}"))?;
    if about.is_file() && about.mode() & 0o077 != 0 {
        let what = format!("{path} can be read or changed by others: chmod 600 {path}");
        return Err(Stop::new(exit::USAGE, what).into());
    }
    let token = std::fs::read_to_string(file).with_context(|| format!("can't read {path}"))?;
    Ok(token.trim().to_owned())
}

/// Checks the options and takes the addresses.
fn bind(options: ServeOptions) -> anyhow::Result<Bound> {
    Bound::new(options).map_err(with_exit_code)
}

#[expect(clippy::needless_pass_by_value, reason = "it ends here")]
fn with_exit_code(error: ServeError) -> anyhow::Error {
    let code = if matches!(error, ServeError::Start(_)) { exit::UNEXPECTED } else { exit::USAGE };
    Stop::new(code, crawler::causes::with_causes(&error)).into()
}

/// Starts to answer, and says where.
pub(crate) fn start(bound: Bound, crawl: &str, console: Console) -> anyhow::Result<Server> {
    let server = bound.start().map_err(with_exit_code)?;
    console.note(&format!("serving {crawl} at http://{}/", server.address()));
    Ok(server)
}

/// Serves a crawl until a signal comes.
pub(crate) fn run(args: &ServeArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let (crawl, name) = args.served()?;
    let options = ServeOptions {
        served: crawl,
        copies: args.reading.copies_of_server(),
        listen: args.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], PORT))),
        names: args.name.clone(),
        token: args.token_file.as_deref().map(token).transpose()?,
        allow_control: args.allow_control,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (ask, mut asked) = watch::channel(Request::No);
        crate::signals::listen(ask, |_, _| {})?;
        let server = start(bind(options)?, &name, console)?;
        // The sender lives as long as the process.
        drop(asked.wait_for(|asked| *asked != Request::No).await);
        drop(server);
        Ok(exit::COMPLETE)
    })
}

impl ServeArgs {
    /// Which crawl is served, and its name in messages. It has to be there.
    fn served(&self) -> anyhow::Result<(Served, String)> {
        #[cfg(feature = "cluster")]
        if let Some(database) = &self.cluster {
            if let Some(dir) = self.warc.iter().find(|dir| !dir.is_dir()) {
                let dir = path_text(dir);
                let what = format!("{dir} isn't a directory: --warc names the `warc` directory of a worker");
                return Err(Stop::new(exit::USAGE, what).into());
            }
            crate::database::settings(database)?;
            let database_of = Box::new(database.clone());
            let (archive, index) = (self.warc.clone(), self.index.clone());
            let served = Served::Cluster { database: database_of, archive, index };
            return Ok((served, database.to_string()));
        }
        let dir = self.dir.as_deref().unwrap_or_else(|| Path::new(""));
        refuse_links(dir).map_err(|error| Stop::new(exit::STORAGE, crawler::causes::with_causes(&error)))?;
        exit::expect_crawl_or_database(dir)?;
        Ok((Served::Dir(dir.to_owned()), path_text(dir)))
    }
}

impl ServeWhileArgs {
    /// Whether nothing was asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.serve.is_none() && self.token_file.is_none()
    }

    /// Starts to serve the figures of a worker, where that was asked for.
    #[cfg(feature = "cluster")]
    pub(crate) fn serve_worker(
        &self,
        board: &Arc<Board>,
        console: Console,
    ) -> anyhow::Result<Option<Server>> {
        let Some(listen) = self.serve else { return Ok(None) };
        let token = self.token_file.as_deref().map(token).transpose()?;
        let server = serve_worker(listen, token.as_deref(), Arc::clone(board)).map_err(with_exit_code)?;
        console.note(&format!("serving http://{}/metrics", server.address()));
        Ok(Some(server))
    }

    /// Takes the addresses, where a server was asked for: before anything of the crawl is begun.
    pub(crate) fn bind(&self, dir: &Path) -> anyhow::Result<Option<Bound>> {
        let Some(listen) = self.serve else { return Ok(None) };
        let options = ServeOptions {
            served: Served::Dir(dir.to_owned()),
            copies: Copies::default(),
            listen,
            names: Vec::new(),
            token: self.token_file.as_deref().map(token).transpose()?,
            allow_control: false,
        };
        bind(options).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_lack_its_host_or_its_port() {
        for (text, expected) in [
            ("127.0.0.1:80", Some("127.0.0.1:80")),
            ("127.0.0.1", Some("127.0.0.1:8470")),
            (":9000", Some("127.0.0.1:9000")),
            ("localhost:9000", Some("127.0.0.1:9000")),
            ("::1", Some("[::1]:8470")),
            ("[::]:8470", Some("[::]:8470")),
            ("example.org:80", None),
            (":70000", None),
            ("8470", None),
        ] {
            let expected: Option<SocketAddr> = expected.map(|text| text.parse().unwrap());
            assert_eq!(address(text).ok(), expected, "{text}");
        }
        assert_eq!(address(LISTEN).unwrap().port(), PORT);
    }
}
