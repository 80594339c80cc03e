package many

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// flagsWanted are what a user may give, beside nothing; FIRST is the first of a figure's or table's own.
var flagsWanted = []struct{ flag, value string }{
	{"data", "FIRST"},
	{"methods", "FIRST"},
	{"availability", "FIRST"},
	{"preset", "OTHER"},
	{"rounds", "8"},
	{"seeds", "8"},
	{"seeds", "8,9"},
	{"clients", "10"},
	{"eval-every", "3"},
}

func wantedWith(flag, value, preset string) Wanted {
	w := Wanted{Preset: preset}
	switch flag {
	case "data":
		w.Data = []string{value}
	case "methods":
		w.Methods = []string{value}
	case "availability":
		w.Availability = []string{value}
	case "preset":
		w.Preset = map[string]string{"code": "paper", "paper": "code"}[preset]
	case "rounds":
		rounds := 8
		w.Rounds = &rounds
	case "seeds":
		w.Seeds = []uint32{8}
		if value == "8,9" {
			w.Seeds = append(w.Seeds, 9)
		}
	case "clients", "eval-every":
		w.Given = settings.Given{{Name: flag, Value: value}}
	}
	return w
}

// settingsText returns settings as run.json has them.
func settingsText(t *testing.T, s settings.Settings) string {
	t.Helper()
	text := must.Get(json.Marshal(s))(t)
	return string(text)
}

// measuredBy returns, of a figure that is trained for, what is trained, and of another one what is measured.
func measuredBy(t *testing.T, p *Pool, f papers.Figure, w Wanted) (text string, err error) {
	t.Helper()
	if err := w.Figure(&f); err != nil {
		return "", err
	}
	switch what := f.Measure.(type) {
	case papers.Curves:
		_, tasks, err := w.lines(&f)
		if err != nil {
			return "", err
		}
		for _, task := range tasks {
			text += settingsText(t, task.Settings)
		}
		return fmt.Sprintln(text, f.Seeds), nil
	case papers.Coalitions:
		s, err := w.coalitionSettings(&f, what.MostStale)
		return fmt.Sprintln(settingsText(t, s), f.Seeds), err
	}
	switch f.Measure.(type) {
	case papers.BaseAvailability, papers.ClassShares:
		if w.Data == nil {
			w.Data = []string{"synthetic"} // needs no download, and can be small
			w.Given = append(slices.Clip(w.Given), algos.Setting{Name: "train-size", Value: "2000"})
		}
	}
	m, err := p.Measure(t.Context(), &f, &w)
	return fmt.Sprintln(m.Base, m.Classes, m.Paths, m.Errors), err
}

// Every flag that a figure takes changes what it measures, or is refused: none is overridden in silence.
func TestFiguresHeedTheirFlags(t *testing.T) {
	p := NewPool(io.Discard,
		run.Machine{Device: "cpu", Threads: runtime.GOMAXPROCS(0), AtOnce: 1, Out: t.TempDir()}, Keep{})
	defer p.Close() // what it measured is looked at
	for _, f := range papers.Figures() {
		preset := "code"
		if f.Preset != "" {
			preset = f.Preset
		}
		without, err := measuredBy(t, p, f, Wanted{Preset: preset})
		if err != nil {
			t.Fatalf("%s: %v", f.ID, err)
		}
		var methods, sets []string
		for _, r := range f.Runs {
			methods, sets = append(methods, r.Method), append(sets, r.Data)
		}
		for _, c := range flagsWanted {
			if !slices.Contains(f.Measure.Takes(), c.flag) {
				continue // refused by its name
			}
			t.Run(f.ID+"/"+c.flag+"="+c.value, func(t *testing.T) {
				switch c.flag {
				case "data":
					c.value = firstOf(sets, "binary", "leaf")
				case "methods":
					c.value = firstOf(methods, "mifa-wait", "fedavg-all")
				}
				with, err := measuredBy(t, p, f, wantedWith(c.flag, c.value, preset))
				if err != nil && !settings.IsUsage(err) {
					t.Fatal(err)
				}
				if err == nil && with == without {
					t.Errorf("--%s %s: the same is measured as without it, want something else or a usage error",
						c.flag, c.value)
				}
			})
		}
	}
}

// firstOf returns the first of several names; of a single one, which leaves all as it is, one of others.
func firstOf(names []string, others ...string) string {
	if len(files.Unique(names)) > 1 {
		return names[0]
	}
	return others[slices.IndexFunc(others, func(other string) bool { return !slices.Contains(names, other) })]
}

func TestTablesHeedTheirFlags(t *testing.T) {
	trained := func(table papers.Table, w Wanted) (text string, err error) {
		cells, err := Cells(&table, &w)
		for _, c := range cells {
			text += settingsText(t, c.Settings)
		}
		return fmt.Sprintln(text, table.Seeds), err
	}
	for _, id := range papers.TableNames() {
		table := must.Get(papers.TableByID(id))(t)
		preset := "code"
		if table.Preset != "" {
			preset = table.Preset
		}
		without := must.Get(trained(table, Wanted{Preset: preset}))(t)
		var sets, models []string
		for _, c := range table.Columns {
			sets, models = append(sets, c.Data), append(models, c.Availability)
		}
		for _, c := range flagsWanted {
			switch c.flag {
			case "data":
				c.value = firstOf(sets, "binary", "leaf")
			case "availability":
				c.value = firstOf(models, "clusters", "sine")
			case "methods":
				c.value = table.Methods[1]
			}
			with, err := trained(table, wantedWith(c.flag, c.value, preset))
			if err != nil && !settings.IsUsage(err) {
				t.Fatal(err)
			}
			if err == nil && with == without {
				t.Errorf("table %s --%s %s: the same is trained as without it, want something else or a usage error",
					id, c.flag, c.value)
			}
		}
	}
}

