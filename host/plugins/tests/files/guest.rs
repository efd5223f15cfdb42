//! A gate that opens a file below the first directory it was given.

use ralph_plugins::Grants;

use crate::common::Gate;

/// What it opens, and what it does with it.
#[derive(Clone, Copy)]
pub struct Opens<'a> {
    pub path: &'a str,
    /// Opens it to write, and creates it.
    pub create: bool,
    /// So many times, each time anew.
    pub times: u32,
    /// Reads the first byte, or writes `W` there.
    pub touch: bool,
}

/// `error-code` of `wasi:filesystem`, in its order.
const ERRORS: [&str; 37] = [
    "access",
    "would-block",
    "already",
    "bad-descriptor",
    "busy",
    "deadlock",
    "quota",
    "exist",
    "file-too-large",
    "illegal-byte-sequence",
    "in-progress",
    "interrupted",
    "invalid",
    "io",
    "is-directory",
    "loop",
    "too-many-links",
    "message-size",
    "name-too-long",
    "no-device",
    "no-entry",
    "no-lock",
    "insufficient-memory",
    "insufficient-space",
    "not-directory",
    "not-empty",
    "not-recoverable",
    "unsupported",
    "no-tty",
    "no-such-device",
    "overflow",
    "not-permitted",
    "pipe",
    "read-only",
    "invalid-seek",
    "text-file-busy",
    "cross-device",
];

