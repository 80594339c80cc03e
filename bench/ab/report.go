package ab

import (
	"fmt"
	"io"
	"math"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
)

// Report is the comparison of two programs.
type Report struct {
	Schema    int                   `json:"schema"` // version of this document's format: 1
	Text      string                `json:"text"`   // the verdict in one line
	Verdict   Verdict               `json:"verdict"`
	Decided   string                `json:"decided_by"` // the metric that the verdict follows
	Old       Measured              `json:"old"`
	New       Measured              `json:"new"`
	Settings  results.BenchSettings `json:"settings"`
	Machine   results.BenchMachine  `json:"machine"`
	Passes    int                   `json:"passes"`
	Seconds   float64               `json:"seconds"`
	Level     float64               `json:"level"`
	MinEffect float64               `json:"min_effect"`
	Metrics   []Change              `json:"metrics"`
	Notes     []string              `json:"notes,omitempty"` // what else the metrics say
}

// Measured is a program that was measured.
type Measured struct {
	Program string `json:"program"` // as it was given
	Version string `json:"version"`
}

// Judge returns the report of two programs from their series, and their reports of the last pass.
func (r Rule) Judge(old, next Program, all []Series, last []results.BenchReport) (*Report, error) {
	changes := r.Changes(all)
	by := Decide(changes)
	if by == nil {
		return nil, fmt.Errorf("%s and %s have no metric of speed in common, want one of %s", old.Name, next.Name,
			strings.Join(deciding, ", "))
	}
	report := &Report{
		Schema: 1, Verdict: by.Verdict, Decided: by.Metric,
		Old: Measured{old.Name, last[0].Version}, New: Measured{next.Name, last[1].Version},
		Settings: last[0].Settings, Machine: last[0].Machine, Passes: len(all[0].Old),
		Level: r.Level, MinEffect: r.MinEffect, Metrics: changes,
	}
	what := by.Metric + " " + by.words()
	effect := short(100*r.MinEffect) + " %"
	switch by.Verdict {
	case Worse:
		report.Text = next.Name + " is slower: " + what
	case Better:
		report.Text = next.Name + " is faster: " + what
	case Same:
		report.Text = fmt.Sprintf("no difference of %s or more: %s", effect, what)
	case Unknown:
		report.Text = fmt.Sprintf("cannot tell a difference of %s from none: %s after %d passes, want more of them or "+
			"a quieter machine", effect, what, report.Passes)
	}
	report.Notes = notes(changes, by)
	return report, nil
}

// notes says what other metrics add to the verdict.
func notes(changes []Change, by *Change) (lines []string) {
	moved := by.Verdict == Worse || by.Verdict == Better
	if work := find(changes, results.BenchInstructions); moved && work != nil && work.Verdict == Same {
		lines = append(lines, fmt.Sprintf("%s %s: as many instructions take another time, by caches, branches, the "+
			"clock, or where code and data lie in memory", work.Metric, work.words()))
	}
	wall := find(changes, results.BenchStep)
	if by.Metric != results.BenchStep && wall != nil && wall.Verdict == Worse && by.Verdict != Worse {
		lines = append(lines, fmt.Sprintf("%s %s: more wall time, but not more processor time; on a quiet machine "+
			"that is waiting, or threads without work", wall.Metric, wall.words()))
	}
	return lines
}

// words returns the change with its interval: "+5.1 % (4.8 … 5.4 %)".
func (c *Change) words() string { return Words(c.Change, c.Low, c.High) }

// Words returns a change with its interval: "+5.1 % (4.8 … 5.4 %)".
func Words(change, low, high float64) string {
	return fmt.Sprintf("%s %% (%s)", signed(change, true), interval(low, high))
}

// interval returns "4.8 … 5.4 %".
func interval(low, high float64) string {
	return signed(low, false) + " … " + signed(high, false) + " %"
}

// signed returns a fraction in percent with one decimal. Minus is U+2212, and plus is there if it is asked for.
func signed(x float64, plus bool) string {
	text := fmt.Sprintf("%.1f", math.Abs(100*x))
	switch {
	case x < 0 && text != "0.0":
		return "−" + text
	case plus:
		return "+" + text
	}
	return text
}

// short returns a number without more digits than it needs.
func short(x float64) string { return fmt.Sprintf("%.4g", x) }

// WriteText writes the report for people. The last line is the verdict.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	s, m := r.Settings, r.Machine
	fmt.Fprintf(&b, "old       %s, %s\nnew       %s, %s\n", r.Old.Program, r.Old.Version, r.New.Program, r.New.Version)
	fmt.Fprintf(&b, "workload  %s, %s, %s, %s, %s of %d images, seed %d\n", s.Data, s.Net, s.Availability,
		files.Count(s.Clients, "client"), files.Count(s.LocalSteps, "local step"), s.Batch, s.Seed)
	fmt.Fprintf(&b, "machine   %s, %s, %s, %s\n", m.Device, files.Count(m.Threads, "thread"), m.Engine, m.Precision)
	fmt.Fprintf(&b, "measured  %d passes in %.0f s\n\n", r.Passes, r.Seconds)
	table := files.TextTable{Align: "lrrlrrrl", Gap: "  ", Lines: [][]string{
		{"metric", "old", "new", "", "change", short(100*(1-r.Level)) + " % interval", "p", "verdict"},
	}}
	for _, c := range r.Metrics {
		table.Lines = append(table.Lines, []string{
			c.Metric, short(c.Old), short(c.New), c.Unit, signed(c.Change, true) + " %", interval(c.Low, c.High),
			fmt.Sprintf("%.2g", c.P), string(c.Verdict),
		})
	}
	table.Text(&b)
	b.WriteString("\n")
	for _, note := range r.Notes {
		b.WriteString(note + "\n")
	}
	b.WriteString(r.Text + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	return files.WriteJSON(w, r)
}
