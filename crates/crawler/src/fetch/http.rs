//! [`Fetch`](super::Fetch) over the network, with hyper.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::Empty;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_ENCODING, HeaderMap};
use hyper::{Method, Request, Uri, Version};
use hyper_util::client::legacy::connect::HttpInfo;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::{Host, Position, Url};

use super::body_budget::{BodyBudget, BodyPermit, Claim, LEAST_RATE, MIDDLE, OWN};
use super::clients::Clients;
use super::connections::Connections;
use super::deadline::{Late, MemoryWait, within};
use super::decode::{self, Coding, Decoded, Demand, End};
use super::dial::{Aim, Dial};
use super::failure::{
    ClientError, Stage, are_ports_used_up, breaks_http_2, classify, ends_early, is_stale, is_unsent,
    refuses_protocol, without_source,
};
use super::field_lines::field_lines;
use super::head::{Identity, sent_url, written};
use super::recorded::Record;
use super::response::is_whole_range;
use super::spooling::{self, LOOK, SpoolError, chunk};
use super::{
    DnsAnswer, ErrorKind, Fetch, FetchError, FetchRequest, FetchResult, FetchSettings, FieldLines,
    RequestKind, Response, SentHeads, SetupError, TlsUsed, Truncation, retry_after, trust,
};
use crate::causes::with_causes;
use crate::deadline::Deadline;
use crate::origin_cache::OriginCache;
use crate::pauses::PauseLog;
use crate::wanted::Unwanted;
use page::clock::{instant, wall};

/// A robots.txt that grows by more than this factor to more than [`MIDDLE`] is refused.
const MAX_ROBOTS_EXPANSION: u64 = 20;

/// Fetches over HTTP/1.1 and HTTP/2.
///
/// Keeps one idle connection a host. Sends no cookies, uses no proxy, follows no redirect.
#[derive(Debug)]
pub struct HttpFetch {
    settings: FetchSettings,
    identity: Identity,
    clients: Clients,
    in_flight: Semaphore,
    budget: BodyBudget,
    pauses: Option<Arc<PauseLog>>,
    deadline: Option<Deadline>,
    /// Where bodies that are read as a stream are kept; none for where the system has temporary files.
    spool_dir: Option<PathBuf>,
}

impl HttpFetch {
    /// Makes a fetcher with an [`OriginCache`] of its own; reads the certificate authorities of the system, or those of
    /// `SSL_CERT_FILE`.
    pub fn new(settings: FetchSettings) -> Result<Self, SetupError> {
        Self::with_cache(settings, Arc::default())
    }

    /// As [`HttpFetch::new`], with connections and addresses kept in this cache.
    pub fn with_cache(settings: FetchSettings, cache: Arc<OriginCache>) -> Result<Self, SetupError> {
        let identity = Identity::new(&settings)?;
        let clients = Clients::new(&settings, trust::tls_config()?, cache);
        let in_flight = Semaphore::new(settings.max_in_flight.clamp(1, Semaphore::MAX_PERMITS));
        Ok(Self {
            settings,
            identity,
            clients,
            in_flight,
            budget: BodyBudget::default(),
            pauses: None,
            deadline: None,
            spool_dir: None,
        })
    }

    /// Notes the pauses that sites ask for as soon as the head of an answer is there.
    #[must_use]
    pub fn noting(self, pauses: Arc<PauseLog>) -> Self {
        Self { pauses: Some(pauses), ..self }
    }

    /// Keeps large bodies that are read as a stream in temporary files of this folder.
    #[must_use]
    pub fn spooling_in(self, dir: &Path) -> Self {
        Self { spool_dir: Some(dir.to_owned()), ..self }
    }

    /// Asks no host after a deadline: a request that comes later fails as [`Local`](ErrorKind::Local), and those in flight at that moment are
    /// aborted.
    #[must_use]
    pub fn keeping_to(mut self, deadline: Deadline) -> Self {
        self.clients.keep_to(deadline.clone());
        Self { deadline: Some(deadline), ..self }
    }

