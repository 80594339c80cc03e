package track

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rollcall/internal/files"
)

// Verdict sums up the history of a machine after its last night.
type Verdict struct {
	Schema       int       `json:"schema"` // version of this document's format
	Text         string    `json:"text"`   // the verdict in one line
	File         string    `json:"file"`   // the machine's history
	Fingerprint  string    `json:"fingerprint"`
	Machine      string    `json:"machine"`
	Run          string    `json:"run"` // the last run
	Time         string    `json:"time"`
	Version      string    `json:"version"`
	Nights       int       `json:"nights"`
	Metrics      int       `json:"metrics"`      // of the last night
	Compared     int       `json:"compared"`     // metrics among these with enough nights to compare
	Regressions  []Finding `json:"regressions"`  // confirmed by the nights in question
	Improvements []Finding `json:"improvements"` // likewise
	Earlier      []Finding `json:"earlier"`      // confirmed by earlier nights
}

// Finding is a shift that can be read without the history: it has runs and versions in place of indices.
type Finding struct {
	Metric       string  `json:"metric"`
	Unit         string  `json:"unit"`
	Before       float64 `json:"before"`
	After        float64 `json:"after"`
	Change       float64 `json:"change"` // After / Before − 1; above 0 is slower
	FirstRun     string  `json:"first_run"`
	FirstTime    string  `json:"first_time"`
	FirstVersion string  `json:"first_version"`
	LastVersion  string  `json:"last_version"` // of the last run before the shift
	ConfirmedRun string  `json:"confirmed_run"`
	P            float64 `json:"p"`
	NightsBefore int     `json:"nights_before"`
	NightsAfter  int     `json:"nights_after"`
}

// Judge returns the verdict on a history, whose trends come from [Rule.Trends]. A shift is new if one of the last
// nights confirmed it; nights is at least 1.
func Judge(h *History, trends []Trend, nights int) Verdict {
	last := len(h.Nights) - 1
	n := h.Nights[last]
	v := Verdict{
		Schema: 1, File: h.Path, Fingerprint: h.Machine.Fingerprint(), Machine: h.Machine.String(),
		Run: n.Run, Time: n.Time.UTC().Format(time.RFC3339), Version: n.Version, Nights: len(h.Nights),
		Metrics: len(n.judged()), Regressions: []Finding{}, Improvements: []Finding{}, Earlier: []Finding{},
	}
	for _, t := range trends {
		if k := len(t.Nights); k > 0 && t.Nights[k-1] == last && t.comparable() {
			v.Compared++
		}
		for _, s := range t.Shifts {
			f := finding(h, t, s)
			switch {
			case s.Confirmed <= last-nights:
				v.Earlier = append(v.Earlier, f)
			case s.Slower():
				v.Regressions = append(v.Regressions, f)
			default:
				v.Improvements = append(v.Improvements, f)
			}
		}
	}
	v.Text = v.line()
	return v
}

func finding(h *History, t Trend, s Shift) Finding {
	first := h.Nights[s.First]
	return Finding{
		Metric: t.Metric, Unit: t.Unit, Before: s.Before, After: s.After, Change: s.Change,
		FirstRun: first.Run, FirstTime: first.Time.UTC().Format(time.RFC3339), FirstVersion: first.Version,
		LastVersion: h.Nights[s.First-1].Version, ConfirmedRun: h.Nights[s.Confirmed].Run, P: s.P,
		NightsBefore: s.N, NightsAfter: s.K,
	}
}

func (v Verdict) line() string {
	what := "no regression"
	if n := len(v.Regressions); n > 0 {
		what = files.Count(n, "regression")
		worst := slices.MaxFunc(v.Regressions, func(f, g Finding) int { return cmp.Compare(f.Change, g.Change) })
		what += fmt.Sprintf(", worst %s %+.1f %% since run %s", worst.Metric, 100*worst.Change, worst.FirstRun)
	} else if n := len(v.Improvements); n > 0 {
		what += fmt.Sprintf(", %d faster", n)
	}
	return fmt.Sprintf("rollcall %s: %s (%d of %d metrics compared, %s of %s)",
		v.Version, what, v.Compared, v.Metrics, files.Count(v.Nights, "night"), v.Fingerprint)
}

// WriteText writes verdicts for people, with empty lines between them.
func WriteText(w io.Writer, verdicts []Verdict) error {
	var b strings.Builder
	for i, v := range verdicts {
		if i > 0 {
			b.WriteString("\n")
		}
		v.text(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text writes the machine, the verdict and a table of the shifts.
func (v Verdict) text(b *strings.Builder) {
	fmt.Fprintf(b, "machine   %s\nhistory   %s, %s, last run %s\nverdict   %s\n",
		v.Machine, v.File, files.Count(v.Nights, "night"), v.Run, v.Text)
	table := files.TextTable{Align: "llllll", Gap: "  "}
	for i, list := range [][]Finding{v.Regressions, v.Improvements, v.Earlier} {
		for _, f := range list {
			since := "since " + f.FirstRun
			if f.FirstVersion != f.LastVersion {
				since += fmt.Sprintf(" (%s, before it %s)", f.FirstVersion, f.LastVersion)
			}
			table.Lines = append(table.Lines, []string{
				[]string{"SLOWER", "faster", "earlier"}[i], f.Metric,
				fmt.Sprintf("%.4g → %.4g %s", f.Before, f.After, f.Unit), fmt.Sprintf("%+.1f %%", 100*f.Change), since,
				fmt.Sprintf("p = %.2g, %s after %d", f.P, files.Count(f.NightsAfter, "night"), f.NightsBefore),
			})
		}
	}
	table.Text(b)
}

// WriteJSON writes verdicts as a JSON list.
func WriteJSON(w io.Writer, verdicts []Verdict) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(verdicts)
}
