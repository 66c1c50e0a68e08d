//! Stages of the session with a lender.

use crate::config::Config;
use crate::post::{Addressee, Post};
use crate::session::{Retry, Session, TRIES};
use fairwave_units::Instant;
use fairwave_wire::cluster::{Body, Cookie, Role};

#[derive(Debug)]
pub(super) enum Stage {
    /// It has been greeted.
    Greeting { peer: Addressee, nonce: u64, retry: Retry },
    /// Its challenge, a message of this number, has been answered.
    Answering { nonce: u64, number: u64, cookie: Cookie, session: Session, retry: Retry },
    /// There is a session.
    Open(Session),
}

impl Stage {
    pub(super) fn peer(&self) -> Addressee {
        match self {
            Self::Greeting { peer, .. } => *peer,
            Self::Answering { session, .. } | Self::Open(session) => session.peer,
        }
    }

    /// Of the greeting, while it is going on.
    pub(super) fn nonce(&self) -> Option<u64> {
        match self {
            Self::Greeting { nonce, .. } | Self::Answering { nonce, .. } => Some(*nonce),
            Self::Open(_) => None,
        }
    }

    pub(super) fn session(&self) -> Option<&Session> {
        match self {
            Self::Greeting { .. } => None,
            Self::Answering { session, .. } | Self::Open(session) => Some(session),
        }
    }

    pub(super) fn session_mut(&mut self) -> Option<&mut Session> {
        match self {
            Self::Greeting { .. } => None,
            Self::Answering { session, .. } | Self::Open(session) => Some(session),
        }
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.session().is_some_and(|session| session.leaving.is_some())
    }

    pub(super) fn is_idle(&self, now: Instant, config: &Config) -> bool {
        let Self::Open(session) = self else { return false };
        session.received + config.session_idle <= now
    }

    /// Repeats unanswered messages; returns whether all tries were in vain.
    pub(super) fn age(&mut self, now: Instant, post: &mut Post) -> bool {
        if self.is_leaving() {
            let session = self.session_mut();
            return session.is_none_or(|session| session.is_left(now, Role::Borrower, post));
        }
        let (Self::Greeting { retry, .. } | Self::Answering { retry, .. }) = self else {
            return false;
        };
        let again = retry.again(now, TRIES);
        if again == Some(true) {
            match self {
                Self::Greeting { peer, nonce, .. } => {
                    post.send(*peer, Body::Hello { nonce: *nonce });
                }
                Self::Answering { nonce, cookie, session, .. } => {
                    session.say(post, Body::Response { nonce: *nonce, cookie: *cookie });
                }
                Self::Open(_) => {}
            }
        }
        again.is_none()
    }

    pub(super) fn next(&self, config: &Config, has_no_leases: bool) -> Option<Instant> {
        if let Some(retry) = self.session().and_then(|session| session.leaving) {
            return Some(retry.at);
        }
        match self {
            Self::Greeting { retry, .. } | Self::Answering { retry, .. } => Some(retry.at),
            Self::Open(session) => has_no_leases.then_some(session.received + config.session_idle),
        }
    }
}
