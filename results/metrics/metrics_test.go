package metrics

import (
	"testing"

	"rollcall/internal/files"
)

func TestTargetShare(t *testing.T) {
	for m, want := range map[Metric]float64{
		RoundsTo25: 0.25, RoundsTo50: 0.5, RoundsTo75: 0.75, RoundsTo100: 1, TestAcc: 0, TrainLoss: 0, "": 0,
	} {
		if got := m.Info().Target; got != want || m.IsRound() != (want > 0) {
			t.Errorf("%q: got share %v, round %v, want %v, %v", m, got, m.IsRound(), want, want > 0)
		}
	}
}

// Accuracies are percentages to people, first rounds whole numbers that may never come, and a metric of another version
// is at least told by its name.
func TestWords(t *testing.T) {
	none := files.Optional{}
	for _, c := range []struct {
		metric    Metric
		mean, std files.Optional
		n         int
		want      string
	}{
		{TestAcc, files.Some(0.6789), files.Some(0.0123), 3, "67.9 ± 1.2"},
		{TestAcc, files.Some(0.05), none, 1, "5.0"},
		{TestLoss, files.Some(1.23456), files.Some(0.00004), 3, "1.2346 ± 0.0000"},
		{ClientAccVar, files.Some(0.0325), none, 3, "325.0"},
		{PRounds, files.Some(1.38e-246), none, 3, "1.38e-246"},
		{PHolm, files.Some(0.00012345), none, 3, "0.000123"},
		{RoundsTo50, files.Some(120), none, 3, "120"},
		{RoundsTo50, none, none, 3, "never"},
		{RoundsTo50, none, none, 0, NoNumber},
		{TestAcc, none, none, 3, NoNumber},
		{"top5_acc", files.Some(0.5), none, 1, "0.5000"},
	} {
		if got := c.metric.Words(c.mean, c.std, c.n); got != c.want {
			t.Errorf("%s: %v ± %v over %d: %q, want %q", c.metric, c.mean, c.std, c.n, got, c.want)
		}
	}
	if got := Metric("top5_acc").Name(); got != "top5 accuracy" {
		t.Errorf("name %q, want top5 accuracy", got)
	}
	if got := TestAcc.Difference(files.Some(0.012)); got != "+1.2" {
		t.Errorf("difference %q, want +1.2", got)
	}
}

// Of the spread of the clients' accuracies less is better, however it is measured.
func TestSmallerSpreadIsBetter(t *testing.T) {
	for _, m := range []Metric{TestAccStd, ClientAccStd, ClientAccVar, ClientAccWorst10Std, ClientAccBest10Std} {
		if m.Info().More {
			t.Errorf("%s: more is better, want less", m)
		}
	}
	for _, m := range []Metric{TestAcc, ClientAccMean, ClientAccWorst10, ClientAccBest10} {
		if !m.Info().More {
			t.Errorf("%s: less is better, want more", m)
		}
	}
}
