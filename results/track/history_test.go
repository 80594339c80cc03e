package track

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
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
	// What was read is written as the same bytes, and TestFormat says which these are.
	text, again := must.Get(os.ReadFile(path))(t), must.Get(os.ReadFile(written(t, t.TempDir(), back)))(t)
	if string(again) != string(text) || back.Machine != h.Machine ||
		back.Nights[1].Conditions != h.Nights[1].Conditions {
		t.Errorf("read and written again:\n%s\nwant\n%s", again, text)
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

// TestFormat pins the file format that docs/files.md describes. It changes with schema alone.
func TestFormat(t *testing.T) {
	h := small(1)
	h.Nights[0].Host = "box"
	h.Nights[0].Conditions = Conditions{Load: files.Some(1.5), Steal: files.Some(0.0625)}
	h.Nights[0].Values = []Measurement{
		{"round/cifar10", "ms", []float64{1234.5678, 0.001}, []float64{2000, 0.002}, []float64{428.25, 430}},
		{Metric: "kernel/upload", Unit: "µs", Wall: []float64{12.5}},
	}
	text := must.Get(os.ReadFile(written(t, t.TempDir(), h)))(t)
	const machine = "ab5773e9b5d2,test/1,linux/amd64,Some CPU @ 2 GHz,4,2,cpu-avx512,Some CPU @ 2 GHz,," +
		"800-3500 MHz,fp32,"
	want := "schema,run,time,version,go,clock_mhz,load,steal,others,card_users,fingerprint,suite,os,cpu,cpus,threads," +
		"engine,device,driver,clocks,precision,metric,unit,wall,processor,reference,host,machine\n" +
		"3,20260101T020000Z,2026-01-01T02:00:00Z,v1,go1.26,,1.5,0.0625,,," + machine +
		"round/cifar10,ms,1234.57 0.001,2000 0.002,428.25 430,box,\n" +
		"3,20260101T020000Z,2026-01-01T02:00:00Z,v1,go1.26,,1.5,0.0625,,," + machine + "kernel/upload,µs,12.5,,,box,\n"
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
	other := small(1)
	other.Machine.Precision = "bf16" // another machine, since its speeds cannot be compared
	faster := written(t, dir, other)
	text := must.Get(os.ReadFile(path))(t)
	copied := filepath.Join(dir, "zz-copy.csv")
	for name, content := range map[string]string{
		copied: string(text), filepath.Join(dir, "junk.csv"): "junk", filepath.Join(dir, "notes.txt"): "junk",
	} {
		must.OK(t, os.WriteFile(name, []byte(content), 0o600))
	}
	all, bad := ReadFolder(dir)
	if len(all) != 2 || all[0].Path != faster || all[1].Path != path {
		t.Errorf("histories: got %v, want those of %s and %s", all, faster, path)
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
		h, bad := read(strings.NewReader(text), "f")
		if h == nil {
			if len(bad) == 0 && strings.TrimSpace(text) != header() {
				t.Errorf("%q: no history and no error", text)
			}
			return
		}
		DefaultRule().Examine(h)
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

// TestReadBad has every kind of line a history should not have. The good ones are used.
func TestReadBad(t *testing.T) {
	h := referenced(small(2))
	h.Nights[0].Load, h.Nights[0].Steal = files.Some(0.5), files.Some(0.25)
	path := written(t, t.TempDir(), h)
	good := must.Get(os.ReadFile(path))(t)
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
	must.OK(t, encode(&foreign, other, h.Nights[0]))
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
			"line 3: 22 columns, want 28",
			"line 4: column schema: ",
		}},
		{"another schema", replaced(2, "3,", "1,"), 3, []string{`line 3: column schema: "1", want 3`}},
		{
			"a history of schema 1", header1 + "\n1,20260101T020000Z,2026-01-01T02:00:00Z,v1,go1.26,,ab5773e9b5d2," +
				"test/1,linux/amd64,Some CPU @ 2 GHz,4,2,cpu-avx512,Some CPU @ 2 GHz,,800-3500 MHz,fp32,a,ms,1\n", 0,
			[]string{"line 1: a history of schema 1, whose nights have no reference, want schema 3: keep it elsewhere"},
		},
		{"load", replaced(1, ",0.5,", ",-0.5,"), 3, []string{`line 2: column load: "-0.5", want a number from 0 to`}},
		{"steal", replaced(1, ",0.25,", ",1.25,"), 3, []string{`line 2: column steal: "1.25", want a number from 0`}},
		{"others", replaced(1, ",0.25,,", ",0.25,NaN,"), 3, []string{`line 2: column others: "NaN", want a number`}},
		{
			"users", replaced(1, ",0.25,,,", ",0.25,,some,"), 3,
			[]string{`line 2: column card_users: "some", want a number`},
		},
		{"processor", replaced(4, ",400 ", " 7,400 "), 3, []string{"line 5: column reference: 10 numbers, want"}},
		{"reference", replaced(4, ",400 401 ", ",-400 401 "), 3, []string{`line 5: column reference: "-400", want`}},
		{"unit", replaced(4, ",ms,", ",s,"), 3, []string{`line 5: column unit: "s", want ms or µs where there is a`}},
		{"a quote", replaced(2, "v1", `"v1`), 3, []string{`line 3: extraneous or missing " in quoted-field`}},
		{
			"time", replaced(1, "2026-01-01T", "yesterday "), 3,
			[]string{`line 2: column time: "yesterday 02:00:00Z", want`},
		},
		{"sample", replaced(4, "ms,", "ms,NaN "), 3, []string{`line 5: column wall: "NaN", want a positive number`}},
		{"machine edited", replaced(1, "avx512", "avx2"), 3, []string{"line 2: column fingerprint: "}},
		{
			"threads", replaced(1, ",4,2,", ",4,two,"), 3,
			[]string{`line 2: column threads: "two", want a whole number`},
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
		{"byte order mark", "\ufeff" + string(good), 4, nil},
		{"UTF-16", "\xff\xfes\x00c\x00", 0, []string{"line 1: UTF-16, want UTF-8"}},
		{
			"semicolons", strings.ReplaceAll(string(good), ",", ";"), 0,
			[]string{"line 1: columns separated by semicolons, want commas"},
		},
		{
			"line breaks of old Macs", strings.ReplaceAll(string(good), "\n", "\r"), 0,
			[]string{"line 1: lines end with CR alone, want LF"},
		},
		{"empty lines", strings.ReplaceAll(string(good), "\n", "\n\n"), 4, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, bad := read(strings.NewReader(test.text), "f.csv")
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

// docs/files.md gives the header to those who write or read histories with programs of their own: its table has the
// columns of a file in their order, and the fields of the fingerprint in theirs.
func TestHeaderIsThatOfTheDocs(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/files.md"))(t)
	_, below, ok := strings.Cut(string(text),
		"The header is exactly this, in this order:\n\n| column | holds |\n|---|---|\n")
	if !ok {
		t.Fatal("docs/files.md: no table of the header, want one")
	}
	var listed []string
	for line := range strings.Lines(below) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			break
		}
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
			listed = append(listed, name[1])
		}
	}
	columns := files.CSVHeader[row]()
	if !slices.Equal(listed, columns) {
		t.Errorf("docs/files.md lists the columns\n%s, want\n%s", strings.Join(listed, ","), header())
	}
	fields := strings.Join(files.CSVHeader[Machine](), ",")
	if want := "in this order: `" + fields + "`"; !strings.Contains(string(text), want) {
		t.Errorf("docs/files.md: %q is not there, want it", want)
	}
}

// Appending changes nothing of what is there, whatever that is.
func TestAppendKeeps(t *testing.T) {
	h := small(2)
	dir := t.TempDir()
	path := written(t, dir, h)
	good := must.Get(os.ReadFile(path))(t)
	torn := "\ufeff" + string(good[:len(good)-30])
	must.OK(t, os.WriteFile(path, []byte(torn), 0o600))
	w := must.Get(NewWriter(dir))(t)
	defer w.Close()
	next := small(3).Nights[2]
	must.OK(t, w.Append(h.Machine, next))
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), torn+halfWritten+"\n3,") {
		t.Errorf("file: got %q, %v, want what was there, its last line marked and ended, and the night", text, err)
	}
	back, bad := Read(path)
	if len(back.Nights) != 3 || len(bad) != 1 || !strings.Contains(bad[0].Error(), "line 5: half written") {
		t.Errorf("read: got %d nights, %v, want 3 and line 5 half written", len(back.Nights), bad)
	}
	if err := w.Append(h.Machine, next); err == nil ||
		!strings.Contains(err.Error(), "run "+next.Run+" is in it already") {
		t.Errorf("the same run again: got %v, want that it is in it already", err)
	}
	must.OK(t, os.WriteFile(path, []byte("schema,moon\n"), 0o600))
	if err := w.Check(h.Machine); err == nil || !strings.Contains(err.Error(), "line 1: ") {
		t.Errorf("foreign file: got %v, want line 1 named", err)
	}
	if err := w.Append(h.Machine, next); err == nil {
		t.Error("foreign file: a night was appended, want an error")
	}
	if text, _ := os.ReadFile(path); string(text) != "schema,moon\n" {
		t.Errorf("foreign file: it was changed to %q", text)
	}
}

