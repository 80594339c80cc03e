package run

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"rollcall/algos/availability"
	"rollcall/bench/settings"
	"rollcall/bench/settings/settingstest"
	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/internal/must"
	"rollcall/nets"
)

// labelled returns a training set of n samples, the classes in turn.
func labelled(n int) *datasets.Set {
	train := &plan.Samples{Classes: 10, Labels: make([]uint8, n)}
	for i := range train.Labels {
		train.Labels[i] = uint8(i % 10)
	}
	return &datasets.Set{Train: train, Test: train}
}

// Every way to cut gives each sample to one client, and the clients of a cluster the same classes.
func TestSplits(t *testing.T) {
	const n, clients, clusters = 4000, 20, 5
	for _, split := range datasets.SplitKinds() {
		if slices.Contains([]datasets.SplitKind{datasets.SplitNatural, datasets.SplitFile}, datasets.SplitKind(split)) {
			continue // as the data have it, or a file
		}
		t.Run(split, func(t *testing.T) {
			s := must.Get(settings.Defaults("ca-fed", "paper", "mnist"))(t)
			kind := datasets.SplitKind(split)
			s.Clients, s.Clusters, s.Split, s.Validation = clients, clusters, split, 0.2
			p := must.Get(Populate(labelled(n), &s, 7))(t)
			var all []int32
			reserved := 0
			for i := range p.train {
				all = append(append(all, p.train[i]...), p.validation[i]...)
				reserved += len(p.validation[i])
			}
			slices.Sort(all)
			for i, sample := range all {
				if int(sample) != i {
					t.Fatalf("sample %d in place %d, want each once", sample, i)
				}
			}
			if len(all) != n || reserved != n/5 {
				t.Errorf("%d samples, %d kept back, want %d and a fifth", len(all), reserved, n)
			}
			shares := datasets.ClassShares(p.train, labelled(n).Train.Labels, 10)
			within, among := spread(shares, clients/clusters)
			// Parts of about 160 samples: a share of a class in them varies by √(0.1·0.9/160) = 0.024, so a sum of ten
			// |differences| by about 10·0.024·1.13 = 0.27 between two alike; Dirichlet(0.5) draws differ by more than
			// 0.6.
			for _, c := range []struct {
				what      string
				got       float64
				different bool
			}{{"within clusters", within, kind == datasets.SplitClients || kind == datasets.SplitClasses ||
				kind == datasets.SplitTwoClass}, {"among clusters", among, kind != datasets.SplitEven}} {
				if c.different != (c.got > 0.45) {
					t.Errorf("%s: mean distance of the shares %.2f, want above 0.45: %t", c.what, c.got, c.different)
				}
			}
			if kind == datasets.SplitEven && (len(p.train[0])+len(p.validation[0]) != n/clients) {
				t.Errorf("client 0 has %d samples, want %d", len(p.train[0])+len(p.validation[0]), n/clients)
			}
		})
	}
}

// Under --split natural, each client is tested on its own writer's samples, or on those held out of its own.
func TestNatural(t *testing.T) {
	data := labelled(40)
	data.Natural = &datasets.Split{}
	for i := range int32(10) { // writer i
		data.Natural.Train = append(data.Natural.Train, []int32{4 * i, 4*i + 1, 4*i + 2, 4*i + 3})
		data.Natural.Test = append(data.Natural.Test, []int32{i})
	}
	s := must.Get(settings.Defaults("fedawe", "code", "femnist"))(t)
	s.Clients, s.Split = 7, "natural"
	must.OK(t, s.Validate())
	for _, s.HoldOut = range []float64{0, 0.5} {
		p := must.Get(Populate(data, &s, 3))(t)
		if len(p.train) != 7 || len(p.test) != 7 || (p.tested == nets.Test) != (s.HoldOut == 0) {
			t.Fatalf("hold-out %g: %d and %d parts, tested on %v", s.HoldOut, len(p.train), len(p.test), p.tested)
		}
		for i, own := range p.train {
			writer := own[0] / 4
			for _, at := range slices.Concat(own, p.test[i]) {
				if at/4 != writer && (s.HoldOut > 0 || at != writer) {
					t.Errorf("hold-out %g: client %d has %v and is tested on %v", s.HoldOut, i, own, p.test[i])
				}
			}
		}
	}
}

// spread returns the mean of Σ_c |share − share'| over pairs of clients of one cluster of that size, and over others.
func spread(shares [][]float64, size int) (within, among float64) {
	var pairs [2]float64
	for i := range shares {
		for j := range i {
			d := 0.0
			for c := range shares[i] {
				d += max(shares[i][c]-shares[j][c], shares[j][c]-shares[i][c])
			}
			if i/size == j/size {
				within, pairs[0] = within+d, pairs[0]+1
			} else {
				among, pairs[1] = among+d, pairs[1]+1
			}
		}
	}
	return within / pairs[0], among / pairs[1]
}

