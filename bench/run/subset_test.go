package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/datasets"
	"rollcall/datasets/plan"
	"rollcall/internal/must"
)

// lent returns a session in which some images are CIFAR-10.
func lent(t *testing.T, train, test *plan.Samples) *Session {
	t.Helper()
	ses := onCPU(t, "off")
	ses.Machine.Threads, ses.Machine.Out, ses.shared = 1, t.TempDir(), &sharedData{}
	ses.Lend(&datasets.Set{Name: "cifar10", Train: train, Test: test, Checksum: "0"})
	return ses
}

// images returns training and test images in the shape of CIFAR-10.
func images(t *testing.T) (train, test *plan.Samples) {
	t.Helper()
	o := datasets.Options{Seed: 1, TrainSize: 300, TestSize: 90}
	set := must.Get(datasets.Open(t.Context(), "synthetic", o))(t)
	return set.Train, set.Test
}

// only returns some samples of a part.
func only(s *plan.Samples, which []int32) *plan.Samples {
	part, size := *s, s.H*s.W*s.C
	part.Images, part.Labels = nil, nil
	for _, i := range which {
		part.Images = append(part.Images, s.Images[int(i)*size:][:size]...)
		part.Labels = append(part.Labels, s.Labels[i])
	}
	return &part
}

// outcome trains a run, and returns the numbers of its curve, what a plan counts for it, and its run.
func outcome(t *testing.T, ses *Session, words string) (text string, x *Experiment, needs Needs) {
	t.Helper()
	if !strings.Contains(words, "data-size") { // which has no p
		words += " p=0.9"
	}
	x, _, _ = tinyExperiment(t, strings.Fields("data=cifar10 net=lenet5 rounds=3 lr=0.01 "+words)...)
	rows := must.Get(do(t.Context(), x, ses, silent()))(t)
	for _, r := range rows {
		text += fmt.Sprintln(r.Round, r.Active, r.LR, r.TrainLoss, r.TrainAcc, r.TestLoss, r.TestAcc)
	}
	return text, x, must.Get(ses.Needs(t.Context(), &x.Settings, x.Seed, 0))(t)
}

// asFile writes a split as --split file:FILE reads it, and returns its path.
func asFile(t *testing.T, parts [][]int32) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "split.csv")
	text := []byte("client,index\n")
	for k, own := range parts {
		for _, i := range own {
			text = fmt.Appendf(text, "%d,%d\n", k, i)
		}
	}
	must.OK(t, os.WriteFile(path, text, 0o666))
	return path
}

// splitsOfRuns are the splits that a run of 4 clients can have of images, and further settings.
var splitsOfRuns = []string{
	"split=clients alpha=1", "split=classes alpha=1", "split=clusters clusters=2 alpha=1", "split=even",
	"split=two-class",
	"split=even hold-out=0.25", "split=two-class hold-out=0.5 validation=0.2",
	"split=clients alpha=1 validation=0.25 method=ca-fed fstar=zero losses=held-out",
	"split=classes alpha=1 weights=size method=unbiased availability=data-size",
	"split=even augment=none eval-train=false",
}

// A run on a subset is the run on a data set that has no other samples: the same numbers, work and memory.
func TestSubsetIsASet(t *testing.T) {
	train, test := images(t)
	for _, words := range splitsOfRuns {
		t.Run(words, func(t *testing.T) {
			sizes := " train-size=200"
			if !strings.Contains(words, "hold-out") {
				sizes += " test-size=40"
			}
			ses := lent(t, train, test)
			got, x, needs := outcome(t, ses, words+sizes)
			o := datasets.SplitOptions{Kind: datasets.SplitEven, Clients: 1}
			of := must.Get(datasets.Divide(ses.Data, o, datasets.Reserved{Sizes: [2]int{200, 40}}, x.Seed))(t).Subset
			want, _, wanted := outcome(t, lent(t, only(train, of[0]), only(test, of[1])), words)
			if got != want {
				t.Errorf("curve\n%swant, as on a set of these samples alone,\n%s", got, want)
			}
			if needs.Images != wanted.Images || needs.Evaluated != wanted.Evaluated {
				t.Errorf("plan: %g trained, %g evaluated, want %g, %g", needs.Images, needs.Evaluated, wanted.Images,
					wanted.Evaluated)
			}
			if all, _, _ := outcome(t, lent(t, train, test), words); all == want {
				t.Error("on all samples: the same curve, want another")
			}
			if got := ses.Checksum(&x.Settings); got != "sha256:0" {
				t.Errorf("checksum %s, want that of the files: the subset is no other data set", got)
			}
			if len(ses.shared.sets) != 1 {
				t.Errorf("%d open data sets, want the lent one alone", len(ses.shared.sets))
			}
		})
	}
}

