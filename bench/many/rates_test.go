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

// written returns the path of a file with this text.
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

func TestReadErrors(t *testing.T) {
	const good = "mifa,code,leaf,linear-synthetic,sine,0.25,3\n"
	for _, c := range []struct{ text, want string }{
		{"", "r.csv"},
		{header, "no rates, want one line at least"},
		{"method,lr\nmifa,1\n", "server_lr"},
		{
			header + good + "mifa.py,code,leaf,linear-synthetic,sine,1,1\n",
			`line 3: method "mifa.py": want the name of a method`,
		},
		{header + "mifa,codes,leaf,linear-synthetic,sine,1,1\n", `line 2: preset "codes": unknown, did you mean code`},
		{header + "mifa,code,leef,linear-synthetic,sine,1,1\n", `line 2: data "leef": unknown, did you mean leaf`},
		{header + "mifa,code,leaf,linear,sine,1,1\n", `line 2: net "linear": unknown`},
		{
			header + "mifa,code,leaf,linear-synthetic,sines,1,1\n",
			`line 2: availability "sines": unknown, did you mean sine`,
		},
		{header + "mifa,code,leaf,linear-synthetic,sine,0,1\n", "line 2: lr 0, want a finite number above 0"},
		{header + "mifa,code,leaf,linear-synthetic,sine,NaN,1\n", "line 2: lr NaN, want a finite number above 0"},
		{header + "mifa,code,leaf,linear-synthetic,sine,1,-1\n", "line 2: server_lr -1, want a finite number above 0"},
		{
			header + "mifa,code,leaf,linear-synthetic,sine,1,+Inf\n",
			"line 2: server_lr +Inf, want a finite number above 0",
		},
		{header + "mifa,code,leaf,linear-synthetic,sine,fast,1\n", "line 2"},
		{
			header + good + good,
			"line 3: mifa (code) on leaf, linear-synthetic, under sine twice, want only line 2 or this one",
		},
	} {
		_, err := ReadRates(written(t, c.text))
		if err == nil || !settings.IsUsage(err) || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "--rates") {
			t.Errorf("%q: %v, want a usage error with %q", c.text, err, c.want)
		}
	}
	if _, err := ReadRates(filepath.Join(t.TempDir(), "none.csv")); err == nil || !settings.IsUsage(err) {
		t.Errorf("no file: %v, want a usage error", err)
	}
}
