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
		{"between two rounds", "client,start,end\n0,10,50\n1,0,60\n", 60, []Interval{{0, 1, 1}, {1, 0, 1}}},
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

// Client 0 is there in rounds 0–2 and 5, client 1 always, client 2 in rounds 2–3 and on
// in 4–5 (two rows that touch), client 3 never; 6 rounds. Transitions of client 0: aa 2,
// ai 1, ii 1, ia 1: λ = 2/3 + 1/2 − 1; of client 2: ii 1, ia 1, aa 3: λ = 1 + 1/2 − 1.
func TestTrace(t *testing.T) {
	o := Defaults(make([]float64, 4), 1)
	o.Trace = []Interval{{0, 5, 6}, {1, 0, 6}, {0, 0, 3}, {2, 2, 4}, {2, 4, 6}, {3, 4, 4}}
	x := mustNew(t, "trace", o)
	want := [][]int{{0, 1}, {0, 1}, {0, 1, 2}, {1, 2}, {1, 2}, {0, 1, 2}, {}, {}}
	p := make([]float64, 4)
	for r := len(want) - 1; r >= 0; r-- {
		got := x.Active(r)
		x.Probabilities(r, p)
		if shares := []float64{4. / 6, 1, 4. / 6, 0}; !slices.Equal(p, shares) { // the same divisions: exact
			t.Errorf("round %d: probabilities %v, want the shares of rounds %v", r, p, shares)
		}
		if !slices.Equal(got, want[r]) || got == nil {
			t.Errorf("round %d: %v, want %v", r, got, want[r])
		}
	}
	pi, lambda := x.Stationary()
	wantPi, wantLambda := []float64{4. / 6, 1, 4. / 6, 0}, []float64{1. / 6, 0, 0.5, 0}
	for i := range pi {
		if math.Abs(pi[i]-wantPi[i]) > 1e-15 || math.Abs(lambda[i]-wantLambda[i]) > 1e-15 { // a rounding or two
			t.Errorf("client %d: π %g and λ %g, want %g and %g ± 1e-15", i, pi[i], lambda[i], wantPi[i], wantLambda[i])
		}
	}
}

// The same trace begun again: round 6 is round 0, and round 5 is followed by it. Transitions of client 0, there in
// rounds 0–2 and 5: aa 3 (5 to 0 among them), ai 1, ii 1, ia 1: λ = 3/4 + 1/2 − 1; of client 2, there in 2–5: aa 3, ai
// 1 (5 to 0), ii 1, ia 1: λ = 3/4 + 1/2 − 1; of client 4, there in 0–1: aa 1, ai 1, ii 3, ia 1 (5 to 0): λ = 1/2 + 3/4
// − 1.
func TestTraceRepeats(t *testing.T) {
	o := Defaults(make([]float64, 5), 1)
	o.Trace = []Interval{{0, 5, 6}, {1, 0, 6}, {0, 0, 3}, {2, 2, 4}, {2, 4, 6}, {3, 4, 4}, {4, 0, 2}}
	once := mustNew(t, "trace", o)
	o.Repeat = true
	x := mustNew(t, "trace", o)
	p, q := make([]float64, 5), make([]float64, 5)
	for r := range 20 {
		x.Probabilities(r, p)
		once.Probabilities(r%6, q)
		if got, want := x.Active(r), once.Active(r%6); !slices.Equal(got, want) || !slices.Equal(p, q) {
			t.Errorf("round %d: %v with %v, want those of round %d: %v with %v", r, got, p, r%6, want, q)
		}
	}
	pi, lambda := x.Stationary()
	wantPi, wantLambda := []float64{4. / 6, 1, 4. / 6, 0, 2. / 6}, []float64{0.25, 0, 0.25, 0, 0.25}
	for i := range pi {
		if math.Abs(pi[i]-wantPi[i]) > 1e-15 || math.Abs(lambda[i]-wantLambda[i]) > 1e-15 { // a rounding or two
			t.Errorf("client %d: π %g and λ %g, want %g and %g ± 1e-15", i, pi[i], lambda[i], wantPi[i], wantLambda[i])
		}
	}
	// What is true in the long run is what is counted over many repetitions.
	for i := range pi {
		var count [2][2]float64
		for r := range 6000 {
			count[state(x, r, i)][state(x, r+1, i)]++
		}
		l := count[1][1]/(count[1][0]+count[1][1]) + count[0][0]/(count[0][0]+count[0][1]) - 1
		if pi[i] > 0 && pi[i] < 1 && math.Abs(lambda[i]-l) > 1e-12 { // a few roundings
			t.Errorf("client %d: λ %g, want %g ± 1e-12 as counted", i, lambda[i], l)
		}
	}
}

// state returns 1 if client i is there in round t, else 0.
func state(x Process, t, i int) int {
	if slices.Contains(x.Active(t), i) {
		return 1
	}
	return 0
}

// What a chain's rounds are written as comes back, and its λ is that of the counted transitions.
func TestTraceOfChains(t *testing.T) {
	const rounds, n = 3000, 8
	chain := mustNew(t, "markov", Defaults(make([]float64, n), 6))
	o := Defaults(make([]float64, n), 1)
	start, count := make([]int, n), make([][2][2]float64, n)
	for i := range start {
		start[i] = -1
	}
	before := make([]int, n)
	for r := range rounds + 1 {
		state := make([]int, n)
		if r < rounds {
			for _, i := range chain.Active(r) {
				state[i] = 1
			}
		}
		for i, s := range state {
			if s == 1 && start[i] < 0 {
				start[i] = r
			}
			if s == 0 && start[i] >= 0 {
				o.Trace, start[i] = append(o.Trace, Interval{i, start[i], r}), -1
			}
			if r > 0 && r < rounds {
				count[i][before[i]][s]++
			}
		}
		before = state
	}
	x := mustNew(t, "trace", o)
	for r := range rounds {
		if got, want := x.Active(r), chain.Active(r); !slices.Equal(got, want) {
			t.Fatalf("round %d: %v, want %v", r, got, want)
		}
	}
	if len(x.Active(rounds-1)) == 0 {
		t.Fatal("nobody in the last round: the counts below would be of other rounds")
	}
	_, lambda := x.Stationary()
	for i, c := range count {
		want := c[1][1]/(c[1][0]+c[1][1]) + c[0][0]/(c[0][0]+c[0][1]) - 1
		if math.Abs(lambda[i]-want) > 1e-12 { // a few roundings
			t.Errorf("client %d: λ %g, want %g ± 1e-12", i, lambda[i], want)
		}
	}
}

func TestTraceRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		trace []Interval
		want  string // after "availability: trace: "
	}{
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
			o.Trace = c.trace
			want := "availability: trace: " + c.want
			if _, err := New("trace", o); err == nil || err.Error() != want {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// A file is refused in one line, or makes a process (unless it
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
		x, err := New("trace", o)
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
				if !slices.Contains(x.Active(round), v.Client) {
					t.Errorf("round %d: %v, want client %d of %v", round, x.Active(round), v.Client, v)
				}
			}
		}
		pi, lambda := x.Stationary()
		for i := range pi {
			if !isFraction(pi[i]) || !(lambda[i] >= -1 && lambda[i] <= 1) {
				t.Errorf("client %d: π %g, λ %g, want 0 … 1 and −1 … 1", i, pi[i], lambda[i])
			}
		}
	})
}
