package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng/numpy"
	"rollcall/internal/must"
)

// cutParts returns the training samples of each client.
func cutParts(train *plan.Samples, o SplitOptions, seed uint32) ([][]int32, error) {
	split, err := Cut(train, nil, o, seed)
	return split.Train, err
}

// unevenSet returns a set whose training and test samples are the same 4003, of ten classes of different sizes.
func unevenSet() *Set {
	labels := make([]uint8, 4003)
	for i := range labels {
		labels[i] = uint8((i*i + i/7) % 10)
	}
	samples := &plan.Samples{Classes: 10, Labels: labels}
	return &Set{Train: samples, Test: samples, Name: "uneven"}
}

// digest returns the SHA-256 of what %v prints of parts.
func digest(parts ...any) string {
	h := sha256.Sum256(fmt.Append(nil, parts...))
	return hex.EncodeToString(h[:])
}

// The digests are of the parts for seed 7 when
// package main still cut them, before Cut was written: a run of an old record gets the split it had.
func TestCutAndDivide(t *testing.T) {
	const clients, clusters, alpha, seed = 20, 5, 0.5, 7
	set := unevenSet()
	for _, c := range []struct {
		kind    SplitKind
		numpy   bool
		cut     string // digest of the parts
		divided string // digest of Train and Valid after a fifth is kept back
	}{
		{
			kind:    SplitClients,
			cut:     "e7226f26ec6fa6847bb55aaa67cc52a6240e9b59ab8c0da56f551cf59af34465",
			divided: "dad3f2e092b7911292b47a38c1c8234bf00a7c31ca21db7c1c4052352d6378b6",
		},
		{
			kind: SplitClients, numpy: true,
			cut:     "4cef386cfc58bf9d37cacd654cdc8ff63252178fe563ff94c21d45d6a5511210",
			divided: "1f990384e0701e79c28bb0efc1441370c045a306ca2eecb588d9b98eb90e8c71",
		},
		{
			kind:    SplitClasses,
			cut:     "ceaf93a28c9f269371e9fb3a61df72b71ec718bbb78461a740e2f64cebe7f742",
			divided: "8bd3d9ac255f73c2dab7621e4b7b9e6cf2fdb88e58ce9c0d51943a538db2003f",
		},
		{
			kind:    SplitClusters,
			cut:     "29547e558f3e615a5ef19ea6f2d1ffb2824bec2f9eb94856e030ca8c772d02c8",
			divided: "8299a7c9551d09d3e5afebf59e2b28c0b65c005f82fbbab944dede68cfbb2a46",
		},
		{
			kind:    SplitEven,
			cut:     "a8cf1c8ffa3c0071c6ba109d85d8a5bdf42aee8e107c8869ef58d233767ab85a",
			divided: "61a3f2c612a3a3fa51b06ae2830319b864c554beea807beb12df9712bb86c4d6",
		},
		{
			kind:    SplitTwoClass,
			cut:     "ce2db09188fc855f7dea027250abb2249eb52bda0da5e4a078a96c8d41f66e70",
			divided: "32e0baaab8e2f4b30e11238191c4b54d465771f8e956932cff30868ed971045c",
		},
	} {
		t.Run(fmt.Sprintf("%s_numpy=%t", c.kind, c.numpy), func(t *testing.T) {
			options := func() SplitOptions {
				o := SplitOptions{Kind: c.kind, Clients: clients, Clusters: clusters, Alpha: alpha}
				if c.numpy {
					o.NumPy = numpy.New(seed)
				}
				return o
			}
			parts := must.Get(cutParts(set.Train, options(), seed))(t)
			if got := digest(parts); got != c.cut {
				t.Errorf("digest of the parts %s, want %s", got, c.cut)
			}
			split, err := Divide(set, options(), Reserved{}, seed)
			if err != nil || !slices.EqualFunc(split.Train, parts, slices.Equal[[]int32]) || split.Valid != nil {
				t.Errorf("Divide, nothing kept back: %v; want the parts of Cut and no validation samples", err)
			}
			if split, err = Divide(set, options(), Reserved{Validation: 0.2}, seed); err != nil {
				t.Fatal(err)
			}
			if got := digest(split.Train, split.Valid); got != c.divided {
				t.Errorf("digest with a fifth kept back %s, want %s", got, c.divided)
			}
		})
	}
}

// The clients of a cluster share what SplitClasses gives to it, in parts whose sizes differ by one at most.
func TestCutClusters(t *testing.T) {
	const clients, clusters, alpha, seed = 20, 5, 0.5, 3
	train := unevenSet().Train
	o := SplitOptions{Kind: SplitClusters, Clients: clients, Clusters: clusters, Alpha: alpha}
	parts, err := cutParts(train, o, seed)
	if err != nil || len(parts) != clients {
		t.Fatalf("%d parts, %v, want %d", len(parts), err, clients)
	}
	want := must.Get(cutParts(train, SplitOptions{Kind: SplitClasses, Clients: clusters, Alpha: alpha}, seed))(t)
	for k := range clusters {
		own := parts[k*clients/clusters : (k+1)*clients/clusters]
		checkEven(t, fmt.Sprintf("cluster %d", k), own)
		all, cluster := slices.Sorted(slices.Values(slices.Concat(own...))), slices.Sorted(slices.Values(want[k]))
		if !slices.Equal(all, cluster) {
			t.Errorf("cluster %d: its clients have %d samples, want the cluster's %d", k, len(all), len(cluster))
		}
	}
}

