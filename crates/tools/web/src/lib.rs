//! `fairwave web`: the laboratory's page from a server on this machine.
//!
//! The page is that of the site; its runs are made here, with native speed, and their directories
//! are kept. The server listens on the loopback interface alone. Its address has a random token:
//! another user of this machine, and a page of another site in the same browser, does not know it.
//! `guard` decides which requests are answered, `answers` answers them, `runs` bounds what runs
//! cost, `live` collects the figures of tools that run on this machine.

#![cfg(target_os = "linux")]

mod answers;
pub mod command;
mod guard;
mod live;
mod processes;
mod runs;
mod serve;
