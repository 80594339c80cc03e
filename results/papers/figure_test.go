package papers

import (
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/plot"
	"rollcall/results/resultstest"
)

// Every table and figure is whole, and no name is there twice.
func TestComplete(t *testing.T) {
	var ids, flags []string
	for _, table := range tables {
		ids = append(ids, table.ID)
		switch {
		case table.Title == "" || table.Source == "" || table.About == nil || table.About(table.Rounds) == "",
			len(table.Printed) == 0 && !strings.Contains(table.Source, "prints no number"):
			t.Errorf("%s: want a title, a source, printed numbers and what ours are", table.ID)
		case len(table.Methods) == 0 || len(table.Columns) == 0 || len(table.Entries) == 0 || len(table.Seeds) == 0 ||
			table.Rounds < max(1, table.MinRounds):
			t.Errorf("%s: want methods, columns, entries, seeds and rounds", table.ID)
		case table.Reference != "" && table.Methods[0] != table.Reference:
			t.Errorf("%s: %s first, want the reference %s", table.ID, table.Methods[0], table.Reference)
		}
		for _, p := range table.Printed {
			if p.Table != table.ID {
				t.Errorf("%s: a number of %s is printed there", table.ID, p.Table)
			}
		}
	}
	for _, f := range Figures() {
		ids = append(ids, f.ID)
		_, curves := f.Measure.(Curves)
		switch {
		case f.Title == "" || f.Draw == nil || f.Measure == nil:
			t.Errorf("%s: want a title, what is measured and what draws it", f.ID)
		case curves && (len(f.Runs) == 0 || f.Rounds < 1), f.Measure != (Nothing{}) && len(f.Seeds) == 0:
			t.Errorf("%s: %d runs of %d rounds with %d seeds, want some", f.ID, len(f.Runs), f.Rounds, len(f.Seeds))
		}
		for _, o := range f.Options {
			flags = append(flags, o.Name)
			if o.Help == "" || o.Check != nil && o.Check(o.Default) != nil {
				t.Errorf("%s: --%s: want help, and %v allowed", f.ID, o.Name, o.Default)
			}
		}
		for _, r := range f.Runs {
			if r.Method == "" || r.Data == "" || r.Availability == "" {
				t.Errorf("%s: a run of %q on %q under %q, want three names", f.ID, r.Method, r.Data, r.Availability)
			}
		}
	}
	for _, names := range [][]string{ids, flags} {
		slices.Sort(names)
		if len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("%q: a name is there twice", names)
		}
	}
}

// made is what a figure measures, small and made up.
func made(f Figure) Measured {
	m := Measured{Figure: f, Base: []float64{0.1, 0.5, 1}, Classes: [][]int{{1, 3, 0}, {0, 2, 2}}}
	if _, ok := f.Measure.(Curves); ok {
		for k, r := range f.Runs {
			line := Line{Training: r}
			for seed := range 2 {
				var curve []results.CurveRow
				for round, row := range resultstest.Accuracies(0.1, 0.2+0.01*float64(k%9), 0.3+0.1*float64(seed)) {
					row.Data, row.Availability, row.Method = r.Data, r.Availability, r.Method
					row.TrainAcc, row.TrainLoss = row.TestAcc, row.TestAcc
					if round == 2 && seed == 1 {
						row.TrainLoss = files.Some(math.Inf(1)) // diverged
					}
					row.Round = 40 * round
					curve = append(curve, row)
				}
				line.Curves = append(line.Curves, curve)
				line.Decisions = append(line.Decisions, resultstest.Decisions())
				line.Clients = append(line.Clients, []results.ClientRow{
					{Client: 0, Accuracy: 0.4},
					{Client: 1, Accuracy: 0.6},
				})
			}
			m.Lines = append(m.Lines, line)
		}
	}
	for stale := range 3 {
		m.Coalitions = append(m.Coalitions, Coalition{Stale: stale, Seed: 3, Accuracies: []float64{0.1, 0.2, 0.3, 0.5}})
		m.Paths = append(m.Paths, FedAWEF6Row{"sine", 0.5, stale, 0.4, 1})
		m.Errors = append(m.Errors, EstimatorError{
			X: 10, Round: stale, Pi: []float64{0.1, 0.2}, Lambda: []float64{0.3, 0.4},
		})
	}
	return m
}

// Every figure is drawn from numbers that nobody trained for, under its own title or one of its own.
func TestDraw(t *testing.T) {
	for _, f := range Figures() {
		t.Run(f.ID, func(t *testing.T) {
			m := made(f)
			before := made(f)
			d := must.Get(f.Draw(m))(t)
			if n := reflect.ValueOf(d.Rows).Len(); n == 0 {
				t.Error("no rows, want some")
			}
			if d.Figure.Title == "" {
				t.Error("no title, want one")
			}
			checkSVG(t, d.Figure)
			if strings.HasPrefix(f.ID, "cafed-") && d.Words == "" || d.Words != "" &&
				!strings.HasSuffix(d.Words, "\n") {
				t.Errorf("words %q, want lines, of CA-Fed's figures some", d.Words)
			}
			for _, c := range d.Says {
				if c.Says != "" && !strings.Contains(d.Words, c.Says) ||
					c.Says == "" && !strings.Contains(d.Words, "percentage points: ours ") {
					t.Errorf("words %q, want %+v in them", d.Words, c)
				}
			}
			if !reflect.DeepEqual(m.Lines, before.Lines) {
				t.Error("the measured lines were changed")
			}
		})
	}
}

