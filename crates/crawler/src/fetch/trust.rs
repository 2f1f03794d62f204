//! TLS: the trusted certificate authorities.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

use super::SetupError;

/// Makes the TLS configuration: TLS 1.2 and 1.3 by ring, HTTP/2 and HTTP/1.1 by ALPN.
///
/// Trusted are the authorities of the file that `SSL_CERT_FILE` names (and the directory of `SSL_CERT_DIR`) where it
/// is set, those of the system otherwise. A system without any is no error, since a crawl may need none: every
/// `https` host then fails with [`ErrorKind::Tls`](super::ErrorKind::Tls). A file that was named and can't be read
/// is an error.
pub(super) fn tls_config() -> Result<ClientConfig, SetupError> {
    if let Some(file) = std::env::var_os("SSL_CERT_FILE") {
        // Asked here, since the directory of `SSL_CERT_DIR` would hide the failure.
        std::fs::File::open(&file).map_err(|source| SetupError::TrustStore { path: file.into(), source })?;
    }
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found.errors.first().map_or_else(|| "none found".to_owned(), ToString::to_string);
        tracing::warn!("no certificate authorities on this system, https will fail: {why}");
    }
    tracing::debug!(added, ignored, "certificate authorities");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The same for HTTP/1.1 alone.
pub(super) fn of_http_1(mut config: ClientConfig) -> ClientConfig {
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// As for fetching, but for HTTP/1.1 alone, without ALPN.
#[cfg(feature = "object-storage")]
pub(crate) fn tls_of_http_1() -> Result<ClientConfig, SetupError> {
    let mut config = tls_config()?;
    config.alpn_protocols.clear();
    Ok(config)
}
