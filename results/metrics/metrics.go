// Package metrics names the numbers that runs and tables have, and formats them for people.
package metrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rollcall/internal/files"
)

// Metric names a measured column of a curve, or a number that a table computes from curves. The zero Metric is invalid.
type Metric string

// The measured columns come first. Losses are means per sample, and accuracies are fractions. The number of a run is
// their mean over its last rounds, see [Window].
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

	// The test accuracy after the last evaluated round. [Reaching] makes one more metric of test accuracies.
	TestAccFinal Metric = "test_acc_final"

	// FedAR's Table 3 prints numbers about the accuracies of the clients: mean, standard deviation and variance over
	// all clients, and mean and standard deviation over the worst and the best tenth.
	ClientAccMean       Metric = "client_acc_mean"
	ClientAccStd        Metric = "client_acc_std"
	ClientAccVar        Metric = "client_acc_var" // of fractions; the printed one, of percentages, is 10⁴ times this
	ClientAccWorst10    Metric = "client_acc_worst10"
	ClientAccWorst10Std Metric = "client_acc_worst10_std"
	ClientAccBest10     Metric = "client_acc_best10"
	ClientAccBest10Std  Metric = "client_acc_best10_std"

	// FedAR's Table 2 prints p-values, see [rollcall/results/protocol.RoundsTTest]. The others are ours: whose lead
	// p_rounds is about and how many of its pairs are independent, see [rollcall/results/protocol.RoundsLead]; the
	// p-value of [rollcall/results/protocol.SeedsTTest]; and p_seeds corrected for all comparisons of a table, see
	// [rollcall/results/stats.Holm].
	PRounds     Metric = "p_rounds"
	PRoundsLead Metric = "p_rounds_lead"
	PRoundsN    Metric = "p_rounds_n"
	PSeeds      Metric = "p_seeds"
	PHolm       Metric = "p_holm"
)

// OfClients are the numbers of FedAR's Table 3, in the order of the table.
var OfClients = []Metric{
	ClientAccMean, ClientAccStd, ClientAccVar, ClientAccWorst10, ClientAccWorst10Std,
	ClientAccBest10, ClientAccBest10Std,
}

// OfPairs are the numbers of paired tests in FedAR's Table 2, in the order of the table.
var OfPairs = []Metric{PRounds, PRoundsLead, PRoundsN, PSeeds, PHolm}

// reaching is how the names of [Reaching] begin.
const reaching = "rounds_to_acc_"

// Reaching returns the metric of the first evaluated round of a run whose test accuracy is at least a percentage, and
// whether the text is one, above 0 and up to 100. Round 0 is the initial model.
func Reaching(percent string) (Metric, bool) {
	p, err := files.ParseNumber(percent, 64)
	if err != nil || !(p > 0 && p <= 100) { // refuses NaN too
		return "", false
	}
	return Metric(reaching + strconv.FormatFloat(p, 'f', -1, 64)), true
}

// Reaches returns the accuracy that a metric of [Reaching] waits for, a fraction, and whether m is one.
func (m Metric) Reaches() (accFrac float64, is bool) {
	percent, is := strings.CutPrefix(string(m), reaching)
	if same, valid := Reaching(percent); !is || !valid || same != m {
		return 0, false
	}
	p, _ := strconv.ParseFloat(percent, 64) // [Reaching] has parsed it
	return p / 100, true
}

// OfCurves are the metrics that any run has, since they follow from its curve; besides them those of [Reaching].
var OfCurves = []Metric{
	TestAcc, TestAccFinal, TestAccMax, TestAccMean, TestAccStd, TrainAcc, TestLoss, TrainLoss,
}

// IsOfCurves reports whether m follows from the curve of a run.
func (m Metric) IsOfCurves() bool {
	_, reaches := m.Reaches()
	return reaches || slices.Contains(OfCurves, m)
}

// words are the words of the command line for metrics of test accuracy.
var words = []struct {
	word   string
	metric Metric
}{{"final", TestAccFinal}, {"last50", TestAcc}, {"best", TestAccMax}, {"mean", TestAccMean}}

// Named returns the metric that a word of the command line stands for: final, last50, best, mean, rounds_to_P, or the
// name of a metric in a summary. own are the metrics of a table, whose names come before words: in FedAWE's Table 8
// rounds_to_50 is [RoundsTo50].
func Named(word string, own ...Metric) (m Metric, known bool) {
	if m = Metric(word); slices.Contains(own, m) || m.IsOfCurves() {
		return m, true
	}
	for _, w := range words {
		if w.word == word {
			return w.metric, true
		}
	}
	percent, is := strings.CutPrefix(word, "rounds_to_")
	if !is {
		return "", false
	}
	return Reaching(percent)
}

// Names returns what [Named] knows, for help and errors; own as there.
func Names(own ...Metric) (names []string) {
	for _, w := range words {
		names = append(names, w.word)
	}
	names = append(names, "rounds_to_P")
	for _, m := range files.Unique(slices.Concat(OfCurves, own)) {
		names = append(names, string(m))
	}
	return names
}

// UnmarshalText returns an error for the name of any metric that this version does not know.
func (m *Metric) UnmarshalText(text []byte) error {
	*m = Metric(text)
	if _, known := metrics[*m]; !known && !m.IsOfCurves() {
		return fmt.Errorf("metric %q: unknown to this version of rollcall", text)
	}
	return nil
}

