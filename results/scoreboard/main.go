// Scoreboard says of every table and figure of the papers whether our results agree with it: it writes the blocks of
// the pages of docs/reproduction, and of README.md, from the results in results/replay.
//
//	go run ./results/scoreboard [RESULTS [PAGE…]]
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rollcall/internal/files"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run writes the pages, and returns the exit status.
func run(args []string, stderr io.Writer) int {
	from, pages := "results/replay", []string(nil)
	if len(args) > 0 {
		from, pages = args[0], args[1:]
	}
	if len(pages) == 0 {
		pages, _ = filepath.Glob("docs/reproduction/*.md") // the pattern is well formed
		pages = append(pages, "README.md")
	}
	if err := write(context.Background(), from, pages, stderr); err != nil {
		fmt.Fprintln(stderr, "scoreboard:", err)
		return 1
	}
	return 0
}

// write fills pages with the results of a folder. If a page is wrong, none is written.
func write(ctx context.Context, from string, pages []string, stderr io.Writer) error {
	rows, notes, err := Read(ctx, from)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(stderr, "scoreboard:", note)
	}
	filled := make([]string, len(pages))
	for i, path := range pages {
		text, err := os.ReadFile(path)
		if err == nil {
			filled[i], err = fillPage(string(text), rows)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for i, path := range pages {
		err := files.WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, filled[i])
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
