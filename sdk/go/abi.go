package ralph

// The canonical ABI of `ralph:plugin@0.2.1`, by hand: on wasm32 a record lies
// in memory as a C struct does. What the host puts into this memory it asks
// cabi_realloc for; while it does so the guest may call nothing, and Go's
// collector reads the clock. So the collector rests whenever the host may come.

import (
	"errors"
	"io"
	"runtime/debug"
	"strings"
	"unsafe"
)

var gate func(*Iteration) (Verdict, error)

// Gate makes the function this component's gate.
func Gate(check func(*Iteration) (Verdict, error)) { gate = check }

// Allocations before Go's runtime is ready: the adapter's, while it starts.
var (
	early     [256 << 10]byte
	earlyUsed uintptr
	ready     bool
	// What the host was given must not be collected. Instances live for one call.
	kept [][]uint64
)

func init() {
	debug.SetGCPercent(-1)
	ready = true
}

//go:wasmexport cabi_realloc
func realloc(old, oldSize, align, size uint32) uint32 {
	if size == 0 {
		return align
	}
	if !ready {
		at := (earlyUsed + 15) &^ 15
		if at+uintptr(size) > uintptr(len(early)) {
			return 0
		}
		earlyUsed = at + uintptr(size)
		return uint32(uintptr(unsafe.Pointer(&early[at])))
	}
	words := make([]uint64, (size+7)/8)
	kept = append(kept, words)
	made := unsafe.Pointer(unsafe.SliceData(words))
	if old != 0 && oldSize > 0 {
		copy(unsafe.Slice((*byte)(made), size), unsafe.Slice((*byte)(at(old)), min(oldSize, size)))
	}
	return uint32(uintptr(made))
}

// ask calls the host.
func ask(call func()) {
	debug.SetGCPercent(-1)
	call()
	debug.SetGCPercent(100)
}

//go:wasmexport ralph:plugin/gate@0.2.1#check
func export(it uint32) uint32 {
	debug.SetGCPercent(100)
	iteration := readIteration(it)
	var verdict Verdict
	err := errors.New("no gate was set: call ralph.Gate in an init function")
	if gate != nil {
		verdict, err = gate(&iteration)
	}
	debug.SetGCPercent(-1)
	return uint32(uintptr(writeAnswer(verdict, err)))
}

//go:wasmimport ralph:plugin/log@0.2.1 log
func logLine(level int32, message string)

//go:wasmimport ralph:plugin/config@0.2.1 get
func configGet(result unsafe.Pointer)

//go:wasmimport ralph:plugin/changes@0.2.1 files
func changesFiles(result unsafe.Pointer)

//go:wasmimport ralph:plugin/changes@0.2.1 diff
func changesDiff(max uint64, result unsafe.Pointer)

//go:wasmimport ralph:plugin/process@0.2.1 run
func processRun(program string, args unsafe.Pointer, argsLen uint32, env unsafe.Pointer, envLen uint32,
	hasStdin uint32, stdin unsafe.Pointer, stdinLen uint32, hasTimeout uint32, timeout uint64, result unsafe.Pointer)

func rawConfig() string {
	var result [2]uint32
	ask(func() { configGet(unsafe.Pointer(&result)) })
	return text(result[0], result[1])
}

func stringReader(s string) io.Reader { return strings.NewReader(s) }

// Files lists what changed, sorted by path. Needs the capability `changes`.
func Files() []FileChange {
	var result [2]uint32
	ask(func() { changesFiles(unsafe.Pointer(&result)) })
	files := make([]FileChange, 0, result[1])
	for i := range result[1] {
		m := mem(result[0] + i*20)
		files = append(files, FileChange{m.text(0), ChangeKind(m.byte(8)), m.word(12), m.word(16)})
	}
	return files
}

// Diff is a unified diff of at most max bytes, and how many bytes of the whole
// are missing from it. Needs the capability `changes`.
func Diff(max uint64) (string, uint64) {
	var result [2]uint64
	ask(func() { changesDiff(max, unsafe.Pointer(&result)) })
	m := mem(uint32(uintptr(unsafe.Pointer(&result))))
	return m.text(0), result[1]
}

