//! Whose certificates are believed when an exporter is asked over TLS: those that an authority of a file has signed, by default
//! one of the authorities that this machine trusts.

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// Where distributions keep the authorities that a machine trusts.
const BUNDLES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
];

/// Authorities whose certificates are believed.
#[derive(Clone, Debug)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// The authorities in a file of PEM; those of this machine where none is named.
    /// # Errors
    /// The file cannot be read, or holds no certificate.
    pub fn of(file: Option<&Path>) -> Result<Trust, String> {
        let found = || BUNDLES.into_iter().map(Path::new).find(|bundle| bundle.exists());
        let Some(path) = file.or_else(found) else {
            return Err("this machine has no list of authorities: name the one that signed its certificate, `ca = FILE`"
                .to_owned());
        };
        let at = |why: String| format!("{}: {why}", path.display());
        let opened = std::fs::File::open(path).map_err(|e| at(e.to_string()))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_reader_iter(opened) {
            let certificate = certificate.map_err(|e| at(format!("no certificate in PEM: {e}")))?;
            // Of a long list some may be of a kind that is not known; one that was named must be usable.
            let added = roots.add(certificate);
            if file.is_some() {
                added.map_err(|e| at(e.to_string()))?;
            }
        }
        if roots.is_empty() {
            return Err(at("no certificate in PEM".to_owned()));
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Trust(Arc::new(config)))
    }

    /// A session with who proves to be this host.
    /// # Errors
    /// The host is neither a name nor an address.
    pub fn session(&self, host: &str) -> Result<ClientConnection, String> {
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(bare).map_err(|e| e.to_string())?;
        ClientConnection::new(Arc::clone(&self.0), name).map_err(|e| e.to_string())
    }
}
