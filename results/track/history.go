package track

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rollcall/internal/files"
	"rollcall/results/stats"
)

// Night holds the measurements of one run.
type Night struct {
	Run        string    // name of the run, unique in its history
	Time       time.Time // when the run began, in whole seconds
	Version    string    // of rollcall
	Go         string    // the version of Go that built rollcall
	Host       string    // name of the computer; empty: not known
	Conditions           // what else the machine did
	Values     []Measurement

	line int // of its first row in the file
}

// Conditions are what a night was measured under. They explain a night to people. The rule reads of them only whether
// the night was quiet.
type Conditions struct {
	ClockMHz  files.Optional `csv:"clock_mhz"`  // of the processor or the GPU after the run
	Load      files.Optional `csv:"load"`       // load average before the run
	Steal     files.Optional `csv:"steal"`      // share of the run's time that a hypervisor took, 0 … 1
	Others    files.Optional `csv:"others"`     // share of all processors that other programs took, 0 … 1
	CardUsers files.Optional `csv:"card_users"` // other processes on the card before the run
}

// mostOthers is the largest share of the processors that is not this program's in a quiet night.
const mostOthers = 0.02

// Quiet reports whether it is known that next to nothing else ran on the machine.
func (c Conditions) Quiet() bool {
	return c.Others.Valid && c.Others.Value+c.Steal.Value <= mostOthers
}

// Measurement holds the samples of one metric of a night. Smaller is better for every metric.
type Measurement struct {
	Metric    string    // round/cifar10
	Unit      string    // of Wall and Processor: ms
	Wall      []float64 // mean wall time of a sample
	Processor []float64 // processor time of the same samples, of all threads; nil: there is no reference
	Reference []float64 // µs of processor time of the reference loop beside each of the samples; nil: none
}

// Loops is the unit of [Measurement.Samples] where there is a reference: processor time in that of the reference loop.
const Loops = "loops"

// Samples returns what nights are compared by, and its unit: the processor time of each sample divided by that of the
// reference loop beside it. Without a reference it is the wall time.
func (m Measurement) Samples() (x []float64, unit string) {
	if len(m.Reference) == 0 || len(m.Processor) != len(m.Reference) {
		return m.Wall, m.Unit
	}
	for i, p := range m.Processor {
		x = append(x, p*microseconds(m.Unit)/m.Reference[i])
	}
	return x, Loops
}

// microseconds returns how many µs a unit of a metric has: ms or µs.
func microseconds(unit string) float64 {
	if unit == "ms" {
		return 1e3
	}
	return 1
}

// nightQuantile is the quantile of a night's samples that stands for the night. The lower fifth does not move as long
// as at least a third of the samples are undisturbed by other work on the machine, and it varies less from night to
// night than the smallest sample.
const nightQuantile = 0.2

// nightValue returns the number that stands for a night with these samples, their lower fifth.
func nightValue(samples []float64) float64 { return stats.Quantile(samples, nightQuantile).Value }

// RunName returns the name of a run that began at t, in whole seconds: 20260131T020304Z.
func RunName(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// History holds all nights of one machine, in the order of their times.
type History struct {
	Path    string // the file of the history
	Machine Machine
	Nights  []Night

	lastBad    int  // line of the last bad row; 0: none
	reciprocal bool // the values are 1/x of what was measured, of which more is better
}

// count says how many nights, which are the rows of a series.
func (h *History) count(n int) string {
	if h.Machine.Suite == seriesSuite {
		return files.Count(n, "row")
	}
	return files.Count(n, "night")
}

// first returns the history of the first n nights.
func (h *History) first(n int) *History {
	kept := *h
	kept.Nights = h.Nights[:n]
	return &kept
}

// sort puts the nights in the order of their times.
func (h *History) sort() {
	slices.SortStableFunc(h.Nights, func(a, b Night) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Run, b.Run))
	})
}

// Read reads the history in one file. It leaves out bad rows, and names each in bad with file and line. A row of
// another machine than the first good row is bad too, since each file belongs to one machine. The history is nil if no
// row is good.
func Read(path string) (h *History, bad []error) {
	f, _, err := files.OpenUpTo(path, files.MostText)
	if err != nil {
		return nil, []error{fmt.Errorf("track: %w", err)}
	}
	defer func() { _ = f.Close() }() // nothing was written
	return read(f, path)
}

