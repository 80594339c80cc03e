package availability

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// The same chains as π and λ, and as transition probabilities; rows of numbered clients in any order, others as they
// come.
func TestReadChain(t *testing.T) {
	for _, c := range []struct {
		name, file string
		pi, lambda []float64
	}{
		{
			"pi, lambda", "client,pi,lambda\n1,0.5,-1\n0,0.2,0.75\n2,1,0\n",
			[]float64{0.2, 0.5, 1},
			[]float64{0.75, -1, 0},
		},
		{
			"transitions", "client,to_active,to_inactive\r\n0,0.05,0.2\r\n1,1,1\r\n2,0.1,0\r\n3,0,1\r\n",
			[]float64{0.2, 0.5, 1, 0},
			[]float64{0.75, -1, 0, 0},
		},
		{"names", "\ufeffclient, pi, lambda\nb, 0.3, 0\na, 0, 0\n", []float64{0.3, 0}, []float64{0, 0}},
		{"numbers with a gap", "client,pi,lambda\n7,0.3,0\n2,0.1,0\n", []float64{0.3, 0.1}, []float64{0, 0}},
	} {
		got, err := ReadChain(strings.NewReader(c.file))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i := range c.pi {
			if math.Abs(got.Pi[i]-c.pi[i]) > 1e-15 || math.Abs(got.Lambda[i]-c.lambda[i]) > 1e-15 {
				t.Errorf("%s: client %d: π %g, λ %g, want %g, %g",
					c.name, i, got.Pi[i], got.Lambda[i], c.pi[i], c.lambda[i])
			}
		}
	}
}

func TestReadChainRefuses(t *testing.T) {
	const noChain = "which no chain of two states has, "
	for _, c := range []struct{ file, want string }{
		{"", "empty, want the columns client,pi,lambda or client,to_active,to_inactive"},
		{"client,pi,lambda\n", "no client, want a row for each"},
		{"pi,lambda\n", `line 1: columns ["pi" "lambda"], want client,pi,lambda or client,to_active,to_inactive`},
		{"client;pi;lambda\n", "line 1: columns separated by semicolons, want commas"},
		{"client,pi,lambda\n0,0.5,0\n0,0.5,0\n", `line 3: client "0" again, as in line 2, want a row for each`},
		{"client,pi,lambda\n0,x,0\n", `line 2: pi "x", want a number`},
		{"client,pi,lambda\n0,0.5,NaN\n", `line 2: client "0": lambda NaN at pi 0.5, ` + noChain +
			"want at least -1 and below 1"},
		{"client,pi,lambda\n0,1.5,0\n", `line 2: client "0": pi 1.5, want above 0 and below 1`},
		{"client,pi,lambda\n0,1,0.5\n", `line 2: client "0": lambda 0.5 at pi 1, which never changes, want 0`},
		{
			"client,to_active,to_inactive\n0,1e-320,1e-320\n", `line 2: client "0": lambda 1 at pi 0.5, ` + noChain +
				"want at least -1 and below 1",
		},
		{
			"client,pi,lambda\n0,0.2,-0.5\n", `line 2: client "0": lambda -0.5 at pi 0.2, ` + noChain +
				"want at least -0.25 and below 1",
		},
		{
			"client,to_active,to_inactive\n0,0,0\n",
			`line 2: client "0": to_active 0, to_inactive 0, want 0 … 1, one above 0`,
		},
		{
			"client,to_active,to_inactive\n0,0.5,1.1\n",
			`line 2: client "0": to_active 0.5, to_inactive 1.1, want 0 … 1, one above 0`,
		},
		{"client,pi,lambda\n0,0.5\n", "record on line 2: wrong number of fields"},
	} {
		if _, err := ReadChain(strings.NewReader(c.file)); err == nil || err.Error() != c.want {
			t.Errorf("%q: got  %v\nwant %s", c.file, err, c.want)
		}
	}
}

// With Draw, any number of clients has chains of the table, each row as often as every other.
func TestDrawnChains(t *testing.T) {
	const clients = 3000
	o := Defaults(make([]float64, clients), 2)
	o.Draw = true
	o.Chain = must.Get(ReadChain(strings.NewReader("client,pi,lambda\n0,0.2,0.5\n1,0.7,0.1\n2,0,0\n")))(t)
	pi, lambda := mustNew(t, "chain", o).Stationary()
	for k := range 3 {
		n := 0
		for i := range pi {
			if pi[i] == o.Chain.Pi[k] && lambda[i] == o.Chain.Lambda[k] {
				n++
			}
		}
		if z := (float64(n) - clients/3.) / math.Sqrt(clients*2./9); math.Abs(z) > 4 {
			t.Errorf("row %d: %d of %d clients, want a third", k, n, clients)
		}
	}
	if slices.Contains(mustNew(t, "chain", o).Active(0), slices.Index(pi, 0)) {
		t.Error("a client with π = 0 is active")
	}
}
