//! One line per algorithm: the registries from which scenarios, lists, documentation and tests are made.

/// Declares the kinds of an extension point, one line each: `"name" => Variant(Config) in module`.
///
/// The macro makes an enum that a scenario selects with `kind = "name"`, whose other keys are the fields of `Config` (a
/// struct with `Deserialize`, `Serialize`, `JsonSchema` and `deny_unknown_fields`). Every `Config` implements the trait
/// after `dyn`, and `entry` gives that of the kind that was chosen: no `match` over the kinds stands elsewhere. `in
/// module` declares the kind's file, and makes `Config` the enum's by `From`; without it `Config` is in scope. A line
/// that begins with `#[default]` is the kind of a scenario that chooses none. The names, in order, are in `ALL`;
/// summaries and options are the documentation comments, which the JSON schema carries.
#[macro_export]
macro_rules! registry {
    ($(#[$meta:meta])* pub enum $name:ident: dyn $kind:ident {
        $($(#[$default:ident])? $key:literal => $variant:ident($config:ident) $(in $module:ident)?),+ $(,)?
    }) => {
        $($(
            pub mod $module;
            pub use $module::$config;
        )?)+

        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[derive($crate::__private::serde::Serialize, $crate::__private::serde::Deserialize)]
        #[derive($crate::__private::schemars::JsonSchema)]
        #[serde(tag = "kind", crate = "units::__private::serde")]
        #[schemars(crate = "units::__private::schemars")]
        pub enum $name {
            $(
                #[allow(missing_docs)] // the configuration's own comment is the summary, here and in the schema
                #[serde(rename = $key)]
                #[schemars(title = $key)]
                $variant($config),
            )+
        }

        impl $name {
            /// The names that `kind` accepts, in the order of the documentation.
            pub const ALL: &'static [&'static str] = &[$($key),+];

            /// The name of this choice.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $key),+ }
            }

            /// The chosen kind.
            pub fn entry(&self) -> &dyn $kind {
                match self { $(Self::$variant(config) => config),+ }
            }

            /// Returns the entry's configuration, to be changed.
            pub fn entry_mut(&mut self) -> &mut dyn $kind {
                match self { $(Self::$variant(config) => config),+ }
            }
        }

        $($( $crate::registry! { @$default $name::$variant($config) } )?)+
        $($( $crate::registry! { @from $module $name::$variant($config) } )?)+
    };
    (@from $module:ident $name:ident::$variant:ident($config:ident)) => {
        impl From<$config> for $name {
            fn from(config: $config) -> $name {
                $name::$variant(config)
            }
        }
    };
    (@default $name:ident::$variant:ident($config:ident)) => {
        impl Default for $name {
            fn default() -> $name {
                $name::$variant($config::default())
            }
        }
    };
}
