package availability

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestReadTrace(t *testing.T) {
	for _, c := range []struct {
		name, file string
		perRound   float64
		want       []Interval
	}{
		{"rounds", "client,start,end\n1,0,3\n0,2,5\n1,3,4\n", 1, []Interval{{0, 2, 5}, {1, 0, 3}, {1, 3, 4}}},
		{
			"seconds: rounds that begin within", "client, start, end\r\n0,59.5,120\r\n2,60,121\r\n", 60,
			[]Interval{{0, 1, 2}, {2, 1, 3}},
		},
		{"byte order mark", "\ufeffclient,start,end\r\n0,0,5\r\n", 1, []Interval{{0, 0, 5}}},
		{"byte order mark and quotes", "\ufeff\"client\",start,end\n0,0,5\n", 1, []Interval{{0, 0, 5}}},
		{"between two rounds", "client,start,end\n0,10,50\n1,0,60\n", 60, []Interval{{0, 1, 1}, {1, 0, 1}}},
		{"empty rows", "client,start,end\r\n0,0,5\r\n,,\r\n\r\n , ,\r\n", 1, []Interval{{0, 0, 5}}},
		{"no rows", "client,start,end\n", 1, []Interval{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := ReadTrace(strings.NewReader(c.file), 3, c.perRound); err != nil ||
				!slices.Equal(got, c.want) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestReadTraceRefuses(t *testing.T) {
	const header, number = "client,start,end\n", ", want a number from 0 to below 2147483648 rounds"
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "empty, want the columns client,start,end"},
		{"header", "id,start,end\n", `line 1: columns ["id" "start" "end"], want client,start,end`},
		{"no header", "0,1,2\n", `line 1: columns ["0" "1" "2"], want client,start,end`},
		{"semicolons", "client;start;end\n0;1;2\n", "line 1: columns separated by semicolons, want commas"},
		{"CR alone", "client,start,end\r0,1,2\r", "line 1: lines end with CR alone, want LF"},
		{"empty cell", header + "1,,2\n,,\n", `line 2: client 1: time ""` + number},
		{"underscore", header + "1,1_0,20\n", `line 2: client 1: time "1_0"` + number},
		{"hexadecimal", header + "1,1,0x1p4\n", `line 2: client 1: time "0x1p4"` + number},
		{"UTF-16", "\xff\xfec\x00", "line 1: UTF-16, want UTF-8"},
		{"header of two", "client,start\n", `line 1: columns ["client" "start"], want client,start,end`},
		{"columns", header + "0,1\n", "record on line 2: wrong number of fields"},
		{"client", header + "0,1,2\n\n3,1,2\n", `line 4: client "3": unknown, want 0 … 2`},
		{"client negative", header + "-1,1,2\n", `line 2: client "-1": unknown, want 0 … 2`},
		{"client name", header + "a,1,2\n", `line 2: client "a": unknown, want 0 … 2`},
		{"start negative", header + "1,-1,2\n", `line 2: client 1: time "-1"` + number},
		{"end NaN", header + "1,1,NaN\n", `line 2: client 1: time "NaN"` + number},
		{"end infinite", header + "1,1,inf\n", `line 2: client 1: time "inf"` + number},
		{"end far", header + "1,1,1e300\n", `line 2: client 1: time "1e300"` + number},
		{"text", header + "1,x,2\n", `line 2: client 1: time "x"` + number},
		{"backwards", header + "0,1,2\n1,5,3\n", "line 3: client 1: interval from 5 to 3, want an end after the start"},
		{"nothing", header + "1,5,5\n", "line 2: client 1: interval from 5 to 5, want an end after the start"},
		{
			"overlap", header + "1,4,9\n0,0,9\n1,0,5\n",
			"line 2: client 1: interval from 4 to 9 overlaps that of line 4, from 0 to 5, want them apart",
		},
		{
			"twice", header + "1,4,9\n1,4,9\n",
			"line 3: client 1: interval from 4 to 9 overlaps that of line 2, from 4 to 9, want them apart",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := "availability: trace: " + c.want
			if _, err := ReadTrace(strings.NewReader(c.file), 3, 1); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
	for _, perRound := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, err := ReadTrace(strings.NewReader(header), 3, perRound)
		if err == nil || !strings.HasPrefix(err.Error(), "availability: trace: rounds ") {
			t.Errorf("rounds of %g: got %v, want an error", perRound, err)
		}
	}
}

// Client 0 is active in rounds 0–2 and 5, client 1 always, client 2 in rounds 2–5 (two rows that touch), client 3
// never; 6 rounds. Transitions of client 0: aa 2,
// ai 1, ii 1, ia 1: λ = 2/3 + 1/2 − 1; of client 2: ii 1, ia 1, aa 3: λ = 1 + 1/2 − 1.
func TestTrace(t *testing.T) {
	o := Defaults(make([]float64, 4), 1)
	o.Trace = []Interval{{0, 5, 6}, {1, 0, 6}, {0, 0, 3}, {2, 2, 4}, {2, 4, 6}, {3, 4, 4}}
	model := mustNew(t, "trace", o)
	want := [][]int{{0, 1}, {0, 1}, {0, 1, 2}, {1, 2}, {1, 2}, {0, 1, 2}, {}, {}}
	p := make([]float64, 4)
	for r := len(want) - 1; r >= 0; r-- {
		got := model.Active(r)
		model.Probabilities(r, p)
		if shares := []float64{4. / 6, 1, 4. / 6, 0}; !slices.Equal(p, shares) { // the same divisions: exact
			t.Errorf("round %d: probabilities %v, want the shares of rounds %v", r, p, shares)
		}
		if !slices.Equal(got, want[r]) || got == nil {
			t.Errorf("round %d: %v, want %v", r, got, want[r])
		}
	}
	pi, lambda := model.Stationary()
	wantPi, wantLambda := []float64{4. / 6, 1, 4. / 6, 0}, []float64{1. / 6, 0, 0.5, 0}
	for i := range pi {
		if math.Abs(pi[i]-wantPi[i]) > 1e-15 || math.Abs(lambda[i]-wantLambda[i]) > 1e-15 { // a rounding or two
			t.Errorf("client %d: π %g and λ %g, want %g and %g ± 1e-15", i, pi[i], lambda[i], wantPi[i], wantLambda[i])
		}
	}
}

// Of traces of many shapes, seen in part, whole or several times: the rounds are the trace's, repeated or followed by
// nobody, and π and λ are the counted ones of the rounds that the run sees. If a trace that repeats is seen whole, its
// first round follows its last.
func TestTraceSeen(t *testing.T) {
	const n, length = 60, 12
	chain := mustNew(t, "markov", Defaults(make([]float64, n), 6))
	var states [length][n]int
	o := Defaults(make([]float64, n), 1)
	for r := range length - 1 { // nobody is active in the last round, so that the trace is shorter
		for _, i := range chain.Active(r) {
			states[r][i] = 1
		}
	}
	for i := range n {
		for r := range length {
			last := len(o.Trace) - 1
			switch {
			case states[r][i] == 0:
			case r%3 > 0 && last >= 0 && o.Trace[last].Client == i && o.Trace[last].End == r:
				o.Trace[last].End++
			default: // may touch the interval before
				o.Trace = append(o.Trace, Interval{i, r, r + 1})
			}
		}
	}
	_, whole := TraceSpan(o.Trace)
	for _, o.Rounds = range []int{1, 5, whole - 1, whole, 3 * whole} {
		for _, o.Repeat = range []bool{false, true} {
			model := mustNew(t, "trace", o)
			for r := range 2 * whole {
				at := r
				if o.Repeat {
					at = r % whole
				}
				want := clientsWho(n, func(i int) bool { return at < length && states[at][i] == 1 })
				if got := model.Active(r); !slices.Equal(got, want) {
					t.Fatalf("repeat %t: round %d: %v, want %v", o.Repeat, r, got, want)
				}
			}
			seen, p := min(o.Rounds, whole), make([]float64, n)
			pi, lambda := model.Stationary()
			model.Probabilities(1, p)
			for i := range n {
				active := 0
				var count [2][2]float64 // transitions, by the state before and the state after
				for r := range seen {
					active += states[r][i]
					if after := r + 1; after < seen || o.Repeat && seen == whole {
						count[states[r][i]][states[after%seen][i]]++
					}
				}
				want := 0.0
				if from := [2]float64{count[0][0] + count[0][1], count[1][0] + count[1][1]}; from[0]*from[1] > 0 {
					want = count[1][1]/from[1] + count[0][0]/from[0] - 1
				}
				share := float64(active) / float64(seen)
				if pi[i] != share || p[i] != share || math.Abs(lambda[i]-want) > 1e-15 { // a rounding or two
					t.Errorf("%d rounds, repeat %t: client %d: π %g, p %g, λ %g, want %g twice and %g ± 1e-15",
						o.Rounds, o.Repeat, i, pi[i], p[i], lambda[i], share, want)
				}
			}
		}
	}
}

func TestTraceRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		trace []Interval
		want  string // after "availability: trace: "
	}{
		{"no rounds", []Interval{{0, 0, 1}}, "0 rounds, want at least 1"},
		{"none", nil, "0 intervals, none holds a round, want at least one that does"},
		{"empty", []Interval{{0, 2, 2}}, "1 intervals, none holds a round, want at least one that does"},
		{"stranger", []Interval{{2, 0, 1}}, "client 2: unknown, want 0 … 1"},
		{"negative", []Interval{{1, -1, 1}}, "client 1: interval from -1 to 1, want 0 or more, and forwards"},
		{"backwards", []Interval{{1, 3, 1}}, "client 1: interval from 3 to 1, want 0 or more, and forwards"},
		{
			"overlap",
			[]Interval{{1, 3, 6}, {0, 0, 9}, {1, 5, 7}},
			"client 1: intervals from 3 to 6 and from 5 to 7 overlap, want them apart",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Defaults(make([]float64, 2), 1)
			if o.Trace = c.trace; c.name == "no rounds" {
				o.Rounds = 0
			}
			want := "availability: trace: " + c.want
			if _, err := New("trace", o); err == nil || err.Error() != want {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// A file is refused in one line, or makes a model (unless it
// is empty of rounds) in which every row's rounds are active.
func FuzzReadTrace(f *testing.F) {
	f.Add("client,start,end\n0,0,5\n1,2.5,7\n0,5,6\n", 1.0)
	f.Add("client,start,end\n2,3600,7200\n1,0,59\n", 60.0)
	f.Add("client,start,end\n0,5,0\n", 1.0)
	f.Add("client,start,end\n\"0\",1e3,2e9\n", 0.5)
	f.Fuzz(func(t *testing.T, file string, perRound float64) {
		intervals, err := ReadTrace(strings.NewReader(file), 3, perRound)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "availability: trace: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line that says where it is from", err)
			}
			return
		}
		o := Defaults(make([]float64, 3), 1)
		o.Trace, o.Repeat = intervals, len(file)%2 == 0
		model, err := New("trace", o)
		if err != nil {
			if !strings.Contains(err.Error(), "none holds a round") {
				t.Errorf("%q was read, but: %v", file, err)
			}
			return
		}
		for _, v := range intervals {
			if v.Start == v.End {
				continue
			}
			for _, round := range []int{v.Start, v.End - 1} {
				if !slices.Contains(model.Active(round), v.Client) {
					t.Errorf("round %d: %v, want client %d of %v", round, model.Active(round), v.Client, v)
				}
			}
		}
		pi, lambda := model.Stationary()
		for i := range pi {
			if !isFraction(pi[i]) || !(lambda[i] >= -1 && lambda[i] <= 1) {
				t.Errorf("client %d: π %g, λ %g, want 0 … 1 and −1 … 1", i, pi[i], lambda[i])
			}
		}
	})
}
