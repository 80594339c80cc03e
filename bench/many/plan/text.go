package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"rollcall/bench/run/progress"
	"rollcall/internal/files"
	"rollcall/internal/memory"
)

// Write prints the plan: a line per row of the plan, notes, memory, and the time of all runs.
func (p *Plan) Write(w io.Writer) error {
	var b strings.Builder // fmt cannot fail on it: only the one write at the end can
	runs, kept, resumed, refused, sec := 0, 0, 0, 0, 0.0
	for _, c := range p.Groups {
		runs, kept, resumed, sec = runs+c.Runs, kept+c.Kept, resumed+c.Resumed, sec+c.Sec
		refused += c.Refused
	}
	if runs == 0 {
		_, err := fmt.Fprintf(w, "%s: nothing is trained\n", p.Title)
		return err
	}
	others := ""
	if refused > 0 {
		others = fmt.Sprintf("%d refused, ", refused)
	}
	fmt.Fprintf(&b, "%s: %s, %s: %d kept, %d to resume, %s%d to train\n", p.Title, files.Count(len(p.Groups), "cell"),
		files.Count(runs, "run"), kept, resumed, others, runs-kept-resumed-refused)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "method\tdata\tavailability\truns\tkept\trounds\ttakes")
	for _, row := range p.rows() {
		takes := "nothing"
		if row.Kept+row.Refused < row.Runs {
			takes = words(row.Sec)
		}
		s := &row.Settings
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n",
			s.Method, s.Data, s.Availability, row.Runs, row.Kept, s.Rounds, takes)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, note := range p.Notes {
		fmt.Fprintln(&b, note)
	}
	if p.LargestOf != "" {
		fmt.Fprintln(&b, p.memory())
	}
	fmt.Fprintln(&b, p.total(sec))
	_, err := io.WriteString(w, b.String())
	return err
}

// rows returns the cells, those with the same method, data, availability and rounds as one row, since Write prints
// nothing else of their settings: two columns of a table may differ in another setting, such as alpha.
func (p *Plan) rows() (rows []Group) {
	type key struct {
		method, data, availability string
		rounds                     int
	}
	at := map[key]int{}
	for _, c := range p.Groups {
		k := key{c.Settings.Method, c.Settings.Data, c.Settings.Availability, c.Settings.Rounds}
		i, ok := at[k]
		if !ok {
			at[k] = len(rows)
			rows = append(rows, c)
			continue
		}
		r := &rows[i]
		r.Runs, r.Kept, r.Resumed, r.Sec = r.Runs+c.Runs, r.Kept+c.Kept, r.Resumed+c.Resumed, r.Sec+c.Sec
		r.Refused += c.Refused
	}
	return rows
}

// memory returns the line about memory: "memory: 0.4 GB for the largest run (mifa: 101 rows of …); 15 GB available".
func (p *Plan) memory() string {
	atLeast := ""
	if p.Largest.Least {
		atLeast = "at least "
	}
	text := fmt.Sprintf("memory: %s%s for the largest run (%s: %s)",
		atLeast, memory.Size(p.Largest.Bytes), p.LargestOf, p.Largest.Memory)
	all := p.Largest.Bytes // of as many runs as go at a time, if each needs as much as the largest
	if p.AtOnce > 1 {
		all *= int64(p.AtOnce)
		text += fmt.Sprintf(", %s for %d at a time", memory.Size(all), p.AtOnce)
	}
	if p.LimitIsKnown {
		text += fmt.Sprintf("; %s available", memory.Size(p.Limit.Bytes))
		if all > p.Limit.Bytes {
			text += fmt.Sprintf(" (%s), which is too little", p.Limit.From)
		}
	}
	return text
}

// total returns the line about time: "in all 13 h 20 min on cpu-avx512, fp32, 2 threads (measured now: 9.3 ms per
// client-step of cnn-cifar10 on cifar10, n = 3 rounds)", and how long several cards take.
func (p *Plan) total(sec float64) string {
	if len(p.Rates) == 0 {
		return "in all nothing is left to do"
	}
	var from []string
	for _, r := range p.Rates {
		how := "measured now"
		if !r.Measured {
			how = "bench.csv, " + r.Time.Format(time.DateOnly)
		}
		from = append(from, fmt.Sprintf("%s: %.3g ms per client-step of %s on %s, n = %s",
			how, r.ClientStepMS, r.Net, r.Data, files.Count(r.Rounds, "round")))
	}
	text := fmt.Sprintf("in all %s on %s (%s)", words(sec), p.hardware(), strings.Join(from, "; "))
	onCard := ""
	if p.Cards > 1 {
		text += fmt.Sprintf("; %s on %d cards", words(p.shared()), p.Cards)
		onCard = " on a card"
	}
	if n := p.AtOnce / max(1, p.Cards); n > 1 {
		text += fmt.Sprintf("; %d runs at a time%s are assumed to gain nothing", n, onCard)
	}
	return text
}

// hardware returns on what the rates were measured: "cpu-avx512, fp32, 2 threads".
func (p *Plan) hardware() string {
	first := &p.Rates[0] // all rates are of one engine, one precision and one number of threads
	on := first.Engine + ", " + first.Precision
	if strings.HasPrefix(on, "cpu-") {
		on += ", " + files.Count(first.Threads, "thread")
	}
	return on
}

// shared returns how many seconds the runs take on all cards: the longest first, each on the card that is free first.
func (p *Plan) shared() float64 {
	busy := make([]float64, p.Cards) // until when, in seconds
	for _, sec := range slices.Backward(slices.Sorted(slices.Values(p.Each))) {
		busy[slices.Index(busy, slices.Min(busy))] += sec
	}
	return slices.Max(busy)
}

// words returns a time in two units at most: "13 h 20 min".
func words(sec float64) string { return progress.Duration(Seconds(sec)) }

// Seconds returns a time. A time.Duration has nanoseconds in 63 bits, 9.2e9 s.
func Seconds(sec float64) time.Duration { return time.Duration(min(sec, 9e9) * float64(time.Second)) }

// Left is what a plan has left to do.
type Left struct {
	Runs    int
	Longest time.Duration // for the longest run
	Words   string        // the same for people, and what it was measured on
}

// Left sums up what is left to do.
func (p *Plan) Left() (l Left) {
	sec, longest := 0.0, 0.0
	for _, r := range p.Runs {
		if r.Left() {
			l.Runs, sec, longest = l.Runs+1, sec+r.Sec, max(longest, r.Sec)
		}
	}
	l.Longest = Seconds(longest)
	l.Words = fmt.Sprintf("%s left, the longest of about %s; %s",
		files.Count(l.Runs, "run"), words(longest), p.total(sec))
	return l
}
