// Package metrics names the numbers that runs and tables have, and formats them for people.
package metrics

import (
	"fmt"
	"strings"

	"rollcall/internal/files"
)

// Metric names a measured column of a curve, or a number that a table computes from curves. The zero Metric is invalid.
type Metric string

// The measured columns come first. Losses are means per sample, and accuracies are fractions.
const (
	TrainLoss Metric = "train_loss"
	TrainAcc  Metric = "train_acc"
	TestLoss  Metric = "test_loss"
	TestAcc   Metric = "test_acc"

	// FedAWE's Table 8 prints the first rounds that reach a quarter, half, three quarters and all of a target test
	// accuracy, see [rollcall/results/protocol.FirstRound]. Round 0 is the initial model. An estimate with seeds but
	// without a mean says that no round reached the target.
	RoundsTo25  Metric = "rounds_to_25"
	RoundsTo50  Metric = "rounds_to_50"
	RoundsTo75  Metric = "rounds_to_75"
	RoundsTo100 Metric = "rounds_to_100"

	// CA-Fed's Table I prints three numbers about the test accuracies of a run: the maximum, the mean over all rounds,
	// and the standard deviation over the second half of the rounds, see [rollcall/results/protocol.OverTime].
	TestAccMax  Metric = "test_acc_max"
	TestAccMean Metric = "test_acc_mean"
	TestAccStd  Metric = "test_acc_std"

	// FedAR's Table 3 prints numbers about the accuracies of the clients: mean, standard deviation and variance over
	// all clients, and mean and standard deviation over the worst and the best tenth.
	ClientAccMean       Metric = "client_acc_mean"
	ClientAccStd        Metric = "client_acc_std"
	ClientAccVar        Metric = "client_acc_var" // of fractions; the printed one, of percentages, is 10⁴ times this
	ClientAccWorst10    Metric = "client_acc_worst10"
	ClientAccWorst10Std Metric = "client_acc_worst10_std"
	ClientAccBest10     Metric = "client_acc_best10"
	ClientAccBest10Std  Metric = "client_acc_best10_std"

	// FedAR's Table 2 prints p-values, see [rollcall/results/protocol.RoundsTTest] and
	// [rollcall/results/protocol.SeedsTTest]. The last one is ours: p_seeds corrected for all comparisons of a table,
	// see [rollcall/results/stats.Holm].
	PRounds Metric = "p_rounds"
	PSeeds  Metric = "p_seeds"
	PHolm   Metric = "p_holm"
)

// OfClients are the numbers of FedAR's Table 3, in the order of the table.
var OfClients = []Metric{
	ClientAccMean, ClientAccStd, ClientAccVar, ClientAccWorst10, ClientAccWorst10Std,
	ClientAccBest10, ClientAccBest10Std,
}

// Info says how a metric is named, printed, compared and sorted.
type Info struct {
	name     string  // for people, with the unit
	scale    float64 // factor for people: 100 for accuracies, which they read in percent
	decimals int     // as the papers print it
	More     bool    // a larger number is better
	Target   float64 // share of the target accuracy, for metrics that are first rounds; 0 for the others
	Row      int     // order among the rows of a cell in a summary; equal ones are sorted by target and name
	Column   int     // order among the columns of a data set in a table; equal ones keep their order
}