// A split in a file is the split: a run by the file of what a kind gives has the curve of that kind.
func TestSplitFileIsTheSplit(t *testing.T) {
	train, test := images(t)
	for _, words := range splitsOfRuns {
		if strings.Contains(words, "hold-out") || strings.Contains(words, "validation") { // drawn of other lists
			continue
		}
		t.Run(words, func(t *testing.T) {
			ses := lent(t, train, test)
			want, x, _ := outcome(t, ses, words)
			parts := must.Get(Populate(ses.Data, &x.Settings, x.Seed))(t).train
			fields := slices.DeleteFunc(strings.Fields(words), func(word string) bool {
				return strings.HasPrefix(word, "split=") || strings.HasPrefix(word, "alpha=") ||
					strings.HasPrefix(word, "clusters=")
			})
			words := strings.Join(fields, " ")
			got, _, _ := outcome(t, lent(t, train, test), words+" split=file:"+asFile(t, parts))
			if got != want {
				t.Errorf("curve\n%swant, as of the split that the file has,\n%s", got, want)
			}
			parts[0], parts[1] = parts[1], parts[0]
			if other, _, _ := outcome(t, lent(t, train, test), words+" split=file:"+asFile(t, parts)); other == want {
				t.Error("two clients exchanged in the file: the same curve, want another")
			}
		})
	}
}

// With a subset, with samples held out or kept back, clients have of a file's samples what is left; a sample in no row
// belongs to nobody, and the log says how many do.
func TestSplitFileLeaves(t *testing.T) {
	train, test := images(t)
	var parts [4][]int32
	for i := range int32(200) {
		parts[i%4] = append(parts[i%4], 299-i)
	}
	path := asFile(t, parts[:])
	for _, words := range []string{
		"", "train-size=100", "hold-out=0.25", "validation=0.2", "train-size=100 hold-out=0.2",
	} {
		ses, log := lent(t, train, test), &sharedLog{}
		ses.Stderr = log
		_, x, _ := outcome(t, ses, words+" split=file:"+path)
		p := must.Get(Populate(ses.Data, &x.Settings, x.Seed))(t)
		left := 0
		for k, own := range p.train {
			want := slices.DeleteFunc(slices.Clone(parts[k]), func(i int32) bool {
				_, in := slices.BinarySearch(p.whole, i)
				return p.whole != nil && !in || slices.Contains(p.same, i) ||
					p.validation != nil && slices.Contains(p.validation[k], i)
			})
			slices.Sort(want)
			if got := slices.Sorted(slices.Values(own)); !slices.Equal(got, want) {
				t.Errorf("%q: client %d trains on %v, want %v", words, k, got, want)
			}
			if left += len(own); p.validation != nil {
				left += len(p.validation[k])
			}
		}
		want := fmt.Sprintf("split: %d of 300 training samples belong to a client (%s)\n", left, path)
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q: log %q, want %q", words, log.String(), want)
		}
	}
	ses := lent(t, train, test)
	x, _, _ := tinyExperiment(t, strings.Fields("data=cifar10 net=lenet5 clients=2 split=file:"+
		asFile(t, [][]int32{{299}, {300}}))...)
	_, err := do(t.Context(), x, ses, silent())
	want := "--split file " + x.Settings.SplitFile + ": line 3: index 300, want 0 … 299"
	if fmt.Sprint(err) != want {
		t.Errorf("a sample behind the set: %v, want %s", err, want)
	}
}

// More samples than an official set has are refused before it is looked for.
func TestSubsetTooLarge(t *testing.T) {
	for words, want := range map[string]string{
		"train-size=50001": "--train-size 50001: cifar10 has 50000, want 1 … 50000, or 0 for all",
		"test-size=10001":  "--test-size 10001: cifar10 has 10000, want 1 … 10000, or 0 for all",
	} {
		x, ses, _ := tinyExperiment(t, "data=cifar10", "net=lenet5", words)
		ses.Machine.DataDir = "/nowhere"
		if _, err := do(t.Context(), x, ses, silent()); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", words, err, want)
		}
	}
}
