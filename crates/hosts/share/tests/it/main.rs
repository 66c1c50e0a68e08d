//! A lender and its borrowers as machines: stories, and what hostile hosts can do.

#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod stage;
#[cfg(target_os = "linux")]
mod stories;
