package papers

import (
	"fmt"
	"slices"
	"testing"

	"rollcall/results/plot"
)

// Methods of one paper's table have eight different colours at most, and each its own style wherever it is shown.
func TestKeys(t *testing.T) {
	colour := func(k plot.Key) int { return k.Style % plot.Colours }
	for _, id := range TableNames() {
		table, _ := TableByID(id)
		var methods []string
		for _, p := range table.Printed {
			if !slices.Contains(methods, p.Method) {
				methods = append(methods, p.Method)
			}
		}
		keys, seen := Keys(methods, methods), map[int]string{}
		for i, m := range methods {
			if other, twice := seen[colour(keys[m])]; twice && len(methods) <= plot.Colours {
				t.Errorf("%s: %s and %s have one colour", id, other, m)
			}
			seen[colour(keys[m])] = m
			if reordered := Keys(append(methods[i:], methods[:i]...), methods); reordered[m] != keys[m] {
				t.Errorf("%s: %s looks otherwise in another order: %v and %v", id, m, reordered[m], keys[m])
			}
		}
	}
	for _, c := range []struct {
		name    string
		methods []string
		names   []string
		want    string // label:style, in the order of the names
	}{
		{"as in print", []string{"fedau", "fedawe"}, []string{"fedau", "fedawe"}, "FedAU:2 FedAWE:1"},
		{
			"with settings",
			[]string{"fedau", "fedawe"},
			[]string{"fedau lr=0.1", "fedawe, raw"},
			"FedAU lr=0.1:2 FedAWE, raw:1",
		},
		{"twice", []string{"fedawe"}, []string{"fedawe lr=0.1", "fedawe"}, "FedAWE lr=0.1:0 FedAWE:1"},
		// FedAWE and CA-Fed have one colour of their own; the second takes the first that is free.
		{"of two papers", []string{"fedawe", "ca-fed"}, []string{"fedawe", "ca-fed"}, "FedAWE:1 CA-Fed:18"},
		{"own", []string{"fedawe", "mine"}, []string{"mine", "fedawe"}, "mine:18 FedAWE:1"},
		{"no methods", []string{"fedawe"}, []string{"p = 0.1", "p = 0.5"}, "p = 0.1:0 p = 0.5:1"},
		{
			"others beside methods",
			[]string{"fedavg-active"},
			[]string{"fedavg-active", "optimum"},
			"FedAvg (active):0 optimum:1",
		},
	} {
		got := ""
		for i, name := range c.names {
			if i > 0 {
				got += " "
			}
			k := Keys(c.methods, c.names)[name]
			got += fmt.Sprintf("%s:%d", k.Label, k.Style)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	// More methods than colours, all unknown: every style differs.
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("method%d", i))
	}
	seen := map[int]bool{}
	for _, k := range Keys(many, many) {
		if seen[k.Style] {
			t.Errorf("style %d twice", k.Style)
		}
		seen[k.Style] = true
	}
}
