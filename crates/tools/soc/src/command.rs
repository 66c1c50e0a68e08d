//! The commands of a station that reports its SoC and of an access point that schedules by it:
//! their options, and their tasks. Two programs have them: `fairwave soc`, and `fairwave-agent`,
//! which is small enough for routers and has nothing else.

mod choice;
mod log;
pub mod options;
#[cfg(feature = "reports")]
pub mod program;
pub mod tasks;