// FedAWE, Figure 7: its options have the figure's defaults where they are not given, and change what is drawn.
func TestOptions(t *testing.T) {
	m := made(fedaweF7)
	rows := func() []fedaweF7Row {
		d := must.Get(fedaweF7.Draw(m))(t)
		return d.Rows.(csvRows[fedaweF7Row])
	}
	isSmoothed := func(r fedaweF7Row) bool { return r.Method == "fedawe" && r.Beta == 0.99 }
	if r := rows(); !slices.ContainsFunc(r, isSmoothed) || r[0].LossAsCoded {
		t.Errorf("by default %+v, want FedAWE's curves smoothed and true losses", r[0])
	}
	m.Options = map[string]any{"ema": 0.0, "loss-as-coded": true}
	if r := rows(); slices.ContainsFunc(r, isSmoothed) || !r[0].LossAsCoded {
		t.Errorf("with --ema 0 --loss-as-coded %+v, want raw curves and losses as coded", r[0])
	}
}

// CA-Fed, ToN, figure 4a: both estimators' errors at each history, those of π̂ first.
func TestEstimatorRows(t *testing.T) {
	rows := must.Get(estimatorRows(Measured{Figure: Figure{Axis: historyAxis}, Errors: []EstimatorError{
		{X: 10, Pi: []float64{0.2, 0.4}, Lambda: []float64{1}},
		{X: 10, Round: 50, Pi: []float64{0.1}, Lambda: []float64{0.5}},
		{X: 32, Pi: []float64{0.3}, Lambda: []float64{0.7}},
	}}))(t)
	var got []string
	for _, r := range rows {
		got = append(got, r.What+" "+r.Series)
	}
	want := "pi_error after 0 rounds,pi_error after 50 rounds,lambda_error after 0 rounds,lambda_error after 50 " +
		"rounds,pi_error after 0 rounds,lambda_error after 0 rounds"
	if strings.Join(got, ",") != want || rows[0].N != 2 || !filestest.Near(rows[0].Mean, 0.3) || rows[4].X != 32 {
		t.Errorf("rows %+v, want %s", rows, want)
	}
}

// A figure of runs that have too little says so, or leaves it out. It does not stop the program.
func TestDrawTooLittle(t *testing.T) {
	for name, spoil := range map[string]func(l *Line){
		"no seeds": func(l *Line) { l.Runs = Runs{} },
		"nothing evaluated": func(l *Line) {
			for _, curve := range l.Curves {
				for i := range curve {
					curve[i].TestAcc, curve[i].TrainAcc, curve[i].TrainLoss = files.Optional{},
						files.Optional{}, files.Optional{}
				}
			}
		},
		"no round of all seeds": func(l *Line) {
			for i := range l.Curves[0] {
				l.Curves[0][i].Round++
			}
		},
		"no decisions and no clients": func(l *Line) { l.Decisions, l.Clients = nil, nil },
		"one decision of one seed":    func(l *Line) { l.Decisions[1] = l.Decisions[1][:1] },
	} {
		for _, f := range Figures() {
			t.Run(f.ID+" "+name, func(t *testing.T) {
				defer func() {
					if why := recover(); why != nil {
						t.Errorf("stopped: %v", why)
					}
				}()
				m := made(f)
				for i := range m.Lines {
					spoil(&m.Lines[i])
				}
				d, err := f.Draw(m)
				if err == nil && d.Rows == nil || err != nil && d.Figure.Panels != nil {
					t.Errorf("%v rows, %d panels, error %v, want rows or an error", d.Rows, len(d.Figure.Panels), err)
				}
				if err := d.Figure.WriteSVG(io.Discard); err != nil && strings.Contains(err.Error(), "\n") {
					t.Errorf("drawn: %v, want one line", err)
				}
			})
		}
	}
}

var (
	viewBox = regexp.MustCompile(`viewBox="0 0 ([\d.]+) ([\d.]+)"`)
	textAt  = regexp.MustCompile(`<text x="(-?[\d.]+)" y="(-?[\d.]+)"`)
)

func number64(t *testing.T, text string) float64 {
	t.Helper()
	x := must.Get(strconv.ParseFloat(text, 64))(t)
	return x
}

// checkSVG checks that a figure is 800 pixels wide, has nothing outside of itself, and has all its words.
func checkSVG(t *testing.T, f plot.Figure) {
	t.Helper()
	got := filestest.SVG(t, f)
	box := viewBox.FindStringSubmatch(got)
	if box == nil || !strings.Contains(got, `width="489.6pt"`) { // 600 points are 800 pixels
		t.Fatalf("got %.200s, want a width of 489.6pt and a viewBox", got)
	}
	width, height := number64(t, box[1]), number64(t, box[2])
	points := filestest.Points(t, got)
	for _, p := range points {
		if x, y := p[0], p[1]; x < -0.01 || y < -0.01 || x > width+0.01 || y > height+0.01 {
			t.Errorf("drawn at %g, %g, want it within %g × %g", x, y, width, height)
		}
	}
	if len(points) < 20 {
		t.Errorf("%d points drawn, want 20 at least", len(points))
	}
	for _, p := range textAt.FindAllStringSubmatch(got, -1) {
		// Rotated text is placed in axes turned by a right angle, so either side may be its limit.
		if x, y := number64(t, p[1]), number64(t, p[2]); max(math.Abs(x), math.Abs(y)) > max(width, height) {
			t.Errorf("text at %g, %g, want it within %g × %g", x, y, width, height)
		}
	}
	for _, word := range append(strings.Fields(f.Title), f.Names()...) {
		if !strings.Contains(got, strings.NewReplacer("'", "&#39;").Replace(word)) {
			t.Errorf("no text %q", word)
		}
	}
	if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error("a coordinate or label is not finite")
	}
	if again := filestest.SVG(t, f); again != got {
		t.Error("written twice: got other bytes, want the same")
	}
}
