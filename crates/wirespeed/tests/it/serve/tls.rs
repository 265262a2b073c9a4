//! TLS of the page's own, seen by OpenSSL's client, which shares no code with it.

use super::http::Served;
use crate::prelude::*;
use crate::program::support::Bench;
use std::io::Write;

const TOKEN: &str = "correct horse battery staple";
const NAME: &str = "lab.example";

fn openssl(dir: &Path, args: &str) {
    let made = Command::new("openssl").args(args.split(' ')).current_dir(dir).output();
    let made = made.expect("openssl runs (see packages.txt)");
    assert!(made.status.success(), "openssl {args}: {}", String::from_utf8_lossy(&made.stderr));
}

/// A certificate of its own authority for [`NAME`] with a key, in place of what is there.
fn certificate(bench: &Bench, common: &str) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    let san = format!("-addext subjectAltName=DNS:{NAME}");
    openssl(
        &bench.path(""),
        &format!("req -x509 {key} -keyout next.key -out next.pem -subj /CN={common} {san}"),
    );
    // The key first: between the two they do not fit, and the pair before is still served.
    fs::rename(bench.path("next.key"), bench.path("lab.key")).expect("ours");
    fs::rename(bench.path("next.pem"), bench.path("lab.pem")).expect("ours");
}

/// What OpenSSL's client hears, given that it believes the certificate: the answer, and what it says of the connection.
fn ask(served: &Served, bench: &Bench, request: &str, more: &[&str]) -> (String, String) {
    let port = served.host.rsplit(':').next().expect("a port");
    let mut client = Command::new("openssl")
        .args(["s_client", "-connect", &format!("127.0.0.1:{port}"), "-servername", NAME])
        .args(["-CAfile", "lab.pem", "-verify_hostname", NAME, "-verify_return_error", "-ign_eof"])
        .args(more)
        .current_dir(bench.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl runs");
    let mut stdin = client.stdin.take().expect("a pipe");
    // It may have given up before it is asked.
    let _ = stdin.write_all(request.as_bytes());
    drop(stdin);
    let said = client.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let answer = said.find("HTTP/1.1 ").map(|at| said[at..].to_owned());
    (answer.unwrap_or_default(), said)
}

fn get(path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {NAME}\r\n{more}Connection: close\r\n\r\n")
}

#[test]
fn off_loopback_it_speaks_tls_with_a_certificate_that_may_be_renewed() {
    let bench = Bench::new("");
    bench.secret("token", TOKEN);
    certificate(&bench, "first");
    let pair = ["--tls-certificate", "lab.pem", "--tls-key", "lab.key"];
    let args = [&pair[..], &["--token-file", "token", "--name", NAME]].concat();
    let served = Served::at("0.0.0.0:0", &bench, &args);
    let (refused, _) = ask(&served, &bench, &get("/api/v1/records", ""), &[]);
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    for version in ["-tls1_2", "-tls1_3"] {
        let (answer, said) = ask(&served, &bench, &get("/api/v1/records", &bearer), &[version]);
        assert!(answer.starts_with("HTTP/1.1 200"), "{said}");
        assert!(answer.contains("strict-transport-security"), "{answer}");
    }
    let (_, old) =
        ask(&served, &bench, &get("/login", ""), &["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]);
    assert!(!old.contains("HTTP/1.1"), "TLS 1.1 is spoken by nobody");
    let body = format!("token={}", TOKEN.replace(' ', "+"));
    let form = format!(
        "POST /login HTTP/1.1\r\nHost: {NAME}\r\nOrigin: https://{NAME}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let (opened, _) = ask(&served, &bench, &form, &[]);
    assert!(opened.contains("; Secure"), "{opened}");
    let (elsewhere, _) = ask(&served, &bench, &form.replace("Origin: https", "Origin: http"), &[]);
    assert!(elsewhere.starts_with("HTTP/1.1 403"), "{elsewhere}");
    let (rebound, _) = ask(&served, &bench, &get("/", "").replace(NAME, "evil.example"), &[]);
    assert!(rebound.starts_with("HTTP/1.1 421"), "{rebound}");
    // Plain words get no answer, and one that says nothing holds up nobody.
    let port = served.host.rsplit(':').next().expect("a port");
    let mut plain = TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    let silent = TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    plain.write_all(get("/login", "").as_bytes()).expect("it reads");
    let mut heard = Vec::new();
    let _ = plain.read_to_end(&mut heard);
    assert!(!String::from_utf8_lossy(&heard).contains("HTTP/1.1"));
    // Renewed, and served without a restart.
    certificate(&bench, "second");
    let (answer, said) = ask(&served, &bench, &get("/login", ""), &[]);
    assert!(answer.starts_with("HTTP/1.1 200") && said.contains("CN = second"), "{said}");
    // A pair that cannot be used leaves the one before it.
    fs::write(bench.path("lab.key"), "nonsense").expect("ours");
    let (answer, said) = ask(&served, &bench, &get("/login", ""), &[]);
    assert!(answer.starts_with("HTTP/1.1 200") && said.contains("CN = second"), "{said}");
    drop(silent);
}

#[test]
fn a_pair_that_is_open_or_does_not_fit_is_refused() {
    let bench = Bench::new("");
    bench.secret("token", TOKEN);
    certificate(&bench, "other");
    fs::rename(bench.path("lab.key"), bench.path("other.key")).expect("ours");
    certificate(&bench, "lab");
    fs::copy(bench.path("lab.key"), bench.path("open.key")).expect("room");
    openssl(&bench.path(""), "version");
    let chmod =
        Command::new("chmod").args(["644", "open.key"]).current_dir(bench.path("")).status();
    assert!(chmod.expect("chmod runs").success());
    let serve = |more: &[&str]| bench.expect(2, &[&["serve", "."], more].concat()).stderr;
    for (certificate, key, why) in [
        ("lab.pem", "open.key", "chmod 600 open.key"),
        ("lab.pem", "other.key", "it does not open lab.pem"),
        ("lab.key", "lab.key", "lab.key: no certificate"),
        ("lab.pem", "token", "no private key"),
        ("nowhere", "lab.key", "nowhere: "),
    ] {
        let said = serve(&["--tls-certificate", certificate, "--tls-key", key]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(why), "{certificate}, {key}: {said}");
    }
    let pair = ["--tls-certificate", "lab.pem", "--tls-key", "lab.key"];
    let off = |more: &[&str]| serve(&[&pair[..], &["--listen", "0.0.0.0:0"], more].concat());
    assert!(off(&[]).contains("--token-file"));
    assert!(off(&["--token-file", "token"]).contains("--name"));
    serve(&["--tls-certificate", "lab.pem"]);
    serve(&[&pair[..], &["--behind-proxy", NAME, "--token-file", "token"]].concat());
}
