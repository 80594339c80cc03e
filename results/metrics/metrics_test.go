package metrics

import (
	"strconv"
	"strings"
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

// Accuracies are percentages to people, and first rounds whole numbers that may never come.
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
		{PRoundsLead, files.Some(-0.0123), none, 3, "-1.23"},
		{PRoundsN, files.Some(90.4), none, 3, "90"},
		{RoundsTo50, files.Some(120), none, 3, "120"},
		{RoundsTo50, none, none, 3, "never"},
		{RoundsTo50, none, none, 0, NoNumber},
		{TestAcc, none, none, 3, NoNumber},
		{"rounds_to_acc_60", files.Some(40. / 3), files.Some(2.88675), 3, "13.3 ± 2.9"},
	} {
		if got := c.metric.Words(c.mean, c.std, c.n); got != c.want {
			t.Errorf("%s: %v ± %v over %d: %q, want %q", c.metric, c.mean, c.std, c.n, got, c.want)
		}
	}
	if got := TestAcc.Difference(files.Some(0.012)); got != "+1.2" {
		t.Errorf("difference %q, want +1.2", got)
	}
}

// Of the spread of accuracies less is better, however it is measured, and of rounds too; of accuracies more is.
func TestWhichIsBetter(t *testing.T) {
	for _, m := range []Metric{TestAccStd, ClientAccStd, ClientAccVar, ClientAccWorst10Std, ClientAccBest10Std} {
		if m.Info().More {
			t.Errorf("%s: more is better, want less", m)
		}
	}
	for _, m := range []Metric{"rounds_to_acc_60", RoundsTo50} {
		if m.Info().More {
			t.Errorf("%s: more rounds are better, want fewer", m)
		}
	}
	for _, m := range []Metric{
		TestAcc, TestAccFinal, TestAccMax, TestAccMean, ClientAccMean, ClientAccWorst10, ClientAccBest10,
	} {
		if !m.Info().More {
			t.Errorf("%s: less is better, want more", m)
		}
	}
}

// The words of the command line, and the names of metrics; in the table that has rounds_to_50 that name is its own.
func TestNamed(t *testing.T) {
	for word, want := range map[string]Metric{
		"final": TestAccFinal, "last50": TestAcc, "best": TestAccMax, "mean": TestAccMean, "test_acc": TestAcc,
		"train_loss": TrainLoss, "rounds_to_60": "rounds_to_acc_60", "rounds_to_60.50": "rounds_to_acc_60.5",
		"rounds_to_acc_60": "rounds_to_acc_60", "rounds_to_100": "rounds_to_acc_100",
		"rounds_to_0.1": "rounds_to_acc_0.1", "p_seeds": PSeeds,
	} {
		if got, known := Named(word, PSeeds); !known || got != want {
			t.Errorf("%s: %q, %v, want %q", word, got, known, want)
		}
	}
	if got, _ := Named("rounds_to_50", RoundsTo50); got != RoundsTo50 {
		t.Errorf("rounds_to_50 of a table that has it: %q, want it", got)
	}
	for _, word := range []string{
		"", "lst50", "p_seeds", "rounds_to_", "rounds_to_0", "rounds_to_100.1", "rounds_to_NaN", "rounds_to_-5",
		"rounds_to_acc_060",
	} {
		if got, known := Named(word); known {
			t.Errorf("%q: %q, want it unknown", word, got)
		}
	}
}

// A file has names that this version knows, or is refused by the name.
func TestUnmarshalText(t *testing.T) {
	var m Metric
	for _, name := range []Metric{TestAcc, TestAccFinal, PHolm, RoundsTo25, "rounds_to_acc_62.5"} {
		if err := m.UnmarshalText([]byte(name)); err != nil || m != name {
			t.Errorf("%s: %q, %v, want it as it is", name, m, err)
		}
	}
	for _, name := range []string{"", "top5_acc", "final", "rounds_to_60", "rounds_to_acc_60.0", "rounds_to_acc_101"} {
		if err := m.UnmarshalText([]byte(name)); err == nil || !strings.Contains(err.Error(), strconv.Quote(name)) {
			t.Errorf("%q: %v, want an error that names it", name, err)
		}
	}
}

// A mean over the last rounds says how many these are, and why there are fewer.
func TestOver(t *testing.T) {
	const why = "since the runs are shorter than the window of 50"
	for _, c := range []struct {
		m         Metric
		window    int
		rounds    []int
		over, why string
	}{
		{TestAcc, 50, []int{2000, 50}, "mean over the last 50 rounds", ""},
		{TestAcc, 50, []int{0}, "mean over the last 50 rounds", ""}, // unknown
		{TestAcc, 50, nil, "mean over the last 50 rounds", ""},
		{TrainLoss, 50, []int{20, 20}, "mean over all 20 rounds", why},
		{TestAcc, 50, []int{20, 49}, "mean over all 20 to 49 rounds", why},
		{TestAcc, 50, []int{1}, "mean over all 1 round", why},
		{TestAcc, 50, []int{20, 100}, "mean over the last 50 rounds, or over all rounds of a shorter run", ""},
		{TestAcc, 20, []int{20}, "mean over the last 20 rounds", ""},
		{TestAccFinal, 50, []int{20}, "after the last round", ""},
		{RoundsTo25, 50, []int{20}, "", ""},
	} {
		over, why := c.m.Over(c.window, c.rounds...)
		if over != c.over || why != c.why {
			t.Errorf("%s, window %d, rounds %d: %q, %q, want %q, %q", c.m, c.window, c.rounds, over, why, c.over, c.why)
		}
	}
}
