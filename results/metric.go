package results

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/results/files"
)

// IsPValue reports whether m is a p-value.
func (m Metric) IsPValue() bool { return m == PRounds || m == PSeeds }

// isClientAccuracy reports whether m is a percentage to people.
func (m Metric) isClientAccuracy() bool {
	return m != ClientAccVar && slices.Contains(ClientMetrics, m)
}

// MeanWords prints mean ± std (seeds).
func MeanWords(mean, std files.Optional, n int, m Metric) string {
	switch {
	case n == 0:
		return TableNone
	case !mean.Valid && m.IsRound():
		return fmt.Sprintf("never (%d)", n)
	}
	return fmt.Sprintf("%s (%d)", Number(mean, std, m), n)
}

// Difference prints a difference or a margin in the unit of its metric.
func Difference(x files.Optional, m Metric, format string) string {
	if !x.Valid {
		return TableNone
	}
	scale, decimals := unit(m)
	return fmt.Sprintf(format, decimals, scale*x.Value)
}

// Metric is a measured column of a curve, or a number that a table makes of one. The zero Metric is none.
type Metric string

// IsAccuracy reports whether m is a fraction, which people read in percent.
func (m Metric) IsAccuracy() bool {
	return m == TrainAcc || m == TestAcc || m.IsOverTime() || m.isClientAccuracy()
}

// IsOverTime reports whether m is made of the accuracies of a whole run.
func (m Metric) IsOverTime() bool { return m == TestAccMax || m == TestAccMean || m == TestAccStd }

// IsRound reports whether m is the first round to reach a target, a whole number.
func (m Metric) IsRound() bool { return m.TargetShare().Valid }

// TargetShare returns the share of the target accuracy that a first round is about; missing for other metrics.
func (m Metric) TargetShare() files.Optional {
	switch m {
	case RoundsTo25:
		return files.Some(0.25)
	case RoundsTo50:
		return files.Some(0.5)
	case RoundsTo75:
		return files.Some(0.75)
	case RoundsTo100:
		return files.Some(1)
	}
	return files.Optional{}
}

// Words prints a mean ± std in the unit of a metric: percent for accuracies. An en dash stands for no number.
func Words(mean, std files.Optional, n int, m Metric) string {
	if n > 0 && !mean.Valid && m.IsRound() {
		return "never"
	}
	return strings.TrimSpace(Number(mean, std, m))
}

// DifferenceWords prints a difference with its sign, in the unit of a metric: percentage points for accuracies.
func DifferenceWords(d files.Optional, m Metric) string { return Difference(d, m, "%+.*f") }

// MetricName names a metric for people, with its unit.
func MetricName(m Metric) string {
	switch m {
	case TrainLoss:
		return "train loss"
	case TestLoss:
		return "test loss"
	case TrainAcc:
		return "train accuracy (%)"
	case TestAcc:
		return "test accuracy (%)"
	}
	if share := m.TargetShare(); share.Valid {
		return fmt.Sprintf("first round at %g %% of the target", 100*share.Value)
	}
	name := strings.ReplaceAll(strings.Replace(string(m), "acc", "accuracy", 1), "_", " ")
	if m.IsAccuracy() {
		name += " (%)"
	}
	return name
}

const (
	TableGap   = "   " // between columns
	TableSplit = " | " // between ours and the paper's
	TableNone  = "–"   // no number
)

// unit returns what numbers of a metric are multiplied by for people, and their decimals: percentages have one, as in the
// papers (two in CA-Fed's), losses four, rounds none.
func unit(m Metric) (scale float64, decimals int) {
	switch {
	case m.IsOverTime():
		return 100, 2
	case m.IsAccuracy():
		return 100, 1
	case m == ClientAccVar:
		return 1e4, 1 // of percentages
	case m.IsRound():
		return 1, 0
	}
	return 1, 4
}

// Number prints mean ± std in the unit of the metric.
func Number(mean, std files.Optional, m Metric) string {
	if !mean.Valid {
		return TableNone
	}
	if m.IsPValue() {
		return fmt.Sprintf("%-8.3g", mean.Value)
	}
	scale, decimals := unit(m)
	width := 2 + 1 + decimals // two digits before the point
	if decimals == 0 {
		width = 4 // no point, but thousands of rounds
	}
	text := fmt.Sprintf("%*.*f", width, decimals, scale*mean.Value)
	if std.Valid {
		text += fmt.Sprintf(" ± %.*f", decimals, scale*std.Value)
	}
	return text
}