// A flag that is what a figure or table varies is refused, whichever it is.
func TestAxesAreRefused(t *testing.T) {
	refused := func(of string, column papers.Column, method, preset string) {
		for _, name := range column.Set.Names() {
			w := Wanted{Preset: preset, Given: settings.Given{{Name: name, Value: column.Set.Get(name)}}}
			_, err := w.settings(of, 100, column, method)
			want := fmt.Sprintf("--%s %s: %s varies %s itself, want it without", name, column.Set.Get(name), of, name)
			if err == nil || !settings.IsUsage(err) || err.Error() != want {
				t.Errorf("%s: got %v, want %s", of, err, want)
			}
		}
	}
	for _, f := range papers.Figures() {
		for _, r := range f.Runs {
			refused("figure "+f.ID, r.Column, r.Method, "paper")
		}
	}
	for _, id := range papers.TableNames() {
		table := must.Get(papers.TableByID(id))(t)
		for _, c := range table.Columns {
			refused("table "+id, c, table.Methods[0], "paper")
		}
	}
	f := must.Get(papers.FigureByID("fedar-f5"))(t)
	w := wantedWith("clients", "5", "paper")
	if _, _, err := w.lines(&f); err == nil ||
		err.Error() != "--clients 5: figure fedar-f5 varies clients itself, want it without" {
		t.Errorf("fedar-f5 --clients 5: got %v, want a usage error", err)
	}
}

// Every setting that a sweep is given changes a cell, or is refused; so are rates for all beside rates for each.
func TestSweepsHeedTheirFlags(t *testing.T) {
	cellsOf := func(change func(w *Sweep)) (text string, err error) {
		w := Sweep{
			Name: "s", Like: "fedawe", Methods: []string{"mifa", "ca-fed"},
			Data: []string{"leaf", "synthetic"}, Availability: []string{"sine", "markov"}, Seeds: []uint32{3},
		}
		change(&w)
		table, cells, err := w.Cells()
		for _, c := range cells {
			text += settingsText(t, c.Settings)
		}
		return fmt.Sprintln(text, table.Seeds), err
	}
	without := must.Get(cellsOf(func(*Sweep) {}))(t)
	changes := map[string]func(w *Sweep){
		"like fedar":   func(w *Sweep) { w.Like = "fedar" },
		"preset paper": func(w *Sweep) { w.Given = given("preset", "paper") },
		"nets":         func(w *Sweep) { w.Data, w.Nets = []string{"synthetic"}, []string{"lenet5"} },
		"seeds":        func(w *Sweep) { w.Seeds = []uint32{4} },
		"rates":        func(w *Sweep) { w.Rates = []string{"mifa=0.5"} },
		"rates and lr": func(w *Sweep) { w.Rates, w.Given = []string{"mifa=0.5"}, given("lr", "0.7") },
		"rates twice":  func(w *Sweep) { w.Rates = []string{"mifa=0.5", "mifa=0.6"} },
		"lr of none":   func(w *Sweep) { w.Rates, w.Given = []string{"mifa=0.5", "ca-fed=0.5"}, given("lr", "0.7") },
		"server of none": func(w *Sweep) {
			w.Rates, w.Given = []string{"mifa=0.5/1", "ca-fed=0.5/1"}, given("server-lr", "0.7")
		},
	}
	refused := []string{"rates twice", "lr of none", "server of none"}
	for _, r := range settings.Rows() {
		if results.FileSettings[r.Name] != "" && r.Name != "chain" || // files that are not there
			slices.Contains([]string{"method", "preset", "data", "net", "availability"}, r.Name) {
			continue // lists of a sweep, or not given like settings
		}
		if r.Apart { // in no cell's name
			continue
		}
		for _, value := range settingstest.SecondValues(&r, map[string]string{}) {
			changes[r.Name+" "+value] = func(w *Sweep) { w.Given = given(r.Name, value) }
		}
	}
	for name, change := range changes {
		with, err := cellsOf(change)
		if err != nil && !settings.IsUsage(err) {
			t.Fatalf("%s: %v", name, err)
		}
		if err == nil && with == without {
			if flag, value, _ := strings.Cut(name, " "); value == defaultOf(flag) {
				continue // what all cells have already
			}
			t.Errorf("%s: the same cells as without it, want others or a usage error", name)
		}
		if slices.Contains(refused, name) && err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
}

func given(name, value string) settings.Given {
	return settings.Given{algos.Setting{Name: name, Value: value}}
}

// defaultOf returns what fedawe has of a setting on pictures.
func defaultOf(flag string) string {
	s, err := settings.Defaults("fedawe", "code", "synthetic")
	if err != nil {
		return ""
	}
	return s.Get(flag)
}
