package datasets

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/internal/longtest"
	"rollcall/internal/must"
)

func openMade(t *testing.T, name string, o Options) *Set {
	t.Helper()
	set := must.Get(Open(t.Context(), name, o))(t)
	return set
}

// moment compares mean and variance of normal numbers with what they are drawn with. Tolerance: five standard errors.
func moment(t *testing.T, what string, x []float64, mean, variance float64) {
	t.Helper()
	n := float64(len(x))
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += (v - mean) * (v - mean)
	}
	if got, tol := sum/n, 5*math.Sqrt(variance/n); math.Abs(got-mean) > tol {
		t.Errorf("%s: mean %g, want %g ± %.2g", what, got, mean, tol)
	}
	if got, tol := squares/n, 5*variance*math.Sqrt(2/n); math.Abs(got-variance) > tol {
		t.Errorf("%s: variance %g, want %g ± %.2g", what, got, variance, tol)
	}
}

// γ and δ are the variances of u_k and B_k on paper and their standard deviations in the code; the other spreads are 1.
func TestLEAFClients(t *testing.T) {
	longtest.Numbers(t)
	const clients, gamma, delta = 8000, 0.25, 0.64
	variances := map[Reading][2]float64{ReadPaper: {gamma, delta}, ReadCode: {gamma * gamma, delta * delta}}
	for reading, want := range variances {
		t.Run(string(reading), func(t *testing.T) {
			o := Options{Seed: 3, Reading: reading, LeafGamma: gamma, LeafDelta: delta}
			var u, b, v, w, bias []float64
			for k := range clients {
				c := newLEAFClient(&o, k)
				u, b = append(u, c.u), append(b, c.b)
				v, w = append(v, c.v[k%leafFeatures]-c.b), append(w, c.w[k%leafClasses][k%leafFeatures]-c.u)
				bias = append(bias, c.bias[k%leafClasses]-c.u)
			}
			moment(t, "u", u, 0, want[0])
			moment(t, "B", b, 0, want[1])
			moment(t, "v − B", v, 0, 1)
			moment(t, "W − u", w, 0, 1)
			moment(t, "b − u", bias, 0, 1)
			product := 0.0
			for k := range u {
				product += u[k] * b[k] / clients
			}
			if tol := 5 * math.Sqrt(want[0]*want[1]/clients); math.Abs(product) > tol {
				t.Errorf("u and B: mean product %g, want 0 ± %.2g: they are independent", product, tol)
			}
		})
	}
}

// Feature j of one client has the mean v_j, and the standard deviation j^−1.2 on paper, j^−0.6 in the code.
func TestLEAFSamples(t *testing.T) {
	longtest.Numbers(t)
	const samples = 20_000
	for reading, exponent := range map[Reading]float64{ReadPaper: -2.4, ReadCode: -1.2} {
		t.Run(string(reading), func(t *testing.T) {
			o := Options{Seed: 3, Reading: reading, LeafGamma: 0.5, LeafDelta: 0.5}
			c := newLEAFClient(&o, 7)
			r := rng.Key{Seed: 3, Purpose: rng.Generated}.Stream(0, 7, rng.GeneratedStepLEAFSamples)
			columns := make([][]float64, leafFeatures)
			x := make([]float32, leafFeatures)
			for range samples {
				c.draw(r, reading, x)
				for j, v := range x {
					columns[j] = append(columns[j], float64(v))
				}
			}
			for j, column := range columns {
				moment(t, fmt.Sprintf("x_%d", j+1), column, c.v[j], math.Pow(float64(j+1), exponent))
			}
		})
	}
}