// Run has the host run a program. Needs the capability `process`.
func Run(c Command) (Output, error) {
	args := make([]string32, len(c.Args))
	for i, arg := range c.Args {
		args[i] = lower(arg)
	}
	env := make([][2]string32, len(c.Env))
	for i, pair := range c.Env {
		env[i] = [2]string32{lower(pair[0]), lower(pair[1])}
	}
	var result [10]uint32
	flag := func(is bool) uint32 {
		if is {
			return 1
		}
		return 0
	}
	ask(func() {
		processRun(c.Program, unsafe.Pointer(unsafe.SliceData(args)), uint32(len(args)),
			unsafe.Pointer(unsafe.SliceData(env)), uint32(len(env)),
			flag(c.Stdin != nil), unsafe.Pointer(unsafe.SliceData(c.Stdin)), uint32(len(c.Stdin)),
			flag(c.TimeoutMs > 0), c.TimeoutMs, unsafe.Pointer(&result))
	})
	m := mem(uint32(uintptr(unsafe.Pointer(&result))))
	if m.byte(0) == 1 {
		why := m.text(8)
		switch m.byte(4) {
		case 0:
			return Output{}, DeniedError(why)
		case 1:
			return Output{}, NotFoundError(why)
		}
		return Output{}, errors.New(why)
	}
	out := Output{-1, m.byte(12) == 1, []byte(m.text(16)), []byte(m.text(24)), m.byte(32) == 1}
	if m.byte(4) == 1 {
		out.Code = int32(m.word(8))
	}
	return out, nil
}

// mem is an address in this memory.
type mem uint32

func at(address uint32) unsafe.Pointer { return unsafe.Pointer(uintptr(address)) }

func (m mem) byte(offset uint32) byte   { return *(*byte)(at(uint32(m) + offset)) }
func (m mem) word(offset uint32) uint32 { return *(*uint32)(at(uint32(m) + offset)) }
func (m mem) text(offset uint32) string { return text(m.word(offset), m.word(offset+4)) }
func (m mem) texts(offset uint32) []string {
	list := make([]string, m.word(offset+4))
	for i := range list {
		list[i] = mem(m.word(offset) + uint32(i)*8).text(0)
	}
	return list
}

func text(address, length uint32) string {
	if length == 0 {
		return ""
	}
	return strings.Clone(unsafe.String((*byte)(at(address)), length))
}

func readIteration(address uint32) Iteration {
	m := mem(address)
	it := Iteration{
		RunID: m.text(0), Number: m.word(8), Attempt: m.word(12), Agent: m.text(16),
		Role: Role(m.byte(24)), Workspace: m.text(28), Scratch: m.text(36),
	}
	if m.byte(44) == 1 {
		t := mem(address + 48)
		it.Task = &Task{
			ID: t.text(0), Title: t.text(8), Description: t.text(16),
			Acceptance: t.texts(24), DependsOn: t.texts(40),
		}
		if t.byte(32) == 1 {
			priority := int32(t.word(36))
			it.Task.Priority = &priority
		}
	}
	return it
}

// string32 is a string as the host reads it.
type string32 struct{ address, length uint32 }

func lower(s string) string32 {
	if s == "" {
		return string32{1, 0}
	}
	// Its own copy, which lives until the instance is gone.
	address := realloc(0, 0, 1, uint32(len(s)))
	copy(unsafe.Slice((*byte)(at(address)), len(s)), s)
	return string32{address, uint32(len(s))}
}

type option32 struct {
	is   uint32
	text string32
}

type finding32 struct {
	message string32
	path    option32
	hasLine uint32
	line    uint32
	rule    option32
}

func some(s string) option32 {
	if s == "" {
		return option32{}
	}
	return option32{1, lower(s)}
}

// The last answer, for the host to read.
var answer struct {
	words    [6]uint32
	findings []finding32
}

func writeAnswer(v Verdict, err error) unsafe.Pointer {
	words := &answer.words
	if err != nil {
		kind := uint32(2)
		var config ConfigError
		var denied DeniedError
		switch {
		case errors.As(err, &config):
			kind = 0
		case errors.As(err, &denied):
			kind = 1
		}
		s := lower(err.Error())
		*words = [6]uint32{1, kind, s.address, s.length}
		return unsafe.Pointer(words)
	}
	for _, f := range v.Findings {
		line := finding32{message: lower(f.Message), path: some(f.Path), line: f.Line, rule: some(f.Rule)}
		if f.Line > 0 {
			line.hasLine = 1
		}
		answer.findings = append(answer.findings, line)
	}
	s := lower(v.Summary)
	list := uint32(uintptr(unsafe.Pointer(unsafe.SliceData(answer.findings))))
	*words = [6]uint32{0, uint32(v.Status), s.address, s.length, list, uint32(len(answer.findings))}
	return unsafe.Pointer(words)
}
