// Reads a Dockerfile with BuildKit's own parser, like `docker build`: checks syntax and flags, runs the linter on
// single instructions, and checks that each stage that another stage copies from exists.
package main

import (
	"fmt"
	"os"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

func main() {
	if found := check(os.Args[1]); len(found) > 0 {
		for _, line := range found {
			fmt.Fprintln(os.Stderr, line)
		}
		os.Exit(1)
	}
}

func check(path string) (found []string) {
	file, err := os.Open(path)
	if err != nil {
		return []string{err.Error()}
	}
	defer file.Close()
	tree, err := parser.Parse(file)
	if err != nil {
		return []string{err.Error()}
	}
	for _, warning := range tree.Warnings {
		found = append(found, warning.Short)
	}
	warn := func(rule, description, url, message string, at []parser.Range) {
		found = append(found, fmt.Sprintf("%s: %s", rule, message))
	}
	stages, _, err := instructions.Parse(tree.AST, linter.New(&linter.Config{Warn: warn}))
	if err != nil {
		return append(found, err.Error())
	}
	for i, stage := range stages {
		for _, command := range stage.Commands {
			copied, ok := command.(*instructions.CopyCommand)
			if !ok || copied.From == "" {
				continue
			}
			if _, there := instructions.HasStage(stages[:i], copied.From); !there {
				found = append(found, fmt.Sprintf("COPY --from=%s: no such stage", copied.From))
			}
		}
	}
	return found
}
