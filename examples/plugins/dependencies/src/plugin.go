// New dependencies are asked for, and a changed manifest comes with its lock file.
//
//	config = { allow = ["serde", "@types/*"], require_lock = true }
//
// A dependency is asked for if `allow` has it, or if the task's text names it.
package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	ralph "plugin.local/dependencies/sdk/go"
)

func init() { ralph.Gate(check) }

func main() {}

type config struct {
	// Names; with `*` at the end, how they begin.
	Allow []string `json:"allow"`
	// A changed manifest needs one of its lock files changed too.
	RequireLock bool   `json:"require_lock"`
	MaxDiff     uint64 `json:"max_diff"`
}

// What a kind of manifest is called, its lock files, and what a line that adds
// a dependency looks like.
type manifest struct {
	file  *regexp.Regexp
	locks []string
	line  *regexp.Regexp
}

var manifests = []manifest{
	{
		regexp.MustCompile(`^Cargo\.toml$`), []string{"Cargo.lock"},
		// A version, or a table with one: what [package] has is sorted out below.
		regexp.MustCompile(`^\s*"?([A-Za-z0-9_-]+)"?(?:\.workspace)?\s*=\s*(?:"[\^~=<>* ]*\d[^"]*"|\{.*\b(?:version|path|git|workspace)\b.*\}|true\s*$)`),
	},
	{
		regexp.MustCompile(`^package\.json$`),
		[]string{"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock"},
		regexp.MustCompile(`^\s*"(@?[\w./-]+)"\s*:\s*"(?:[\^~<>=* ]*v?\d[^"]*|\*|latest|(?:npm|git|file|workspace|github|https?):[^"]*)"`),
	},
	{
		regexp.MustCompile(`^go\.mod$`), []string{"go.sum"},
		regexp.MustCompile(`^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/[\w./~-]+)\s+v\d`),
	},
	{
		regexp.MustCompile(`^requirements.*\.(?:txt|in)$`), nil,
		regexp.MustCompile(`^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[=<>!~]=?.*|@.*|;.*|#.*)?$`),
	},
	{
		regexp.MustCompile(`^pyproject\.toml$`), []string{"poetry.lock", "uv.lock", "pdm.lock"},
		regexp.MustCompile(`^\s*"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[=<>!~]=?[^"]*)?",?\s*$`),
	},
}

// Keys of a package itself that look like dependencies.
var own = []string{"version", "rust-version", "edition", "name", "node", "npm", "resolver", "publish", "private"}

func check(it *ralph.Iteration) (ralph.Verdict, error) {
	config := config{RequireLock: true, MaxDiff: 8 << 20}
	if err := ralph.Config(&config); err != nil {
		return ralph.Verdict{}, err
	}
	files := ralph.Files()
	var findings []ralph.Finding
	seen := 0
	for _, file := range files {
		of := kind(file.Path)
		if of == nil || file.Kind == ralph.Deleted {
			continue
		}
		seen++
		if config.RequireLock && !locked(file, of, files) {
			findings = append(findings, ralph.Finding{
				Message: fmt.Sprintf("changed without %s", strings.Join(of.locks, " or ")),
				Path:    file.Path, Rule: "lock-file",
			})
		}
	}
	if seen == 0 {
		return ralph.Verdict{Status: ralph.Skip, Summary: "no manifest of dependencies changed"}, nil
	}
	text, omitted := ralph.Diff(config.MaxDiff)
	if omitted > 0 {
		ralph.Log(ralph.Warn, "%d bytes of the diff weren't looked at", omitted)
	}
	added := dependencies(text)
	for _, one := range added {
		if !slices.ContainsFunc(config.Allow, one.matches) && !asked(it.Task, one.name) {
			findings = append(findings, ralph.Finding{
				Message: fmt.Sprintf("new dependency %s: neither allowed nor named by the task", one.name),
				Path:    one.path, Line: one.line, Rule: "new-dependency",
			})
		}
	}
	verdict := ralph.Verdict{
		Summary:  fmt.Sprintf("%d manifests changed, %d dependencies added", seen, len(added)),
		Findings: findings,
	}
	if len(findings) > 0 {
		verdict.Status = ralph.Fail
	}
	return verdict, nil
}

func kind(file string) *manifest {
	for i := range manifests {
		if manifests[i].file.MatchString(path.Base(file)) {
			return &manifests[i]
		}
	}
	return nil
}

// Its lock file lies beside it or, in a workspace, above.
func locked(file ralph.FileChange, of *manifest, files []ralph.FileChange) bool {
	if len(of.locks) == 0 {
		return true
	}
	for dir := path.Dir(file.Path); ; dir = path.Dir(dir) {
		for _, lock := range of.locks {
			at := path.Join(dir, lock)
			if slices.ContainsFunc(files, func(f ralph.FileChange) bool { return f.Path == at }) {
				return true
			}
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}

type dependency struct {
	name, path string
	line       uint32
}

func (d dependency) matches(pattern string) bool {
	if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(d.name, beginning)
	}
	return d.name == pattern
}

// Those in added lines that no removed line of the same file had: another
// version isn't another dependency.
func dependencies(diff string) []dependency {
	var found []dependency
	removed := map[string]bool{}
	var file string
	var of *manifest
	var line uint32
	inside := false
	for _, row := range strings.Split(diff, "\n") {
		switch {
		case strings.HasPrefix(row, "diff --git "):
			file, of, inside = "", nil, false
		case !inside && strings.HasPrefix(row, "+++ b/"):
			file = strings.TrimSuffix(row[6:], "\t")
			of = kind(file)
		case strings.HasPrefix(row, "@@"):
			inside = true
			line = 0
			if _, rest, ok := strings.Cut(row, "+"); ok {
				fmt.Sscanf(rest, "%d", &line)
			}
		case inside && row != "":
			if of != nil && row[0] != ' ' {
				if m := of.line.FindStringSubmatch(row[1:]); m != nil && !slices.Contains(own, m[1]) {
					if row[0] == '-' {
						removed[file+"\n"+m[1]] = true
					} else if row[0] == '+' {
						found = append(found, dependency{m[1], file, line})
					}
				}
			}
			if row[0] != '-' {
				line++
			}
		}
	}
	return slices.DeleteFunc(found, func(d dependency) bool { return removed[d.path+"\n"+d.name] })
}

func asked(task *ralph.Task, name string) bool {
	if task == nil {
		return false
	}
	text := strings.Join(append(task.Acceptance, task.Title, task.Description), "\n")
	word := regexp.MustCompile(`(^|[^\w@/-])` + regexp.QuoteMeta(name) + `($|[^\w/-])`)
	return word.MatchString(text)
}
