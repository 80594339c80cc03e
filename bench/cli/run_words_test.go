package cli

import (
	"path/filepath"
	"slices"
	"testing"

	"rollcall/algos"
	"rollcall/bench/many"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// runnable returns the command `run` and its flags after it has read the words of a run, without making it.
func runnable(t *testing.T, words []string) (given settings.Given, id string) {
	t.Helper()
	cmd, rest, err := Root().Find(words[1:])
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil || cmd.Name() != "run" {
		t.Fatalf("%q: %s, %v, want flags of run", words, cmd.Name(), err)
	}
	return settings.GivenBy(cmd.Flags()), cmd.Flags().Lookup("id").Value.String()
}

// The command of every run of every table and figure of curves, in every preset, gives run the same settings; and so
// does the ID alone.
func TestRunWords(t *testing.T) {
	checked := 0
	check := func(name, preset string, s settings.Settings, decisions bool) {
		t.Helper()
		dir := run.Folder("out", name, s, 3)
		id := filepath.ToSlash(must.Get(filepath.Rel("out", dir))(t))
		words := must.Get(runWords(&many.Planned{Settings: s, Seed: 3, Dir: dir, Decisions: decisions}, id))(t)
		given, named := runnable(t, words)
		got, err := settings.Restore(given)
		if err != nil || results.Hash(got) != results.Hash(s) || got.Params() != s.Params() || named != id {
			t.Errorf("%s, %s: %q\nread back as %s, %q, %v\nwant %s, %q", name, preset, words, results.Hash(got),
				got.Params(), err, results.Hash(s), s.Params())
		}
		if slices.Contains(words, "--decisions") != decisions {
			t.Errorf("%s: %q, want --decisions: %t", id, words, decisions)
		}
		if checked++; checked%7 != 0 { // one after the other takes long
			return
		}
		parsed := must.Get(many.ParseID(id))(t)
		found, err := parsed.Find("out")
		if err != nil || found.Dir != dir || found.Decisions != decisions || found.Settings.Params() != s.Params() {
			t.Errorf("%s: %+v, %v, want the run in %s", id, found, err, dir)
		}
	}
	for _, preset := range algos.Presets() {
		for _, name := range papers.TableNames() {
			table := must.Get(papers.TableByID(name))(t)
			cells, err := many.Cells(&table, &many.Wanted{Preset: preset})
			if err != nil && settings.IsUsage(err) {
				continue // the table has no such preset
			}
			must.OK(t, err)
			for _, c := range cells {
				check(name, preset, c.Settings, false)
			}
		}
		for _, name := range papers.FigureNames() {
			figure := must.Get(papers.FigureByID(name))(t)
			cells, decisions, err := many.FigureSettings(&figure, &many.Wanted{Preset: preset})
			if err != nil && settings.IsUsage(err) {
				continue
			}
			must.OK(t, err)
			for _, s := range cells {
				check(name, preset, s, decisions)
			}
		}
	}
	if checked < 500 {
		t.Errorf("%d runs, want all", checked)
	}
}
