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
			var samples []float64
			for _, x := range v.Samples {
				var y float64
				if _, err := fmt.Sscan(fmt.Sprintf("%.6g", x), &y); err != nil {
					t.Fatal(err)
				}
				samples = append(samples, y)
			}
			v.Samples = samples
			n.Values = append(n.Values, v)
		}
		out = append(out, n)
	}
	return out
}

// written puts a history in a folder and returns its file.
func written(t *testing.T, dir string, h *History) string {
	t.Helper()
	w, err := NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, n := range h.Nights {
		if err := w.Append(h.Machine, n); err != nil {
			t.Fatal(err)
		}
	}
	return w.Path(h.Machine)
}

func TestHistory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results", "history")
	h := small(3)
	h.Machine.Clocks = `800-3500 MHz, "boost"` // what a CSV must quote
	h.Nights[1].ClockMHz = 2596
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
	h.Nights[0].Values = []Measurement{{"round/cifar10", "ms", []float64{1234.5678, 0.001}}}
	text, err := os.ReadFile(written(t, t.TempDir(), h))
	if err != nil {
		t.Fatal(err)
	}
	want := "schema,run,time,version,go,clock_mhz,fingerprint,suite,os,cpu,cpus,threads,engine,device,driver," +
		"clocks,precision,metric,unit,samples\n" +
		"1,20260101T020000Z,2026-01-01T02:00:00Z,v1,go1.26,,ab5773e9b5d2,test/1,linux/amd64,Some CPU @ 2 " +
		"GHz,4,2,cpu-avx512,Some CPU @ 2 GHz,,800-3500 MHz,fp32,round/cifar10,ms,1234.57 0.001\n"
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

// TestReadBad has every kind of line a history should not have. The good ones are used.
func TestReadBad(t *testing.T) {
	h := small(2)
	path := written(t, t.TempDir(), h)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(good), "\n") // header, 2 + 2 rows, nothing
	replaced := func(line int, old, with string) string {
		if !strings.Contains(lines[line], old) {
			t.Fatalf("line %d has no %q", line+1, old)
		}
		out := append([]string(nil), lines...)
		out[line] = strings.Replace(out[line], old, with, 1)
		return strings.Join(out, "")
	}
	other := testMachine
	other.Threads = 1
	var foreign strings.Builder
	if err := encode(&foreign, other, h.Nights[0]); err != nil {
		t.Fatal(err)
	}
	foreignRow, _, _ := strings.Cut(foreign.String(), "\n")
	for _, test := range []struct {
		name, text string
		rows       int
		want       []string
	}{
		{"nothing", "", 0, []string{"line 1: empty, want the header schema,run,"}},
		{"another CSV", "a,b\n1,2\n", 0, []string{`line 1: no column "schema", want the header`}},
		{
			"a column missing", strings.Replace(string(good), ",precision", "", 1), 0,
			[]string{`line 1: no column "precision"`},
		},
		{
			"a column more", strings.Replace(string(good), ",precision", ",precision,moon", 1), 0,
			[]string{"line 1: header "},
		},
		{
			"half a line at the end", string(good[:len(good)-30]), 3,
			[]string{"line 5: no line break at its end, want one: it is half written"},
		},
		{"half a line within", replaced(2, "metric/01,ms,", "\n"), 3, []string{
			"line 3: 18 columns, want 20",
			"line 4: column schema: ",
		}},
		{"another schema", replaced(2, "1,", "2,"), 3, []string{`line 3: column schema: "2", want 1`}},
		{"a quote", replaced(2, "v1", `"v1`), 3, []string{`line 3: extraneous or missing " in quoted-field`}},
		{
			"time", replaced(1, "2026-01-01T", "yesterday "), 3,
			[]string{`line 2: column time: "yesterday 02:00:00Z", want`},
		},
		{"sample", replaced(4, "ms,", "ms,NaN "), 3, []string{`line 5: column samples: "NaN", want a positive number`}},
		{"machine edited", replaced(1, "avx512", "avx2"), 3, []string{"line 2: column fingerprint: "}},
		{
			"threads", replaced(1, ",4,2,", ",4,two,"), 3,
			[]string{`line 2: column threads: "two", want a whole number from 0`},
		},
		{
			"a row twice", string(good) + lines[1], 4,
			[]string{"line 6: run 20260101T020000Z has metric/00 in line 2 already, want it once"},
		},
		{
			"a row of another machine", string(good) + foreignRow + "\n", 4,
			[]string{"line 6: machine " + other.Fingerprint() + ", want " + testMachine.Fingerprint()},
		},
		{
			"a run at two times", replaced(2, "2026-01-01T02:00:00Z", "2026-01-01T03:00:00Z"), 3,
			[]string{"line 3: run 20260101T020000Z at 2026-01-01T03:00:00Z, want 2026-01-01T02:00:00Z"},
		},
		{"line breaks of Windows", strings.ReplaceAll(string(good), "\n", "\r\n"), 4, nil},
		{"empty lines", strings.ReplaceAll(string(good), "\n", "\n\n"), 4, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, bad := read(test.text, "f.csv")
			rows := 0
			if h != nil {
				for _, n := range h.Nights {
					rows += len(n.Values)
				}
			}
			if rows != test.rows {
				t.Errorf("good rows: got %d, want %d", rows, test.rows)
			}
			if len(bad) != len(test.want) {
				t.Fatalf("errors: got %v, want %d", bad, len(test.want))
			}
			for i, want := range test.want {
				if want = "track: f.csv: " + want; !strings.HasPrefix(bad[i].Error(), want) {
					t.Errorf("error %d:\ngot  %v\nwant %s…", i, bad[i], want)
				}
			}
		})
	}
}

func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	if all, bad := ReadFolder(filepath.Join(dir, "none")); len(all) != 0 || len(bad) != 0 {
		t.Errorf("no folder: got %v, %v, want nothing", all, bad)
	}
	path := written(t, dir, small(1))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "zz-copy.csv")
	for name, content := range map[string]string{
		copied: string(text), filepath.Join(dir, "junk.csv"): "junk", filepath.Join(dir, "notes.txt"): "junk",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
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
	if err := encode(&row, testMachine, small(1).Nights[0]); err != nil {
		f.Fatal(err)
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
				if n.Run == "" || v.Metric == "" || v.Unit == "" || len(v.Samples) == 0 || slices.Min(v.Samples) <= 0 {
					t.Errorf("%q: got %+v, want names and positive samples", text, n)
				}
			}
		}
	})
}