// read does the work of [Read] on the content of a file; path is for errors.
func read(in io.Reader, path string) (h *History, bad []error) {
	rows, bad, lastBad := readRows(in, path)
	type key struct{ run, metric string }
	seen, at := map[key]int{}, map[string]int{}
	for _, row := range rows {
		complain := func(format string, args ...any) {
			bad = append(bad, fmt.Errorf("track: %s: line %d: %s", path, row.line, fmt.Sprintf(format, args...)))
			lastBad = max(lastBad, row.line)
		}
		if h == nil {
			h = &History{Path: path, Machine: row.Machine}
		}
		if row.Machine != h.Machine {
			complain("machine %s, want %s as in the first row: one file is one machine",
				row.Fingerprint, h.Machine.Fingerprint())
			continue
		}
		k := key{row.Run, row.Metric}
		if first, twice := seen[k]; twice {
			complain("run %s has %s in line %d already, want it once", k.run, k.metric, first)
			continue
		}
		// Rows of one run are one night, wherever they are in the file.
		i, known := at[row.Run]
		if known && !h.Nights[i].Time.Equal(row.when) {
			complain("run %s at %s, want %s as in its first row",
				k.run, row.when.Format(time.RFC3339), h.Nights[i].Time.Format(time.RFC3339))
			continue
		}
		if !known {
			i = len(h.Nights)
			at[row.Run] = i
			h.Nights = append(h.Nights, row.night())
		}
		seen[k] = row.line
		h.Nights[i].Values = append(h.Nights[i].Values, row.value())
	}
	if h != nil {
		h.lastBad = lastBad
		h.sort()
	}
	return h, bad
}

// ReadFolder reads every .csv file in a folder of histories, in the order of the names. bad names bad rows and, if two
// files belong to the same machine, the second file, which is left out.
func ReadFolder(dir string) (histories []*History, bad []error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("track: %w", err)}
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || filepath.Ext(name) != ".csv" || name[0] == '.' || strings.HasSuffix(name, acceptedSuffix) {
			continue
		}
		h, wrong := Read(filepath.Join(dir, name))
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

// Machine describes everything besides the program on which a speed depends. Speeds of different machines are never
// compared; two machines are the same if all their fields are equal. Unknown fields are empty.
type Machine struct {
	Suite     string `csv:"suite"`     // name and version of the workloads: other workloads begin another history
	OS        string `csv:"os"`        // operating system and architecture: linux/amd64
	CPU       string `csv:"cpu"`       // name of the processor, as it reports it
	CPUs      int    `csv:"cpus"`      // logical processors that the program may use
	Threads   int    `csv:"threads"`   // of the CPU engine
	Engine    string `csv:"engine"`    // cpu-avx512, cpu-avx512bf16, cpu-amx, cuda-sm90, …
	Device    string `csv:"device"`    // name of the processor or the GPU that trains, as it reports it
	Driver    string `csv:"driver"`    // of the GPU
	Clocks    string `csv:"clocks"`    // limits of the clock rates, not the rates at the moment
	Precision string `csv:"precision"` // fp32, tf32, bf16, bf16x3
	Name      string // given to it, to tell computers of one model apart; empty: none
}

// Fingerprint returns a short name of the machine: the first twelve hexadecimal digits of the SHA-256 of its fields,
// each followed by a zero byte. The last field is the name, if it has one.
func (m Machine) Fingerprint() string {
	var cells []string
	for cells = range files.CSVRecords([]Machine{m}) { // texts and whole numbers, which are never an error
	}
	if m.Name != "" {
		cells = append(cells, m.Name)
	}
	sum := sha256.Sum256([]byte(strings.Join(cells, "\x00") + "\x00"))
	return hex.EncodeToString(sum[:6])
}

// FileName returns the name of the machine's file in a folder of histories. It has device, engine and precision for
// people, and the fingerprint for the program.
func (m Machine) FileName() string {
	name := fmt.Sprintf("%s_%s_%s_%s.csv", slug(m.Device), slug(m.Engine), slug(m.Precision), m.Fingerprint())
	if m.Name != "" {
		name = slug(m.Name) + "_" + name
	}
	return name
}

// String describes the machine in one line.
func (m Machine) String() string {
	parts := []string{m.Device, m.Engine, m.Precision, fmt.Sprintf("%d of %d CPUs", m.Threads, m.CPUs)}
	if m.Name != "" {
		parts = slices.Insert(parts, 0, m.Name)
	}
	// Only what is known is listed; the clocks of many machines are not.
	for _, more := range []struct{ name, value string }{
		{"driver", m.Driver},
		{"clocks", m.Clocks},
		{"workloads", m.Suite},
	} {
		if more.value != "" {
			parts = append(parts, more.name+" "+more.value)
		}
	}
	return strings.Join(parts, ", ")
}

