// Package metrics holds what is measured of runs: the names of the numbers, and how people are told them.
package metrics

import (
	"fmt"
	"strings"

	"rollcall/results/files"
)

// Metric is a measured column of a curve, or a number that a table makes of one. The zero Metric is none.
type Metric string

// The measured columns: losses are means per sample, accuracies fractions.
const (
	TrainLoss Metric = "train_loss"
	TrainAcc  Metric = "train_acc"
	TestLoss  Metric = "test_loss"
	TestAcc   Metric = "test_acc"

	// The first rounds of FedAWE's Table 8: those in which a quarter, half, three quarters and all of a target test
	// accuracy are reached, see [rollcall/protocol.FirstRound]. 0 is the initial model. Of an estimate with seeds but
	// no mean it says: never.
	RoundsTo25  Metric = "rounds_to_25"
	RoundsTo50  Metric = "rounds_to_50"
	RoundsTo75  Metric = "rounds_to_75"
	RoundsTo100 Metric = "rounds_to_100"

	// The numbers of CA-Fed's Table I, of the test accuracies of a run: the largest, the mean over all rounds, and the
	// standard deviation over the second half of them, see [rollcall/protocol.OverTime].
	TestAccMax  Metric = "test_acc_max"
	TestAccMean Metric = "test_acc_mean"
	TestAccStd  Metric = "test_acc_std"

	// The numbers of FedAR's Table 3, of the accuracies of all clients: mean, standard deviation and variance, and mean
	// and standard deviation of the worst and the best tenth of them.
	ClientAccMean       Metric = "client_acc_mean"
	ClientAccStd        Metric = "client_acc_std"
	ClientAccVar        Metric = "client_acc_var" // of fractions: 10⁻⁴ of the printed, which is of percentages
	ClientAccWorst10    Metric = "client_acc_worst10"
	ClientAccWorst10Std Metric = "client_acc_worst10_std"
	ClientAccBest10     Metric = "client_acc_best10"
	ClientAccBest10Std  Metric = "client_acc_best10_std"

	// The p-values of FedAR's Table 2, see [rollcall/protocol.RoundsTTest] and [rollcall/protocol.SeedsTTest].
	PRounds Metric = "p_rounds"
	PSeeds  Metric = "p_seeds"
)

// OfClients are the numbers of FedAR's Table 3, in its order.
var OfClients = []Metric{
	ClientAccMean, ClientAccStd, ClientAccVar, ClientAccWorst10, ClientAccWorst10Std, ClientAccBest10,
	ClientAccBest10Std,
}

// Info is what is known of a metric.
type Info struct {
	name     string  // for people, with its unit
	scale    float64 // what the number is multiplied by for people: accuracies are percentages to them
	decimals int     // as the papers print it
	More     bool    // more is better
	Target   float64 // of a first round: the share of the target accuracy; 0 for other metrics
	Row      int     // place among the rows of a cell in a summary; metrics of one place come by target and name
	Column   int     // place among the columns of a data set in a table; metrics of one place come as they did
}

// metrics is everything that is known of metrics: name for people, scale, decimals, whether more is better, share of
// the target, place in a summary and in a table.
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
}

// Info returns what is known of a metric; of one from a file of another version little is.
func (m Metric) Info() Info {
	if info, known := metrics[m]; known {
		return info
	}
	name := strings.ReplaceAll(strings.Replace(string(m), "acc", "accuracy", 1), "_", " ")
	return Info{name: name, scale: 1, decimals: 4, Row: 2}
}

// Name names a metric for people, with its unit.
func (m Metric) Name() string { return m.Info().name }

// IsPercent reports whether m is a fraction that people read in percent.
func (m Metric) IsPercent() bool { return m.Info().scale == 100 }

// IsRound reports whether m is the first round to reach a target, a whole number.
func (m Metric) IsRound() bool { return m.Info().Target > 0 }

// NoNumber is what stands for people where there is no number.
const NoNumber = "–"

// Number prints mean ± std in the unit of the metric, with blanks around it for a column of numbers to line up.
func (m Metric) Number(mean, std files.Optional) string {
	if !mean.Valid {
		return NoNumber
	}
	if m == PRounds || m == PSeeds {
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

// Words prints mean ± std in the unit of the metric, or that a first round was never reached by any of n seeds.
func (m Metric) Words(mean, std files.Optional, n int) string {
	if n > 0 && !mean.Valid && m.IsRound() {
		return "never"
	}
	return strings.TrimSpace(m.Number(mean, std))
}

// WordsWithSeeds prints mean ± std (seeds).
func (m Metric) WordsWithSeeds(mean, std files.Optional, n int) string {
	switch {
	case n == 0:
		return NoNumber
	case !mean.Valid && m.IsRound():
		return fmt.Sprintf("never (%d)", n)
	}
	return fmt.Sprintf("%s (%d)", m.Number(mean, std), n)
}

// Difference prints a difference with its sign, in the unit of the metric: percentage points for accuracies.
func (m Metric) Difference(x files.Optional) string { return m.distance("%+.*f", x) }

// Margin prints a distance without a sign, in the unit of the metric.
func (m Metric) Margin(x files.Optional) string { return m.distance("%.*f", x) }

func (m Metric) distance(format string, x files.Optional) string {
	if !x.Valid {
		return NoNumber
	}
	info := m.Info()
	return fmt.Sprintf(format, info.decimals, info.scale*x.Value)
}
