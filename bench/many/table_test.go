package many

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/protocol"
)

// p-values of a made table: FedAR ahead of one baseline by 1 % on the mean in every round of two seeds, and level with
// itself.
func TestPairedEntries(t *testing.T) {
	made := func(shift float64) (runs papers.Runs) {
		for seed := range 2 {
			var curve []results.CurveRow
			for round := range 101 {
				wave := 0.001 * math.Sin(float64(round*(seed+3)))
				curve = append(curve, results.CurveRow{
					Round: round, TestAcc: files.Some(0.4 + shift + wave*(1-shift)), TrainAcc: files.Some(0.5),
				})
			}
			runs.Curves = append(runs.Curves, curve)
		}
		return runs
	}
	table2 := must.Get(papers.TableByID("fedar-2"))(t)
	column := table2.Columns[0]
	of := func(method string, runs, reference papers.Runs) map[metrics.Metric]results.SummaryRow {
		s := settings.Settings{Method: method, Data: column.Data, Availability: column.Availability, Preset: "paper"}
		c := Cell{Settings: s, Column: column}
		rows := must.Get(summarise(&table2, c, runs, reference, nil))(t)
		byMetric := map[metrics.Metric]results.SummaryRow{}
		for _, r := range rows {
			byMetric[r.Metric] = r
		}
		return byMetric
	}
	own := of("fedar", made(0.01), papers.Runs{})
	if own[metrics.PRounds].Mean.Valid || own[metrics.PSeeds].Mean.Valid || !own[metrics.TestAcc].Mean.Valid {
		t.Errorf("the reference: %+v, want accuracies and no p-value", own)
	}
	behind := of("mifa", made(0), made(0.01))
	if p := behind[metrics.PRounds].Mean; !p.Valid || p.Value > 1e-100 {
		t.Errorf("200 rounds 1 %% behind: p = %v, want next to nothing", p)
	}
	want, _ := protocol.SeedsTTest(made(0.01).Curves, made(0).Curves, results.ProtocolRounds)
	if p := behind[metrics.PSeeds].Mean; p != want || !(p.Value > 1e-8) {
		t.Errorf("two seeds: p = %v, want %v", p, want)
	}
	if lead := behind[metrics.PRoundsLead].Mean; math.Abs(lead.Value-0.01) > 1e-5 {
		t.Errorf("200 rounds 1 %% behind: a lead of %v, want 0.01", lead)
	}
	if n := behind[metrics.PRoundsN].Mean; !(n.Value > 1 && n.Value <= 200) {
		t.Errorf("200 rounds: %v independent pairs, want at most as many", n)
	}
	if p := of("scaffold", made(0.01), made(0.01))[metrics.PRounds].Mean; p != files.Some(1) {
		t.Errorf("level in every round: p = %v, want 1", p)
	}
	if p := of("fedvarp", papers.Runs{Curves: made(0).Curves[:1]}, made(0.01))[metrics.PRounds].Mean; p.Valid {
		t.Errorf("one seed against two: p = %v, want none", p)
	}
}

// --column leaves the columns with one of the settings, of tables and of figures.
func TestColumns(t *testing.T) {
	table2 := must.Get(papers.TableByID("fedar-2"))(t)
	figure2 := must.Get(papers.FigureByID("fedar-f2"))(t)
	for _, c := range []struct {
		wanted []string
		want   []string // the settings of the columns that are left, each once
	}{
		{nil, []string{"p-min=0.1", "p-min=0.5"}},
		{[]string{"p-min=0.5"}, []string{"p-min=0.5"}},
		{[]string{"p-min=0.5", "p-min=0.1"}, []string{"p-min=0.1", "p-min=0.5"}},
	} {
		w := Wanted{Preset: "paper", Data: []string{"cifar10"}, Columns: c.wanted}
		cells := must.Get(Cells(&table2, &w))(t)
		var left []string
		for _, cell := range cells {
			left = append(left, string(cell.Column.Set))
		}
		if left = files.Unique(left); !slices.Equal(left, c.want) || len(cells) != 6*len(c.want) {
			t.Errorf("--column %q: %d cells of %q, want %q", c.wanted, len(cells), left, c.want)
		}
		lines, _, err := w.lines(&figure2)
		if err != nil || len(lines) != len(cells) {
			t.Errorf("--column %q: %d lines, %v, want %d", c.wanted, len(lines), err, len(cells))
		}
	}
}

// --draws reaches the runs of FedAWE's tables.
func TestDraws(t *testing.T) {
	w := Wanted{Preset: "code", Given: settings.Given{{Name: "draws", Value: "numpy"}}}
	table2 := must.Get(papers.TableByID("fedawe-2"))(t)
	cells := must.Get(Cells(&table2, &w))(t)
	for _, c := range cells {
		if c.Settings.Draws != "numpy" {
			t.Errorf("%s %s: draws %s", c.Settings.Method, c.Settings.Data, c.Settings.Draws)
		}
	}
}

