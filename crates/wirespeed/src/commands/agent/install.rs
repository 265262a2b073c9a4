//! `wirespeed agent install`: a unit of systemd, a user without rights, and the files that both need.

use crate::cli::{InstallArgs, ServerArgs};
use crate::exit::{Exit, Failure};
use crate::{fleets, out};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The service, its user, and where what waits on disk lies.
const UNIT: &str = "etc/systemd/system/wirespeed-agent.service";
const USERS: &str = "etc/sysusers.d/wirespeed-agent.conf";
const STATE: &str = "/var/lib/wirespeed";

/// A user of the system who owns nothing. Block devices are of the group `disk`.
const SYSUSERS: &str = "u wirespeed - \"Wirespeed agent\" /var/lib/wirespeed\nm wirespeed disk\n";

pub fn install(args: &InstallArgs) -> Result<Exit, Failure> {
    let url = args.join.join.as_deref().ok_or_else(|| {
        Failure::usage("the service needs the server that it joins: --join nats://HOST[:PORT]")
    })?;
    fleets::server(url, &args.server)?;
    let program = std::env::current_exe().map_err(Failure::incomplete)?;
    let unit = unit(&program, url, args);
    let files = [(UNIT, unit.as_str()), (USERS, SYSUSERS)];
    let boots = args.root == Path::new("/");
    let commands: &[&[&str]] = match boots {
        true => &[
            &["systemd-sysusers", "wirespeed-agent.conf"],
            &["systemctl", "daemon-reload"],
            &["systemctl", "enable", "--now", "wirespeed-agent.service"],
        ],
        // An image that is built gets the user and the service at its first boot.
        false => &[],
    };
    for (path, text) in files {
        let path = args.root.join(path);
        match args.dry_run {
            true => out::result(&format!("# {}\n{text}\n", path.display()))?,
            false => write(&path, text)?,
        }
    }
    if !boots {
        let wants = args.root.join("etc/systemd/system/multi-user.target.wants");
        let link = wants.join("wirespeed-agent.service");
        match args.dry_run {
            true => out::result(&format!("# {} -> /{UNIT}\n", link.display()))?,
            false if link.symlink_metadata().is_ok() => {}
            false => fs::create_dir_all(&wants)
                .and_then(|()| std::os::unix::fs::symlink(Path::new("/").join(UNIT), &link))
                .map_err(|e| Failure::incomplete(format!("cannot make {}: {e}", link.display())))?,
        }
    }
    for command in commands {
        match args.dry_run {
            true => out::result(&format!("{}\n", command.join(" ")))?,
            false => run(command)?,
        }
    }
    Ok(Exit::Met)
}

/// The unit. Its agent may read and write what the group `disk` may, reach the network, and nothing else.
fn unit(program: &Path, url: &str, args: &InstallArgs) -> String {
    // A program that is to be replaced is the user's own.
    let copy = format!("{STATE}/wirespeed");
    let (run, prepare) = match args.join.accept_updates {
        true => {
            let source = quoted(&program.display().to_string());
            (copy.clone(), format!("ExecStartPre=-/bin/cp --no-clobber {source} {copy}\n"))
        }
        false => (program.display().to_string(), String::new()),
    };
    let mut command = vec![run, "agent".to_owned()];
    let mut option =
        |name: &str, value: &str| command.extend([format!("--{name}"), value.to_owned()]);
    option("join", url);
    option("group", &args.server.group);
    if let Some(name) = &args.name {
        option("name", name);
    }
    args.join.label.iter().for_each(|(key, value)| option("label", &format!("{key}={value}")));
    option("spool", STATE);
    option("spool-size", &args.join.spool_size.0.to_string());
    option("spool-memory", &args.join.spool_memory.0.to_string());
    option("lease", &format!("{}s", args.join.lease.as_secs()));
    if let Some(at) = args.join.metrics {
        option("metrics", &at.to_string());
    }
    let files = secrets(&args.server);
    // systemd reads them as root and gives them to this service alone.
    files.iter().for_each(|(name, _)| option(name, &format!("%d/{name}")));
    if let Some(user) = &args.server.user {
        option("user", user);
    }
    command.extend(args.join.accept_updates.then(|| "--accept-updates".to_owned()));
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let given = |(name, file): &(&str, &PathBuf)| {
        let file = std::path::absolute(file).unwrap_or_else(|_| (*file).clone());
        format!("LoadCredential={name}:{}\n", file.display())
    };
    let given: String = files.iter().map(given).collect();
    format!(
        "[Unit]\n\
         Description=Wirespeed agent\n\
         Wants=network-online.target\n\
         After=network-online.target time-sync.target\n\
         \n\
         [Service]\n\
         {prepare}ExecStart={}\n\
         {given}\
         User=wirespeed\n\
         SupplementaryGroups=disk\n\
         StateDirectory=wirespeed\n\
         Restart=always\n\
         RestartSec=2\n\
         LimitMEMLOCK=infinity\n\
         LimitNOFILE=65536\n\
         NoNewPrivileges=yes\n\
         ProtectHome=yes\n\
         ProtectSystem=full\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        command.join(" ")
    )
}

/// The files that say who the agent is, by their options.
fn secrets(server: &ServerArgs) -> Vec<(&'static str, &PathBuf)> {
    let files = [
        ("credentials", &server.credentials),
        ("token-file", &server.token_file),
        ("password-file", &server.password_file),
        ("ca", &server.ca),
    ];
    files.into_iter().filter_map(|(name, file)| Some((name, file.as_ref()?))).collect()
}

/// A word of a command line as systemd reads it. `%d`, the directory of credentials, is meant as it is.
fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    let escaped = match word.starts_with("%d/") {
        true => word.to_owned(),
        false => word.replace('%', "%%"),
    };
    match !escaped.is_empty() && escaped.chars().all(safe) {
        true => escaped,
        false => format!(
            "\"{}\"",
            escaped
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('$', "$$")
                .replace('\n', "\\n")
        ),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |e| Failure::incomplete(format!("cannot write {}: {e}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)?;
    out::note(format_args!("written: {}", path.display()));
    Ok(())
}

fn run(command: &[&str]) -> Result<(), Failure> {
    let line = command.join(" ");
    let failed = |why: String| Failure::incomplete(format!("`{line}` {why}"));
    let status = Command::new(command[0]).args(&command[1..]).status();
    match status.map_err(|e| failed(format!("cannot be run: {e}")))? {
        status if status.success() => Ok(()),
        status => Err(failed(format!("ended with {status}"))),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_quoted_for_systemd() {
        for (word, quoted) in [
            ("--join", "--join"),
            ("nats://h:4222", "nats://h:4222"),
            ("%d/token-file", "%d/token-file"),
            ("room=50%", "room=50%%"),
            ("rack=a b", "\"rack=a b\""),
            ("x=\"$HOME\"", "\"x=\\\"$$HOME\\\"\""),
            ("", "\"\""),
        ] {
            assert_eq!(super::quoted(word), quoted, "{word}");
        }
    }
}
