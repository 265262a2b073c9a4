//! The log-in, where the page has a token.

use maud::{Markup, html};

pub(crate) fn page(failed: bool) -> Markup {
    let body = html! {
        section.login {
            h1 { "Log in" }
            @if failed { p.problem role="alert" { "That is not the token." } }
            form method="post" action="/login" {
                label for="token" { "Token" }
                input id="token" name="token" type="password" required autocomplete="current-password" autofocus;
                button type="submit" { "Log in" }
            }
            p.none { "The token is in the file that " code { "wirespeed serve --token-file" } " names." }
        }
    };
    super::frame("Log in", None, &body)
}
