//! Names of what a script registers: how they are refused.

use crate::FieldError;

/// Refuses a name that is not given.
///
/// # Errors
/// It is empty.
pub fn check_given(what: &str, name: &str) -> Result<(), FieldError> {
    if name.is_empty() {
        let reason = format!("is missing (the name under which the script has registered its {what})");
        return Err(FieldError::new("name", reason));
    }
    Ok(())
}

/// Refuses a name that is none of those `registered`.
///
/// # Errors
/// It is none of them.
pub fn check_registered(what: &str, name: &str, registered: &[String]) -> Result<(), FieldError> {
    if registered.iter().any(|known| known == name) { Ok(()) } else { Err(unknown(what, name, registered)) }
}

/// What is said of a name that nobody has registered.
pub fn unknown(what: &str, name: &str, registered: &[String]) -> FieldError {
    let known = if registered.is_empty() { String::new() } else { format!(", but {}", registered.join(", ")) };
    FieldError::new("name", format!("\"{name}\" given, and no script has registered a {what} of that name{known}"))
}
