package many

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/settings"
	"rollcall/internal/must"
)

const header = "method,preset,data,net,availability,lr,server_lr\n"

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.csv")
	must.OK(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// of returns the settings of a run.
func of(t *testing.T, method, data, availability string) settings.Settings {
	t.Helper()
	s := must.Get(settings.Defaults(method, "code", data))(t)
	s.Availability = availability
	return s
}

// A file that somebody wrote needs the rates alone. Runs get theirs, and the others are named.
func TestPut(t *testing.T) {
	f := must.Get(ReadRates(written(t, header+"mifa,code,leaf,linear-synthetic,sine,0.25,3\n")))(t)
	s := of(t, "mifa", "leaf", "sine")
	if !f.Put(&s) || s.LR != 0.25 || s.ServerLR != 3 {
		t.Errorf("rates %g and %g, want 0.25 and 3", s.LR, s.ServerLR)
	}
	if note, err := f.Note(); note != "" || err != nil {
		t.Errorf("note %q, %v, want none", note, err)
	}
	for _, other := range []settings.Settings{
		of(t, "fedau", "leaf", "sine"), of(t, "mifa", "binary", "sine"), of(t, "mifa", "leaf", "markov"),
	} {
		before := other
		if f.Put(&other) || other.LR != before.LR || other.ServerLR != before.ServerLR {
			t.Errorf("%s: rates %g and %g, want its own", RatesKeyOf(&other), other.LR, other.ServerLR)
		}
	}
	const want = ".csv has none for fedau (code) on leaf, linear-synthetic, under sine; " +
		"mifa (code) on binary, linear-binary, under sine; mifa (code) on leaf, linear-synthetic, under markov: " +
		"their own rates stay"
	if note, err := f.Note(); !strings.HasSuffix(note, want) || err != nil {
		t.Errorf("note %q, %v, want %q", note, err, want)
	}
	f = must.Get(ReadRates(f.Path))(t)
	for _, method := range []string{"fedau", "fedawe", "mifa-wait", "fedvarp", "f3ast", "ca-fed", "fedar", "scaffold"} {
		s := of(t, method, "leaf", "sine")
		f.Put(&s)
	}
	if _, err := f.Note(); err == nil || !settings.IsUsage(err) ||
		!strings.Contains(err.Error(), "and 2 more, want some") {
		t.Errorf("rates for no run: %v, want a usage error", err)
	}
}

// A file may have rates of a method that this program has not, for it may be somebody's own. They are for no other run.
func TestReadUnknownMethod(t *testing.T) {
	f := must.Get(ReadRates(written(t, header+"own_1-B,code,leaf,linear-synthetic,sine,0.5,2\n"+
		"mifa,code,leaf,linear-synthetic,sine,0.25,3\n")))(t)
	s := of(t, "mifa", "leaf", "sine")
	if !f.Put(&s) || s.LR != 0.25 || s.ServerLR != 3 {
		t.Errorf("rates %g and %g of mifa, want 0.25 and 3", s.LR, s.ServerLR)
	}
	s.Method = "own_1-B" // as the settings of a registered method have it
	if !f.Put(&s) || s.LR != 0.5 || s.ServerLR != 2 {
		t.Errorf("rates %g and %g of own_1-B, want 0.5 and 2", s.LR, s.ServerLR)
	}
}