    /// Does everything but keep the time; notes in `progress` what is known so far.
    async fn one_try(&self, request: &FetchRequest, progress: &mut Progress) -> Result<Response, FetchError> {
        let url = sent_url(&request.url);
        let fields = self.identity.fields(request);
        let mut answer = self.head(request, &url, &fields, progress).await?;
        let (status, version) = (answer.status().as_u16(), answer.version());
        let (remote, tls, sent) = connection(&answer);
        let as_sent = sent.as_ref().map(|sent| sent.response.as_slice());
        let (headers, is_valid) = field_lines(answer.headers(), as_sent);
        if let (Some(pauses), Some(host)) = (&self.pauses, request.url.host_str()) {
            pauses.note(host, status, retry_after(&headers, wall()));
        }
        let judged = self.judge_head(status, &headers);
        progress.head = Some((status, headers));
        judged?;
        is_valid.map_err(|error| FetchError::new(ErrorKind::Protocol, &error.to_string()))?;
        let media = self.judge_wanted(request, &answer, progress.content_type())?;
        // An answer to HEAD has no body that would be coded.
        let named = (request.purpose != RequestKind::Head).then(|| encodings(answer.headers()));
        let codings = decode::codings(named.into_iter().flatten())
            .map_err(|error| FetchError::new(ErrorKind::Decode, &with_causes(&error)))?;
        let content_encoding = named_encoding(answer.headers());

        let limit = self.settings.body_limit(request.purpose);
        let limit = media.as_ref().map_or(limit, |(most, _)| limit.min(*most));
        if let Some(spool) = &request.spool {
            let received = &mut progress.received;
            let read =
                spooling::read(answer.body_mut(), limit, codings, self.spool_dir.as_deref(), received, spool)
                    .await;
            let (body, is_over) = read.map_err(|error| match error {
                SpoolError::Body(error) => self.broken_body(&url, &error),
                SpoolError::InTheWay => {
                    let detail = format!(
                        "the body arrives at less than {LEAST_RATE} bytes a second, and sitemaps of other hosts wait until it ends"
                    );
                    FetchError::new(ErrorKind::Timeout, &detail)
                }
                SpoolError::File(error) => {
                    let detail = format!("no temporary file for the body: {error}");
                    FetchError::new(ErrorKind::Local, &detail)
                }
            })?;
            spool.put(body);
            let (status, headers) = progress.head.take().unwrap_or_default();
            let (request_head, response_head) = heads(sent, request, &url, &fields);
            return Ok(Response {
                status,
                version: version_name(version),
                headers,
                wire_body: Bytes::new(),
                body: Bytes::new(),
                content_encoding,
                truncated: is_over.then_some(Truncation::WireLimit),
                remote,
                tls,
                request_head,
                response_head,
                elapsed: instant() - progress.start,
                permit: BodyPermit::default(),
            });
        }
        // A robots.txt is decoded beyond its limit, to see by how much it grows.
        let most = if request.purpose == RequestKind::Robots { limit.max(MIDDLE) } else { limit };
        let announced = length(answer.body());
        let mut claim =
            Claim::new(&self.budget, announced, most, codings.len()).noting(&progress.memory_wait);
        let read = read_body(answer.body_mut(), limit, &mut claim, progress).await;
        let read = match read {
            Err(Unread::Early(wire_body, _)) if request.purpose.takes_partial_bodies() => {
                Ok((wire_body, BodyEnd::Early))
            }
            read => read,
        };
        let (wire_body, wire_end) = read.map_err(|error| match error {
            Unread::Client(error) | Unread::Early(_, error) => self.broken_body(&url, &error),
            Unread::InTheWay => {
                let detail = format!(
                    "the body arrives at less than {LEAST_RATE} bytes a second, and others wait for the memory that it holds"
                );
                FetchError::new(ErrorKind::Timeout, &detail)
            }
        })?;
        let is_over = wire_end == BodyEnd::Over;
        if let Some((_, unwanted)) = media.filter(|(most, _)| is_over && *most == limit) {
            return Err(unwanted_error(&unwanted));
        }
        let elapsed = instant() - progress.start;
        let is_coded = !codings.is_empty();
        let (body, taken) = (wire_body.clone(), wire_body.len());
        let mut decoded = Decoded { body, is_cut: false, taken, end: End::Sound };
        if is_coded {
            let demand = match wire_end {
                BodyEnd::Over => Demand::Anything,
                _ if request.purpose.takes_partial_bodies() => Demand::Start,
                _ => Demand::Whole,
            };
            decoded = decode_body(&wire_body, codings, most, demand, &mut claim).await.map_err(|error| {
                // Of what came nothing can be decoded.
                let is_early = wire_end == BodyEnd::Early && error.kind == ErrorKind::Decode;
                FetchError { kind: if is_early { ErrorKind::Truncated } else { error.kind }, ..error }
            })?;
        }
        if request.purpose == RequestKind::Robots {
            decoded = judge_robots(decoded, limit, most)?;
        }
        let Decoded { body, is_cut, end, .. } = decoded;
        let held = if is_coded { wire_body.len() + body.len() } else { body.len() };
        let permit = claim.keep(held as u64);
        let (mut status, headers) = progress.head.take().unwrap_or_default();
        let is_partial = status == 206 && request.purpose.takes_partial_bodies();
        if is_partial && wire_end == BodyEnd::Whole && is_whole_range(&headers, wire_body.len() as u64) {
            status = 200;
        }
        let (request_head, response_head) = heads(sent, request, &url, &fields);
        let truncated = match (wire_end, end) {
            (BodyEnd::Over, _) => Some(Truncation::WireLimit),
            _ if is_cut => Some(Truncation::DecodedLimit),
            // A coding that ends as it should, or that gave what Content-Length counts, leaves nothing out.
            (BodyEnd::Early, End::Sound) if is_coded => Some(Truncation::Framing),
            (BodyEnd::Early, End::Unfinished) if announced == Some(body.len() as u64) => {
                Some(Truncation::Framing)
            }
            (BodyEnd::Early, _) => Some(Truncation::Disconnect),
            (BodyEnd::Whole, End::Cut) => Some(Truncation::Coding),
            (BodyEnd::Whole, End::Unfinished) => Some(Truncation::Unfinished),
            (BodyEnd::Whole, End::Sound) => None,
        };
        Ok(Response {
            status,
            version: version_name(version),
            headers,
            wire_body,
            body,
            content_encoding,
            truncated,
            remote,
            tls,
            request_head,
            response_head,
            elapsed,
            permit,
        })
    }

