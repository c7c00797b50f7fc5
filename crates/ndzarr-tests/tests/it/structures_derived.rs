//! Structures of Rust as elements, by the derive macro.

use ndarray::array;
use ndzarr::{AnyArray, Array, MemoryStore, Structured, s};

use crate::structures::{Mixed, Tested, case};

/// The same by derive, with another order of the fields, and every form that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Structured)]
pub(crate) struct Derived {
    /// Commas inside of angle brackets do not end a field.
    #[allow(dead_code, reason = "an attribute that is not ours")]
    pub(crate) c: Pair<f32, { 1 + 1 }>,
    #[structured(name = "a")]
    r#type: i16,
    pub b: [u8; 2],
}

type Pair<T, const N: usize> = [T; N];

#[test]
fn a_derived_struct_is_what_the_macro_makes() -> Tested {
    let by_macro = case::<Mixed>("zarr2/zp2-dtype-struct-mixed-endian")?.read(..)?;
    let derived = case::<Derived>("zarr2/zp2-dtype-struct-mixed-endian")?.read(..)?;
    let of = |derived: &Derived| Mixed {
        a: derived.r#type,
        b: derived.b,
        c: derived.c,
    };
    assert_eq!(derived.mapv(|derived| of(&derived)), by_macro);
    assert!(by_macro.iter().any(|mixed| mixed.a != 0));

    /// In a module that has ndzarr under another name.
    mod elsewhere {
        use ndzarr as nd;

        #[derive(Clone, Copy, Debug, PartialEq, nd::Structured)]
        #[structured(crate = nd)]
        pub(super) struct Point {
            #[structured(name = "x [mm]")]
            pub(super) x: f32,
            pub(super) y: f32,
        }
    }
    let a = Array::<elsewhere::Point>::builder([2]).create((MemoryStore::new(), "a"))?;
    a.write([1..2], &array![elsewhere::Point { x: 1.5, y: 2.5 }])?;
    assert_eq!(
        AnyArray::from(a)
            .read_field::<f32, _>("x [mm]", ..)?
            .into_raw_vec_and_offset()
            .0,
        [0.0, 1.5]
    );
    Ok(())
}

/// Macros pass parts on as groups without delimiters.
#[test]
fn macros_may_write_a_derived_struct() -> Tested {
    macro_rules! made {
        ($(#[$more:meta])* $vis:vis struct $name:ident { $($of:vis $field:ident as $text:literal: $type:ty,)* }) => {
            #[derive(Clone, Copy, Debug, PartialEq, Structured)]
            $(#[$more])*
            $vis struct $name {
                $(
                    #[structured(name = $text,)]
                    $of $field: $type,
                )*
            }
        };
    }
    made!(
        #[structured(crate = ::ndzarr)]
        pub(crate) struct Public {
            pub(crate) n as "of a macro": u8,
        }
    );
    made!(
        struct Private {
            n as "of a macro": [u8; 2],
            m as "another": Public,
        }
    );
    let a = Array::<Public>::builder([1]).create((MemoryStore::new(), "a"))?;
    a.write(s![..], &array![Public { n: 7 }])?;
    assert_eq!(a.read(s![..])?, array![Public { n: 7 }]);
    assert!(a.data_type().to_string().contains("of a macro"));
    let a = Array::<Private>::builder([1]).create((MemoryStore::new(), "a"))?;
    assert_eq!(
        a.read(s![..])?,
        array![Private {
            n: [0, 0],
            m: Public { n: 0 }
        }]
    );
    Ok(())
}
