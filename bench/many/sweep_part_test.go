package many

import (
	"slices"
	"strings"
	"testing"

	"rollcall/bench/settings"
	"rollcall/internal/must"
)

// Every combination of the values of all settings is a cell, but those that differ only in what they do not read.
func TestSweepLists(t *testing.T) {
	w := func(named ...string) *Sweep {
		s := &Sweep{
			Name: "s", Like: "fedawe", Methods: []string{"mifa", "fedau"}, Data: []string{"leaf"},
			Availability: []string{"sine", "stationary"}, Seeds: []uint32{3},
		}
		for _, text := range named {
			s.Named = append(s.Named, must.Get(ParseNamed(text))(t))
		}
		return s
	}
	lists := func(s *Sweep, texts ...string) *Sweep {
		for _, text := range texts {
			name, values, _ := strings.Cut(text, "=")
			s.Lists = append(s.Lists, must.Get(settings.NewList(name, values))(t))
		}
		return s
	}
	five, tooMany := 5, w()
	for range 3 {
		list := settings.List{Name: "p"}
		for range 40 {
			list.Values = append(list.Values, "1")
		}
		tooMany.Lists = append(tooMany.Lists, list)
	}
	crossed := lists(w(), "gamma=0.1,0.3")
	crossed.Crossed = &five
	for name, c := range map[string]struct {
		sweep *Sweep
		want  int    // cells
		label string // of one of them
		err   string
		notes string
	}{
		"product": {lists(w(), "batch=4,8", "local-steps=5,10,20"), 24, "local-steps=10;batch=8", "", ""},
		"not read": {
			lists(w(), "gamma=0.1,0.3,0.5"), 8, "gamma=0.3", "",
			"--gamma 0.1,0.3,0.5: not read by 2 cells, trained once each (it is for --availability sine or " +
				"interleaved-sine)",
		},
		"none":    {lists(w(), "clip=none,1"), 8, "clip=none", "", ""},
		"switch":  {lists(w(), "leaf-iid=true,false"), 8, "leaf-iid=true", "", ""},
		"preset":  {lists(w(), "preset=code,paper"), 8, "", "", ""},
		"crossed": {crossed, 6 * 25, "gamma=0.3", "", "not read by 2 cells"},
		"named": {
			w("a: gamma=0.1,0.3; availability=sine", "b 2: methods=fedar; like=fedar"), 6, "a;gamma=0.1", "", "",
		},
		"named over the rest": {
			lists(w("a: batch=4", "b: gamma=0.7"), "batch=8,16"), 12, "b;batch=8", "", "",
		},
		"partly the same": {w("a: gamma=0.1", "b: gamma=0.2"), 6, "b", "", "cell b: 2 cells the same as in cell a"},
		"the same":        {w("a: gamma=0.1", "b: gamma=0.1"), 0, "", "cell b: the same runs as cell a", ""},
		"nowhere":         {lists(w(), "q=0.1,0.2"), 0, "", "--q 0.1,0.2: of no use in any cell", ""},
		"nowhere in a":    {w("a: q=0.1"), 0, "", "cell a: --q 0.1: of no use in these cells", ""},
		"impossible":      {w("a: gamma=7"), 0, "", "cell a: --gamma 7: want 0 … 1", ""},
		"twice a":         {w("a: gamma=0.1", "a: gamma=0.2"), 0, "", "--cell: a twice", ""},
		"apart":           {lists(w(), "eval-train-rounds=all,last"), 0, "", "the same at every value", ""},
		"too many":        {tooMany, 0, "", "more than 10000 cells", ""},
	} {
		t.Run(name, func(t *testing.T) {
			table, cells, err := c.sweep.Cells()
			if c.err != "" {
				if err == nil || !settings.IsUsage(err) || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %q", err, c.err)
				}
				return
			}
			must.OK(t, err)
			notes := must.Get(c.sweep.Notes())(t)
			if got := strings.Join(notes, "\n"); len(cells) != c.want || c.notes == "" && got != "" ||
				!strings.Contains(got, c.notes) {
				t.Errorf("%d cells, notes %q, want %d and %q", len(cells), got, c.want, c.notes)
			}
			labelled := slices.ContainsFunc(cells, func(cell Cell) bool {
				return string(table.Labels[cell.Settings.Setup("").Key(cell.Settings.Params())]) == c.label
			})
			if !labelled && c.sweep.Crossed == nil {
				t.Errorf("labels %v, want %q among them", table.Labels, c.label)
			}
		})
	}
}

// Wrong texts of --cell are refused in one line, and others are read back from what they are written to.
func TestParseNamed(t *testing.T) {
	for text, want := range map[string]string{
		"short":                   `--cell "short": want NAME: setting=values; setting=values`,
		": gamma=1":               "want a name that is no setting's",
		"gamma: gamma=1":          "want a name that is no setting's",
		"a=b: gamma=1":            "want a name that is no setting's",
		"a: gamma":                `"gamma": want setting=values`,
		"a: gama=1":               "cell a: --gama: unknown setting, did you mean gamma",
		"a: gamma=0.1,0.1":        "cell a: --gamma: 0.1 twice",
		"a: gamma=0.1; gamma=0.1": "cell a: --gamma: 0.1 twice",
		"a: gamma=x":              "cell a: --gamma x: want numbers, separated by commas",
		"a: clip=x":               "cell a: --clip x: want numbers or none, separated by commas",
		"a: leaf-iid=x":           "cell a: --leaf-iid x: want true, false or both, separated by commas",
		"a: like=fedau,mifa":      "cell a: --like fedau,mifa: want one method",
		"a: methods=fedau,fedau":  "cell a: --methods: fedau twice",
	} {
		if _, err := ParseNamed(text); err == nil || !settings.IsUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	c := must.Get(ParseNamed("long run: trace=a,b.csv; trace=c; method=fedau, mifa; net=\"conv 4, linear\""))(t)
	for _, want := range []settings.List{
		{Name: "trace", Values: []string{"a,b.csv", "c"}},
		{Name: "methods", Values: []string{"fedau", "mifa"}},
		{Name: "nets", Values: []string{"conv 4, linear"}},
	} {
		if !slices.ContainsFunc(c.Lists, func(l settings.List) bool {
			return l.Name == want.Name && slices.Equal(l.Values, want.Values)
		}) {
			t.Errorf("%+v, want %+v among them", c, want)
		}
	}
}