    /// Sends the request and reads the header section of the answer.
    ///
    /// Asks a second time at once, on a fresh connection, when the server had closed the one that was kept and nothing was
    /// written yet. Where something was, the server may have read it: then it is for the caller to ask again, after the
    /// host's gap.
    async fn head(
        &self,
        request: &FetchRequest,
        url: &Url,
        fields: &HeaderMap,
        progress: &mut Progress,
    ) -> Result<hyper::Response<Incoming>, FetchError> {
        let mut may_repeat = true;
        loop {
            // An address in the URL itself never reaches the resolver.
            let literal = match url.host() {
                Some(Host::Ipv4(addr)) => Some(addr.into()),
                Some(Host::Ipv6(addr)) => Some(addr.into()),
                Some(Host::Domain(_)) => None,
                None => return Err(FetchError::new(ErrorKind::Protocol, "the URL has no host")),
            };
            if !matches!(url.scheme(), "http" | "https") {
                return Err(FetchError::new(ErrorKind::Protocol, "the URL is neither http nor https"));
            }
            let aim = Aim::of(request, url);
            let host = url.host_str().unwrap_or_default();
            let guard = self.clients.guard();
            if let Some(Err(blocked)) = literal.map(|addr| guard.check_literal(addr, host, aim.port)) {
                return Err(FetchError::new(ErrorKind::BlockedAddress, &blocked.to_string()));
            }
            let method = request.purpose.method();
            let (client, connections) = self.clients.get(origin_of(url), aim.booked);
            progress.connections = Some(connections);
            let dial = Arc::new(Dial::new(aim));
            let error = match outgoing(method, url, fields) {
                Err(error) => {
                    // The request was never made.
                    progress.dial = None;
                    error
                }
                Ok(outgoing) => {
                    progress.dial = Some(Arc::clone(&dial));
                    match dial.watch(client.request(outgoing)).await {
                        Ok(answer) => return Ok(answer),
                        Err(error) => error.into(),
                    }
                }
            };
            let (mut kind, detail) = classify(&error, Stage::Head);
            if let Some(said) = without_source(&error) {
                let addresses = match literal {
                    Some(address) => vec![SocketAddr::new(address, 0)],
                    None => self.clients.addresses(host, &Aim::of(request, url)).await,
                };
                let port = url.port_or_known_default().unwrap_or_default();
                if are_ports_used_up(&with_port(addresses, port), &said) {
                    kind = ErrorKind::Local;
                }
            }
            let stale = dial.was_reused() && is_stale(&error);
            if stale && is_unsent(&error) && std::mem::take(&mut may_repeat) {
                continue;
            }
            if kind == ErrorKind::Local {
                // Gives descriptors back, in a moment: each connection closes in a task of its own.
                self.clients.close_idle();
            }
            let (broken, origin) = (self.clients.broken_http_2(), origin_of(url));
            if refuses_protocol(&error)
                && let Some(kind) = broken.refuses_http_1(origin)
            {
                return Err(FetchError::new(
                    kind,
                    "the request failed over HTTP/2, and the server has no HTTP/1.1",
                ));
            }
            let http_1 =
                breaks_http_2(&error, kind, Stage::Head, dial.made_http_2()) && broken.note(origin, kind);
            return Err(FetchError { stale, http_1, ..FetchError::new(kind, &detail) });
        }
    }

