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

func generated(t *testing.T, name string, o Options) *Set {
	t.Helper()
	return must.Get(Open(t.Context(), name, o))(t)
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
			set := generated(t, "leaf", o)
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
						if want := labelOf(&c.leafModel, row(s, i)); s.Labels[i] != uint8(want) {
							t.Fatalf("client %d sample %d: label %d, want %d", k, i, s.Labels[i], want)
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
			set := generated(t, c.name, o)
			if set.Checksum != c.want {
				t.Errorf("checksum %s, want %s", set.Checksum, c.want)
			}
			before := runtime.GOMAXPROCS(1)
			single := generated(t, c.name, o)
			runtime.GOMAXPROCS(before)
			if single.Checksum != set.Checksum {
				t.Errorf("on one core: checksum %s, on %d: %s", single.Checksum, before, set.Checksum)
			}
			o.Seed++
			if other := generated(t, c.name, o); other.Checksum == set.Checksum {
				t.Error("another seed makes the same set")
			}
		})
	}
}

// A larger number of clients leaves the first ones as they are.
func TestMadeClientsAreTheirOwn(t *testing.T) {
	for _, name := range []string{"leaf", "binary"} {
		few := generated(t, name, Options{Seed: 1, Clients: 4, Reading: ReadPaper, LeafGamma: 1, LeafDelta: 1})
		many := generated(t, name, Options{Seed: 1, Clients: 9, Reading: ReadPaper, LeafGamma: 1, LeafDelta: 1})
		if n := len(few.Train.Features); !slices.Equal(few.Train.Features, many.Train.Features[:n]) ||
			!slices.Equal(few.Test.Labels, many.Test.Labels[:few.Test.Len()]) {
			t.Errorf("%s: the first four of nine clients differ from the four of four", name)
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
			"availability of some", "leaf", func(o *Options) { o.LeafMore = make([]bool, 3) },
			"datasets: leaf: more available: 3 clients, want all 4",
		},
		{
			"too few for all", "leaf", func(o *Options) { o.Clients, o.LeafMore = 4000, make([]bool, 4000) },
			"datasets: leaf: 7000 samples by availability for 4000 clients: client 0 has 1, want 2 at least: " +
				"fewer clients",
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
	for _, name := range []string{"leaf", "binary"} {
		_, err := Open(cancelled(t), name, good)
		wantError(t, err, context.Canceled, "datasets: "+name+": ")
	}
}

// The sizes of 7000 samples by availability, worked out by hand: 50 of 100 clients more available have s =
// 7000/(10·50 + 50) = 12.73, so 127 and 12 samples; 10 of 24 have s = 7000/114 = 61.40, so 614 and 61. Nine tenths, cut
// down, are for training. What a client's samples are does not change.
func TestLEAFByAvailability(t *testing.T) {
	for _, c := range []struct {
		clients, more int
		train, test   [2]int // of a more available client and of another
	}{
		{100, 50, [2]int{114, 10}, [2]int{13, 2}},
		{24, 10, [2]int{552, 54}, [2]int{62, 7}},
		{3, 0, [2]int{0, 2099}, [2]int{0, 234}},
	} {
		for _, reading := range []Reading{ReadPaper, ReadCode} {
			o := Options{Seed: 2, Clients: c.clients, Reading: reading, LeafGamma: 0.5, LeafDelta: 0.5}
			plain := generated(t, "leaf", o)
			o.LeafMore = make([]bool, c.clients)
			for i := range c.more {
				o.LeafMore[(7*i)%c.clients] = true // 7 and the numbers of clients have no factor in common
			}
			set := generated(t, "leaf", o)
			for k, more := range o.LeafMore {
				class := 1
				if more {
					class = 0
				}
				own := set.Split.Train[k]
				if len(own) != c.train[class] || len(set.Split.Test[k]) != c.test[class] {
					t.Errorf("%d clients, client %d, more available %t: %d and %d samples, want %d and %d", c.clients,
						k, more, len(own), len(set.Split.Test[k]), c.train[class], c.test[class])
				}
				before := plain.Split.Train[k]
				for i := range min(len(own), len(before)) {
					got, want := row(set.Train, own[i]), row(plain.Train, before[i])
					if !slices.Equal(got, want) || set.Train.Labels[own[i]] != plain.Train.Labels[before[i]] {
						t.Fatalf("client %d, sample %d: another than without --leaf-augmentation", k, i)
					}
				}
			}
		}
	}
}

func row(s *plan.Samples, i int32) []float32 { return s.Features[int(i)*leafFeatures:][:leafFeatures] }

// The models lie around one, which is that of the released switch, with variance γ, so that all are equal at γ = 0; the
// samples lie around 0, and γ reaches a label.
func TestLEAFShared(t *testing.T) {
	for _, reading := range []Reading{ReadPaper, ReadCode} {
		o := Options{Seed: 4, Clients: 20, Reading: reading, LeafGamma: 4, LeafDelta: 0.5, LeafShared: true}
		around := newLEAFClient(&Options{Seed: 4, Clients: 20, Reading: reading, LeafIID: true}, 0).leafModel
		var apart []float64
		for k := range o.Clients {
			c := newLEAFClient(&o, k)
			for y := range c.w {
				for j, w := range c.w[y] {
					apart = append(apart, w-around.w[y][j])
				}
				apart = append(apart, c.bias[y]-around.bias[y])
			}
			if c.v != [leafFeatures]float64{} {
				t.Fatalf("%s: client %d: samples around %v, want 0", reading, k, c.v)
			}
		}
		variance := 16.0
		if reading == ReadPaper {
			variance = 4
		}
		moment(t, string(reading)+": W_k − W and b_k − b", apart, 0, variance)
		labels := generated(t, "leaf", o).Train.Labels
		o.LeafGamma = 0
		if got := newLEAFClient(&o, 7).leafModel; got != around {
			t.Errorf("%s: at γ = 0 client 7 has a model of its own", reading)
		}
		if slices.Equal(generated(t, "leaf", o).Train.Labels, labels) {
			t.Errorf("%s: γ changes no label", reading)
		}
	}
}

// With one model for all, x lies around B_k in every feature, B_k is the one of the other set, and W and b are N(0, 1),
// whatever γ is; every label follows from x by the same model.
func TestLEAFIID(t *testing.T) {
	for _, reading := range []Reading{ReadPaper, ReadCode} {
		o := Options{Seed: 4, Clients: 20, Reading: reading, LeafGamma: 9, LeafDelta: 0.5}
		first := newLEAFClient(&o, 0)
		o.LeafIID = true
		shared := newLEAFClient(&o, 0)
		if shared.n != first.n || shared.b != first.b {
			t.Errorf("%s: %d samples and B %g, want %d and %g as without --leaf-iid",
				reading, shared.n, shared.b, first.n, first.b)
		}
		var weights []float64
		for c := range shared.w {
			weights = append(append(weights, shared.w[c][:]...), shared.bias[c])
		}
		moment(t, string(reading)+": W and b", weights, 0, 1)
		set := generated(t, "leaf", o)
		means := map[float64]bool{}
		for k := range o.Clients {
			c := newLEAFClient(&o, k)
			if c.leafModel != shared.leafModel {
				t.Fatalf("%s, client %d: a model of its own, want the model of client 0", reading, k)
			}
			for j, v := range c.v {
				if v != c.b {
					t.Fatalf("%s, client %d: mean %g of feature %d, want B_k = %g", reading, k, v, j, c.b)
				}
			}
			means[c.b] = true
			for _, i := range set.Split.Train[k] {
				if got, want := int(set.Train.Labels[i]), labelOf(&shared.leafModel, row(set.Train, i)); got != want {
					t.Fatalf("%s, client %d: label %d, want %d", reading, k, got, want)
				}
			}
		}
		if len(means) != o.Clients {
			t.Errorf("%s: %d different B_k, want one for each of %d clients", reading, len(means), o.Clients)
		}
	}
}

func labelOf(m *leafModel, x []float32) int {
	best, label := math.Inf(-1), -1
	for c := range m.w {
		z := m.bias[c]
		for j, w := range m.w[c] {
			z += float64(w * float64(x[j]))
		}
		if z > best {
			best, label = z, c
		}
	}
	return label
}
