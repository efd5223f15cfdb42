// Package ralph is what a gate written in Go needs of ralph: the types of
// `wit/`, and the functions by which a gate asks its host. Standard library
// only; made for GOOS=wasip1 GOARCH=wasm with -buildmode=c-shared.
//
// A gate says what it is in an init function:
//
//	func init() { ralph.Gate(check) }
//	func main() {} // never called
//
// What doesn't work in the sandbox, and how that shows: time.Now stands still
// and math/rand draws the same numbers in every call, unless `clock` and
// `random` are granted; os.Open fails outside of granted directories; exec,
// net and other processes fail with an error; a panic is a crash of that call.
package ralph

import (
	"encoding/json"
	"fmt"
	"os"
)

// Role is on whose behalf an agent runs.
type Role uint8

// Roles.
const (
	Work Role = iota
	Judge
	Review
)

// Task is one entry of the task file.
type Task struct {
	ID, Title, Description string
	Acceptance             []string
	// Nil: after those which have one.
	Priority  *int32
	DependsOn []string
}

// Iteration is where in the loop a call happens.
type Iteration struct {
	RunID           string
	Number, Attempt uint32
	Agent           string
	Role            Role
	// The project's root, as far as directories are granted.
	Workspace, Scratch string
	// Nil outside of a run.
	Task *Task
}

// ChangeKind is how a path changed.
type ChangeKind uint8

// Kinds of change.
const (
	Added ChangeKind = iota
	Modified
	Deleted
	Renamed
)

// FileChange is one path that differs from what it was when the iteration began.
type FileChange struct {
	Path string
	Kind ChangeKind
	// Both 0 for a binary file.
	AddedLines, DeletedLines uint32
}

// Status is what a gate rules.
type Status uint8

// Rulings.
const (
	Pass Status = iota
	Fail
	// Skip: nothing to check here; counts as passed.
	Skip
)

// Finding is one remark. Empty Path and Rule and a Line of 0 stand for none.
type Finding struct {
	Message, Path string
	Line          uint32
	Rule          string
}

// Verdict is a ruling with its reasons.
type Verdict struct {
	Status Status
	// One line for people. On Fail it goes into the next prompt.
	Summary  string
	Findings []Finding
}

// ConfigError says that the plugin's configuration can't be used: which key, and why.
type ConfigError string

func (e ConfigError) Error() string { return string(e) }

// DeniedError says what was not granted.
type DeniedError string

func (e DeniedError) Error() string { return string(e) }

// Level is how much a log line matters.
type Level int32

// Levels.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

// Log writes a line to ralph's log.
func Log(level Level, format string, args ...any) {
	ask(func() { logLine(int32(level), fmt.Sprintf(format, args...)) })
}

// Config reads the plugin's configuration into a struct. A key that isn't in
// it is a ConfigError.
func Config(into any) error {
	decoder := json.NewDecoder(stringReader(rawConfig()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return ConfigError(err.Error())
	}
	return nil
}

// ReadFile reads a file of the project below a granted directory.
func ReadFile(it *Iteration, path string) ([]byte, error) {
	return os.ReadFile(it.Workspace + "/" + path)
}

// Command is a program for the host to run in the project's root. No shell.
type Command struct {
	Program string
	Args    []string
	Env     [][2]string
	// Nil: empty.
	Stdin []byte
	// 0: what the gate's timeout says.
	TimeoutMs uint64
}

// Output is how a program ended.
type Output struct {
	// -1 if a signal ended it or the time was over.
	Code           int32
	TimedOut       bool
	Stdout, Stderr []byte
	// Either lost its beginning.
	Truncated bool
}

// NotFoundError: there is no such program.
type NotFoundError string

func (e NotFoundError) Error() string { return string(e) }
