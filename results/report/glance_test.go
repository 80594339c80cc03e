package report

import (
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
)

// glanceRows returns rows of a sweep under the sine, with the accuracies of seeds 1, 2, … for each method.
func glanceRows(of map[string][]float64, methods ...string) (rows []results.SummaryRow) {
	for _, m := range methods {
		r := resultstest.Row("sweep", m, "svhn", "sine", metrics.TestAcc, 0, len(of[m]))
		var seeds []uint32
		sum := 0.0
		for i, x := range of[m] {
			seeds = append(seeds, uint32(i+1))
			sum += x
		}
		r.Mean, r.BySeed = files.Some(sum/float64(len(of[m]))), results.NewBySeed(seeds, of[m])
		rows = append(rows, r)
	}
	return rows
}

// The first lines say who is best and from whom the seeds tell it, whatever the number of methods and seeds.
func TestGlance(t *testing.T) {
	for name, c := range map[string]struct {
		of      map[string][]float64
		methods string
		want    string // best | how sure | not told | behind
	}{
		"told from all": {
			map[string][]float64{
				"mifa": {0.80, 0.81, 0.79, 0.80}, "fedau": {0.70, 0.71, 0.69, 0.70}, "mine": {0.60, 0.61, 0.59, 0.61},
			},
			"fedau mifa mine", "MIFA 80.0|told from all 2 others||FedAU, mine",
		},
		"from some": {
			map[string][]float64{
				"mifa": {0.80, 0.81, 0.79, 0.80}, "fedau": {0.79, 0.82, 0.77, 0.81}, "mine": {0.60, 0.61, 0.59, 0.61},
			},
			"fedau mifa mine", "MIFA 80.0|told from 1 of 2 others|FedAU|mine",
		},
		"from none": {
			map[string][]float64{"mifa": {0.80, 0.60, 0.70}, "fedau": {0.60, 0.79, 0.70}},
			"fedau mifa", "MIFA 70.0|not told from the other|FedAU|",
		},
		"some with one seed": {
			map[string][]float64{
				"mifa": {0.80, 0.81, 0.79, 0.80}, "fedau": {0.78}, "mine": {0.60, 0.61, 0.59, 0.61},
			},
			"fedau mifa mine", "MIFA 80.0|told from 1 of 2 others, 1 not tested||mine",
		},
		"one seed": {
			map[string][]float64{"mifa": {0.80}, "fedau": {0.60}},
			"fedau mifa", "MIFA 80.0|cannot be tested: other rounds, or no two seeds in common||",
		},
		"equal": {
			map[string][]float64{"mifa": {0.80, 0.7}, "fedau": {0.80, 0.7}},
			"fedau mifa", "FedAU, MIFA 75.0|equal to the digits shown||",
		},
		"alone": {map[string][]float64{"mifa": {0.80, 0.7}}, "mifa", "no two methods to compare"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := glanceRows(c.of, strings.Fields(c.methods)...)
			none := papers.Table{}
			grid := compare.Table(&none, rows).Grid()
			d := tableData{Grid: grid, ID: "sweep", standings: standingsOf(grid)}
			g := glanceOf(&d, rows, &none, nil)
			if len(g.Rows) != 1 {
				t.Fatalf("%d rows, want one for the sine", len(g.Rows))
			}
			r := g.Rows[0]
			got := r.Note
			if got == "" {
				best, _, _ := strings.Cut(r.Best, "\u00a0±")
				near, behind := strings.Join(r.Near, ", "), strings.Join(r.Behind, ", ")
				got = strings.Join([]string{best, r.Sure, near, behind}, "|")
			}
			if got != c.want || r.Where != "sine, SVHN" || g.Paper != "" {
				t.Errorf("%s: %s, want %s; paper %q", r.Where, got, c.want, g.Paper)
			}
		})
	}
	table, err := papers.TableByID("fedawe-2")
	if size := paperSize(&table); err != nil || size != "2000 rounds, 3 seeds, 100 clients" {
		t.Errorf("FedAWE's Table 2 has %q, %v", size, err)
	}
}

// Values of α are columns: a group has rows for its own alone, and the number by which methods are best has none.
func TestGlanceOfColumns(t *testing.T) {
	rows := glanceRows(map[string][]float64{"mifa": {0.8, 0.7}, "fedau": {0.6, 0.5}}, "mifa", "fedau")
	for i, alpha := range []float64{0.1, 1} {
		of := glanceRows(map[string][]float64{"mifa": {0.8, 0.7}, "fedau": {0.6, 0.5}}, "mifa", "fedau")
		for k := range of {
			of[k].Alpha, of[k].Availability = files.Some(alpha), []string{"sine", "stationary"}[i]
		}
		rows = append(rows[:2*i], of...)
	}
	none := papers.Table{}
	grid := compare.Table(&none, rows).Grid()
	g := glanceOf(&tableData{Grid: grid, standings: standingsOf(grid)}, rows, &none, nil)
	var where []string
	for _, r := range g.Rows {
		where = append(where, r.Where)
	}
	want := "sine, SVHN, alpha=0.1; stationary, SVHN, alpha=1"
	if got := strings.Join(where, "; "); got != want || strings.Contains(g.Of, "alpha") {
		t.Errorf("%s by %q, want %s by a number without α", got, g.Of, want)
	}
}

// Figures of one data set and availability have different titles.
func TestCurveTitles(t *testing.T) {
	var b builder
	key := results.CellKey{
		Method: "mifa", Preset: "code", Data: "svhn", Net: "lenet5", Availability: "sine", Clients: 10,
	}
	others := []results.CellKey{key, key, key, key}
	others[1].Alpha, others[2].Clients, others[3].Net = files.Some(0.1), 20, "cnn-svhn"
	others[0].Alpha = files.Some(1)
	for _, c := range others {
		b.Runs = append(b.Runs, results.Run{Setup: results.Setup{
			Method: c.Method, Preset: c.Preset, Data: c.Data, Net: c.Net, Availability: c.Availability,
			Clients: c.Clients, Alpha: c.Alpha,
		}})
	}
	seen := map[string]bool{}
	for _, c := range others {
		words := b.columns(c)
		if seen[words] || words == "" {
			t.Errorf("%+v: %q, want other words than for the rest", c, words)
		}
		seen[words] = true
	}
	b.Runs = b.Runs[:1]
	if words := b.columns(others[0]); words != "" {
		t.Errorf("alone: %q, want none", words)
	}
}