// Tests are each client's own where the data have such, and count by importance.
func TestTestMeans(t *testing.T) {
	f := &Federation{clients: Population{test: [][]int32{{1}, nil, {2, 3}}}, importance: []float64{0.2, 0.5, 0.3}}
	jobs := f.testJobs(nets.Row{})
	if len(jobs) != 2 {
		t.Fatalf("%d jobs, want those of the two clients with test samples", len(jobs))
	}
	loss, acc := f.testMeans([]nets.EvalResult{{N: 1, Correct: 0, Loss: 1}, {N: 2, Correct: 2, Loss: 2}})
	// (0.2·1 + 0.3·2)/0.5 = 1.6, (0.2·0 + 0.3·1)/0.5 = 0.6; a few roundings.
	if loss < 1.6-1e-12 || loss > 1.6+1e-12 || acc < 0.6-1e-12 || acc > 0.6+1e-12 {
		t.Errorf("loss %g, accuracy %g, want 1.6 and 0.6", loss, acc)
	}
}

// settingsUnder returns the settings of a method under an availability model: ten clients, cycles of four rounds.
func settingsUnder(t *testing.T, method, model string) settings.Settings {
	t.Helper()
	s := must.Get(settings.Defaults(method, "paper", "mnist"))(t)
	s.Availability, s.Clients, s.Split, s.Alpha, s.Validation = model, 10, "clients", 0.1, 0
	s.Period, s.Gamma, s.Cutoff, s.Weights = 4, 0.5, 0.25, "size"
	return s
}

// What the methods are told of FedAWE's models is the mean over a cycle, not p_i: with it, and with α shared among
// the clients who are there at all, the expected step of unbiased over a cycle has the weights α.
func TestPi(t *testing.T) {
	for model, of := range map[string]func(p float64) float64{
		"stationary": func(p float64) float64 { return p },
		"staircase":  func(p float64) float64 { return 0.7 * p }, // p, p, 0.4 p, 0.4 p
		"sine":       func(p float64) float64 { return 0.5 * p }, // p times 1/2, 1, 1/2, 0
		"interleaved-sine": func(p float64) float64 { // the same, but 0 below 0.25
			switch {
			case p < 0.25:
				return 0
			case p < 0.5:
				return 0.25 * p
			}
			return 0.5 * p
		},
	} {
		t.Run(model, func(t *testing.T) {
			s := settingsUnder(t, "unbiased", model)
			p := must.Get(Populate(labelled(4000), &s, 5))(t)
			alpha := p.importance(s.Weights)
			target, sum, away := p.target(alpha), 0.0, 0
			step, now := make([]float64, s.Clients), make([]float64, s.Clients) // Σ over a cycle of p_i^t q_i; p_i^t
			for r := range 4 {
				p.Availability.Probabilities(r, now)
				for i, pi := range p.Pi {
					if pi > 0 {
						step[i] += now[i] * target[i] / pi / 4
					}
				}
			}
			for i, base := range p.Base {
				// Some roundings of numbers below 1.
				if want := of(base); math.Abs(p.Pi[i]-want) > 1e-15 || want == 0 && p.Pi[i] != 0 {
					t.Errorf("client %d with p %g: π %.17g, want %.17g ± 1e-15", i, base, p.Pi[i], want)
				}
				if p.Pi[i] == 0 {
					away++
				}
				sum += target[i]
				if math.Abs(step[i]-target[i]) > 1e-15 || (target[i] == 0) != (p.Pi[i] == 0) {
					t.Errorf("client %d: expected weight %g at π %g, want α %g", i, step[i], p.Pi[i], target[i])
				}
				if k := 9 - i; p.Pi[i] > 0 && p.Pi[k] > 0 && math.Abs(target[i]*alpha[k]-target[k]*alpha[i]) > 1e-15 {
					t.Errorf("clients %d and %d: targets %g and %g, want the ratio of %g and %g",
						i, k, target[i], target[k], alpha[i], alpha[k])
				}
			}
			if math.Abs(sum-1) > 1e-15*10 || away != p.absent() {
				t.Errorf("targets sum to %.17g, %d clients away, want 1 and %d", sum, p.absent(), away)
			}
			if (model == "interleaved-sine") != (away > 0) {
				t.Errorf("%d clients are never there", away)
			}
		})
	}
}

// If nobody of any importance is ever there, the importance stays.
func TestTargetOfNobody(t *testing.T) {
	for _, pi := range [][]float64{{0, 0}, {0.5, 0}} {
		p := Population{Pi: pi}
		if got := p.target([]float64{0, 1}); !slices.Equal(got, []float64{0, 1}) {
			t.Errorf("π %v: target %v, want 0 and 1", pi, got)
		}
	}
}

