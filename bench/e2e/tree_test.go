package e2e

import (
	"encoding/csv"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/lock"
	"rollcall/internal/must"
	"rollcall/results"
)

func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	must.OK(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	slices.Sort(names)
	return names
}

// contentsBelow returns the files of a name below a folder, as they are; "": of any name.
func contentsBelow(t *testing.T, dir, name string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, path := range filesBelow(t, dir) {
		if name == "" || filepath.Base(path) == name {
			texts[path] = contents(t, path)
		}
	}
	return texts
}

// copyTree copies a folder in place of another.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	must.OK(t, errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from))))
}

func seedFolders(t *testing.T, out string) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(out, "*", "*", "seed-*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%s: %q, %v, want runs", out, dirs, err)
	}
	return dirs
}

// timelessTree returns the files below a folder, the times and durations in them left out.
func timelessTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	for path, text := range contentsBelow(t, dir, "") {
		name := must.Get(filepath.Rel(dir, path))(t)
		// What waits says so to people alone, and which command lines made the runs is no result of theirs.
		if base := filepath.Base(name); base != lock.File && base != results.CommandFile {
			tree[name] = timelessText(name, text)
		}
	}
	return tree
}

// timelessText returns the text of a file without what may differ between two runs: the times in run.json, and
// elapsed_s in a curve, of which nothing is left if it is none.
func timelessText(name, text string) string {
	switch filepath.Base(name) {
	case results.RunFile:
		return regexp.MustCompile(`"(started|finished)": "[^"]*"`).ReplaceAllString(text, "")
	case results.CurveFile:
		records, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff"))).ReadAll()
		if err != nil || len(records) == 0 || !slices.Contains(records[0], "elapsed_s") {
			return ""
		}
		at := slices.Index(records[0], "elapsed_s")
		var b strings.Builder
		for _, r := range records {
			b.WriteString(strings.Join(slices.Delete(r, at, at+1), ",") + "\n")
		}
		return b.String()
	}
	return text
}

// timeless returns the one curve of runs below a folder without its times.
func timeless(t *testing.T, out string) string {
	t.Helper()
	return timelessText(results.CurveFile, contents(t, only(t, out, curvePath)))
}

// sameTree compares what two commands left.
func sameTree(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %s:\n%q\nwant\n%q", what, name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is left over", what, name)
		}
	}
	if len(want) == 0 {
		t.Errorf("%s: nothing to compare", what)
	}
}

// sortedLines sorts the rows of a summary: two commands with other lists have other orders.
func sortedLines(tree map[string]string) map[string]string {
	tree = maps.Clone(tree)
	for name, text := range tree {
		if filepath.Base(name) == results.SummaryFile {
			tree[name] = strings.Join(slices.Sorted(strings.Lines(text)), "")
		}
	}
	return tree
}

// withoutTemps drops the temporary files of killed processes, which later ones sweep.
func withoutTemps(tree map[string]string) map[string]string {
	maps.DeleteFunc(tree, func(name, _ string) bool { return strings.HasPrefix(filepath.Base(name), ".rollcall-") })
	return tree
}
