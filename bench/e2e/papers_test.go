package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/many"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/papers"
)

// onStandIns are the tables and figures of CIFAR-10 alone, whose official files cannot be small. Package many tests
// them on generated pictures, in the file named here.
var onStandIns = map[string][]string{
	"../many/figure_test.go": {
		"cafed-f1c", "fedar-2", "fedar-3", "fedar-f1", "fedar-f2", "fedar-f3", "fedar-f4", "fedar-f5",
	},
}

// Every table and figure is run from its command to its files, by a script or on stand-ins.
func TestEveryItemIsRun(t *testing.T) {
	var ran []string
	command := regexp.MustCompile(`(?m)^exec record rollcall (?:table|figure) (\S+)`)
	for _, path := range must.Get(filepath.Glob("testdata/script/*.txtar"))(t) {
		if filepath.Base(path) == "without_data.txtar" {
			continue
		}
		for _, m := range command.FindAllStringSubmatch(contents(t, path), -1) {
			ran = append(ran, m[1])
		}
	}
	for path, ids := range onStandIns {
		text := contents(t, path)
		for _, id := range ids {
			if !strings.Contains(text, `"`+id+`"`) {
				t.Errorf("%s: has no %q, want a test of it", path, id)
			}
		}
		ran = append(ran, ids...)
	}
	for _, id := range slices.Concat(papers.TableNames(), papers.FigureNames()) {
		if !slices.Contains(ran, id) {
			t.Errorf("%s: no script runs it, want one", id)
		}
	}
}

// Defaults are what the papers say. FedAWE, section 7 and appendix J: 100 clients, Dirichlet 0.1, 10 local steps of 128
// samples, 2000 rounds, cycles of 20 rounds with γ = 0.3, cut off at 0.1, a lower step of 0.4. FedAR, section 6.1, in
// the runs of its methods. CA-Fed: no momentum, none of FedAWE's clipping and crops, equal importance, and PyTorch's
// weights.
func TestDefaultsAreThePapers(t *testing.T) {
	const cafed = "momentum=0 server-momentum=0 clip=none augment=none weights=equal init=torch lr=0.03 server-lr=3"
	for _, c := range []struct{ methods, preset, want string }{
		{
			"fedawe", "code", "clients=100 alpha=0.1 local-steps=10 batch=128 rounds=2000 lr=0.1 server-lr=1 " +
				"period=20 gamma=0.3 cutoff=0.1 low=0.4 net=cnn-cifar10 weights=equal momentum=0 weight-decay=0 " +
				"eval-every=10 eval-last=2 eval-train=true",
		},
		{
			"fedar fedavg-is fedavg-s scaffold", "paper", "split=two-class batch=64 local-steps=5 weight-decay=0.001 " +
				"lr=0.1 server-lr=1 augment=none clip=none fedar-rho=0.1 fedar-t0=50 fedar-b=4 fedavg-s-limit=none " +
				"p-min=0.1",
		},
		{"more-available", "code-no-momentum", cafed},
		{
			"f3ast", "code-no-momentum",
			"momentum=0 server-momentum=0 clip=none augment=none weights=equal init=torch lr=0.03 server-lr=0.3 " +
				"f3ast-memoryless=true",
		},
		{"more-available", "paper", cafed},
	} {
		for method := range strings.FieldsSeq(c.methods) {
			s := must.Get(settings.Defaults(method, c.preset, "cifar10"))(t)
			values := s.Values()
			for setting := range strings.FieldsSeq(c.want) {
				flag, want, _ := strings.Cut(setting, "=")
				if values[flag] != want {
					t.Errorf("%s: --%s is %s by default, want %s", method, flag, values[flag], want)
				}
			}
		}
	}
	// The name of a run depends on what t_0 is, and not on how it is written.
	s := must.Get(settings.Defaults("fedar", "paper", "cifar10"))(t)
	same, other := s, s
	must.OK(t, errors.Join(same.Set("fedar-t0", "50.0"), same.Set("fedavg-s-limit", "none"),
		other.Set("fedar-t0", "none")))
	if results.Hash(s) != results.Hash(same) || results.Hash(s) == results.Hash(other) ||
		other.MethodOptions().Values["fedar-t0"] != "none" {
		t.Error("the name of a run depends on how t_0 is written, or not on what it is")
	}
}

// Table 8 on a made curve: CIFAR-10's target is 60 %, and accuracy grows by 1 % every 10 rounds.
func TestRoundsToGet(t *testing.T) {
	var curve []results.CurveRow
	for round := 0; round <= 700; round += 10 {
		curve = append(curve, results.CurveRow{Round: round, TestAcc: files.Some(float64(round) / 1000)})
	}
	table8 := must.Get(papers.TableByID("fedawe-8"))(t)
	list := table8.Entries
	want := []float64{150, 300, 450, 600}
	if len(list) != len(want) {
		t.Fatalf("%d entries, want %d", len(list), len(want))
	}
	for i, e := range list {
		r := results.SummaryRow{Setup: results.Setup{Data: "cifar10"}, Metric: e.Metric}
		must.OK(t, e.Fill(&r, papers.Runs{Curves: [][]results.CurveRow{curve, curve}}, papers.Runs{}))
		if !r.Mean.Valid || r.Mean.Value != want[i] || r.N != 2 {
			t.Errorf("%s: %+v over %d seeds, want %g over 2", e.Metric, r.Mean, r.N, want[i])
		}
	}
}

