package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rollcall/results"
	"rollcall/results/papers"
)

// The runs in results/replay are what they say, are finished, and are those of the summary beside them.
func TestReplayKept(t *testing.T) {
	paths, err := filepath.Glob("../" + scoreboardFolder + "/*/*/seed-*/" + results.RunFile)
	deeper, errDeeper := filepath.Glob("../" + scoreboardFolder + "/*/*/*/seed-*/" + results.RunFile)
	if err != nil || errDeeper != nil {
		t.Fatal(err, errDeeper)
	}
	var folders []string // of a table or figure in one reading
	for _, path := range slices.Concat(paths, deeper) {
		folder := filepath.Dir(filepath.Dir(filepath.Dir(path)))
		if rel, err := filepath.Rel("../"+scoreboardFolder, folder); err == nil &&
			slices.Contains(slices.Concat(papers.TableNames(), papers.FigureNames()), firstPart(rel)) {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		t.Run(filepath.ToSlash(folder[len("../"+scoreboardFolder)+1:]), func(t *testing.T) {
			must(t, "results", "verify", folder)
			runs, bad, err := results.FindRuns(t.Context(), folder)
			if err != nil || bad != nil {
				t.Fatal(err, bad)
			}
			for _, r := range runs {
				if r.Status() != results.RunComplete {
					t.Errorf("%s: %s, want complete", r.Dir, r.Status())
				}
			}
			kept, err := os.ReadFile(filepath.Join(folder, results.SummaryFile))
			if os.IsNotExist(err) {
				return // a figure
			}
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
			must(t, "results", "summarise", runs[0].Table, copied)
			if contents(t, filepath.Join(copied, results.SummaryFile)) != string(kept) {
				t.Errorf("%s is not the summary of the runs beside it", results.SummaryFile)
			}
		})
	}
}

// firstPart returns the first name of a path.
func firstPart(path string) string {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(path) {
		path = dir
	}
	return path
}
