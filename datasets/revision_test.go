package datasets

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets/plan"
	"rollcall/datasets/rng"
	"rollcall/datasets/rng/numpy"
	"rollcall/internal/must"
	"rollcall/internal/revisiontest"
)

// The revisions of the data are of the samples of every set (of small files in its official format), of every way to
// cut one, and of what all runs read by: the generator, swapped labels, the samples kept back, batch plans.
func TestRevisions(t *testing.T) {
	revisiontest.Recorded(t)
	var entries []revisiontest.Entry
	add := func(name, where string, revision int, enter func(t *testing.T, d *revisiontest.Digest)) {
		var digest revisiontest.Digest // stays empty where the test is left out
		t.Run(name, func(t *testing.T) { enter(t, &digest) })
		entries = append(entries, revisiontest.Entry{
			Name: name, Revision: revision, Where: where, Digest: digest.String(),
		})
	}
	for _, l := range loaders {
		add("data/"+l.info.Name, "datasets.go", l.revision, func(t *testing.T, d *revisiontest.Digest) {
			enterData(t, d, l.info)
		})
		if l.info.Name == "leaf" {
			add("data/leaf-switches", "datasets.go", l.revision, enterLEAFSwitches)
			add("data/leaf-shared", "datasets.go", l.revision, enterLEAFShared)
		}
	}
	for _, s := range splitKinds {
		add("split/"+string(s.kind), "cut.go", s.revision, func(t *testing.T, d *revisiontest.Digest) {
			enterCuts(t, d, s.kind)
		})
	}
	add("subset", "datasets.go", sharedRevision, enterSubsets)
	add("shared", "datasets.go", sharedRevision, enterShared)
	revisiontest.Check(t, "testdata/revisions", entries)
}

// enterData enters a set's samples: read from the small files of the tests, or generated with two seeds in both
// readings.
func enterData(t *testing.T, d *revisiontest.Digest, info Info) {
	dir, _, _ := alone(t)
	o := Options{Dir: dir}
	switch info.Name {
	case "cifar10", "cifar100", "svhn", "mnist", "fashion-mnist", "femnist", "cinic10":
		small := newSmall(t, info.Name)
		o.official = &small.source
		small.lay(t, filepath.Join(dir, small.folders[0]))
		if info.Name == "cinic10" {
			write(t, filepath.Join(dir, small.archive.name), small.tarball)
		}
	default:
		for _, o.Reading = range []Reading{ReadPaper, ReadCode} {
			for _, o.Seed = range []uint32{1, 7} {
				o.TrainSize, o.TestSize, o.Clients, o.LeafGamma, o.LeafDelta = 120, 50, 6, 0.5, 0.25
				enterSet(t, d, info.Name, o)
			}
		}
		return
	}
	enterSet(t, d, info.Name, o)
}

// enterLEAFSwitches enters LEAF's set by availability and of one model.
func enterLEAFSwitches(t *testing.T, d *revisiontest.Digest) {
	o := Options{Clients: 6, LeafGamma: 0.5, LeafDelta: 0.25}
	for _, o.Reading = range []Reading{ReadPaper, ReadCode} {
		for _, o.Seed = range []uint32{1, 7} {
			o.LeafIID, o.LeafMore = false, []bool{true, false, false, true, false, true}
			enterSet(t, d, "leaf", o)
			o.LeafIID, o.LeafMore = true, nil
			enterSet(t, d, "leaf", o)
		}
	}
}

func enterLEAFShared(t *testing.T, d *revisiontest.Digest) {
	o := Options{Clients: 6, LeafGamma: 0.5, LeafDelta: 0.25, LeafShared: true}
	for _, o.Reading = range []Reading{ReadPaper, ReadCode} {
		for _, o.Seed = range []uint32{1, 7} {
			enterSet(t, d, "leaf", o)
		}
	}
}

func enterSet(t *testing.T, d *revisiontest.Digest, name string, o Options) {
	t.Helper()
	set := must.Get(Open(t.Context(), name, o))(t)
	info := must.Get(About(name))(t)
	d.Add(info.Augmented, info.Flip)
	for _, s := range []*plan.Samples{set.Train, set.Test} {
		d.Add(s.H, s.W, s.C, s.Classes, s.Images, s.Features, s.Labels, s.Mean, s.Std)
	}
	if set.Split != nil {
		enterSplit(d, set.Split)
	}
	if set.Natural != nil {
		enterSplit(d, set.Natural)
	}
}

func enterSplit(d *revisiontest.Digest, s *Split) {
	d.Add(s.Train, s.Valid, s.Test, s.OwnClasses, s.Group)
}

