package track

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"rollcall/internal/files"
	"rollcall/results/stats"
)

// State is what an event is to people.
type State string

// The states of events. Regressions are open or confirmed until they are fixed or accepted.
const (
	Open      State = "open"      // found; more nights may move its first night
	Confirmed State = "confirmed" // its first night is known from six nights or more
	Fixed     State = "fixed"     // all its slower metrics are back
	Accepted  State = "accepted"  // by people
	Improved  State = "improved"  // no metric is slower
)

// IsOpen reports whether something has to be done about an event in this state.
func (s State) IsOpen() bool { return s == Open || s == Confirmed }

// Verdict sums up the history of a machine after its last night.
type Verdict struct {
	Schema      int       `json:"schema"` // version of this document's format
	Text        string    `json:"text"`   // the verdict in one line
	File        string    `json:"file"`   // the machine's history
	Fingerprint string    `json:"fingerprint"`
	Machine     string    `json:"machine"`
	Run         string    `json:"run"` // the last run that was judged
	Time        string    `json:"time"`
	Version     string    `json:"version"`
	Nights      int       `json:"nights"`
	Metrics     int       `json:"metrics"`  // of the last night
	Compared    int       `json:"compared"` // metrics among these with enough nights to compare
	Events      []Finding `json:"events"`   // the oldest first
	New         []string  `json:"new"`      // metrics of the last night that no night before has
	Gone        []string  `json:"gone"`     // metrics that the last night lacks, and one of the three before has
	Damaged     []string  `json:"damaged"`  // what of the last night cannot be read, or has too few samples
	Later       []string  `json:"later"`    // runs that are later than now, and left out
	Hosts       []string  `json:"hosts"`    // computers that measured in turn

	trends []*Trend // of the nights that were judged, for the page
	waits  []string // metrics with too few nights yet
	of     string   // what the verdict is of

	count func(int) string // says how many nights, or rows of a series
}

// Finding is an event that can be read without the history: it has runs and versions in place of indices.
type Finding struct {
	ID           string   `json:"id"`
	State        State    `json:"state"`
	Text         string   `json:"text"` // in one line
	FirstRun     string   `json:"first_run"`
	FirstTime    string   `json:"first_time"`
	FirstVersion string   `json:"first_version"`
	LastVersion  string   `json:"last_version"` // of the last run before the event
	FoundRun     string   `json:"found_run"`    // the run after which the rule found it
	Nights       int      `json:"nights"`       // from the first one on, until it was fixed
	FixedRun     string   `json:"fixed_run,omitempty"`
	FixedVersion string   `json:"fixed_version,omitempty"`
	Because      string   `json:"because,omitempty"` // why it was accepted
	AcceptedTime string   `json:"accepted_time,omitempty"`
	Note         string   `json:"note,omitempty"` // what the counts of instructions say of it
	Metrics      []Change `json:"metrics"`        // slower ones first, larger ones first

	first, end int // nights: the first of the event, and the one after its last
	closed     int // the night since which nothing has to be done
}

// Change is what an event did to a metric.
type Change struct {
	Metric       string  `json:"metric"`
	Unit         string  `json:"unit"`
	Before       float64 `json:"before"` // medians
	After        float64 `json:"after"`
	Change       float64 `json:"change"`             // After / Before − 1; above 0 is slower
	Now          float64 `json:"now"`                // the same of the level since the metric's last shift
	LastRun      string  `json:"last_run,omitempty"` // the last run with the metric, if newer ones lack it
	P            float64 `json:"p"`                  // of the night that found the shift
	NightsBefore int     `json:"nights_before"`
	NightsAfter  int     `json:"nights_after"`

	worse bool // slower
}

