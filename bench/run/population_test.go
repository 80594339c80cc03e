package run

import (
	"slices"
	"testing"

	"rollcall/bench/settings"
	"rollcall/datasets"
	"rollcall/datasets/plan"
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
		t.Run(split, func(t *testing.T) {
			s, err := settings.Defaults("ca-fed", "paper", "mnist")
			if err != nil {
				t.Fatal(err)
			}
			kind := datasets.SplitKind(split)
			s.Clients, s.Clusters, s.Split, s.Validation = clients, clusters, split, 0.2
			p, err := Populate(labelled(n), &s, 7)
			if err != nil {
				t.Fatal(err)
			}
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

// spread returns the mean of Σ_c |share − share'| over pairs of clients of one cluster of the given size, and over the
// others.
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
