//! A guest with a shell: scripts, their answers, and what hangs.

use crate::boots::{accelerator, keeper, kernel};
use clock::Ns;
use guest::shell::{Contents, ShellError, find};
use guest::{Network, Shell};
use std::io::Write;
use std::net::TcpListener;

#[test]
fn scripts_run_one_after_the_other_and_reach_the_host() {
    let Some(kernel) = kernel() else { return };
    if find("dash").is_none() || find("busybox").is_none() {
        println!("skipped: dash or busybox is not here");
        assert!(std::env::var_os("CI").is_none(), "dash or busybox is not here");
        return;
    }
    let contents = Contents::new().expect("a shell").file("/etc/word", "hello\n");
    let machine = (&kernel, accelerator(&kernel));
    let shell = Shell::start(machine, &contents, 64 << 20, Network::default(), &keeper());
    let mut shell = shell.unwrap_or_else(|why| panic!("{why}"));
    let patience = Ns::secs(60);
    let said = shell.run("cat /etc/word; echo wrong >&2; exit 7", patience).expect("an answer");
    assert_eq!((said.code, &*said.text), (7, "hello\nwrong\n"));
    // A server of the host's loopback, at the address that it has there.
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let served = std::thread::spawn(move || {
        server.accept().expect("a connection").0.write_all(b"from the host\n").expect("it is sent");
    });
    let said = shell.run(&format!("nc 127.0.0.1 {port} </dev/null"), patience).expect("an answer");
    assert_eq!(said.text, "from the host\n");
    served.join().expect("it served");
    let long = shell.run("seq 100000", patience).expect("an answer");
    assert_eq!((long.code, long.text.lines().last()), (0, Some("100000")));
    match shell.run("sleep 1000", Ns::secs(1)) {
        Err(ShellError::Silent { how, .. }) => assert_eq!(how, "did not answer in time"),
        other => panic!("{other:?}"),
    }
    shell.guest().kill();
    let missing = Contents::new().expect("a shell").programs(&["no-such-program"]);
    assert_eq!(missing.expect_err("no program").to_string(), "no-such-program is not here");
}