func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	first := must.Get(NewWriter(dir))(t)
	if _, err := NewWriter(dir); !errors.Is(err, ErrBusy) {
		t.Errorf("second writer: got %v, want %v", err, ErrBusy)
	}
	must.OK(t, first.Close())
	third, err := NewWriter(dir)
	if err != nil {
		t.Fatalf("after the first is closed: got %v, want a writer", err)
	}
	third.Close()
}

// Histories of schema 2 are read and go on: their header becomes that of schema 3, their rows stay.
func TestSchemaBefore(t *testing.T) {
	dir := t.TempDir()
	h := small(2)
	path := written(t, dir, h)
	now := string(must.Get(os.ReadFile(path))(t))
	old := strings.ReplaceAll(strings.Replace(now, ",host,machine\n", "\n", 1), ",,\n", "\n")
	old = strings.ReplaceAll(old, "\n3,", "\n2,")

	must.OK(t, os.WriteFile(path, []byte(old), 0o600))
	back, bad := Read(path)
	if len(bad) > 0 || len(back.Nights) != 2 || back.Machine != h.Machine {
		t.Fatalf("read: got %v, %v, want two nights", back, bad)
	}
	next := small(3).Nights[2]
	next.Host = "box"
	w := must.Get(NewWriter(dir))(t)
	defer w.Close()
	must.OK(t, w.Append(h.Machine, next))
	text := string(must.Get(os.ReadFile(path))(t))
	_, rows, _ := strings.Cut(old, "\n")
	if !strings.HasPrefix(text, header()+"\n"+rows+"3,") {
		t.Errorf("appended:\n%s\nwant the new header, the old rows and the night", text)
	}
	if back, bad = Read(path); len(bad) > 0 || len(back.Nights) != 3 || back.Nights[2].Host != "box" {
		t.Errorf("read again: got %v, %v, want three nights, the last one of box", back, bad)
	}
}
