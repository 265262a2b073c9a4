//! TLS of the page's own, for who has a certificate and no proxy. The files are read again when they change, so that a
//! certificate that was renewed is served without a restart; a pair that cannot be used leaves the one before it in place.

use crate::live::locked;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto::ring};

/// Where the certificate and its key lie, both as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificate, followed by those that lead to its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// What a file was when it was read: another moment or another file means that it changed.
type Seen = [(i64, i64, u64, u64); 2];

/// A certificate in use.
pub(crate) struct Identity {
    files: Tls,
    now: Mutex<(Seen, Arc<ServerConfig>)>,
}

impl Identity {
    /// Reads the pair.
    pub fn read(files: Tls) -> io::Result<Identity> {
        let now = (seen(&files)?, configured(&files)?);
        Ok(Identity { files, now: Mutex::new(now) })
    }

    /// What greets the next client.
    pub fn acceptor(&self) -> TlsAcceptor {
        let mut now = locked(&self.now);
        if let Ok(seen) = seen(&self.files)
            && seen != now.0
        {
            // While one of the two is being replaced they do not fit: the next client looks again.
            if let Ok(config) = configured(&self.files) {
                *now = (seen, config);
            }
        }
        TlsAcceptor::from(Arc::clone(&now.1))
    }
}

fn seen(files: &Tls) -> io::Result<Seen> {
    let of = |path: &Path| -> io::Result<_> {
        let at = |e: io::Error| io::Error::other(format!("{}: {e}", path.display()));
        let meta = std::fs::metadata(path).map_err(at)?;
        Ok((meta.mtime(), meta.mtime_nsec(), meta.ino(), meta.size()))
    };
    Ok([of(&files.certificate)?, of(&files.key)?])
}

fn configured(files: &Tls) -> io::Result<Arc<ServerConfig>> {
    let at = |path: &Path, why: String| io::Error::other(format!("{}: {why}", path.display()));
    let (certificate, key) = (files.certificate.as_path(), files.key.as_path());
    let open = |path: &Path| std::fs::File::open(path).map_err(|e| at(path, e.to_string()));
    let file = open(key)?;
    secret(key, &file.metadata()?).map_err(|why| at(key, why))?;
    let chain: Result<Vec<CertificateDer>, _> =
        CertificateDer::pem_reader_iter(open(certificate)?).collect();
    let chain = chain.map_err(|e| at(certificate, format!("no certificate in PEM: {e}")))?;
    if chain.is_empty() {
        return Err(at(certificate, "no certificate in PEM".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_reader(file)
        .map_err(|e| at(key, format!("no private key in PEM: {e}")))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|e| at(key, format!("it does not open {}: {e}", certificate.display())))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// A key is its owner's; a group may read it, as that of Debian's `ssl-cert`.
fn secret(path: &Path, meta: &Metadata) -> Result<(), String> {
    let own = rustix::process::geteuid().as_raw();
    match () {
        () if !meta.is_file() => Err("not a file with a key".to_owned()),
        () if meta.permissions().mode() & 0o027 != 0 => {
            Err(format!("others may use the key: chmod 600 {}", path.display()))
        }
        () if meta.uid() != own && meta.uid() != 0 => {
            Err("the key belongs to another user".to_owned())
        }
        () => Ok(()),
    }
}
