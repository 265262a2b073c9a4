//! Which initiators may log in, and how they authenticate.

use crate::server::config::TargetSettings;
use crate::server::error::StartError;
use iscsi::login::{Auth, IscsiName, LoginAccess, LoginPolicy};
use iscsi::pdu::LoginStatus;
use std::collections::BTreeSet;

/// What the configuration says about it.
pub(in crate::server) struct Rules {
    name: IscsiName,
    auth: Auth,
    /// Empty: all.
    initiators: BTreeSet<IscsiName>,
}

/// The rules for those who come by one portal.
pub(super) struct PortalPolicy<'a> {
    pub rules: &'a Rules,
    /// The portal group tag.
    pub group: u16,
    /// Who asked.
    pub seen: Option<String>,
}

impl Rules {
    /// # Errors
    /// A name is none.
    pub fn new(config: &TargetSettings) -> Result<Rules, StartError> {
        let name = config.name.parse().map_err(StartError::Name)?;
        let initiators: Result<_, _> = config.initiators.iter().map(|name| name.parse()).collect();
        let initiators = initiators.map_err(StartError::Initiator)?;
        Ok(Rules { name, auth: config.auth.clone(), initiators })
    }

    /// The target's name, in the form in which names are compared.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }
}

impl LoginPolicy for PortalPolicy<'_> {
    fn access(
        &mut self,
        initiator: &IscsiName,
        target: Option<&IscsiName>,
    ) -> Result<LoginAccess, LoginStatus> {
        self.seen = Some(initiator.to_string());
        if target.is_some_and(|target| *target != self.rules.name) {
            return Err(LoginStatus::NOT_FOUND);
        }
        let allowed = self.rules.initiators.is_empty() || self.rules.initiators.contains(initiator);
        if !allowed {
            return Err(LoginStatus::AUTHORIZATION_FAILURE);
        }
        Ok(LoginAccess { portal_group: self.group, alias: None, auth: self.rules.auth.clone() })
    }
}
