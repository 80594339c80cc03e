package run

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets"
)

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
