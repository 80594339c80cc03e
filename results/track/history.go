package track

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rollcall/results/files"
	"rollcall/results/stats"
)

// Night is what one run measured.
type Night struct {
	Run      string    // name of the run, unique in its history
	Time     time.Time // when it began, in whole seconds
	Version  string    // of rollcall
	Go       string    // version of Go it was built with
	ClockMHz float64   // of the processor or the card while it ran; 0: not known
	Values   []Measurement
}

// Measurement is one metric of a night. Every metric is better when it is smaller.
type Measurement struct {
	Metric  string // round/cifar10
	Unit    string // ms
	Samples []float64
}

// nightQuantile is where in a night's samples its value is. A machine that is slow now and then has its lower fifth
// where one that is never slow has it, as long as a third of the samples are undisturbed, and it is steadier than the
// smallest sample.
const nightQuantile = 0.2

// Value is what stands for the night: the lower fifth of its samples.
func (m Measurement) Value() float64 { return stats.Quantile(m.Samples, nightQuantile).Value }

// RunName names a run by its time, which is given in whole seconds: 20260131T020304Z.
func RunName(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// History is what is known of one machine. Nights are in the order of their times.
type History struct {
	Path    string // file it was read from
	Machine Machine
	Nights  []Night
}

// Read reads one file. What is wrong is named by file and line in bad, and left out; the rest is used. A machine that
// does not have the fingerprint of the first good row is wrong as well: one file is one machine. The history is nil if
// there is no good row.
func Read(path string) (h *History, bad []error) {
	text, err := files.ReadRegular(path)
	if err != nil {
		return nil, []error{fmt.Errorf("track: %w", err)}
	}
	return read(string(text), path)
}

func read(text, path string) (h *History, bad []error) {
	rows, bad := readRows(text, path)
	type key struct{ run, metric string }
	seen, at := map[key]int{}, map[string]int{}
	for _, row := range rows {
		complain := func(format string, args ...any) {
			bad = append(bad, fmt.Errorf("track: %s: line %d: %s", path, row.line, fmt.Sprintf(format, args...)))
		}
		if h == nil {
			h = &History{Path: path, Machine: row.machine}
		}
		if row.machine != h.Machine {
			complain("machine %s, want %s as in the first row: one file is one machine", row.machine.Fingerprint(),
				h.Machine.Fingerprint())
			continue
		}
		k := key{row.night.Run, row.value.Metric}
		if first, twice := seen[k]; twice {
			complain("run %s has %s in line %d already, want it once", k.run, k.metric, first)
			continue
		}
		i, known := at[row.night.Run]
		if known && !h.Nights[i].Time.Equal(row.night.Time) {
			complain("run %s at %s, want %s as in its first row", k.run, row.night.Time.Format(time.RFC3339),
				h.Nights[i].Time.Format(time.RFC3339))
			continue
		}
		if !known {
			i = len(h.Nights)
			at[row.night.Run] = i
			h.Nights = append(h.Nights, row.night)
		}
		seen[k] = row.line
		h.Nights[i].Values = append(h.Nights[i].Values, row.value)
	}
	if h != nil {
		slices.SortStableFunc(h.Nights, func(a, b Night) int {
			return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Run, b.Run))
		})
	}
	return h, bad
}

// ReadFolder reads every .csv file of a folder of histories, in the order of their names. Of two files of the same
// machine the second one is left out, and named.
func ReadFolder(dir string) (histories []*History, bad []error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("track: %w", err)}
	}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".csv" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		h, wrong := Read(filepath.Join(dir, e.Name()))
		bad = append(bad, wrong...)
		if h == nil {
			continue
		}
		same := func(other *History) bool { return other.Machine == h.Machine }
		if i := slices.IndexFunc(histories, same); i >= 0 {
			bad = append(bad, fmt.Errorf("track: %s: line 2: machine %s, which is in %s already, want one file for it",
				h.Path, h.Machine.Fingerprint(), histories[i].Path))
			continue
		}
		histories = append(histories, h)
	}
	return histories, bad
}