// A method that a table does not have trains in each column as the table's own methods do, at its own learning rates,
// and none of its settings is the user's.
func TestAlso(t *testing.T) {
	for _, id := range papers.TableNames() {
		table := must.Get(papers.TableByID(id))(t)
		for _, preset := range table.Columns[0].Presets() {
			var also []string
			for _, name := range algos.Names() {
				if s := must.Get(settings.Defaults(name, preset, "svhn"))(t); !table.Has(name) && s.LR > 0 {
					also = append(also, name)
				}
			}
			cells := must.Get(Cells(&table, &Wanted{Also: also, Preset: preset}))(t)
			first := map[string]results.Params{} // by column: how the table's own methods train
			for _, c := range cells {
				s, everybody := c.Settings, id == "fedar-3" && c.Settings.Method == "fedavg-active"
				var trains []string
				for _, r := range settings.Rows() {
					_, reads := s.Uses(r.Name)
					own := r.Field == nil || everybody && r.Name == "p-min" ||
						slices.Contains([]string{"method", "lr", "server-lr", "weights"}, r.Name)
					if reads && !own {
						trains = append(trains, r.Name+"="+s.Get(r.Name))
					}
				}
				column, got := columnLabel(c), results.NewParams(trains...)
				if first[column] == "" {
					first[column] = got
				}
				if more := got.Minus(first[column]); more != "" {
					t.Errorf("%s %s: %s trains with %s, the first method does not", id, preset, s.Method, more)
				}
				if table.Has(s.Method) {
					continue
				}
				own := must.Get(settings.Defaults(s.Method, preset, s.Data))(t)
				if own.LR != s.LR || own.ServerLR != s.ServerLR {
					t.Errorf("%s %s: %s at the rates %g and %g, want %g and %g",
						id, preset, s.Method, s.LR, s.ServerLR, own.LR, own.ServerLR)
				}
				row := results.SummaryRow{Setup: s.Setup(id), Params: s.Params()}
				if own := table.Own(&row).Without(c.Column.Set.Names()...); own != "" {
					t.Errorf("%s %s: %s on %s has %q of its own, want nothing", id, preset, s.Method, s.Data, own)
				}
			}
			if want := len(table.Columns) * (len(table.Methods) + len(also)); len(cells) != want || len(also) < 3 {
				t.Errorf("%s %s: %d cells, want %d", id, preset, len(cells), want)
			}
		}
	}
}

// Which cells a table has with further methods, and at which rates.
func TestAlsoCells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.csv")
	must.OK(t, os.WriteFile(path, []byte("method,preset,data,net,availability,lr,server_lr\n"+
		"scaffold,code,svhn,cnn-svhn,sine,0.25,3\n"), 0o666))
	file := must.Get(ReadRates(path))(t)
	for _, c := range []struct {
		table string
		w     Wanted
		want  string
	}{
		{
			"fedawe-8",
			Wanted{Methods: []string{"mifa", "fedawe"}, Also: []string{"scaffold", "fedar"}},
			"fedawe 0.1/1, mifa 0.05/1, scaffold 0.1/1, fedar 0.1/1",
		},
		{
			"fedawe-8",
			Wanted{Methods: []string{"fedawe"}, Also: []string{"scaffold"}, Rates: file},
			"fedawe 0.1/1, scaffold 0.25/3",
		},
		{
			"fedar-2",
			Wanted{Methods: []string{"mifa"}, Also: []string{"fedau"}},
			"fedar 0.1/1, mifa 0.1/1, fedau 0.05/1",
		},
		{
			"fedar-mnist",
			Wanted{Methods: []string{"mifa"}, Also: []string{"more-available"}},
			"mifa 0.1/1, more-available 0.1/4",
		},
	} {
		table := must.Get(papers.TableByID(c.table))(t)
		c.w.Preset = "code"
		var got []string
		for _, cell := range must.Get(Cells(&table, &c.w))(t) {
			if s := cell.Settings; s.Data == table.Columns[0].Data && cell.Column.Set == table.Columns[0].Set {
				got = append(got, s.Method+" "+s.Get("lr")+"/"+s.Get("server-lr"))
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.table, got, c.want)
		}
	}
}

// Every entry of every table and figure is settings that a run can have, in all its presets, and they have the hash
// they had when commit 24feb20 made them: finished runs of the papers' tables stay found. The hashes of CA-Fed's
// entries that changed since, and those of code-no-momentum, are of the commit that gave its papers a third reading.
// mifa and fedvarp have --memory since.
func TestEntriesResolve(t *testing.T) {
	text, err := os.ReadFile("testdata/entries.txt") // table-or-figure preset column-or-run method hash
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndex(strings.TrimSpace(line), " ")
		want[line[:at]] = strings.TrimSpace(line[at:])
	}
	var entry func(id, preset string, rounds, i int, column papers.Column, method string, readings ...string)
	entry = func(id, preset string, rounds, i int, column papers.Column, method string, readings ...string) {
		w := Wanted{Preset: preset, Readings: readings}
		s, err := w.settings(id, rounds, column, method)
		if err != nil {
			t.Errorf("%s, preset %s, entry %d, %s: %v", id, preset, i, method, err)
			return
		}
		preset = strings.Join(append([]string{preset}, readings...), ",")
		key := strings.Join([]string{id, preset, strconv.Itoa(i), method}, " ")
		if hash := want[key]; hash != results.Hash(s) {
			t.Errorf("%s: hash %s, want %s", key, results.Hash(s), hash)
		}
		delete(want, key)
		if before, is := column.Late[preset]; is && method == "ca-fed" { // runs of the preset as it was stay found
			entry(id, preset, rounds, i, column, method, before)
		}
	}
	for _, id := range papers.TableNames() {
		table := must.Get(papers.TableByID(id))(t)
		for i, column := range table.Columns {
			for _, method := range table.Methods {
				for _, preset := range column.Presets() {
					entry(id, preset, table.Rounds, i, column, method)
				}
			}
		}
	}
	for _, figure := range papers.Figures() {
		for i, r := range figure.Runs {
			for _, preset := range r.Presets() {
				entry(figure.ID, preset, figure.Rounds, i, r.Column, r.Method)
			}
		}
	}
	for key := range want {
		t.Errorf("%s: no such entry, want it", key)
	}
}