// Sizes against their distributions: the share of clients with more than n samples is Φ((4 − ln(n − 49))/2) in the code
// and 50/(n+1) on paper, cut at 100,000. Tolerance: five standard errors of a binomial count.
func TestLEAFSizes(t *testing.T) {
	longtest.Numbers(t)
	const clients = 8000
	above := map[Reading]func(n float64) float64{
		ReadCode:  func(n float64) float64 { return 0.5 * math.Erfc((math.Log(n-49)-4)/2/math.Sqrt2) },
		ReadPaper: func(n float64) float64 { return 50 / (n + 1) },
	}
	for reading, share := range above {
		t.Run(string(reading), func(t *testing.T) {
			o := Options{Seed: 5, Reading: reading}
			var sizes []int
			for k := range clients {
				sizes = append(sizes, newLEAFClient(&o, k).n)
			}
			if least, most := slices.Min(sizes), slices.Max(sizes); least < 50 || least > 51 || most > 100_000 ||
				most < 30_000 {
				t.Errorf("sizes from %d to %d, want from 50 or 51 to 30,000 … 100,000", least, most)
			}
			for _, n := range []float64{60, 100, 105, 200, 500, 2000, 10_000} {
				got := 0
				for _, size := range sizes {
					if float64(size) > n {
						got++
					}
				}
				want := clients * share(n)
				if tol := 5 * math.Sqrt(want*(1-want/clients)); math.Abs(float64(got)-want) > tol {
					t.Errorf("%d of %d clients have more than %g samples, want %.0f ± %.0f", got, clients, n, want, tol)
				}
			}
		})
	}
}

// The set is cut as its split says, 90/10 client by client; every label is the largest of the client's own logits.
func TestLEAFSet(t *testing.T) {
	for _, reading := range []Reading{ReadPaper, ReadCode} {
		t.Run(string(reading), func(t *testing.T) {
			o := Options{Seed: 2, Clients: 30, Reading: reading, LeafGamma: 0.5, LeafDelta: 0.5}
			set := openMade(t, "leaf", o)
			var used [2]int
			labels := map[uint8]int{}
			for k := range o.Clients {
				c := newLEAFClient(&o, k)
				if train, test := len(set.Split.Train[k]), len(set.Split.Test[k]); train != int(0.9*float64(c.n)) ||
					train+test != c.n {
					t.Errorf("client %d: %d samples for training and %d for testing, "+
						"want nine tenths of %d and the rest", k, train, test, c.n)
				}
				for part, s := range []*plan.Samples{set.Train, set.Test} {
					for _, i := range [][][]int32{set.Split.Train, set.Split.Test}[part][k] {
						if int(i) != used[part] {
							t.Fatalf("client %d: sample %d of part %d, want %d: one client after the other",
								k, i, part, used[part])
						}
						used[part]++
						x := s.Features[int(i)*leafFeatures:][:leafFeatures]
						best, label := math.Inf(-1), 0
						for o := range leafClasses {
							z := c.bias[o]
							for j := range x {
								z += c.w[o][j] * float64(x[j])
							}
							if z > best+1e-9 {
								best, label = z, o
							}
						}
						if s.Labels[i] != uint8(label) {
							t.Fatalf("client %d sample %d: label %d, want %d", k, i, s.Labels[i], label)
						}
						labels[s.Labels[i]]++
					}
				}
			}
			if used[0] != set.Train.Len() || used[1] != set.Test.Len() || len(labels) != leafClasses {
				t.Errorf("%v of %d and %d samples held, of %d classes, want all, of %d",
					used, set.Train.Len(), set.Test.Len(), len(labels), leafClasses)
			}
		})
	}
}

// Generated sets are part of what results mean, and do not depend on how many cores make them.
func TestMadeBytes(t *testing.T) {
	longtest.Numbers(t)
	base := Options{Seed: 3, Clients: 12, LeafGamma: 0.5, LeafDelta: 0.25}
	for _, c := range []struct {
		name    string
		reading Reading
		want    string // made by these generators
	}{
		{"leaf", ReadPaper, "16531b6896a383d2de36db93ce7ff610deb161701f6f6249ddd585800b292d22"},
		{"leaf", ReadCode, "5e11c392fc396af3554cf5b262f8486477379c1598f039a588dea6ab11a124e4"},
		{"binary", ReadPaper, "3b0e22e646f674f919b01fc533319cf706a7fc0ea16589b6b2a37e435f22a62a"},
		{"binary", ReadCode, "b6c0564baf621633a2db18e665a318186580fc421185ce3d97c619c062349b8f"},
	} {
		t.Run(c.name+" "+string(c.reading), func(t *testing.T) {
			o := base
			o.Reading = c.reading
			set := openMade(t, c.name, o)
			if set.Checksum != c.want {
				t.Errorf("checksum %s, want %s", set.Checksum, c.want)
			}
			before := runtime.GOMAXPROCS(1)
			single := openMade(t, c.name, o)
			runtime.GOMAXPROCS(before)
			if single.Checksum != set.Checksum {
				t.Errorf("on one core: checksum %s, on %d: %s", single.Checksum, before, set.Checksum)
			}
			o.Seed++
			if other := openMade(t, c.name, o); other.Checksum == set.Checksum {
				t.Error("another seed makes the same set")
			}
		})
	}
}

