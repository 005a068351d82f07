//! The options of queues for users, and their sizes.

use units::{Duration, FieldError};

use crate::buffer::{Buffer, Limit, LinkFacts};

/// The options of all schedulers with a queue for each user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserQueuesConfig {
    /// Size of all queues together, of which each of the n users has an equal part.
    pub buffer: Buffer,
    /// The waiting time after which a packet is dropped; by default unlimited.
    pub limit: Option<Duration>,
}

/// B = RTT·C/√n for all users together: the need of n unsynchronised flows (Appenzeller, Keslassy and McKeown, SIGCOMM
/// 2004).
pub(super) const DEFAULT_BUFFER: Buffer = Buffer::Bdp { factor: 1.0, root: true, divided: false };

/// Declares the options of a scheduler with a queue for each user: `buffer`, `limit`, and its own with their defaults.
/// (Serde cannot refuse unknown keys of a structure that is flattened into another.)
macro_rules! user_queues_config {
    (
        $(#[$meta:meta])* pub struct $name:ident {
            $($(#[$option:meta])* pub $field:ident: $type:ty = $default:expr),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            /// Size of all queues together, of which each of the n users has an equal part: packets, bytes, time at the
            /// rate of the link, or bandwidth-delay products.
            pub buffer: $crate::buffer::Buffer,
            /// The waiting time after which a packet is dropped; by default unlimited.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub limit: Option<units::Duration>,
            $($(#[$option])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { buffer: $crate::scheduler::user_queues::DEFAULT_BUFFER, limit: None, $($field: $default,)* }
            }
        }

        impl $name {
            /// The options of its queues.
            pub fn queues(&self) -> $crate::scheduler::user_queues::UserQueuesConfig {
                $crate::scheduler::user_queues::UserQueuesConfig { buffer: self.buffer, limit: self.limit }
            }
        }
    };
}
pub(super) use user_queues_config;

impl UserQueuesConfig {
    /// The size of one user's queue.
    ///
    /// # Errors
    /// If a value cannot be.
    pub fn resolve(&self, link: &LinkFacts) -> Result<Limit, FieldError> {
        check_wait(self.limit)?;
        Ok(self.buffer.resolve(link)?.divided(link.users.max(1)))
    }
}

/// Refuses a limit on the waiting time within which no packet could be sent.
pub(super) fn check_wait(limit: Option<Duration>) -> Result<(), FieldError> {
    match limit {
        Some(limit) if limit.is_zero() => {
            Err(FieldError::new("limit", "must be more than 0 s; leave it out to let packets wait for ever"))
        }
        _ => Ok(()),
    }
}