// What the tables say of the papers' experiments is what their cells run, and of a row of theirs nothing is its own but
// what sets its column apart.
func TestTablesSayWhatTheyRun(t *testing.T) {
	for _, id := range papers.TableNames() {
		of := must.Get(papers.TableByID(id))(t)
		for _, preset := range of.Columns[0].Presets() {
			if of.Preset != "" && of.Preset != preset {
				continue
			}
			cells := must.Get(many.Cells(&of, &many.Wanted{Preset: preset}))(t)
			for _, c := range cells {
				r := results.SummaryRow{Setup: c.Settings.Setup(id), Params: c.Settings.Params()}
				if own := of.Own(&r).Without(c.Column.Set.Names()...); own != "" {
					t.Errorf("%s %s %s: own settings %q, want none", id, preset, r.Method, own)
				}
				for _, e := range of.Entries {
					r.Metric = e.Metric
					p, ok := results.PrintedFor(of.Printed, r)
					if values := c.Settings.Values(); ok &&
						(fmt.Sprint(p.Rounds) != values["rounds"] || fmt.Sprint(p.Clients) != values["clients"]) {
						t.Errorf("%s %s: printed of %d rounds and %d clients, runs have %s and %s",
							id, r.Method, p.Rounds, p.Clients, values["rounds"], values["clients"])
					}
				}
			}
		}
	}
}

// A flag that makes no difference to a figure is refused by its name, of all figures and all flags; the others are
// tested in package many, and no flag is in neither test.
func TestFiguresRefuseFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	refused := func(line, want string) {
		t.Helper()
		oneLineError(t, rollcall(t, strings.Fields("figure "+line)...), statusUsage, want)
	}
	values := map[string]string{
		"data": "cifar10", "methods": "ca-fed", "seeds": "5", "preset": "code", "rounds": "5", "clients": "5",
		"eval-every": "2", "ema": "0.5", "loss-as-coded": "true",
	}
	known := slices.Clone(papers.FigureFlags())
	for _, f := range papers.Figures() {
		for _, o := range f.Options {
			known = append(known, o.Name)
		}
	}
	for _, f := range papers.Figures() {
		taken := f.Measure.Takes()
		for _, o := range f.Options {
			taken = append(taken, o.Name)
		}
		for _, flag := range known {
			if !slices.Contains(taken, flag) {
				refused(f.ID+" --"+flag+"="+values[flag], "--"+flag+": of no use with figure "+f.ID)
			}
		}
		if f.OneSeed {
			refused(f.ID+" --seeds 1,2", "--seeds: 2 seeds, want one: figure "+f.ID+" shows a single run")
		}
	}
	if left := filesBelow(t, "."); len(left) > 0 {
		t.Errorf("left %q, want nothing", left)
	}
}

// Rows of further methods stand behind the table's own, which stay as they are in every output, and are as those of a
// command without them.
func TestTableAlso(t *testing.T) {
	out := t.TempDir()
	line := func(more ...string) []string {
		return append(strings.Fields("table cafed-1 --data binary --rounds 3 --clients 4 --device cpu --seeds 3 --out "+
			out), more...)
	}
	path := filepath.Join(out, "cafed-1", results.SummaryFile)
	outputs := func() []string {
		return []string{
			contents(t, path), pass(t, "results", "compare", "cafed-1", out).stdout,
			pass(t, "results", "export", "cafed-1", out, "--printed", "--format", "csv").stdout,
		}
	}
	pass(t, line()...)
	before := outputs()
	o := pass(t, line("--also", "scaffold,mifa")...)
	own := regexp.MustCompile(`(?m)^.*\b(scaffold|mifa)\b.*\n`)
	for i, after := range outputs() {
		if got := own.ReplaceAllString(after, ""); strings.Join(strings.Fields(got), " ") !=
			strings.Join(strings.Fields(before[i]), " ") { // columns of text may be wider
			t.Errorf("with further methods:\n%s\nwithout:\n%s", after, before[i])
		}
		if n := len(own.FindAllString(after, -1)); n != 2*3 {
			t.Errorf("%d lines of further methods, want 2 methods × 3 metrics:\n%s", n, after)
		}
	}
	last := regexp.MustCompile(`(?m)^ca-fed .*\nscaffold +\d\S+ \(1\) \| –\nmifa +\d\S+ \(1\) \| –\n`)
	if n := len(last.FindAllString(o.stdout, -1)); n != 3 {
		t.Errorf("%d blocks that end with ca-fed, scaffold and mifa, want 3:\n%s", n, o.stdout)
	}
	_, rows := table(t, contents(t, path))
	before4, end := rows[len(rows)-4], rows[len(rows)-1]
	if before4["method"] != "scaffold" || end["method"] != "mifa" || end["paper_mean"] != "" {
		t.Errorf("last rows %v, %v, want those of scaffold and mifa, nothing printed", before4, end)
	}

	o = pass(t, line("--methods", "ca-fed", "--also", "mifa,fedau", "--plan")...)
	if want := "3 cells, 3 runs: 2 kept, 0 to resume, 1 to train\n"; !strings.Contains(o.stdout, want) {
		t.Errorf("%s\nwant %q", o.stdout, want)
	}
	o = pass(t, line("--methods", "ca-fed", "--also", "fedau", "--slurm", "--dry-run")...)
	if want := " --also=fedau "; !strings.Contains(strings.ReplaceAll(o.stdout, "'", ""), want) {
		t.Errorf("%s\nwant %q", o.stdout, want)
	}
	for also, want := range map[string]string{
		"ca-fed": "--also ca-fed: table cafed-1 has it already, want it with --methods, or not at all",
		"mifo":   `--also "mifo": unknown, did you mean mifa, want one of `,
	} {
		oneLineError(t, rollcall(t, line("--also", also)...), statusUsage, want)
	}
}