    /// The error of a response whose body can't be read.
    fn broken_body(&self, url: &Url, error: &ClientError) -> FetchError {
        let (kind, detail) = classify(error, Stage::Body);
        let http_1 = breaks_http_2(error, kind, Stage::Body, false)
            && self.clients.broken_http_2().note(origin_of(url), kind);
        FetchError { http_1, ..FetchError::new(kind, &detail) }
    }

    /// Refuses a response of status 2xx whose head says that it isn't wanted. Gives the limit of a media file or an archive, with the words for
    /// one that turns out to be larger.
    fn judge_wanted(
        &self,
        request: &FetchRequest,
        answer: &hyper::Response<Incoming>,
        content_type: Option<&str>,
    ) -> Result<Option<(u64, Unwanted)>, FetchError> {
        if !request.purpose.is_of_choice() || !answer.status().is_success() {
            return Ok(None);
        }
        let wanted = &self.settings.wanted;
        let (path, length) = (request.url.path(), length(answer.body()).filter(|_| !request.is_seed));
        wanted.judge(path, content_type, length).map_err(|unwanted| unwanted_error(&unwanted))?;
        let media = wanted.media_limit(path, content_type).filter(|_| !request.is_seed);
        let mime_type = content_type.map(str::to_owned);
        Ok(media.map(|most| (most, Unwanted::Large { mime_type, length: None, most })))
    }

    fn judge_head(&self, status: u16, headers: &[(String, Vec<u8>)]) -> Result<(), FetchError> {
        if status < 200 {
            return Err(FetchError::new(
                ErrorKind::Protocol,
                &format!("status {status} instead of a final response"),
            ));
        }
        // ": " and the line end count as well.
        let size: usize = headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        if size > self.settings.max_header_bytes || headers.len() > self.settings.max_header_count {
            let detail = format!("header section of {size} bytes in {} lines", headers.len());
            return Err(FetchError::new(ErrorKind::TooLarge, &detail));
        }
        Ok(())
    }
}

impl Fetch for HttpFetch {
    async fn addresses(&self, request: &FetchRequest) -> Vec<IpAddr> {
        match request.url.host() {
            Some(Host::Ipv4(addr)) => vec![addr.into()],
            Some(Host::Ipv6(addr)) => vec![addr.into()],
            Some(Host::Domain(name)) => {
                let found = self.clients.addresses(name, &Aim::of(request, &request.url)).await;
                found.iter().map(SocketAddr::ip).collect()
            }
            None => Vec::new(),
        }
    }

    fn take_dns_answers(&self) -> Vec<DnsAnswer> {
        self.clients.take_dns_answers()
    }

