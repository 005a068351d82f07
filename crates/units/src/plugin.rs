//! Classes that a script registers: how wrong names are refused, and how a configuration carries the maker of their
//! objects.

use std::fmt;

use crate::FieldError;

/// The maker of the objects that a configuration names, put there before a world is built. It is no part of the
/// configuration's value: two are equal that name the same.
#[derive(Clone)]
pub struct Supplied<T>(Option<T>);

impl<T> Supplied<T> {
    /// Takes what `find` knows under the name.
    ///
    /// # Errors
    /// The finder knows no such name.
    pub fn supply(
        &mut self,
        kind: &str,
        name: &str,
        find: &mut dyn FnMut(&str) -> Option<T>,
    ) -> Result<(), FieldError> {
        self.0 = Some(find(name).ok_or_else(|| unknown(kind, name, &[]))?);
        Ok(())
    }

    /// Returns what was supplied.
    ///
    /// # Panics
    /// Nothing was.
    pub fn get(&self) -> &T {
        self.0.as_ref().expect("a world supplies what its scenario names")
    }
}

impl<T> Default for Supplied<T> {
    fn default() -> Supplied<T> {
        Supplied(None)
    }
}

impl<T> PartialEq for Supplied<T> {
    fn eq(&self, _other: &Supplied<T>) -> bool {
        true
    }
}

impl<T> fmt::Debug for Supplied<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "supplied" } else { "not supplied" })
    }
}

/// Refuses a name that is not given.
///
/// # Errors
/// The name is empty.
pub fn check_given(kind: &str, name: &str) -> Result<(), FieldError> {
    if name.is_empty() {
        let reason = format!("is missing (the name under which the script has registered its {kind})");
        return Err(FieldError::new("name", reason));
    }
    Ok(())
}

/// Refuses a name that is none of those `registered`.
///
/// # Errors
/// The name is none of them.
pub fn check_registered(kind: &str, name: &str, registered: &[String]) -> Result<(), FieldError> {
    if registered.iter().any(|known| known == name) { Ok(()) } else { Err(unknown(kind, name, registered)) }
}

/// Returns the error for a name that nobody has registered.
pub fn unknown(kind: &str, name: &str, registered: &[String]) -> FieldError {
    let known = if registered.is_empty() { String::new() } else { format!(", but {}", registered.join(", ")) };
    FieldError::new("name", format!("\"{name}\" given, and no script has registered a {kind} of that name{known}"))
}
