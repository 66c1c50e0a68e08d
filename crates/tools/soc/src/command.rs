//! Commands of a station that reports its SoC and of an access point that schedules by it: options
//! and output. Two programs have them: `fairwave soc`, and `fairwave-agent`, which has no other
//! commands and is small enough for routers.

mod choice;
mod log;
pub mod options;
pub mod tasks;
pub mod words;