    async fn fetch(&self, request: FetchRequest) -> FetchResult {
        // Never closed, so this only ever waits; the time of the try begins after it.
        let _slot = self.in_flight.acquire().await;
        let mut progress = Progress {
            start: instant(),
            dial: None,
            connections: None,
            head: None,
            received: 0,
            memory_wait: MemoryWait::default(),
        };
        let (start, wait) = (progress.start, progress.memory_wait.clone());
        let (timeout, patience) = (self.settings.timeout, self.settings.memory_patience);
        let attempt = self.one_try(&request, &mut progress);
        let deadline = self.deadline.clone();
        let lease_over = async {
            match &deadline {
                Some(deadline) => deadline.over().await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            biased;
            () = lease_over => Err(FetchError::new(ErrorKind::Local, "the lease of the host is over")),
            ended = within(start, timeout, patience, &wait, attempt) => match ended {
                Ok(ended) => ended,
                Err(late) => Err(progress.late(late, timeout, patience)),
            },
        };
        if !matches!(&ended, Ok(response) if response.truncated.is_none()) {
            // The end of a try is the end of its connection as well, whatever the server goes on sending.
            self.clients.forget(origin_of(&request.url));
            if let Some(connections) = progress.connections.take() {
                connections.end().await;
            }
        }
        let error = match ended {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        Err(progress.complete(error))
    }
}

/// What is known of a try while it runs, whatever becomes of it.
#[derive(Debug)]
struct Progress {
    start: Instant,
    dial: Option<Arc<Dial>>,
    connections: Option<Connections>,
    head: Option<(u16, FieldLines)>,
    /// Bytes of the body.
    received: u64,
    /// How long the body was held up by us, not by the server.
    memory_wait: MemoryWait,
}

impl Progress {
    fn is_connected(&self) -> bool {
        self.dial.as_ref().is_some_and(|dial| dial.is_connected())
    }

    fn content_type(&self) -> Option<&str> {
        let (_, headers) = self.head.as_ref()?;
        let (_, value) = headers.iter().find(|(name, _)| name == "content-type")?;
        std::str::from_utf8(value).ok().filter(|value| value.is_ascii())
    }

    fn late(&self, late: Late, timeout: Duration, patience: Duration) -> FetchError {
        if late == Late::Memory {
            let detail = format!("no memory for the body within {patience:?}: other hosts send large bodies");
            return FetchError::new(ErrorKind::Local, &detail);
        }
        let missing = match (&self.head, self.is_connected()) {
            (Some(_), _) => "the body is incomplete",
            (None, true) => "no response",
            (None, false) => "no connection",
        };
        FetchError::new(ErrorKind::Timeout, &format!("{missing} after {timeout:?}"))
    }

    fn complete(self, error: FetchError) -> FetchError {
        let connected = self.is_connected();
        let (status, headers) =
            self.head.map_or((None, Vec::new()), |(status, headers)| (Some(status), headers));
        let received = self.received;
        FetchError { elapsed: instant() - self.start, connected, status, headers, received, ..error }
    }
}

/// A response that its head refuses.
fn unwanted_error(unwanted: &Unwanted) -> FetchError {
    let kind = match unwanted {
        Unwanted::Type(_) => ErrorKind::UnwantedType,
        Unwanted::Large { .. } => ErrorKind::UnwantedSize,
    };
    FetchError::new(kind, &unwanted.to_string())
}

/// A request for the client.
fn outgoing(method: Method, url: &Url, fields: &HeaderMap) -> Result<Request<Empty<Bytes>>, ClientError> {
    let mut request = Request::new(Empty::new());
    *request.method_mut() = method;
    *request.uri_mut() = url.as_str().parse::<Uri>()?;
    *request.headers_mut() = fields.clone();
    Ok(request)
}

/// What is known of the connection that an answer came over: the server's address, TLS, and the heads as they were sent.
fn connection(
    answer: &hyper::Response<Incoming>,
) -> (Option<SocketAddr>, Option<TlsUsed>, Option<SentHeads>) {
    let remote = answer.extensions().get::<HttpInfo>().map(HttpInfo::remote_addr);
    let record = answer.extensions().get::<Record>();
    (remote, record.and_then(|record| record.tls), record.and_then(Record::take))
}

/// The heads of request and response, as they were sent; of a request whose head has no text, in the form of HTTP/1.1.
fn heads(
    sent: Option<SentHeads>,
    request: &FetchRequest,
    url: &Url,
    fields: &HeaderMap,
) -> (Vec<u8>, Option<Vec<u8>>) {
    match sent {
        Some(SentHeads { request, response }) => (request, Some(response)),
        None => (written(&request.purpose.method(), url, fields), None),
    }
}

/// The length of a body, where the server says it.
fn length(body: &Incoming) -> Option<u64> {
    body.size_hint().exact()
}

/// How far a body was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyEnd {
    Whole,
    /// There is more than the limit allows.
    Over,
    /// The connection ended before it did.
    Early,
}

/// Why a body wasn't read to its end.
#[derive(Debug)]
enum Unread {
    Client(ClientError),
    /// The connection ended before it did; with what came of it, which is something.
    Early(Bytes, ClientError),
    /// It arrives slowly, and others wait for the memory that it holds.
    InTheWay,
}

impl From<ClientError> for Unread {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// As [`chunk`], unless the body is in the way of others.
async fn chunk_in_turn(body: &mut Incoming, claim: &Claim<'_>) -> Result<Option<Bytes>, Unread> {
    if !claim.holds_pool() {
        return Ok(chunk(body).await?);
    }
    loop {
        match tokio::time::timeout(LOOK, chunk(body)).await {
            Ok(next) => {
                let next = next?;
                let is_in_the_way = next.is_some() && claim.holds_up_others();
                return if is_in_the_way { Err(Unread::InTheWay) } else { Ok(next) };
            }
            Err(_) if claim.holds_up_others() => return Err(Unread::InTheWay),
            Err(_) => {}
        }
    }
}

/// Reads the body up to `limit` bytes. Waits for memory if it is large.
async fn read_body(
    answer: &mut Incoming,
    limit: u64,
    claim: &mut Claim<'_>,
    progress: &mut Progress,
) -> Result<(Bytes, BodyEnd), Unread> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let Some(mut first) = chunk(answer).await? else { return Ok((Bytes::new(), BodyEnd::Whole)) };
    let announced = length(answer).map_or(0, |rest| usize::try_from(rest).unwrap_or(usize::MAX));
    let mut whole = BytesMut::new();
    loop {
        progress.received = (first.len() + whole.len()) as u64;
        claim.wire((first.len() + whole.len()).min(limit) as u64).await;
        if first.len() + whole.len() > limit {
            first.truncate(limit - whole.len());
            whole.extend_from_slice(&first);
            return Ok((whole.freeze(), BodyEnd::Over));
        }
        let next = match chunk_in_turn(answer, claim).await {
            Ok(Some(next)) => next,
            Ok(None) => break,
            Err(Unread::Client(error)) if ends_early(&error) => {
                whole.extend_from_slice(&first);
                return Err(Unread::Early(whole.freeze(), error));
            }
            Err(error) => return Err(error),
        };
        if whole.is_empty() {
            // The announcement may be a lie, so it isn't trusted with more than a page's worth.
            whole.reserve((first.len() + announced.max(next.len())).min(limit).min(OWN as usize));
        }
        whole.extend_from_slice(&first);
        first = next;
    }
    if whole.is_empty() {
        return Ok((first, BodyEnd::Whole));
    }
    whole.extend_from_slice(&first);
    Ok((whole.freeze(), BodyEnd::Whole))
}

/// Undoes the codings up to `most` bytes, off the async threads where it may take long. Waits for memory if the body
/// is large.
async fn decode_body(
    wire: &Bytes,
    codings: Vec<Coding>,
    most: u64,
    demand: Demand,
    claim: &mut Claim<'_>,
) -> Result<Decoded, FetchError> {
    let broken = |error: decode::DecodeError| FetchError::new(ErrorKind::Decode, &with_causes(&error));
    let likely = decode::likely(wire, &codings, most.min(MIDDLE));
    loop {
        let now = claim.decoded_now().min(most);
        if now > MIDDLE {
            break;
        }
        if likely <= now || now == most.min(MIDDLE) {
            let decoded = decode::decode(wire, &codings, now, demand).map_err(broken)?;
            if !decoded.is_cut || now == most {
                return Ok(decoded);
            }
        }
        claim.decoded(wire.len() as u64).await;
    }
    let wire = wire.clone();
    let whole = tokio::task::spawn_blocking(move || decode::decode(&wire, &codings, most, demand)).await;
    whole.map_err(|error| FetchError::new(ErrorKind::Local, &error.to_string()))?.map_err(broken)
}

/// Refuses a robots.txt that grows beyond reason, and cuts one that is over its limit.
fn judge_robots(mut decoded: Decoded, limit: u64, most: u64) -> Result<Decoded, FetchError> {
    if decoded.is_cut && decoded.taken as u64 * MAX_ROBOTS_EXPANSION < most {
        let detail = format!("robots.txt grows from {} bytes to more than {most}", decoded.taken);
        return Err(FetchError::new(ErrorKind::TooLarge, &detail));
    }
    decoded.is_cut = decoded.body.len() as u64 > limit;
    decoded.body.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(decoded)
}

/// Port 0 stands for the port of the URL.
fn with_port(mut addresses: Vec<SocketAddr>, port: u16) -> Vec<SocketAddr> {
    for address in addresses.iter_mut().filter(|address| address.port() == 0) {
        address.set_port(port);
    }
    addresses
}

/// Scheme, host and port of an http or https URL without user information.
fn origin_of(url: &Url) -> &str {
    &url[..Position::BeforePath]
}

fn encodings(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok())
}

fn named_encoding(headers: &HeaderMap) -> Option<String> {
    let named: Vec<&str> = encodings(headers).map(str::trim).filter(|name| !name.is_empty()).collect();
    let named = named.join(", ").to_ascii_lowercase();
    (!named.is_empty() && named != "identity").then_some(named)
}

fn version_name(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "HTTP/0.9",
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        _ => "HTTP/1.1",
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
