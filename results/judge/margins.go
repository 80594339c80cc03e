package judge

import (
	"rollcall/internal/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// The margins, which were fixed before any number was judged by them: an accuracy 1 point; a loss, a standard deviation
// or a ratio 10 % (and a variance 21 %, which is the same); a number of rounds 10 %, or one evaluation if that is more.
// A difference has half of the printed one, at least 0.25 points.
const (
	accuracyMargin = 0.01
	shareMargin    = 0.1
	roundMargin    = 10 // rounds between the evaluations of tables that print rounds
)

// marginOf returns the margin of a printed number of a metric, and whether such numbers are judged at all, see
// [metrics.Metric.IsJudged].
func marginOf(m metrics.Metric, printed float64) (margin Margin, judged bool) {
	switch {
	case !m.IsJudged():
		return margin, false
	case m.IsRound():
		return Within(max(shareMargin*printed, roundMargin)), true
	case m == metrics.ClientAccVar:
		return Ratio((1+shareMargin)*(1+shareMargin) - 1), true
	case m.IsSpread() || !m.IsPercent():
		return Ratio(shareMargin), true
	}
	return Within(accuracyMargin), true
}

// Printed compares a number of ours of a metric with a printed one, by the margin of the metric. A round that no run
// reached, and a printed dash in its place, are an answer: they agree with one another, and with no number. Other first
// rounds of a mean curve have no spread over seeds and cannot be told: by the spread of a jackknife over the seeds, of
// curves drawn like FedAWE's, a wrong "agrees" came in up to 13 % of the draws, where 5 % are allowed. judged is false
// for a metric that is shown and not judged.
func Printed(m metrics.Metric, ours, printed stats.Estimate, hasOurs, hasPrinted bool) (o Outcome, judged bool) {
	margin, judged := marginOf(m, printed.Mean)
	switch {
	case !judged:
		return o, false
	case m.IsRound() && !hasOurs && !hasPrinted:
		o.Verdict = Agrees
	case m.IsRound() && hasOurs != hasPrinted:
		o.Verdict = Differs
	case !hasOurs || !hasPrinted:
		o.Verdict = Untold
	default:
		return Numbers(ours, printed, margin), true
	}
	o.Margin = files.Some(margin.Width)
	return o, true
}
