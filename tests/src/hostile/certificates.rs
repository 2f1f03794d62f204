//! Certificates, good ones and others.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// It was valid until 2020.
    Expired,
    /// It will be valid from 2100 on.
    NotYet,
    /// It is for another name.
    OtherName,
    /// It signed itself.
    SelfSigned,
    /// An authority signed it that nobody trusts.
    Untrusted,
}

/// The certificate authority of one hostile web.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}

impl Authority {
    /// A new authority.
    ///
    /// # Panics
    /// If no key can be made.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are valid names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Its certificate as PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// The settings of a server for a name that speaks one protocol.
    ///
    /// # Panics
    /// If no key can be made.
    pub fn server(&self, name: &str, fault: Fault, protocol: &str) -> Arc<ServerConfig> {
        let key = KeyPair::generate().expect("a key");
        let named = if fault == Fault::OtherName { "other.test" } else { name };
        let mut params = CertificateParams::new(vec![named.to_owned()]).expect("a valid name");
        match fault {
            Fault::Expired => params.not_after = date_time_ymd(2020, 1, 1),
            Fault::NotYet => params.not_before = date_time_ymd(2100, 1, 1),
            _ => {}
        }
        let certificate = match fault {
            Fault::SelfSigned => params.self_signed(&key),
            Fault::Untrusted => params.signed_by(&key, &Self::new().0),
            _ => params.signed_by(&key, &self.0),
        };
        let certificate: CertificateDer<'static> = certificate.expect("a certificate").der().clone();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows the versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
            .expect("key and certificate belong together");
        config.alpn_protocols = vec![protocol.into()];
        Arc::new(config)
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