// Every sample belongs to one client, and the parts differ by seed.
func TestCutEven(t *testing.T) {
	train := unevenSet().Train
	for _, clients := range []int{1, 7, 100, 4003, 5000} {
		o := SplitOptions{Kind: SplitEven, Clients: clients}
		parts, err := cutParts(train, o, 1)
		if err != nil || len(parts) != clients {
			t.Fatalf("%d parts, %v, want %d", len(parts), err, clients)
		}
		checkEven(t, fmt.Sprintf("%d clients", clients), parts)
		for i, sample := range slices.Sorted(slices.Values(slices.Concat(parts...))) {
			if int(sample) != i {
				t.Fatalf("%d clients: sample %d in place %d, want each once", clients, sample, i)
			}
		}
		other, err := cutParts(train, o, 2)
		if err != nil || clients > 1 && slices.EqualFunc(other, parts, slices.Equal[[]int32]) {
			t.Errorf("%d clients: the same parts for seeds 1 and 2, %v", clients, err)
		}
	}
}

// checkEven checks that the sizes of parts differ by one at most, and that every part ascends.
func checkEven(t *testing.T, name string, parts [][]int32) {
	t.Helper()
	least, most := len(parts[0]), len(parts[0])
	for i, part := range parts {
		least, most = min(least, len(part)), max(most, len(part))
		if !slices.IsSorted(part) {
			t.Errorf("%s: part %d: %v, want it ascending", name, i, part)
		}
	}
	if most-least > 1 {
		t.Errorf("%s: parts of %d … %d samples, want sizes that differ by one at most", name, least, most)
	}
}

func TestCutErrors(t *testing.T) {
	draws := numpy.New(1)
	const known = "clients, classes, clusters, even, two-class"
	for _, c := range []struct {
		o    SplitOptions
		want string
	}{
		{SplitOptions{Kind: "shards", Clients: 3}, `kind "shards": unknown, want one of ` + known},
		{SplitOptions{Clients: 3}, `kind "": unknown, want one of ` + known},
		{SplitOptions{Kind: SplitEven}, "0 clients, want at least 1"},
		{SplitOptions{Kind: SplitClients, Clients: -1, Alpha: 1}, "-1 clients, want at least 1"},
		{SplitOptions{Kind: SplitClusters, Clients: 10, Alpha: 1}, "0 clusters for 10 clients, want a divisor of 10"},
		{
			SplitOptions{Kind: SplitClusters, Clients: 10, Clusters: 3, Alpha: 1},
			"3 clusters for 10 clients, want a divisor of 10",
		},
		{SplitOptions{Kind: SplitEven, Clients: 10, NumPy: draws}, `NumPy's draws for kind "even", want clients`},
		{
			SplitOptions{Kind: SplitClasses, Clients: 10},
			"alpha 0, want a finite positive number (1e-300 or more)",
		},
	} {
		_, err := cutParts(unevenSet().Train, c.o, 1)
		if want := "datasets: split: " + c.want; fmt.Sprint(err) != want {
			t.Errorf("%+v:\ngot  %v\nwant %s", c.o, err, want)
		}
		if _, again := Divide(unevenSet(), c.o, Reserved{}, 1); fmt.Sprint(again) != fmt.Sprint(err) {
			t.Errorf("%+v: Divide: %v, want %v", c.o, again, err)
		}
	}
}

func TestSplitKinds(t *testing.T) {
	want := map[string]bool{"clients": true, "classes": true, "clusters": true, "even": false, "two-class": false}
	for _, kind := range SplitKinds() {
		if takes, known := want[kind]; !known || SplitKind(kind).TakesAlpha() != takes {
			t.Errorf("kind %q: takes alpha %t, want %t (known: %t)", kind, !takes, takes, known)
		}
	}
	if len(SplitKinds()) != len(want) || SplitKind("").TakesAlpha() {
		t.Errorf("kinds %q, want five, and no alpha for the empty kind", SplitKinds())
	}
}

// The data set's own split is taken, and stays as it is when samples of it are kept back.
func TestDivideOwnSplit(t *testing.T) {
	set := unevenSet()
	set.Split = &Split{
		Train: [][]int32{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}, Test: [][]int32{{1}, {0}}, Group: []int{1, 0},
	}
	o := SplitOptions{Clients: 2}
	split, err := Divide(set, o, Reserved{}, 1)
	if err != nil || split != set.Split {
		t.Errorf("nothing kept back: %v, %v, want the set's own split", split, err)
	}
	for range 2 {
		split := must.Get(Divide(set, o, Reserved{Validation: 0.4}, 1))(t)
		if len(split.Train[0]) != 3 || len(split.Valid[1]) != 2 ||
			fmt.Sprint(split.Test, split.Group) != "[[1] [0]] [1 0]" {
			t.Errorf("got %+v, want 3 samples to train and 2 kept back of each, and the set's tests and groups", split)
		}
		if fmt.Sprint(set.Split.Train) != "[[0 1 2 3 4] [5 6 7 8 9]]" || set.Split.Valid != nil {
			t.Errorf("the set's split is %+v now, want it unchanged", set.Split)
		}
	}
	_, err = Divide(set, SplitOptions{Clients: 3}, Reserved{}, 1)
	wantError(t, err, nil, "uneven: samples of 2 clients, want 3")
	_, err = Divide(set, o, Reserved{Validation: 1}, 1)
	wantError(t, err, nil, "datasets: split: validation share 1, want at least 0 and below 1")
}

// The digest is, as above, of what package main returned for seed 7.
func TestOwnClassTest(t *testing.T) {
	set := unevenSet()
	_, parts := must.Get2(twoClasses(set.Train, set.Test, 20, 7))(t)
	if got, want := digest(parts), "ed4ffbdf46369f9b29936b8aa9e09f31742a752d9a3cb9c09a6ef5473e3e7fda"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	set.Test = &plan.Samples{Classes: 10}
	if _, _, err := twoClasses(set.Train, set.Test, 20, 7); err == nil {
		t.Error("no test samples: no error")
	}
}
