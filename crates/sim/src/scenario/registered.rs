//! Code from elsewhere that is there, by name.

/// The names that scripts have registered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registered {
    /// Of schedulers.
    pub schedulers: Vec<String>,
    /// Of congestion controllers.
    pub controllers: Vec<String>,
    /// Of traffic sources.
    pub sources: Vec<String>,
}
