//! `wirespeed completions SHELL` and `wirespeed man`: made from the one definition of the command line.

use crate::cli::{self, Completions, Man};
use crate::exit::{Exit, Failure};
use crate::out;
use std::path::Path;

const NAME: &str = "wirespeed";

pub fn completions(args: &Completions) -> Result<Exit, Failure> {
    out::result(&of_shell(args.shell))?;
    Ok(Exit::Met)
}

fn of_shell(shell: clap_complete::Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut cli::definition(), NAME, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

pub fn man(args: &Man) -> Result<Exit, Failure> {
    match &args.dir {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(cli::definition())
                .render(&mut page)
                .map_err(Failure::incomplete)?;
            out::result(&String::from_utf8_lossy(&page))?;
        }
        Some(dir) => pages(dir)
            .map_err(|e| Failure::incomplete(format!("cannot write to {}: {e}", dir.display())))?,
    }
    Ok(Exit::Met)
}

/// Writes a page for each command.
fn pages(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(cli::definition(), dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_know_every_command_and_its_options() {
        for shell in
            [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish]
        {
            let text = of_shell(shell);
            for word in ["simulate", "completions", "rwmixread", "iodepth", "chap-secret-file"] {
                assert!(text.contains(word), "{shell}: {word}");
            }
        }
    }

    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("man1");
        pages(&dir).unwrap();
        let main = std::fs::read_to_string(dir.join("wirespeed.1")).unwrap();
        assert!(main.starts_with(".ie") || main.contains(".TH wirespeed 1"), "{main}");
        for command in cli::definition().get_subcommands().filter(|command| !command.is_hide_set())
        {
            let page = dir.join(format!("wirespeed-{}.1", command.get_name()));
            assert!(page.exists(), "{}", page.display());
        }
        assert!(dir.join("wirespeed-target-serve.1").exists());
    }
}
