//! Signs the digest of `datapackage.json` with ed25519 (RFC 8032).
//!
//! The form is that of "anonymous signatures" in the WACZ Signing and Verification proposal of Webrecorder: the text of the digest is signed;
//! `publicKey` is the key as `SubjectPublicKeyInfo` in DER and base 64. Other tools write ECDSA there; the key itself names its algorithm.

use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;

use crate::causes::Cause;

/// `SubjectPublicKeyInfo` of an ed25519 key before its 32 bytes (RFC 8410 section 4).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Why a key can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file can't be read.
    #[error("{} can't be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// It has another key, or none.
    #[error(
        "{} isn't an unencrypted ed25519 key in PEM form (PKCS#8); `openssl genpkey -algorithm ed25519 -out key.pem` makes one",
        .path.display()
    )]
    Key {
        /// The file.
        path: PathBuf,
        /// What its reader says.
        source: Cause,
    },
}

/// An ed25519 key.
pub struct SigningKey(Ed25519KeyPair);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.public())
    }
}

impl SigningKey {
    /// Reads a key from a file in PEM form, PKCS#8, not encrypted.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = std::fs::read(path).map_err(|source| KeyError::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|source| KeyError::Key { path: path.to_owned(), source })
    }

    fn parse(pem: &[u8]) -> Result<Self, Cause> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem)?;
        // OpenSSL writes version 1, which lacks the public key.
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der());
        // ring's error is no `std::error::Error` as ring is built here.
        Ok(Self(pair.map_err(|rejected| rejected.to_string())?))
    }

    /// Returns the public key as `SubjectPublicKeyInfo` in DER and base 64.
    pub fn public(&self) -> String {
        BASE64.encode(&[SPKI.as_slice(), self.0.public_key().as_ref()].concat())
    }

    /// Signs a text; returns the signature in base 64.
    pub(super) fn sign(&self, text: &str) -> String {
        BASE64.encode(self.0.sign(text.as_bytes()).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_rfc_8032_signs_as_it_says() {
        // RFC 8032 section 7.1, TEST 1: an empty message.
        let secret = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let signature = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
        let hex = |text: &str| data_encoding::HEXLOWER.decode(text.as_bytes()).unwrap();
        // RFC 8410 section 7: PKCS#8 version 1.
        let der = [hex("302e020100300506032b657004220420"), hex(secret)].concat();
        let pem =
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", BASE64.encode(&der));
        let key = SigningKey::parse(pem.as_bytes()).unwrap();
        assert_eq!(key.sign(""), BASE64.encode(&hex(signature)));
        let spki = BASE64.decode(key.public().as_bytes()).unwrap();
        assert_eq!(spki, [hex("302a300506032b6570032100"), hex(public)].concat());
    }

    #[test]
    fn what_is_no_ed25519_key_is_refused() {
        for text in
            ["", "x", "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n"]
        {
            assert!(SigningKey::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