const IMPORTS: &str = r#"(import "wasi:filesystem/types@0.2.0" (instance $types-fs
     (export "descriptor" (type $descriptor (sub resource)))
     (type $error-code' (enum {errors}))
     (export "error-code" (type $error-code (eq $error-code')))
     (type $path-flags' (flags "symlink-follow"))
     (export "path-flags" (type $path-flags (eq $path-flags')))
     (type $open-flags' (flags "create" "directory" "exclusive" "truncate"))
     (export "open-flags" (type $open-flags (eq $open-flags')))
     (type $descriptor-flags' (flags "read" "write" "file-integrity-sync"
       "data-integrity-sync" "requested-write-sync" "mutate-directory"))
     (export "descriptor-flags" (type $descriptor-flags (eq $descriptor-flags')))
     (export "[method]descriptor.open-at" (func
       (param "self" (borrow $descriptor)) (param "path-flags" $path-flags)
       (param "path" string) (param "open-flags" $open-flags)
       (param "flags" $descriptor-flags)
       (result (result (own $descriptor) (error $error-code)))))
     (export "[method]descriptor.read" (func
       (param "self" (borrow $descriptor)) (param "length" u64) (param "offset" u64)
       (result (result (tuple (list u8) bool) (error $error-code)))))
     (export "[method]descriptor.write" (func
       (param "self" (borrow $descriptor)) (param "buffer" (list u8)) (param "offset" u64)
       (result (result u64 (error $error-code)))))))
   (alias export $types-fs "descriptor" (type $descriptor))
   (import "wasi:filesystem/preopens@0.2.0" (instance $preopens
     (alias outer 1 $descriptor (type $descriptor'))
     (export "descriptor" (type $descriptor (eq $descriptor')))
     (export "get-directories"
       (func (result (list (tuple (own $descriptor) string)))))))
   (alias export $types-fs "[method]descriptor.open-at" (func $open))
   (alias export $types-fs "[method]descriptor.read" (func $read))
   (alias export $types-fs "[method]descriptor.write" (func $write))
   (alias export $preopens "get-directories" (func $dirs))
   (core func $open (canon lower (func $open) (memory $memory) (realloc (core func $realloc))))
   (core func $read (canon lower (func $read) (memory $memory) (realloc (core func $realloc))))
   (core func $write (canon lower (func $write) (memory $memory) (realloc (core func $realloc))))
   (core func $dirs (canon lower (func $dirs) (memory $memory) (realloc (core func $realloc))))
   (core func $drop (canon resource.drop $descriptor))"#;

const WITH: &str = r#"(with "fs" (instance
     (export "open" (func $open)) (export "read" (func $read)) (export "write" (func $write))
     (export "dirs" (func $dirs)) (export "drop" (func $drop))))"#;

const FIELDS: &str = r#"(import "fs" "open" (func $open (param i32 i32 i32 i32 i32 i32 i32)))
   (import "fs" "read" (func $read (param i32 i64 i64 i32)))
   (import "fs" "write" (func $write (param i32 i32 i32 i64 i32)))
   (import "fs" "dirs" (func $dirs (param i32)))
   (import "fs" "drop" (func $drop (param i32)))
   (data (i32.const 96) "W")
   (data (i32.const 256) {path})"#;

impl<'a> Opens<'a> {
    /// To read, once.
    pub fn once(path: &'a str) -> Opens<'a> {
        Opens {
            path,
            create: false,
            times: 1,
            touch: false,
        }
    }

    /// Passes if the last opening worked, skips if there is no directory, fails if it was
    /// refused. The summary is the guest path of the directory; with `touch` there is a finding,
    /// whose line is how often opening worked, and a byte `O` crashes it.
    pub fn bytes(self) -> Vec<u8> {
        let imports = IMPORTS.replace(
            "{errors}",
            &ERRORS.map(|name| format!("{name:?}")).join(" "),
        );
        let touch = if self.create {
            "(call $write (local.get $fd) (i32.const 96) (i32.const 1) (i64.const 0) (i32.const 160))"
        } else {
            "(call $read (local.get $fd) (i64.const 1) (i64.const 0) (i32.const 160))
             (if (i32.eqz (i32.load8_u (i32.const 160))) (then
               (if (i32.load (i32.const 168)) (then
                 (if (i32.eq (i32.load8_u (i32.load (i32.const 164))) (i32.const 79))
                   (then unreachable))))))"
        };
        let finding = "(i32.store (i32.const 32) (i32.const 512)) (i32.store (i32.const 36) (i32.const 1))
          (i32.store (i32.const 512) (i32.const 64)) (i32.store (i32.const 516) (i32.const 4))
          (i32.store8 (i32.const 532) (i32.const 1)) (i32.store (i32.const 536) (local.get $opened))";
        let (touch, finding) = if self.touch {
            (touch, finding)
        } else {
            ("", "")
        };
        let body = format!(
            r"(local $list i32) (local $fd i32) (local $opened i32) (local $left i32)
              (call $dirs (i32.const 128))
              (if (i32.eqz (i32.load (i32.const 132))) (then
                (i32.store8 (i32.const 20) (i32.const 2))
                (return (i32.const 16))))
              (local.set $list (i32.load (i32.const 128)))
              (i32.store (i32.const 24) (i32.load offset=4 (local.get $list)))
              (i32.store (i32.const 28) (i32.load offset=8 (local.get $list)))
              (local.set $left (i32.const {times}))
              (loop $next
                (call $open (i32.load (local.get $list)) (i32.const 1)
                  (i32.const 256) (i32.const {len}) (i32.const {open}) (i32.const {flags})
                  (i32.const 144))
                (if (i32.eqz (i32.load8_u (i32.const 144))) (then
                  (local.set $fd (i32.load (i32.const 148)))
                  (local.set $opened (i32.add (local.get $opened) (i32.const 1)))
                  {touch}
                  (call $drop (local.get $fd))))
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (br_if $next (local.get $left)))
              (i32.store8 (i32.const 20) (i32.load8_u (i32.const 144)))
              {finding}
              (i32.const 16)",
            times = self.times,
            len = self.path.len(),
            open = u8::from(self.create),
            flags = if self.create { 3 } else { 1 },
        );
        Gate {
            imports: &imports,
            with: WITH,
            fields: &FIELDS.replace("{path}", &format!("{:?}", self.path)),
            body: &body,
            ..Gate::default()
        }
        .bytes()
    }
}

pub fn reads(dir: &str) -> Grants {
    Grants {
        read: vec![dir.into()],
        ..Grants::default()
    }
}

pub fn writes(dir: &str) -> Grants {
    Grants {
        write: vec![dir.into()],
        ..Grants::default()
    }
}