// Judge returns the verdict on the nights of a history up to now, and leaves out later ones. accepted are the
// acceptances of its events. If no night is left, the verdict is that nothing is known.
func (r Rule) Judge(h *History, now time.Time, accepted []Acceptance) Verdict {
	later := slices.IndexFunc(h.Nights, func(n Night) bool { return n.Time.After(now) })
	if later < 0 {
		later = len(h.Nights)
	}
	v := Verdict{
		Schema: 2, File: h.Path, Fingerprint: h.Machine.Fingerprint(), Machine: h.Machine.String(),
		Events: []Finding{}, New: []string{}, Gone: []string{}, Damaged: []string{}, Later: []string{},
		Hosts: []string{},
	}
	for _, n := range h.Nights[later:] {
		v.Later = append(v.Later, n.Run)
	}
	v.count, v.of = h.count, h.Path
	if later == 0 {
		v.Damaged = append(v.Damaged, "all nights, which are later than now")
		v.Text = v.line()
		return v
	}
	kept, last := h.first(later), later-1
	n := kept.Nights[last]
	v.Run, v.Time, v.Version, v.Nights = n.Run, n.Time.UTC().Format(time.RFC3339), n.Version, later
	v.Metrics = len(n.judged())
	if n.Version != "" { // a series has none
		v.of = fmt.Sprintf("rollcall %s on %s", n.Version, cmp.Or(h.Machine.Name, v.Fingerprint))
	}
	events, trends := r.Examine(kept)
	v.trends = trends
	for _, t := range trends {
		switch k := len(t.Nights); {
		case k == 0 || t.Nights[k-1] != last:
		case k >= LeastNights:
			v.Compared++
		case !slices.ContainsFunc(trends, func(o *Trend) bool { return o.Metric == t.Metric && len(o.Nights) > k }):
			v.waits = append(v.waits, fmt.Sprintf("%s (%d)", t.Metric, k)) // other units come in quiet nights only
		}
	}
	for _, e := range events {
		v.Events = append(v.Events, e.finding(kept, trends, accepted, r.MinEffect))
	}
	v.missing(kept)
	v.Hosts = append(v.Hosts, alternating(kept.Nights[max(0, later-window):])...)
	v.Text = v.line()
	return v
}

// missing finds the metrics that are new, gone or damaged in the last night.
func (v *Verdict) missing(h *History) {
	last := len(h.Nights) - 1
	n := h.Nights[last]
	known := map[string]int{} // the last night with it, before this one
	for i, other := range h.Nights[:last] {
		for _, m := range other.Values {
			known[m.Metric] = i
		}
	}
	there := map[string]bool{}
	for _, m := range n.Values {
		there[m.Metric] = true
		if len(m.Wall) < LeastSamples {
			v.Damaged = append(v.Damaged, fmt.Sprintf("%s: %s, want %d",
				m.Metric, files.Count(len(m.Wall), "sample"), LeastSamples))
		}
		if _, old := known[m.Metric]; !old && last > 0 {
			v.New = append(v.New, m.Metric)
		}
	}
	for m, i := range known {
		if !there[m] && i >= last-confirm {
			v.Gone = append(v.Gone, m)
		}
	}
	slices.Sort(v.Gone)
	if h.lastBad > n.line {
		v.Damaged = append(v.Damaged, fmt.Sprintf("line %d of the file", h.lastBad))
	}
}

// alternating returns the computers of nights of which one came back after another had measured.
func alternating(nights []Night) []string {
	var turns []string
	for _, n := range nights {
		if n.Host != "" && (len(turns) == 0 || turns[len(turns)-1] != n.Host) {
			turns = append(turns, n.Host)
		}
	}
	if hosts := files.SortedSet(turns); len(hosts) < len(turns) {
		return hosts
	}
	return nil
}

// finding describes an event.
func (e *Event) finding(h *History, trends []*Trend, accepted []Acceptance, least float64) Finding {
	first := h.Nights[e.First]
	f := Finding{
		ID: e.ID, State: Improved, FirstRun: first.Run, FirstTime: first.Time.UTC().Format(time.RFC3339),
		FirstVersion: first.Version, FoundRun: h.Nights[e.Found].Run, first: e.First, end: len(h.Nights),
		closed: e.First,
	}
	if e.First > 0 {
		f.LastVersion = h.Nights[e.First-1].Version
	}
	for _, s := range e.Shifts {
		before, after := s.Levels()
		a, b := s.trend.before(s)
		c, d := s.trend.after(s)
		m := Change{
			Metric: s.trend.Metric, Unit: s.trend.Unit, Before: before, After: after, Change: after/before - 1,
			Now: stats.Median(s.trend.Values[s.trend.begin():]).Value/before - 1, P: s.P,
			NightsBefore: b - a, NightsAfter: d - c, worse: s.up,
		}
		if last := s.trend.Nights[len(s.trend.Nights)-1]; last < len(h.Nights)-1 {
			m.LastRun = h.Nights[last].Run
		}
		if h.reciprocal {
			m.Before, m.After, m.Change, m.Now = 1/m.Before, 1/m.After, -m.Change/(1+m.Change), -m.Now/(1+m.Now)
		}
		f.Metrics = append(f.Metrics, m)
	}
	if e.Slower() {
		f.State = Open
		if e.settled {
			f.State = Confirmed
		}
		i := slices.IndexFunc(accepted, func(a Acceptance) bool { return a.accepts(f) })
		switch {
		case e.Closed:
			f.State, f.FixedRun, f.FixedVersion = Fixed, h.Nights[e.Fixed].Run, h.Nights[e.Fixed].Version
			f.end, f.closed = e.Fixed, e.Fixed
		case i >= 0:
			f.State, f.Because, f.AcceptedTime = Accepted, accepted[i].Because, accepted[i].Time
			f.closed = slices.IndexFunc(h.Nights, func(n Night) bool {
				return n.Time.UTC().Format(time.RFC3339) >= f.AcceptedTime
			})
			if f.closed < 0 {
				f.closed = len(h.Nights)
			}
		}
		f.Note = e.instructions(trends, least)
	}
	f.Nights = f.end - f.first
	f.Text = f.line(h)
	return f
}

