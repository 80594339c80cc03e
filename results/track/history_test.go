package track

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
)

// small is a history of so many nights of two metrics.
func small(nights int) *History {
	return synthetic(3, noise{sample: 0.02, samples: 10, passes: 1}, nights, 2, nil)
}

// rounded is what a file keeps of a night: six digits of every sample.
func rounded(t *testing.T, nights []Night) []Night {
	t.Helper()
	var out []Night
	for _, n := range nights {
		values := n.Values
		n.Values = nil
		for _, v := range values {
			for _, x := range []*[]float64{&v.Wall, &v.Processor, &v.Reference} {
				*x = sixDigits(t, *x)
			}
			n.Values = append(n.Values, v)
		}
		out = append(out, n)
	}
	return out
}

// sixDigits returns what a file keeps of some numbers.
func sixDigits(t *testing.T, x []float64) (rounded []float64) {
	t.Helper()
	for _, x := range x {
		var y float64
		must.Get(fmt.Sscan(fmt.Sprintf("%.6g", x), &y))(t)
		rounded = append(rounded, y)
	}
	return rounded
}

// referenced adds processor times and a reference to every metric: the loop is a third of the time, and both vary.
func referenced(h *History) *History {
	for _, n := range h.Nights {
		for i := range n.Values {
			v := &n.Values[i]
			for j, x := range v.Wall {
				v.Processor = append(v.Processor, 2*x/3)
				v.Reference = append(v.Reference, 400+float64(j))
			}
		}
	}
	return h
}

// written puts a history in a folder and returns its file.
func written(t *testing.T, dir string, h *History) string {
	t.Helper()
	w := must.Get(NewWriter(dir))(t)
	defer w.Close()
	for _, n := range h.Nights {
		must.OK(t, w.Append(h.Machine, n))
	}
	return w.Path(h.Machine)
}

func TestHistory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results", "history")
	h := referenced(small(3))
	h.Machine.Clocks = `800-3500 MHz, "boost"` // what a CSV must quote
	h.Nights[1].Conditions = Conditions{
		ClockMHz: files.Some(2596), Load: files.Some(0), Steal: files.Some(0.125), Others: files.Some(1),
		CardUsers: files.Some(2),
	}
	path := written(t, dir, h)
	if want := "some-cpu-2-ghz_cpu-avx512_fp32_" + h.Machine.Fingerprint() + ".csv"; filepath.Base(path) != want {
		t.Errorf("file: got %s, want %s", filepath.Base(path), want)
	}
	back, bad := Read(path)
	if len(bad) > 0 || back == nil {
		t.Fatalf("read: got %v, %v, want a history and no error", back, bad)
	}
	if want := rounded(t, h.Nights); back.Machine != h.Machine || !reflect.DeepEqual(back.Nights, want) {
		t.Errorf("read: got\n%+v\n%+v\nwant\n%+v\n%+v", back.Machine, back.Nights, h.Machine, want)
	}
	all, bad := ReadFolder(dir)
	if len(bad) > 0 || len(all) != 1 || !reflect.DeepEqual(all[0], back) {
		t.Errorf("folder: got %v, %v, want the one history", all, bad)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 { // the history and the lock
		t.Errorf("files: got %v, %v, want the history and the lock alone", entries, err)
	}
}

// TestFormat pins the file format that docs/tracking.md describes. It changes with schema alone.
func TestFormat(t *testing.T) {
	h := small(1)
	h.Nights[0].Conditions = Conditions{Load: files.Some(1.5), Steal: files.Some(0.0625)}
	h.Nights[0].Values = []Measurement{
		{"round/cifar10", "ms", []float64{1234.5678, 0.001}, []float64{2000, 0.002}, []float64{428.25, 430}},
		{Metric: "kernel/upload", Unit: "µs", Wall: []float64{12.5}},
	}
	text := must.Get(os.ReadFile(written(t, t.TempDir(), h)))(t)
	const machine = "ab5773e9b5d2,test/1,linux/amd64,Some CPU @ 2 GHz,4,2,cpu-avx512,Some CPU @ 2 GHz,," +
		"800-3500 MHz,fp32,"
	want := "schema,run,time,version,go,clock_mhz,load,steal,others,card_users,fingerprint,suite,os,cpu,cpus,threads," +
		"engine,device,driver,clocks,precision,metric,unit,wall,processor,reference\n" +
		"2,20260101T020000Z,2026-01-01T02:00:00Z,v1,go1.26,,1.5,0.0625,,," + machine +
		"round/cifar10,ms,1234.57 0.001,2000 0.002,428.25 430\n" +
		"2,20260101T020000Z,2026-01-01T02:00:00Z,v1,go1.26,,1.5,0.0625,,," + machine + "kernel/upload,µs,12.5,,\n"
	if string(text) != want {
		t.Errorf("file:\ngot  %s\nwant %s", text, want)
	}
}