// A run that was told another π is not kept, and all other runs are.
func TestRevisionOfWhatIsTold(t *testing.T) {
	for _, c := range []struct {
		method, model string
		more          int
	}{
		{"unbiased", "sine", 1},
		{"f3ast", "interleaved-sine", 1},
		{"fedavg-is", "staircase", 1},
		{"mifa-wait", "stationary", 1},
		{"fedavg-known", "sine", 0}, // it is told p_i^t
		{"fedawe", "sine", 0},
		{"ca-fed", "markov", 0},
		{"fedavg-is", "uniform", 0},
		{"adafed", "trace", 0}, // the model itself has changed
	} {
		s := settingsUnder(t, c.method, c.model)
		if got, want := Revisions(&s, 1).Availability, availability.Revision(c.model)+c.more; got != want {
			t.Errorf("%s under %s: revision %d of the model, want %d", c.method, c.model, got, want)
		}
	}
}

// Opening a run and starting it share one split of the data, and another run has its own. The availability begins
// anew, also where it is drawn from one generator with the split.
func TestSplitOnce(t *testing.T) {
	for _, draws := range []string{"philox", "numpy"} {
		t.Run(draws, func(t *testing.T) {
			ses := onCPU(t, "off")
			s := settingstest.Tiny(t, "data=synthetic", "net=lenet5", "train-size=80", "test-size=20", "draws="+draws,
				"availability=sine", "rounds=5")
			must.OK(t, ses.OpenData(t.Context(), &s, 3))
			opened := must.Get(ses.populate(&s, 3))(t)
			for round := range 5 { // as the dry run does
				opened.Availability.Active(round)
			}
			again := must.Get(ses.populate(&s, 3))(t)
			fresh := must.Get(Populate(ses.Data, &s, 3))(t)
			if &again.train[0] != &opened.train[0] {
				t.Error("the same run: the data are split again, want the split that is there")
			}
			for round := range 5 {
				got, want := again.Availability.Active(round), fresh.Availability.Active(round)
				if !slices.Equal(got, want) {
					t.Errorf("round %d: %v are active, want %v", round, got, want)
				}
			}
			if other := must.Get(ses.populate(&s, 4))(t); &other.train[0] == &opened.train[0] {
				t.Error("another seed: the same split, want its own")
			}
		})
	}
}

// outcomeWith makes a run whose test set has other labels, or its own.
func outcomeWith(t *testing.T, otherLabels bool, settings []string) map[string]string {
	t.Helper()
	x, ses, _ := resumable(t, settings...)
	must.OK(t, ses.OpenData(t.Context(), &x.Settings, x.Seed)) // the engine opens later, and reads the labels
	for i, label := range ses.Data.Test.Labels {
		if otherLabels {
			ses.Data.Test.Labels[i] = 9 - label
		}
	}
	return completed(t, x, ses)
}

// With --hold-out the labels of the test set are of no account, whether clients share it or have tests of their own.
// Without it they decide on the accuracy.
func TestHoldOutIsBlind(t *testing.T) {
	for _, line := range []string{
		"split=clients", "split=two-class", "swap-pairs=2", "swap-pairs=2 method=ca-fed fstar=zero losses=held-out",
	} {
		t.Run(line, func(t *testing.T) {
			plain := strings.Fields(line + " data=synthetic net=lenet5 train-size=400 test-size=100")
			held := append(slices.Clone(plain), "hold-out=0.25")
			sameOutcome(t, "with other labels", outcomeWith(t, true, held), outcomeWith(t, false, held))
			if maps.Equal(outcomeWith(t, true, plain), outcomeWith(t, false, plain)) {
				t.Error("without --hold-out, other labels in the test set change nothing, want other accuracies")
			}
		})
	}
}

// What is held out is among the training samples, and no client trains on it.
func TestHoldOutPopulation(t *testing.T) {
	for _, line := range []string{
		"data=synthetic net=lenet5 train-size=400", "data=synthetic net=lenet5 train-size=400 swap-pairs=2",
		"data=leaf",
	} {
		x, ses, _ := resumable(t, append(strings.Fields(line), "hold-out=0.25")...)
		must.OK(t, ses.OpenData(t.Context(), &x.Settings, x.Seed))
		p := must.Get(Populate(ses.Data, &x.Settings, x.Seed))(t)
		all := slices.Concat(slices.Concat(p.test...), p.same, slices.Concat(p.train...))
		slices.Sort(all)
		for i, sample := range all {
			if p.tested != nets.Train || int(sample) != i || len(all) != ses.Data.Train.Len() {
				t.Fatalf("%s: sample %d in place %d of %d, want each of the %d training samples once", line, sample, i,
					len(all), ses.Data.Train.Len())
			}
		}
	}
}
