// Refuses work that changes too many files.
package main

import (
	"fmt"

	ralph "plugin.local/@NAME@/sdk/go"
)

func init() { ralph.Gate(check) }

func main() {}

func check(*ralph.Iteration) (ralph.Verdict, error) {
	config := struct {
		MaxFiles uint `json:"max_files"`
	}{20}
	if err := ralph.Config(&config); err != nil {
		return ralph.Verdict{}, err
	}
	files := ralph.Files()
	verdict := ralph.Verdict{
		Summary: fmt.Sprintf("%d of at most %d files changed", len(files), config.MaxFiles),
	}
	for _, file := range files[min(int(config.MaxFiles), len(files)):] {
		verdict.Status = ralph.Fail
		verdict.Findings = append(verdict.Findings, ralph.Finding{
			Message: "one file too many", Path: file.Path, Rule: "max-files",
		})
	}
	return verdict, nil
}