// instructionsOf begins the name of the metric that counts the instructions of another metric.
const instructionsOf = "instructions/"

// instructions says whether the slower times of an event came with more instructions; "" if these are not counted.
func (e *Event) instructions(trends []*Trend, least float64) string {
	var most float64
	known := false
	for _, s := range e.slower() {
		i := slices.IndexFunc(trends, func(t *Trend) bool { return t.Metric == instructionsOf+s.trend.Metric })
		if i < 0 || counted(s.trend.Unit) {
			continue
		}
		t := trends[i]
		cut, _ := slices.BinarySearch(t.Nights, e.First)
		end := len(t.Nights)
		if e.Closed {
			end, _ = slices.BinarySearch(t.Nights, e.Fixed)
		}
		if cut == 0 || cut >= end {
			continue
		}
		before := stats.Median(t.Values[max(0, cut-window):cut]).Value
		change := stats.Median(t.Values[cut:end]).Value/before - 1
		if !known || math.Abs(change) > math.Abs(most) {
			most, known = change, true
		}
	}
	switch {
	case !known:
		return ""
	case math.Abs(most) < least:
		return fmt.Sprintf("as many instructions as before (%s): "+
			"memory, caches, the clock or another program, not more work", percent(most))
	}
	return "instructions " + percent(most)
}

// percent writes a change with its sign, with a decimal below 10 %.
func percent(x float64) string {
	if math.Abs(x) >= 0.0995 {
		return fmt.Sprintf("%+.0f %%", 100*x)
	}
	return fmt.Sprintf("%+.1f %%", 100*x)
}

// mostNamed is how many metrics of an event its line names, and mostNew how many new metrics a verdict does.
const mostNamed, mostNew = 4, 12

// some returns the first names of a list, and how many others there are.
func some(names []string, most int) []string {
	if more := len(names) - most; more > 1 {
		return append(slices.Clone(names[:most]), fmt.Sprintf("%d others", more))
	}
	return names
}

// number writes a median with four digits or more, and without an exponent unless it is very large or small.
func number(x float64) string {
	if x >= 1e4 && x < 1e9 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.4g", x)
}

// line describes an event in one line.
func (f *Finding) line(h *History) string {
	state := string(f.State)
	if f.State.IsOpen() {
		state = "OPEN"
	}
	since := "since " + day(h.Nights[f.first])
	switch f.FirstVersion {
	case "": // a series has none
	case f.LastVersion:
		since += ", " + f.FirstVersion + " as before"
	default:
		since += fmt.Sprintf(", %s (%s before)", f.FirstVersion, f.LastVersion)
	}
	what := fmt.Sprintf("%s: %s; %s", since, f.what(), h.count(f.Nights))
	text := state + " " + what
	switch f.State {
	case Fixed:
		text = "fixed on " + day(h.Nights[f.end])
		if f.FixedVersion != "" {
			text += " by " + f.FixedVersion
		}
		text += ", was open " + what
	case Accepted:
		text += ": " + f.Because
	}
	return text
}

// day returns the date of a night, or the name of the run where there is no date.
func day(n Night) string {
	if n.Time.IsZero() {
		return n.Run
	}
	return n.Time.UTC().Format(time.DateOnly)
}

// what lists the metrics of an event, and by how much they changed: those slower, or all if there is none.
func (f *Finding) what() string {
	var names []string
	low, high := math.Inf(1), math.Inf(-1)
	for _, m := range f.Metrics {
		if !m.worse && f.State != Improved {
			continue
		}
		name := m.Metric
		if slices.ContainsFunc(f.Metrics, func(o Change) bool { return o.Metric == m.Metric && o.Unit != m.Unit }) {
			name += " in " + m.Unit
		}
		names = append(names, name)
		low, high = min(low, m.Change), max(high, m.Change)
	}
	names = some(names, mostNamed)
	size := percent(low)
	if other := percent(high); high-low >= 0.01 {
		size += " … " + other
	} else if f.State != Improved {
		size = other
	}
	return strings.Join(names, ", ") + " " + size
}