// Info says how a metric is named, printed, compared and sorted.
type Info struct {
	name     string  // for people, with the unit
	over     string  // which rounds of a run it is about, in words; [inWindow]: a mean over the last [Window]
	scale    float64 // factor for people: 100 for accuracies, which they read in percent
	decimals int     // as the papers print it
	More     bool    // a larger number is better
	Target   float64 // share of the target accuracy, for metrics that are first rounds; 0 for the others
	Row      int     // order among the rows of a cell in a summary; equal ones are sorted by target and name
}

const (
	inWindow  = "in the window"
	afterLast = "after the last round"
	evaluated = "all evaluated rounds"
)

// metrics has the [Info] of every metric but those of [Reaching].
var metrics = map[Metric]Info{
	TrainAcc:  {"train accuracy (%)", inWindow, 100, 1, true, 0, 6},
	TestAcc:   {"test accuracy (%)", inWindow, 100, 1, true, 0, 0},
	TrainLoss: {"train loss", inWindow, 1, 4, false, 0, 7},
	TestLoss:  {"test loss", inWindow, 1, 4, false, 0, 7},

	RoundsTo25:  {"first round at 25 % of the target", "", 1, 0, false, 0.25, 7},
	RoundsTo50:  {"first round at 50 % of the target", "", 1, 0, false, 0.5, 7},
	RoundsTo75:  {"first round at 75 % of the target", "", 1, 0, false, 0.75, 7},
	RoundsTo100: {"first round at 100 % of the target", "", 1, 0, false, 1, 7},

	TestAccFinal: {"test accuracy (%)", afterLast, 100, 1, true, 0, 1},
	TestAccMax:   {"test accuracy (%)", "largest of the run", 100, 2, true, 0, 2},
	TestAccMean:  {"test accuracy (%)", "mean over all rounds", 100, 2, true, 0, 3},
	TestAccStd:   {"test accuracy (%)", "std over the second half of the rounds", 100, 2, false, 0, 4},

	ClientAccMean:       {"client accuracy mean (%)", afterLast, 100, 1, true, 0, 7},
	ClientAccStd:        {"client accuracy std (%)", afterLast, 100, 1, false, 0, 7},
	ClientAccVar:        {"client accuracy var", afterLast, 1e4, 1, false, 0, 7},
	ClientAccWorst10:    {"client accuracy worst10 (%)", afterLast, 100, 1, true, 0, 7},
	ClientAccWorst10Std: {"client accuracy worst10 std (%)", afterLast, 100, 1, false, 0, 7},
	ClientAccBest10:     {"client accuracy best10 (%)", afterLast, 100, 1, true, 0, 7},
	ClientAccBest10Std:  {"client accuracy best10 std (%)", afterLast, 100, 1, false, 0, 7},

	PRounds:     {"p rounds", evaluated, 1, 4, false, 0, 7},
	PRoundsLead: {"lead of the reference (points)", evaluated, 100, 2, true, 0, 7},
	PRoundsN:    {"independent pairs", evaluated, 1, 0, false, 0, 7},
	PSeeds:      {"p seeds", inWindow, 1, 4, false, 0, 7},
	PHolm:       {"p Holm", inWindow, 1, 4, false, 0, 8},
}

// Info returns the description of a metric.
func (m Metric) Info() Info {
	if acc, is := m.Reaches(); is {
		return Info{
			name: fmt.Sprintf("rounds to %s %% test accuracy", strings.TrimPrefix(string(m), reaching)),
			over: "first evaluated round", scale: 1, decimals: 1, Target: acc, Row: 5,
		}
	}
	return metrics[m]
}

// InWindow reports whether the number of a run is a mean over its last rounds, see [Window].
func (m Metric) InWindow() bool { return m.Info().over == inWindow }

// Window is the number of last rounds over which the measured columns are averaged, as FedAWE's tables do.
const Window = 50

// Over says in words which rounds of its run a number is about: "mean over the last 50 rounds". window is the number of
// last rounds of a mean, usually [Window]; rounds are those of the runs, 0 if unknown. If all runs are shorter, the
// mean is over all of their rounds, and why says so. Both texts may be empty.
func (m Metric) Over(window int, rounds ...int) (over, why string) {
	if !m.InWindow() {
		return m.Info().over, ""
	}
	shorter := slices.DeleteFunc(slices.Clone(rounds), func(n int) bool { return n == 0 || n >= window })
	last := "mean over the last " + files.Count(window, "round")
	switch {
	case len(shorter) == 0:
		return last, ""
	case len(shorter) < len(rounds):
		return last + ", or over all rounds of a shorter run", ""
	}
	least, most := slices.Min(shorter), slices.Max(shorter)
	all := files.Count(most, "round")
	if least < most {
		all = fmt.Sprintf("%d to %s", least, all)
	}
	return "mean over all " + all, fmt.Sprintf("since the runs are shorter than the window of %d", window)
}

// Name returns the name of a metric for people, with its unit.
func (m Metric) Name() string { return m.Info().name }

// IsPercent reports whether m is a fraction that is printed in percent.
func (m Metric) IsPercent() bool { return m.Info().scale == 100 }

// IsRound reports whether m is the first round that reaches a target, or the mean of such rounds.
func (m Metric) IsRound() bool { return m.Info().Target > 0 }

// IsP reports whether m is a p-value.
func (m Metric) IsP() bool { return m == PRounds || m == PSeeds || m == PHolm }

// IsJudged reports whether a number can be better than another, or agree with it. Those of [OfPairs] cannot: a
// two-sided p-value does not say whose lead it is, and what stands beside it is there to read it.
func (m Metric) IsJudged() bool { return !slices.Contains(OfPairs, m) }

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
