//! The commands of a station that reports its SoC and of an access point that schedules by it:
//! their options, and what they say. Two programs have them: `fairwave soc`, and `fairwave-agent`,
//! which is small enough for routers and has nothing else.

mod choice;
mod log;
pub mod options;
pub mod tasks;
pub mod words;
