//! The macro by which `config.rs` declares the options of a connection.

/// Declares `Config`, its defaults and the lists of its options.
///
/// An option is one entry: its documentation, whose first paragraph users read; the field, and its
/// name for users where that differs; type, default and kind with the range.
macro_rules! options {
    ($(
        $(#[doc = $list_about:literal])+
        $list:ident {
            $(
                $(#[doc = $about:literal])+
                $field:ident $(as $name:literal)? : $type:ty = $default:expr,
                $kind:ident $(($($argument:expr),+))?;
            )*
        }
    )+) => {
        /// Configuration of one end.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Config {
            /// This end's port.
            pub local_port: u16,
            /// The other end's port.
            pub remote_port: u16,
            /// Target of the algorithm `tcp-av`; other algorithms ignore it.
            pub av: TcpAvConfig,
            $($($(#[doc = $about])+ pub $field: $type,)*)+
        }

        impl Default for Config {
            fn default() -> Self {
                Self {
                    local_port: 0,
                    remote_port: 0,
                    av: TcpAvConfig::DEFAULT,
                    $($($field: $default,)*)+
                }
            }
        }

        impl Config {
            $(
                $(#[doc = $list_about])+
                pub const $list: &'static [ConfigOption] = &[$(ConfigOption {
                    name: $crate::declare::options!(@name $field $($name)?),
                    about: concat!($($about, "\n"),+),
                    is_same: |one, other| one.$field == other.$field,
                    kind: OptionKind::$kind(
                        OptionField {
                            get: |config| Stored::load(config.$field),
                            set: |config, value| config.$field = Stored::store(value),
                        }
                        $($(, $argument)+)?
                    ),
                },)*];
            )+
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
}
pub(crate) use options;