// More clients leave those before them as they are.
func TestMadeClientsAreTheirOwn(t *testing.T) {
	for _, name := range []string{"leaf", "binary"} {
		few := openMade(t, name, Options{Seed: 1, Clients: 4, Reading: ReadPaper, LeafGamma: 1, LeafDelta: 1})
		many := openMade(t, name, Options{Seed: 1, Clients: 9, Reading: ReadPaper, LeafGamma: 1, LeafDelta: 1})
		if n := len(few.Train.Features); !slices.Equal(few.Train.Features, many.Train.Features[:n]) ||
			!slices.Equal(few.Test.Labels, many.Test.Labels[:few.Test.Len()]) {
			t.Errorf("%s: the first four of nine clients are not those of four", name)
		}
	}
}

func TestMadeErrors(t *testing.T) {
	longtest.Numbers(t)
	good := Options{Clients: 4, Reading: ReadPaper, LeafGamma: 0.5, LeafDelta: 0.5}
	for _, c := range []struct {
		name   string
		set    string
		change func(*Options)
		want   string
	}{
		{"no clients", "leaf", func(o *Options) { o.Clients = 0 }, "datasets: leaf: 0 clients, want 1 … 100000"},
		{"no clients", "binary", func(o *Options) { o.Clients = -2 }, "datasets: binary: -2 clients, want 1 … 100000"},
		{
			"reading", "leaf", func(o *Options) { o.Reading = "printed" },
			`datasets: leaf: reading "printed": unknown, want paper or code`,
		},
		{
			"no reading", "binary", func(o *Options) { o.Reading = "" },
			`datasets: binary: reading "": unknown, want paper or code`,
		},
		{
			"gamma", "leaf", func(o *Options) { o.LeafGamma = -0.5 },
			"datasets: leaf: gamma -0.5, want a finite number, 0 or more",
		},
		{
			"delta", "leaf", func(o *Options) { o.LeafDelta = math.NaN() },
			"datasets: leaf: delta NaN, want a finite number, 0 or more",
		},
		{
			"infinite", "leaf", func(o *Options) { o.LeafDelta = math.Inf(1) },
			"datasets: leaf: delta +Inf, want a finite number, 0 or more",
		},
		{
			"too many", "leaf", func(o *Options) { o.Clients = 100_000 },
			"datasets: leaf: 100000 clients: more than 5000000 samples, want fewer clients",
		},
		{
			"odd", "binary", func(o *Options) { o.Clients, o.Reading = 5, ReadCode },
			"datasets: binary: 5 clients in two equal groups, want an even number",
		},
		{
			"swapped", "leaf", func(o *Options) { o.SwapPairs = 2 },
			"datasets: leaf: swapped labels of a set that is generated client by client, want an image set",
		},
	} {
		t.Run(c.set+" "+c.name, func(t *testing.T) {
			o := good
			c.change(&o)
			if _, err := Open(t.Context(), c.set, o); fmt.Sprint(err) != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"leaf", "binary"} {
		if _, err := Open(ctx, name, good); fmt.Sprint(err) != fmt.Sprintf("datasets: %s: %v", name, context.Canceled) {
			t.Errorf("%s, cancelled: got %v", name, err)
		}
	}
}