// slug returns a name for files: lower-case letters and digits, with a dash for everything between them. It has at most
// 40 bytes, or 41 if it would end with a dash; existing file names depend on this.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	text := strings.Join(words, "-")
	if n := 40; len(text) > n {
		if text[n-1] == '-' {
			n++
		}
		text = text[:n]
	}
	return cmp.Or(text, "unknown")
}

// ErrBusy says that another process on this machine is measuring.
var ErrBusy = errors.New("another night is being measured")

// Writer appends to the histories in a folder. A machine has at most one Writer at a time, for a whole night, because
// two measurements at the same time would slow each other down. Close or the end of the process frees the folder.
type Writer struct {
	dir  string
	lock *os.File
}

// NewWriter locks a folder of histories, and creates it if necessary. The error wraps [ErrBusy] if another process has
// the lock.
func NewWriter(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("track: %w", err)
	}
	path := filepath.Join(dir, ".lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("track: %w", err)
	}
	if err := files.Lock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("track: %s: %w", path, ErrBusy)
	}
	return &Writer{dir, f}, nil
}

// Close frees the folder. The lock file stays: if it were removed, two processes could hold locks on two files.
func (w *Writer) Close() error { return w.lock.Close() }

// Path returns the path of a machine's history.
func (w *Writer) Path(m Machine) string { return filepath.Join(w.dir, m.FileName()) }

// Check returns an error if a night of the machine could not be appended, because its file does not have our header.
// Callers check this before a measurement, which takes long.
func (w *Writer) Check(m Machine) error {
	_, err := w.old(m)
	return err
}

// halfWritten is appended to a last line without a line break, which makes it a bad row.
const halfWritten = ",half-written"

// Append adds a night to the history of a machine. It rewrites the file atomically, so that the file has all rows of
// the night or none. All earlier rows stay the same, byte for byte, even bad ones; a header of schema 2 becomes the one
// of schema 3, whose first columns are the same. A last line without a line break is
// cut off; Append marks and ends it, because the rest of its last number could be taken for a number.
func (w *Writer) Append(m Machine, n Night) error {
	old, err := w.old(m)
	if err != nil {
		return err
	}
	path := w.Path(m)
	if old == "" {
		old = header() + "\n"
	}
	if first, rows, _ := strings.Cut(old, "\n"); !strings.Contains(first, header()) {
		end := first[len(strings.TrimRight(first, "\r")):]
		old = strings.TrimRight(first, "\r") + newColumns + end + "\n" + rows
	}
	if !strings.HasSuffix(old, "\n") {
		old += halfWritten + "\n"
	}
	h, _ := read(strings.NewReader(old), path) // whoever reads the history reports its bad rows
	if h != nil && slices.ContainsFunc(h.Nights, func(other Night) bool { return other.Run == n.Run }) {
		return fmt.Errorf("track: %s: run %s is in it already, want a new name", path, n.Run)
	}
	// A history is small, so rewriting it is cheap, and only a rewrite can be atomic.
	return files.WriteFile(path, func(out io.Writer) error {
		if _, err := io.WriteString(out, old); err != nil {
			return err
		}
		return encode(out, m, n)
	})
}

// old returns the content of a machine's file, or "" if there is no file.
func (w *Writer) old(m Machine) (string, error) {
	path := w.Path(m)
	text, err := files.ReadUpTo(path, files.MostText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("track: %w", err)
	}
	if len(text) > 0 {
		if err := checkHeader(string(text)); err != nil {
			return "", fmt.Errorf("track: %s: line 1: %w", path, err)
		}
	}
	return string(text), nil
}

// judged is what the rule looks at in a night: the samples of a metric in one unit.
type judged struct {
	metric, unit string
	samples      []float64
}

// judged returns the samples of all metrics of a night. In a quiet night the wall times of whole rounds are a metric of
// their own beside their processor times, which do not show a program that makes worse use of its threads.
func (n Night) judged() (all []judged) {
	for _, v := range n.Values {
		x, unit := v.Samples()
		all = append(all, judged{v.Metric, unit, x})
		if unit == Loops && n.Quiet() && strings.HasPrefix(v.Metric, "round/") {
			all = append(all, judged{v.Metric, v.Unit, v.Wall})
		}
	}
	return all
}
