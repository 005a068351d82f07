//! Code from elsewhere that is there, by name.

/// The names that scripts have registered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registered {
    /// Names of schedulers.
    pub schedulers: Vec<String>,
    /// Names of congestion controllers.
    pub controllers: Vec<String>,
    /// Names of traffic sources.
    pub sources: Vec<String>,
}