func TestFingerprint(t *testing.T) {
	base := reflect.ValueOf(testMachine)
	for i := range base.NumField() {
		other := testMachine
		f := reflect.ValueOf(&other).Elem().Field(i)
		if f.Kind() == reflect.Int {
			f.SetInt(f.Int() + 1)
		} else {
			f.SetString(f.String() + "x")
		}
		if other.Fingerprint() == testMachine.Fingerprint() {
			t.Errorf("%s: the fingerprint stays %s when it changes, want another",
				base.Type().Field(i).Name, testMachine.Fingerprint())
		}
	}
	moved := testMachine // a character goes from one field to the next
	moved.Suite, moved.OS = testMachine.Suite+"l", strings.TrimPrefix(testMachine.OS, "l")
	if moved.Fingerprint() == testMachine.Fingerprint() {
		t.Error("fields run into each other")
	}
}

func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	if all, bad := ReadFolder(filepath.Join(dir, "none")); len(all) != 0 || len(bad) != 0 {
		t.Errorf("no folder: got %v, %v, want nothing", all, bad)
	}
	path := written(t, dir, small(1))
	text := must.Get(os.ReadFile(path))(t)
	copied := filepath.Join(dir, "zz-copy.csv")
	for name, content := range map[string]string{
		copied: string(text), filepath.Join(dir, "junk.csv"): "junk", filepath.Join(dir, "notes.txt"): "junk",
	} {
		must.OK(t, os.WriteFile(name, []byte(content), 0o600))
	}
	all, bad := ReadFolder(dir)
	if len(all) != 1 || all[0].Path != path {
		t.Errorf("histories: got %v, want the one of %s", all, path)
	}
	got := errors.Join(bad...).Error()
	for _, want := range []string{"junk.csv: line 1: ", copied + ": line 2: machine " + testMachine.Fingerprint()} {
		if len(bad) != 2 || !strings.Contains(got, want) {
			t.Errorf("errors: got %v, want %s", bad, want)
		}
	}
	if _, bad := Read(filepath.Join(dir, "none.csv")); len(bad) != 1 || !errors.Is(bad[0], fs.ErrNotExist) {
		t.Errorf("no file: got %v, want one error that says so", bad)
	}
}

// FuzzRead: whatever is in a file, every row is either in the history or named.
func FuzzRead(f *testing.F) {
	var row strings.Builder
	for _, h := range []*History{small(1), referenced(small(1))} {
		must.OK(f, encode(&row, testMachine, h.Nights[0]))
	}
	f.Add(header() + "\n" + row.String())
	f.Add(header() + "\n\"\n,,,\n1,\n" + row.String()[:100])
	f.Fuzz(func(t *testing.T, text string) {
		h, bad := read(text, "f")
		if h == nil {
			if len(bad) == 0 && strings.TrimSpace(text) != header() {
				t.Errorf("%q: no history and no error", text)
			}
			return
		}
		DefaultRule().Trends(h)
		for _, n := range h.Nights {
			for _, v := range n.Values {
				x, unit := v.Samples()
				if n.Run == "" || v.Metric == "" || unit == "" || len(x) != len(v.Wall) || slices.Min(x) <= 0 {
					t.Errorf("%q: got %+v, want names and positive samples", text, n)
				}
			}
		}
	})
}
