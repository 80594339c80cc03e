package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"rollcall/bench/many"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
)

// keepCommand adds the command line to the command file of a table, a figure or a tuning, unless it is there: what
// decides its numbers, and not where they are written and by which workers. A sweep of a file has all of that file in
// its command line, and the file beside it.
func (s *pooled) keepCommand(id string) error {
	dir := filepath.Join(s.machine.Out, id)
	words := s.words(func(f *pflag.Flag) bool {
		switch settings.GroupOf(f) {
		case settings.Keeping, settings.Slurm:
			return false
		case settings.Workers:
			return f.Name == "precision"
		}
		return !slices.Contains([]string{"out", "data-dir", "events"}, f.Name)
	})
	for i, word := range words {
		name, value, is := strings.Cut(word, "=")
		if words[i] = files.ShellQuoted(word); is && strings.HasPrefix(name, "--") { // --cell='a: b', and not all of it
			words[i] = name + "=" + files.ShellQuoted(value)
		}
	}
	if err := results.AddCommands(dir, "rollcall "+strings.Join(words, " ")+"\n"); err != nil {
		return err
	}
	x, _ := s.cmd.Context().Value(experimentOf{}).(*experiment)
	if x == nil {
		return nil
	}
	path := filepath.Join(dir, results.ExperimentFile)
	if same, err := filepath.EvalSymlinks(x.path); err == nil && sameFile(same, path) {
		return nil // the file is repeated from where it was kept
	}
	return files.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(x.text)
		return err
	})
}

// absolute returns a value of a flag with the path from the root, if it is that of a file.
func absolute(name, value string) string {
	before, path := "", value
	if name == "split" {
		if before, path = "file:", strings.TrimPrefix(value, "file:"); path == value {
			return value
		}
	} else if results.FileSettings[name] == "" && (name != "rates" || !many.IsRatesFile(value)) {
		return value
	}
	abs, err := filepath.Abs(path)
	if err != nil || path == "" {
		return value
	}
	return before + abs
}

// sameFile reports whether two paths are of one file that is there.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
