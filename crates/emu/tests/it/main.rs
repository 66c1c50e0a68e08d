//! Real packets through worlds, without a kernel's devices: ends are socket pairs.

mod allocation;
mod common;
mod drive;
mod record;
