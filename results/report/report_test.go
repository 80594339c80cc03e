package report

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/compare"
	"rollcall/results/judge"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/plot"
	"rollcall/results/resultstest"
)

// Every figure is there in three files that can be read, and the page says what it should.
func TestWrite(t *testing.T) {
	out := t.TempDir()
	synthesise(t, out, synthetic{
		availabilities: []string{"sine"}, data: []string{"cifar10"},
		methods: []string{"fedawe", "mifa"}, rounds: 100, every: 10,
	})
	synthDecisions(t, filepath.Join(out, "fedawe-2"), 30, 60)
	in := input(t, out)
	in.Bad = []error{errors.New("results: curve.csv: line 7: 12 columns, want 21 <b>")}
	to := filepath.Join(out, "report")
	done := must.Get(Write(t.Context(), to, in))(t)
	if len(done.Bad) > 0 {
		t.Errorf("not drawn: %v, want everything", done.Bad)
	}
	text := must.Get(os.ReadFile(done.Page))(t)
	page := string(text)
	if int64(len(page)) != done.Bytes {
		t.Errorf("%d bytes said, want %d", done.Bytes, len(page))
	}
	for _, want := range []string{
		"printed 63.5 ± 2.0", "inside", "Seeds 3, 4, 6", "AMD EPYC, cpu-avx512 fp32",
		"cnn-cifar10, 100 clients, Dirichlet α = 0.1, 100 rounds, preset code", "line 7: 12 columns, want 21 &lt;b&gt;",
		`id="curves-cifar10-sine"`, `id="inclusion-fedawe-cifar10-sine"`, `id="importance-cifar10-sine"`,
		`id="shares-cifar10-sine"`, `id="clients-cifar10-sine"`, `id="availability-base"`, `id="availability-sine"`,
		`id="speed"`, `data-method="mifa"`, "Content-Security-Policy",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, not := range []string{
		"http://", "https://", "<script src", "<link rel=\"stylesheet", "@import", "url(",
		"ZgotmplZ", "NaN", `id="inclusion-mifa`, "clients.csv (in",
	} {
		if strings.Contains(page, not) {
			t.Errorf("the page holds %q, want a page that needs nothing else", not)
		}
	}
	for _, f := range build(in).figures {
		path := filepath.Join(to, figuresFolder, f.ID)
		svg := must.Get(os.ReadFile(path + ".svg"))(t)
		if err := xml.Unmarshal(svg, new(struct{})); err != nil { // not well-formed
			t.Errorf("%s.svg: %v", f.ID, err)
		}
		picture := must.Get(os.Open(path + ".png"))(t)
		config, err := png.DecodeConfig(picture)
		_ = picture.Close()
		if err != nil || config.Width != 1306 {
			t.Errorf("%s.png: %v, %d wide, want 6.8 inches of 192 pixels, 1306", f.ID, err, config.Width)
		}
		csv, err := os.ReadFile(path + ".csv")
		if err != nil || bytes.Count(csv, []byte("\n")) < 2 {
			t.Errorf("%s.csv: %v, %d lines, want a header and rows", f.ID, err, bytes.Count(csv, []byte("\n")))
		}
	}
	// The curves' CSV: of every evaluated round the mean over the seeds.
	path := filepath.Join(to, figuresFolder, "curves-cifar10-sine.csv")
	rows, err := files.ReadCSVFile[curveRow](path, files.MostTable)
	if err != nil || len(rows) != 2*11 {
		t.Fatalf("%v, %d rows, want 2 methods × 11 rounds", err, len(rows))
	}
	var curves [][]results.CurveRow
	for _, r := range in.Runs {
		if r.Method == "fedawe" {
			curves = append(curves, r.Curve)
		}
	}
	want := (curves[0][10].TestAcc.Value + curves[1][10].TestAcc.Value + curves[2][10].TestAcc.Value) / 3
	if rows[10].Method != "fedawe" || rows[10].Round != 100 || math.Abs(rows[10].TestAcc.Value-want) > 1e-12 {
		t.Errorf("row %+v, want fedawe after 100 rounds with %g (sums differ by roundings)", rows[10], want)
	}
}

// familyCell returns a cell of "METHOD PARAMS [MARK]". After a bar stand all settings in its run.json, which has also
// what is as in the paper of its method; without a bar there is no run.json.
func familyCell(text string) results.Cell {
	text, all, finished := strings.Cut(text, " | ")
	text, mark, _ := strings.Cut(text, " [")
	method, params, _ := strings.Cut(text, " ")
	c := results.Cell{CellKey: results.CellKey{
		Method: method, Data: "svhn", Availability: "sine", Params: results.Params(params),
	}, Mark: strings.TrimSuffix("["+mark, "[")}
	if finished {
		settings := map[string]any{}
		for name, value := range results.Params(all).All() {
			settings[name] = value
		}
		c.Runs = []results.Run{{Info: &results.RunInfo{Settings: settings}}}
	}
	return c
}

// Which cells share a figure, how they are named in it, and what its caption says of single methods.
func TestFamilies(t *testing.T) {
	grid := func(methods string, name string, values int) (cells []string) {
		for i := range values {
			for method := range strings.FieldsSeq(methods) {
				cells = append(cells, fmt.Sprintf("%s %s=%d", method, name, i))
			}
		}
		return cells
	}
	for _, c := range []struct {
		name  string
		cells []string // see familyCell
		want  []string // of each figure: its params: the names of its cells; what the caption says
	}{
		{"equal settings", []string{"a rounds=6", "b rounds=6"}, []string{"rounds=6: a, b"}},
		{
			"other rates",
			[]string{"a lr=0.1;rounds=6;server-lr=2", "b rounds=6", "c lr=3;rounds=6"},
			[]string{"rounds=6: a, b, c; a lr=0.1, server-lr=2; c lr=3"},
		},
		{
			"parameters of their own",
			[]string{"a a-beta=0.5", "b b-clip=none", "c"},
			[]string{": a, b, c; a a-beta=0.5; b b-clip=none"},
		},
		{
			"two settings of one method in a comparison",
			[]string{"a lr=0.1", "a a-beta=2;lr=0.1", "b lr=1", "a a-beta=2;lr=0.2"},
			[]string{": a lr=0.1, a a-beta=2 lr=0.1, a a-beta=2 lr=0.2, b; b lr=1"},
		},
		{
			"other rounds",
			[]string{"a", "b lr=2", "a lr=3;rounds=500", "b rounds=500"},
			[]string{": a, b; b lr=2", "rounds=500: a, b; a lr=3"},
		},
		{
			"rounds that one method alone has changed",
			[]string{"a | rounds=2000", "b | rounds=2000", "b rounds=500 | rounds=500"},
			[]string{"rounds=2000: a, b", "rounds=500: b"},
		},
		{
			"one batch, of which one method's paper has another",
			[]string{"a | batch=128;memory=raw", "b batch=128 | batch=128", "c batch=128;memory=raw | batch=128"},
			[]string{": a, b, c"},
		},
		{
			"several methods with a parameter that others do not have",
			[]string{"a memory=rate | memory=rate", "b memory=rate | memory=rate", "c | "},
			[]string{": a, b, c"},
		},
		{
			"other initial weights",
			[]string{"a | init=torch", "b | init=torch", "a init-from=w;lr=2 | init-sha256=12;lr=2"},
			[]string{": a, b", "init-from=w: a"},
		},
		{"a sweep over a parameter", grid("a", "kappa", 9), []string{
			": a kappa=0, a kappa=1, a kappa=2, a kappa=3, a kappa=4, a kappa=5, a kappa=6, a kappa=7", ": a kappa=8",
		}},
		{"a sweep of one method beside others", append(grid("a", "kappa", 9), "b lr=2", "c"), []string{
			": a kappa=0, a kappa=1, a kappa=2, a kappa=3, a kappa=4, a kappa=5, a kappa=6, a kappa=7, b, c; b lr=2",
			": a kappa=8, b, c; b lr=2",
		}},
		{"rates of two methods", grid("a b", "lr", 5), []string{
			": a lr=0, a lr=1, a lr=2, a lr=3, b lr=0, b lr=1, b lr=2, b lr=3", ": a lr=4, b lr=4",
		}},
		{
			"two versions of a method",
			[]string{"a", "b [settings 1a]", "b [settings 2b]"},
			[]string{": a, b [settings 1a], b [settings 2b]"},
		},
		{
			"two versions of a method alone",
			[]string{"b [settings 1a]", "b [settings 2b]"},
			[]string{": b [settings 1a], b [settings 2b]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cells []results.Cell
			for _, text := range c.cells {
				cells = append(cells, familyCell(text))
			}
			var got []string
			for _, f := range families(cells) {
				var names []string
				for _, c := range f.cells {
					names = append(names, f.name(c))
				}
				text := string(f.key.Params) + ": " + strings.Join(names, ", ")
				if said, any := strings.CutPrefix(f.made(nil), "Settings of single methods: "); any {
					text += "; " + strings.TrimSuffix(said, ". ")
				}
				got = append(got, text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

// Files with clients' accuracies are found by their columns; bad lines are named.
func TestReadAccuracies(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		rows  int
		wants string
	}{
		"last round":      {"client,round,test_acc\n0,1,0.1\n0,2,0.5\n1,2,0.6\n", 2, ""},
		"no round":        {"accuracy,client\n0.5,0\n", 1, ""},
		"no samples":      {"client,acc\n0,0.5\n1,NaN\n", 1, ""},
		"another file":    {"a,b\n1,2\n", 0, ""},
		"empty":           {"", 0, "line 1: empty"},
		"no number":       {"client,acc\n0,0.5\n1,x\n", 1, "line 3: 1,x"},
		"above 1":         {"client,acc\n0,50\n", 0, "line 2: accuracy 50"},
		"byte order mark": {"\ufeffclient,acc\r\n0,0.5\r\n", 1, ""},
		"UTF-16":          {"\xfe\xff\x00c", 0, "line 1: UTF-16, want UTF-8"},
		"half a line":     {"client,acc\n0,0.5\n1", 1, "line 3"},
	} {
		path := filepath.Join(t.TempDir(), "c.csv")
		must.OK(t, os.WriteFile(path, []byte(c.text), 0o666))
		rows, err := readAccuracies(path)
		if len(rows) != c.rows || (err == nil) != (c.wants == "") ||
			err != nil && !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%s: %d rows, %v, want %d and %q", name, len(rows), err, c.rows, c.wants)
		}
	}
}

// A report of nothing but problems is a page all the same, and one without a paper's table too.
func TestOddInputs(t *testing.T) {
	for name, in := range map[string]Input{
		"nothing":  {},
		"problems": {Bad: []error{errors.New("x")}},
		"own": {Numbers: []results.SummaryRow{{Setup: results.Setup{
			Table: "run", Method: "new", Data: "own", Availability: "trace",
		}, Metric: metrics.TestAcc, N: 1, Mean: files.Some(0.5), Status: results.CellOK}}},
	} {
		var b bytes.Buffer
		if err := pageTemplate.Execute(&b, build(in).data()); err != nil || !strings.Contains(b.String(), "</html>") {
			t.Errorf("%s: %v, %d bytes, want a page", name, err, b.Len())
		}
		if name == "own" && !strings.Contains(b.String(), "50.0") {
			t.Error("own: no 50.0 in it")
		}
	}
}

// Interrupted, nothing is there under the page's name.
func TestCancelled(t *testing.T) {
	out := t.TempDir()
	synthesise(t, out, synthetic{
		availabilities: []string{"sine"}, data: []string{"svhn"}, methods: []string{"mifa"}, rounds: 20, every: 10,
	})
	in := input(t, out)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, filepath.Join(out, "report"), in); err == nil {
		t.Error("no error, want the context's")
	}
	if _, err := os.Stat(filepath.Join(out, "report", Page)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("page: %v, want none", err)
	}
}

// A report replaces an earlier one, whole or not, and no other files.
func TestWriteBeside(t *testing.T) {
	out := t.TempDir()
	synthesise(t, out, synthetic{
		availabilities: []string{"sine"}, data: []string{"svhn"}, methods: []string{"mifa"}, rounds: 20, every: 10,
	})
	in := input(t, out)
	earlier := filepath.Join(out, "report")
	must.Get(Write(t.Context(), earlier, in))(t)
	const svg, csv, png = "figures/curves-svhn-sine.svg", "figures/curves-svhn-sine.csv", "figures/curves-svhn-sine.png"
	var drawn []string
	for _, ending := range plot.Endings() {
		drawn = append(drawn, "figures/curves-svhn-sine"+ending)
	}
	const mine = "<h1>mine</h1>\n"
	remove := func(names ...string) func(dir string) error {
		return func(dir string) error {
			for _, name := range names {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	put := func(name, text string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666) }
	}
	all := func(steps ...func(dir string) error) func(dir string) error {
		return func(dir string) (err error) {
			for _, step := range steps {
				err = errors.Join(err, step(dir))
			}
			return err
		}
	}
	for name, c := range map[string]struct {
		change func(dir string) error // of an earlier report
		want   string                 // the file that the error names; "": there is no error
	}{
		"earlier":            {func(string) error { return nil }, ""},
		"earlier version":    {put(Page, "<!doctype html>\n<meta name=\"generator\" content=\"rollcall v0.1\">\n"), ""},
		"interrupted":        {remove(Page), ""},
		"interrupted at PDF": {remove(slices.Concat([]string{Page, csv}, drawn[2:])...), ""},
		"interrupted at PNG": {remove(slices.Concat([]string{Page, csv}, drawn[1:])...), ""},
		"interrupted at SVG": {remove(slices.Concat([]string{Page, csv}, drawn)...), ""},
		"other files":        {all(put("figures/mine.svg", mine), put("mine.html", mine)), ""},
		"figure removed":     {remove(svg), ""},
		"a page":             {put(Page, mine), Page},
		"an empty page":      {put(Page, ""), Page},
		"a page of another program": {
			put(Page, "<meta name=\"generator\" content=\"Hugo 0.1\">rollcall\n"), Page,
		},
		"page is a link to a page": {all(remove(Page), put("mine.html", mine), func(dir string) error {
			return os.Symlink("mine.html", filepath.Join(dir, Page))
		}), Page},
		"page is a link to nothing": {all(remove(Page), func(dir string) error {
			return os.Symlink("nothing", filepath.Join(dir, Page))
		}), Page},
		"page is a folder": {all(remove(Page), func(dir string) error {
			return os.Mkdir(filepath.Join(dir, Page), 0o777)
		}), Page},
		"an SVG":                {all(remove(Page), put(svg, "<svg/>\n")), svg},
		"a CSV without its SVG": {all(remove(append(drawn, Page)...), put(csv, "mine\n")), csv},
		"a PNG without its SVG": {all(remove(append(drawn, Page, csv)...), put(png, "mine\n")), png},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must.OK(t, os.CopyFS(dir, os.DirFS(earlier)))
			must.OK(t, c.change(dir))
			before := filestest.FileNames(t, dir) + filestest.FileNames(t, filepath.Join(dir, "figures"))
			text, _ := os.ReadFile(filepath.Join(dir, c.want))
			_, err := Write(t.Context(), dir, in)
			if c.want == "" {
				must.OK(t, err)
				must.Get(os.Stat(filepath.Join(dir, svg)))(t)
				return
			}
			path := filepath.Join(dir, c.want)
			if err == nil || !strings.HasPrefix(err.Error(), "report: "+path+": ") {
				t.Errorf("%v, want an error that names %s", err, path)
			}
			after := filestest.FileNames(t, dir) + filestest.FileNames(t, filepath.Join(dir, "figures"))
			if now, _ := os.ReadFile(path); string(now) != string(text) || after != before {
				t.Errorf("%q and files %s, want %q and %s as before", now, after, text, before)
			}
		})
	}
}

// The size of a real report: Table 2 whole, 96 cells of 3 seeds, with curves of 2000 rounds evaluated every 10, as
// tables do. The page stays below 5 MB.
func TestFullTable(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole table is not for -short")
	}
	out := t.TempDir()
	synthesise(t, out, synthetic{rounds: 2000, every: 10})
	started := time.Now()
	in := input(t, out)
	done := must.Get(Write(t.Context(), filepath.Join(out, "report"), in))(t)
	t.Logf("%d runs, %d figures, page of %.2f MB, %.2f s",
		len(in.Runs), done.Figures, float64(done.Bytes)/1e6, time.Since(started).Seconds())
	if len(in.Runs) != 96*3 || done.Bytes > 5e6 {
		t.Errorf("%d runs, %d bytes, want 288 and at most 5 MB", len(in.Runs), done.Bytes)
	}
}

// Measurements of two precisions, or of two variants of one precision, are two lines, never one history.
func TestSpeedByPrecision(t *testing.T) {
	row := results.BenchRow{
		Data: "cifar10", Net: "cnn-cifar10", Engine: "cpu-avx512", Precision: "fp32", Threads: 2, ClientStepsPerSec: 1,
	}
	var rows []results.BenchRow
	for i, of := range [][2]string{
		{"cpu-avx512", "fp32"},
		{"cpu-avx512", "bf16"},
		{"cpu-avx512", "fp32"},
		{"cpu-amx", "bf16"},
		{"cpu-avx512", "bf16x3"},
		{"cpu-avx512", "bf16"},
	} {
		row.Engine, row.Precision, row.ClientStepsPerSec = of[0], of[1], float64(i)
		rows = append(rows, row)
	}
	b := builder{Input: Input{Bench: rows}}
	b.speed()
	lines, ok := b.figures[0].drawn.Panels[0][0].(plot.LineChart)
	if !ok || len(b.figures) != 1 {
		t.Fatalf("%d figures, want one of lines", len(b.figures))
	}
	got := map[string][]float64{}
	for _, s := range lines.Series {
		got[s.Name] = s.Y
	}
	for name, want := range map[string][]float64{
		"cpu-avx512 fp32": {0, 2}, "cpu-avx512 bf16": {1, 5}, "cpu-amx bf16": {3}, "cpu-avx512 bf16x3": {4},
	} {
		if y := got["cifar10 cnn-cifar10, "+name+", 2 threads"]; !slices.Equal(y, want) {
			t.Errorf("%s: %v, want %v; all lines are %v", name, y, want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d lines, want 4: %v", len(got), got)
	}
}

func TestThin(t *testing.T) {
	var s plot.Series
	for i := range 2001 {
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, float64(i*i))
	}
	got := thin(s, 100)
	if n := len(got.X); n < 90 || n > 102 || got.X[0] != 0 || got.X[n-1] != 2000 || got.Y[n-1] != 4e6 {
		t.Errorf("%d points from %g to %g, want about 100 from 0 to 2000", n, got.X[0], got.X[n-1])
	}
}

// The marks of a number beside a printed one.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		mean        float64
		outcome     judge.Outcome
		class, mark string
	}{
		{0.635, judge.Outcome{Verdict: judge.Agrees}, "in", "✓ agrees"},
		{0.655, judge.Outcome{Verdict: judge.Differs}, "above", "▲ differs, above"},
		{0.615, judge.Outcome{Verdict: judge.Differs}, "below", "▼ differs, below"},
		{0.650, judge.Outcome{Verdict: judge.Untold, Seeds: 14}, "near", "? cannot be told: 14 seeds would tell"},
	} {
		r := compare.ComparisonRow{
			TableColumn: compare.TableColumn{Metric: metrics.TestAcc}, Mean: files.Some(c.mean), Std: files.Some(0.02),
			N: 3, PaperMean: files.Some(0.635), PaperStd: files.Some(0.02), PaperN: 3, Status: "ok",
		}
		r.Outcome, r.Rounds = c.outcome, 2000
		r.Difference = files.Some(c.mean - 0.635)
		if got := (tableData{}).Cell(&r); got.Class != c.class || got.Mark != c.mark {
			t.Errorf("%g: %s %q, want %s %q", c.mean, got.Class, got.Mark, c.class, c.mark)
		}
	}
	failed := (tableData{}).Cell(&compare.ComparisonRow{
		TableColumn: compare.TableColumn{Metric: metrics.TestAcc}, Status: "failed",
		PaperMean: files.Some(0.635), PaperStd: files.Some(0.02), PaperN: 3,
	})
	if failed.Ours != "–" || failed.Paper != "63.5 ± 2.0" || failed.Note != "failed, 0 seeds" || failed.Mark != "" {
		t.Errorf("%+v, want no number, the printed one, and that it failed", failed)
	}
}

// The report says of every number what the comparison says: a number that is not compared is in neither's counts, and
// one that the comparison does not know is not away.
func TestReportAgreesWithComparison(t *testing.T) {
	of := must.Get(papers.TableByID("fedawe-2"))(t)
	row := func(method string, mean float64, n, rounds int) results.SummaryRow {
		r := resultstest.Row("fedawe-2", method, "svhn", "sine", metrics.TestAcc, mean, n)
		r.Rounds = rounds
		return r
	}
	for name, c := range map[string]struct {
		rows     []results.SummaryRow
		compared string
		marks    []string // in the order of the paper's methods
	}{
		"one seed": {
			[]results.SummaryRow{row("fedawe", 0.2, 1, 2000), row("fedau", 0.1, 1, 2000)},
			"0 numbers compared: 0 agree, 0 differ, 0 cannot be told; 2 not compared: 1 of 3 seeds;",
			[]string{"not comparable", "not comparable"},
		},
		"one whole": {
			[]results.SummaryRow{row("fedawe", 0.2, 3, 2000), row("fedau", 0.825, 3, 100)},
			"1 number compared: 0 agree, 1 differ, 0 cannot be told; 1 not compared: 100 of 2000 rounds;",
			[]string{"▼ differs, below", "not comparable: 100 of 2000 rounds"},
		},
		"both": {
			[]results.SummaryRow{row("fedawe", 0.846, 3, 2000), row("fedau", 0.825, 3, 2000)},
			"2 numbers compared: 0 agree, 0 differ, 2 cannot be told;",
			[]string{"? cannot be told: the print is too wide", "? cannot be told: the print is too wide"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			must.OK(t, compare.Table(&of, c.rows).Write(&text, compare.Plain))
			if !strings.Contains(text.String(), c.compared) {
				t.Errorf("compare:\n%s\nwant %q", text.String(), c.compared)
			}
			var page strings.Builder
			data := build(Input{Numbers: c.rows}).data()
			must.OK(t, pageTemplate.Execute(&page, data))
			if !strings.Contains(page.String(), c.compared) {
				t.Errorf("report: %q, want %q", data.Tables[0].Summary, c.compared)
			}
			var marks []string
			for _, l := range data.Tables[0].Groups[0].Lines {
				if r := l.Cells[0]; r.Status != "" {
					marks = append(marks, data.Tables[0].Cell(r).Mark)
				}
			}
			slices.Sort(marks)
			slices.Sort(c.marks)
			if !slices.Equal(marks, c.marks) {
				t.Errorf("marks %q, want %q", marks, c.marks)
			}
		})
	}
}

// A report of a short run is grey: it says once why, and colours nothing.
func TestShortRunIsGrey(t *testing.T) {
	out := t.TempDir()
	synthesise(t, out, synthetic{
		availabilities: []string{"sine"}, data: []string{"cifar10"}, methods: []string{"fedawe", "mifa"},
		rounds: 100, every: 10,
	})
	var page strings.Builder
	must.OK(t, pageTemplate.Execute(&page, build(input(t, out)).data()))
	for _, want := range []string{
		"None of our numbers is compared with the printed ones: 100 of 2000 rounds.",
		"Test accuracy (%), train accuracy (%): mean over the last 50 rounds. ",
		"Mean ± sample standard deviation over 3 seeds; 100 rounds, N = 100, α = 0.1, preset code, cnn-cifar10; " +
			"rollcall v1, cpu-fp32. Seeds 3, 4, 6. AMD EPYC, cpu-avx512 fp32.",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page.String(), `<td class="apart"`); n != 4 {
		t.Errorf("%d grey numbers, want 2 methods × 2 metrics", n)
	}
	for _, colour := range []string{"in", "near", "above", "below"} {
		if strings.Contains(page.String(), `<td class="`+colour+`"`) {
			t.Errorf("a number is coloured %q, want none", colour)
		}
	}
}

// FuzzReadAccuracies: a file of clients has accuracies of 0 … 1 or NaN, or an error.
func FuzzReadAccuracies(f *testing.F) {
	f.Add("client,round,test_acc\n0,1,0.1\n0,2,0.5\n1,2,0.6\n")
	f.Add("\ufeffaccuracy,client\r\n0.5,0\r\n")
	f.Add("client,acc\n1,NaN\n\"\n")
	path := filepath.Join(f.TempDir(), "clients.csv")
	f.Fuzz(func(t *testing.T, text string) {
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		rows, _ := readAccuracies(path)
		for _, r := range rows {
			if r.Accuracy < 0 || r.Accuracy > 1 {
				t.Errorf("%q: %+v, want 0 … 1", text, r)
			}
		}
	})
}