// Open returns the events of which something has to be done.
func (v *Verdict) Open() (open []Finding) {
	for _, f := range v.Events {
		if f.State.IsOpen() {
			open = append(open, f)
		}
	}
	return open
}

// Incomplete says what of the last night cannot be judged; "" if everything can, or has to wait for more nights.
func (v *Verdict) Incomplete() string {
	var parts []string
	for _, p := range []struct {
		what string
		list []string
	}{{"gone", v.Gone}, {"damaged", v.Damaged}} {
		if len(p.list) > 0 {
			parts = append(parts, p.what+": "+strings.Join(p.list, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// line returns the verdict in one line. It says "no regression" only if every metric of the last night was compared.
func (v *Verdict) line() string {
	var parts []string
	open := v.Open()
	slices.SortStableFunc(open, func(f, g Finding) int { return cmp.Compare(f.first, g.first) })
	for _, f := range open {
		parts = append(parts, f.Text)
	}
	if missing := v.Incomplete(); missing != "" {
		parts = append(parts, "not known ("+missing+")")
	}
	if v.Nights < LeastNights {
		parts = append(parts, fmt.Sprintf("too early: %d of %s", v.Nights, v.count(LeastNights)))
	} else {
		if len(v.New) > 0 {
			parts = append(parts, "new: "+strings.Join(some(v.New, mostNew), ", "))
		}
		if len(v.waits) > 0 {
			parts = append(parts, fmt.Sprintf("too early, before %s, for %s", v.count(LeastNights),
				strings.Join(some(v.waits, mostNamed), ", ")))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "no regression")
	}
	return fmt.Sprintf("%s: %s (%d of %d metrics compared, %s)", v.of, strings.Join(parts, "; "), v.Compared, v.Metrics,
		v.count(v.Nights))
}

// Warnings returns lines about what is odd in the history: nights later than now, and computers that alternate.
func (v *Verdict) Warnings() (lines []string) {
	if len(v.Later) > 0 {
		lines = append(lines, fmt.Sprintf("track: %s: later than now and left out: %s",
			v.File, strings.Join(v.Later, ", ")))
	}
	if len(v.Hosts) > 0 {
		lines = append(lines, fmt.Sprintf("track: %s: %s measured in turn, want a history each: "+
			"track run --machine NAME", v.File, strings.Join(v.Hosts, " and ")))
	}
	return lines
}

// WriteText writes verdicts for people, with empty lines between them. Events that are closed are left out if they
// ended before the last nights.
func WriteText(w io.Writer, verdicts []Verdict, nights int) error {
	var b strings.Builder
	for i, v := range verdicts {
		if i > 0 {
			b.WriteString("\n")
		}
		v.text(&b, nights)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text writes the machine, the verdict, and the events with a table of their metrics each.
func (v *Verdict) text(b *strings.Builder, nights int) {
	if v.Version != "" {
		fmt.Fprintf(b, "machine   %s\n", v.Machine)
	}
	fmt.Fprintf(b, "history   %s, %s, last run %s\nverdict   %s\n",
		v.File, v.count(v.Nights), v.Run, v.Text)
	for _, f := range v.Events {
		if !f.State.IsOpen() && f.closed < v.Nights-nights {
			continue
		}
		fmt.Fprintf(b, "\n%s  %s\n", f.ID, f.Text)
		table := files.TextTable{Align: "llrll", Gap: "  "}
		for _, m := range f.Metrics {
			change := percent(m.Change)
			if f.State != Fixed && math.Abs(m.Now-m.Change) >= 0.01 {
				change += ", now " + percent(m.Now)
			}
			if m.LastRun != "" {
				change += ", last measured " + m.LastRun
			}
			table.Lines = append(table.Lines, []string{
				"       ", m.Metric, number(m.Before) + " → " + number(m.After) + " " + m.Unit, change,
				fmt.Sprintf("%s after %d", v.count(m.NightsAfter), m.NightsBefore),
			})
		}
		table.Text(b)
		if f.Note != "" {
			fmt.Fprintf(b, "         %s\n", f.Note)
		}
	}
}

// WriteJSON writes verdicts as a JSON list.
func WriteJSON(w io.Writer, verdicts []Verdict) error {
	return files.WriteJSON(w, verdicts)
}