// enterCuts enters how a kind cuts a set of classes of many sizes, and one of equal sizes, by every draw it has.
func enterCuts(t *testing.T, d *revisiontest.Digest, kind SplitKind) {
	if kind == SplitNatural {
		for _, seed := range []uint32{1, 7} {
			for _, clients := range []int{1, 12, 30} {
				enterSplit(d, must.Get(natural(written(30), clients, seed))(t))
			}
		}
		return
	}
	uneven := numbered(1500, 300)
	for _, s := range []*plan.Samples{uneven.Train, uneven.Test} {
		for i := range s.Labels {
			s.Labels[i] = uint8(min(i*7%13, 9))
		}
	}
	for _, set := range []*Set{uneven, numbered(1207, 203)} {
		for _, seed := range []uint32{1, 7} {
			for _, alpha := range []float64{1e-3, 0.1, 2.5} {
				o := SplitOptions{Kind: kind, Clients: 12, Clusters: 4, Alpha: alpha}
				if kind == SplitFile {
					text := "index,client\n1200,3\n7,0\n8,3\n3,11\n"
					o.Parts = must.Get(ReadSplit(strings.NewReader(text), set.Train.Len()))(t)
				}
				draws := []*numpy.Random{nil}
				if kind == SplitClients {
					draws = append(draws, numpy.New(seed))
				}
				for _, o.NumPy = range draws {
					split, err := Cut(set.Train, set.Test, o, seed)
					if err != nil {
						if alpha > 1e-3 {
							t.Fatal(err)
						}
						d.Add("refused") // shares vanish
						continue
					}
					enterSplit(d, split)
				}
			}
		}
	}
}

// enterSubsets enters which samples are drawn of a set.
func enterSubsets(t *testing.T, d *revisiontest.Digest) {
	for _, seed := range []uint32{1, 7} {
		reserved := Reserved{Sizes: [2]int{500, 100}}
		split := must.Get(Divide(numbered(1500, 300), SplitOptions{Kind: SplitEven, Clients: 3}, reserved, seed))(t)
		d.Add(split.Subset[:])
	}
}

// enterShared enters the generator, swapped labels, samples kept back, and batch plans.
func enterShared(t *testing.T, d *revisiontest.Digest) {
	for _, seed := range []uint32{1, 7} {
		stream := rng.Key{Seed: seed, Purpose: rng.Layer(1)}.Stream(2, 3, 4)
		order := indices(50)
		stream.Shuffle(order)
		d.Add(order)
		for k := range 200 {
			d.Add(stream.Uint32(), stream.Float64(), stream.IntN(7+k), stream.Normal(),
				stream.LogGamma(0.05*float64(1+k)))
		}
		for _, reading := range []Reading{ReadPaper, ReadCode} {
			o := Options{Seed: seed, Clients: 12, Reading: reading, SwapPairs: 2}
			swapped, _ := must.Get2(openNumbered(t, o))(t)
			d.Add(swapped.Train.Labels, swapped.Test.Labels)
			enterSplit(d, swapped.Split)
			kept := must.Get(Divide(swapped, SplitOptions{Clients: 12}, Reserved{Validation: 0.2}, seed))(t)
			enterSplit(d, kept)
			parts := append(kept.Train, nil, []int32{5, 3}) // and a client without samples, one of fewer than a batch
			for _, epochs := range []int{0, 2} {
				for _, augment := range []plan.Augment{plan.AugmentNone, plan.AugmentPerBatch, plan.AugmentPerSample} {
					p := plan.Planner{
						Seed: seed, Parts: parts, E: 3, B: 8, Epochs: epochs, Augment: augment, Flip: seed == 1,
					}
					for i := range parts {
						for round, taken := range []int{0, p.Steps(i), 20} {
							l := p.Client(round, i, taken)
							d.Add(p.Steps(i), l.E, l.B, l.Index, l.Crop, l.Flip, p.Batch(i, taken))
						}
					}
				}
			}
		}
	}
}

// The revision of what clients read rises with any of its three numbers.
func TestRevisionIsASum(t *testing.T) {
	all, kinds := loaders, splitKinds
	defer func() { loaders, splitKinds = all, kinds }()
	loaders, splitKinds = slices.Clone(all), slices.Clone(kinds)
	loaders[0].revision, splitKinds[1].revision = 4, 7
	name := loaders[0].info.Name
	for _, c := range []struct {
		data, split string
		want        int
	}{
		{name, string(splitKinds[1].kind), sharedRevision + 4 + 7},
		{name, "", sharedRevision + 4},
		{"imagenet", string(splitKinds[1].kind), 0},
	} {
		if got := Revision(c.data, c.split); got != c.want {
			t.Errorf("revision of %s, split %q: %d, want %d", c.data, c.split, got, c.want)
		}
	}
}
