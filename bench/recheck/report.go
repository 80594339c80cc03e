package recheck

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"rollcall/bench/run"
	"rollcall/bench/run/progress"
	"rollcall/internal/files"
	"rollcall/results"
)

// Report is what was rechecked, and what was not.
type Report struct {
	Began    time.Time
	Took     time.Duration
	Seed     uint32
	Found    int            // all runs
	Lines    []line         // in the order in which they were drawn
	LeftOut  map[string]int // how many runs cannot be rechecked, by the reason
	Problems []error        // what is wrong with files, and why runs failed
	Engines  []string       // with the names of the processors

	Interrupted bool
}

// line is a run that was rechecked.
type line struct {
	*kept
	rows, last int               // how many rows were compared, and the round of the last
	differ     int               // how many of the rows differ
	difference string            // the first one; "": none
	sum        [sha256.Size]byte // of the kept curve
}

// differ returns how many runs differ.
func (r *Report) differ() (n int) {
	for _, l := range r.Lines {
		if l.difference != "" {
			n++
		}
	}
	return n
}

// Err returns why the results are not rechecked with success; nil: they are.
func (r *Report) Err() error {
	switch n := r.differ(); {
	case n > 0:
		return fmt.Errorf("recheck: %s of %d with other rows than the kept ones", files.Count(n, "run"), len(r.Lines))
	case len(r.Problems) > 0:
		return fmt.Errorf("recheck: %s, named above", files.Count(len(r.Problems), "problem"))
	case len(r.Lines) == 0:
		return fmt.Errorf("recheck: none of %s could be rechecked", files.Count(r.Found, "run"))
	}
	return nil
}

// Summary says in one sentence what was rechecked.
func (r *Report) Summary() string {
	if len(r.Lines) == 0 {
		return "Nothing was rechecked."
	}
	items, of := map[string]bool{}, map[string]bool{}
	rows, differ := 0, 0
	for _, l := range r.Lines {
		items[l.item] = true
		if l.paper != "" {
			of[l.paper] = true
		}
		rows, differ = rows+l.rows, differ+l.differ
	}
	result := "all equal"
	if n := r.differ(); n > 0 {
		result = fmt.Sprintf("%d with a difference, in %s", differ, files.Count(n, "run"))
	}
	what := files.Count(len(r.Lines), "run") + " of " + files.Count(len(items), "item")
	if len(of) > 0 {
		what += " of " + files.Count(len(of), "paper")
	}
	return fmt.Sprintf("%s rechecked: %s compared, %s.", what, files.Count(rows, "row"), result)
}

// table returns a line for each run.
func (r *Report) table() files.TextTable {
	t := files.TextTable{Align: "llllrrrl", Gap: "  ", Lines: [][]string{
		{"item", "method", "data", "availability", "seed", "rounds", "rows", "result"},
	}}
	for _, l := range r.Lines {
		result := "equal"
		if l.difference != "" {
			result = "DIFFERS: " + l.difference
		}
		t.Lines = append(t.Lines, []string{
			l.item, l.Method, l.Data, l.Availability, fmt.Sprint(l.Seed),
			fmt.Sprintf("0–%d of %d", l.last, l.settings.Rounds), fmt.Sprint(l.rows), result,
		})
	}
	return t
}

// notRechecked returns a line for each reason why runs were not rechecked.
func (r *Report) notRechecked() (lines []string) {
	late := r.Found - len(r.Lines)
	for _, why := range slices.Sorted(maps.Keys(r.LeftOut)) {
		late -= r.LeftOut[why]
		lines = append(lines, fmt.Sprintf("%s left out: %s", files.Count(r.LeftOut[why], "run"), why))
	}
	if late > 0 {
		lines = append(lines, files.Count(late, "run")+" not drawn or not begun in the time")
	}
	return lines
}

// Text writes the table and the summary.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	if len(r.Lines) > 0 {
		r.table().Text(&b)
		b.WriteString("\n")
	}
	for _, line := range r.notRechecked() {
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintf(&b, "seed of the draw: %d\n%s\n", r.Seed, r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes a page that can be kept. command is the command line that made it.
func (r *Report) Markdown(w io.Writer, command string) error {
	var b strings.Builder
	took := progress.Duration(r.Took)
	if r.Interrupted {
		took += ", interrupted"
	}
	fmt.Fprintf(&b, `# Kept runs, rechecked

%s

- date: %s
- took: %s
- program: rollcall %s, %s, %s/%s
- machine: %s
- command: %s
- draw: seed %d, of %s
`, r.Summary(), r.Began.UTC().Format("2006-01-02 15:04 UTC"), took, run.Version(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH, cmp.Or(strings.Join(r.Engines, "; "), "none"), "`"+command+"`", r.Seed,
		files.Count(r.Found, "run"))
	if len(r.Lines) > 0 {
		b.WriteString(`
The first rounds of each run were trained again from the settings in its run.json. Every row was compared with the
kept curve.csv, text by text: all columns but elapsed_s and version, of engine only its numerics, and params as
run.json has them.

`)
		r.table().Markdown(&b)
	}
	section := func(title, mark string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n%s%s\n", title, mark, strings.Join(lines, "\n"+mark))
		}
	}
	var problems, sums []string
	for _, err := range r.Problems {
		problems = append(problems, files.OneLine(err.Error()))
	}
	for _, l := range r.Lines {
		sums = append(sums, fmt.Sprintf("%x  %s", l.sum, filepath.Join(l.path, results.CurveFile)))
	}
	section("Not rechecked", "- ", r.notRechecked())
	section("Problems", "- ", problems)
	section("SHA-256 of the kept curves", "    ", sums)
	_, err := io.WriteString(w, b.String())
	return err
}
