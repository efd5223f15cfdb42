;; A gate, written by hand. The tests fill in:
;;   IMPORTS   what the component imports beside the types, and lowers
;;   WITH      what the core module is given of it
;;   FIELDS    imports and further fields of the core module
;;   PAGES     its memory at the start
;;   BODY      what `check` does; it has to leave the address of a result
;;
;; At 16 there is a healthy result: ok(verdict { pass, "fine", [] }).
(component
  (import "ralph:plugin/types@0.1.0" (instance $types
    (type $task' (record
      (field "id" string)
      (field "title" string)
      (field "description" string)
      (field "acceptance" (list string))
      (field "priority" (option s32))
      (field "depends-on" (list string))))
    (export "task" (type $task (eq $task')))
    (type $role' (enum "work" "judge" "review"))
    (export "role" (type $role (eq $role')))
    (type $iteration' (record
      (field "run-id" string)
      (field "number" u32)
      (field "attempt" u32)
      (field "agent" string)
      (field "role" $role)
      (field "workspace" string)
      (field "scratch" string)
      (field "task" (option $task))))
    (export "iteration" (type $iteration (eq $iteration')))
    (type $status' (enum "pass" "fail" "skip"))
    (export "status" (type $status (eq $status')))
    (type $finding' (record
      (field "message" string)
      (field "path" (option string))
      (field "line" (option u32))
      (field "rule" (option string))))
    (export "finding" (type $finding (eq $finding')))
    (type $verdict' (record
      (field "status" $status)
      (field "summary" string)
      (field "findings" (list $finding))))
    (export "verdict" (type $verdict (eq $verdict')))
    (type $plugin-error' (variant
      (case "invalid-config" string)
      (case "denied" string)
      (case "failed" string)))
    (export "plugin-error" (type $plugin-error (eq $plugin-error')))
  ))
  (alias export $types "iteration" (type $iteration))
  (alias export $types "verdict" (type $verdict))
  (alias export $types "plugin-error" (type $plugin-error))

  ;; Memory first, in a module of its own, so that imports can be lowered with it.
  (core module $libc
    (memory (export "memory") {PAGES})
    (global $next (mut i32) (i32.const 4096))
    ;; Takes from one end and never gives back, which is enough for one call.
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (i32.and
        (i32.add (global.get $next) (i32.sub (local.get 2) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get 2))))
      (global.set $next (i32.add (local.get $at) (local.get 3)))
      (if (i32.gt_u (global.get $next) (i32.mul (memory.size) (i32.const 65536)))
        (then (drop (memory.grow (i32.add (i32.const 1)
          (i32.div_u (local.get 3) (i32.const 65536)))))))
      (local.get $at))
  )
  (core instance $libc (instantiate $libc))
  (alias core export $libc "memory" (core memory $memory))
  (alias core export $libc "cabi_realloc" (core func $realloc))

  {IMPORTS}

  (core module $gate
    (import "libc" "memory" (memory 1))
    {FIELDS}
    (data (i32.const 16) "\00\00\00\00" "\00\00\00\00" "\40\00\00\00" "\04\00\00\00" "\40\00\00\00" "\00\00\00\00")
    (data (i32.const 64) "fine")
    (func $check (export "check") (param $it i32) (result i32)
      {BODY})
  )
  (core instance $gate (instantiate $gate
    (with "libc" (instance $libc))
    {WITH}
  ))
  (func $check
    (param "it" $iteration)
    (result (result $verdict (error $plugin-error)))
    (canon lift (core func $gate "check") (memory $memory) (realloc (core func $realloc))))
  (instance $exported (export "check" (func $check)))
  (export "ralph:plugin/gate@0.1.0" (instance $exported))
)
