package conditions

import (
	"fmt"

	"rollcall/internal/files"
)

// MostSpread is the largest p90/p10 of repeated times without a warning. Times of the same work on a machine that does
// nothing else differ by a few percent.
const MostSpread = 1.5

// SpreadWarning returns one line if times or speeds of the same work differ too much, with what to do about it; else
// "". what names them: "the rounds".
func SpreadWarning(what string, p10, p90 files.Optional) string {
	if !p10.Valid || !p90.Valid || !(p10.Value > 0) || p90.Value/p10.Value <= MostSpread {
		return ""
	}
	return fmt.Sprintf("p90/p10 of %s is %.1f, more than %g: the machine did other work meanwhile, or too few clients "+
		"kept its threads busy; measure again without that, or trust processor times alone",
		what, p90.Value/p10.Value, MostSpread)
}

// LoadWarning returns one line if the load average before a measurement exceeds its threads, with what to do about it;
// else "".
func LoadWarning(load files.Optional, threads int) string {
	if !load.Valid || load.Value <= float64(threads) {
		return ""
	}
	unit := "threads"
	if threads == 1 {
		unit = "thread"
	}
	return fmt.Sprintf("load average %.1f exceeds %d %s: other programs run, or ran in the minute before, "+
		"perhaps your own command; end them, wait a minute and measure again", load.Value, threads, unit)
}

// CardWarning returns one line if other processes compute on the card; else "".
func CardWarning(users files.Optional) string {
	switch {
	case !users.Valid || users.Value < 1:
		return ""
	case users.Value == 1:
		return "another process computes on the card (nvidia-smi lists it): end it and measure again"
	}
	return fmt.Sprintf("%.0f other processes compute on the card (nvidia-smi lists them): end them and measure again",
		users.Value)
}
