//! The HTTP client of object storage: hyper, as for everything else here, instead of a second client with a TLS of its own.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as Tcp;
use hyper_util::rt::TokioExecutor;
use object_store::ClientOptions;
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use rustls::ClientConfig;

/// How long a request and its response may take, bodies included: a part of 16 MB at 300 KB/s.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Makes clients that trust the authorities of the system.
#[derive(Debug)]
pub(super) struct Connector(pub(super) Arc<ClientConfig>);

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut tcp = Tcp::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let https = HttpsConnector::from((tcp, Arc::clone(&self.0)));
        let client = Client::builder(TokioExecutor::new()).build(https);
        let may_be_plain =
            options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        Ok(HttpClient::new(Service { client, may_be_plain }))
    }
}

#[derive(Debug)]
struct Service {
    client: Client<HttpsConnector<Tcp>, HttpRequestBody>,
    may_be_plain: bool,
}

#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("the URL isn't https: set AWS_ALLOW_HTTP=true to send the archive unencrypted")]
    Plain,
    #[error("no answer within {} seconds", TIMEOUT.as_secs())]
    Slow,
}

impl HttpService for Service {
    // What `#[async_trait]` makes of an async function.
    fn call<'s, 'a>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(self.answer(request))
    }
}

impl Service {
    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if !self.may_be_plain && request.uri().scheme_str() != Some("https") {
            return Err(HttpError::new(HttpErrorKind::Unknown, Refused::Plain));
        }
        let answered = tokio::time::timeout(TIMEOUT, self.whole(request)).await;
        answered.map_err(|_| HttpError::new(HttpErrorKind::Timeout, Refused::Slow))?
    }

    /// The response with its body, which is a part of a file at most: whoever waits for it waits no longer than for its head.
    async fn whole(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.client.request(request).await.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Interrupted };
            HttpError::new(kind, error)
        })?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error))?;
        Ok(HttpResponse::from_parts(head, HttpResponseBody::from(body.to_bytes())))
    }
}
