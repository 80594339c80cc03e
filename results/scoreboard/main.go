// Scoreboard says of every table and figure of the papers whether our results agree with it: it writes the blocks of
// the pages of docs/reproduction from the results in results/replay.
//
//	go run ./results/scoreboard [RESULTS [PAGES]]
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
	folders := []string{"results/replay", "docs/reproduction"}
	if len(args) > len(folders) {
		fmt.Fprintln(stderr, "scoreboard: want a folder of results and one of pages at most")
		return 2
	}
	copy(folders, args)
	if err := write(context.Background(), folders[0], folders[1], stderr); err != nil {
		fmt.Fprintln(stderr, "scoreboard:", err)
		return 1
	}
	return 0
}

// write fills the pages of a folder with the results of another. If a page is wrong, none is written.
func write(ctx context.Context, from, to string, stderr io.Writer) error {
	rows, notes, err := Read(ctx, from)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(stderr, "scoreboard:", note)
	}
	paths, err := filepath.Glob(filepath.Join(to, "*.md"))
	if err != nil {
		return err
	}
	if paths == nil {
		return fmt.Errorf("%s: no page, want *.md", to)
	}
	pages := make([]string, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err == nil {
			pages[i], err = fillPage(string(text), rows)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for i, path := range paths {
		err := files.WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, pages[i])
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