// metrics has the [Info] of every metric that this version knows.
var metrics = map[Metric]Info{
	TrainAcc:  {"train accuracy (%)", 100, 1, true, 0, 1, 0},
	TestAcc:   {"test accuracy (%)", 100, 1, true, 0, 0, 1},
	TrainLoss: {"train loss", 1, 4, false, 0, 2, 2},
	TestLoss:  {"test loss", 1, 4, false, 0, 2, 3},

	RoundsTo25:  {"first round at 25 % of the target", 1, 0, false, 0.25, 2, 0},
	RoundsTo50:  {"first round at 50 % of the target", 1, 0, false, 0.5, 2, 0},
	RoundsTo75:  {"first round at 75 % of the target", 1, 0, false, 0.75, 2, 0},
	RoundsTo100: {"first round at 100 % of the target", 1, 0, false, 1, 2, 0},

	TestAccMax:  {"test accuracy max (%)", 100, 2, true, 0, 2, 0},
	TestAccMean: {"test accuracy mean (%)", 100, 2, true, 0, 2, 0},
	TestAccStd:  {"test accuracy std (%)", 100, 2, false, 0, 2, 0},

	ClientAccMean:       {"client accuracy mean (%)", 100, 1, true, 0, 2, 0},
	ClientAccStd:        {"client accuracy std (%)", 100, 1, false, 0, 2, 0},
	ClientAccVar:        {"client accuracy var", 1e4, 1, false, 0, 2, 0},
	ClientAccWorst10:    {"client accuracy worst10 (%)", 100, 1, true, 0, 2, 0},
	ClientAccWorst10Std: {"client accuracy worst10 std (%)", 100, 1, false, 0, 2, 0},
	ClientAccBest10:     {"client accuracy best10 (%)", 100, 1, true, 0, 2, 0},
	ClientAccBest10Std:  {"client accuracy best10 std (%)", 100, 1, false, 0, 2, 0},

	PRounds: {"p rounds", 1, 4, false, 0, 2, 0},
	PSeeds:  {"p seeds", 1, 4, false, 0, 2, 0},
	PHolm:   {"p Holm", 1, 4, false, 0, 3, 0},
}

// Info returns the description of a metric. A file of another version may have a metric that this one does not know;
// its description is made from its name.
func (m Metric) Info() Info {
	if info, known := metrics[m]; known {
		return info
	}
	name := strings.ReplaceAll(strings.Replace(string(m), "acc", "accuracy", 1), "_", " ")
	return Info{name: name, scale: 1, decimals: 4, Row: 2}
}

// Name returns the name of a metric for people, with its unit.
func (m Metric) Name() string { return m.Info().name }

// IsPercent reports whether m is a fraction that is printed in percent.
func (m Metric) IsPercent() bool { return m.Info().scale == 100 }

// IsRound reports whether m is the first round that reaches a target, a whole number.
func (m Metric) IsRound() bool { return m.Info().Target > 0 }

// IsP reports whether m is a p-value.
func (m Metric) IsP() bool { return m == PRounds || m == PSeeds || m == PHolm }

// IsSpread reports whether m is a standard deviation or a variance.
func (m Metric) IsSpread() bool { return strings.HasSuffix(string(m), "_std") || m == ClientAccVar }

// NoNumber is printed in place of a missing number.
const NoNumber = "–"

// Number returns mean ± std in the unit of the metric, padded with spaces so that numbers in a column line up.
func (m Metric) Number(mean, std files.Optional) string {
	if !mean.Valid {
		return NoNumber
	}
	if m.IsP() {
		return fmt.Sprintf("%-8.3g", mean.Value)
	}
	info := m.Info()
	width := 2 + 1 + info.decimals // two digits before the point
	if info.decimals == 0 {
		width = 4 // no point, but thousands of rounds
	}
	text := fmt.Sprintf("%*.*f", width, info.decimals, info.scale*mean.Value)
	if std.Valid {
		text += fmt.Sprintf(" ± %.*f", info.decimals, info.scale*std.Value)
	}
	return text
}

// Words returns mean ± std in the unit of the metric, or "never" if n > 0 seeds did not reach a target.
func (m Metric) Words(mean, std files.Optional, n int) string {
	if n > 0 && !mean.Valid && m.IsRound() {
		return "never"
	}
	return strings.TrimSpace(m.Number(mean, std))
}

// WordsWithSeeds returns "mean ± std (seeds)", "never (seeds)", or [NoNumber] without seeds.
func (m Metric) WordsWithSeeds(mean, std files.Optional, n int) string {
	switch {
	case n == 0:
		return NoNumber
	case !mean.Valid && m.IsRound():
		return fmt.Sprintf("never (%d)", n)
	}
	return fmt.Sprintf("%s (%d)", m.Number(mean, std), n)
}

// Difference returns a difference with its sign, in the unit of the metric: percentage points for accuracies.
func (m Metric) Difference(x files.Optional) string { return m.distance("%+.*f", x) }

// Margin returns a distance without a sign, in the unit of the metric.
func (m Metric) Margin(x files.Optional) string { return m.distance("%.*f", x) }

// distance formats x, scaled for people, with a format that takes the number of decimals first.
func (m Metric) distance(format string, x files.Optional) string {
	if !x.Valid {
		return NoNumber
	}
	info := m.Info()
	return fmt.Sprintf(format, info.decimals, info.scale*x.Value)
}
