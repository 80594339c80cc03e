package conditions

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/must"
)

// file writes a file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	must.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLoad(t *testing.T) {
	for text, want := range map[string]files.Optional{
		"3.20 1.10 0.50 2/130 4711\n": files.Some(3.2),
		"0.00 0.00 0.00 1/1 1\n":      files.Some(0),
		"3.20":                        files.Some(3.2),
		"":                            {},
		"\n":                          {},
		"none of it\n":                {},
		"-1.00 0.00 0.00 1/1 1\n":     {},
		"NaN 0.00 0.00 1/1 1\n":       {},
		"inf 0.00 0.00 1/1 1\n":       {},
	} {
		if got := Load(file(t, text)); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
	if got := Load(filepath.Join(t.TempDir(), "none")); got.Valid {
		t.Errorf("no file: got %+v, want none", got)
	}
}

func TestTicks(t *testing.T) {
	for text, want := range map[string]Ticks{
		"cpu  10 20 30 40 5 6 7 8 99 99\ncpu0 1 1 1 1 1 1 1 1\ncpu1 1 1\nintr 7\n": {
			Processors: 2, All: 126, Busy: 73, Stolen: 8,
		},
		"cpu  10 20 30 40 5 6 7 8\n": {All: 126, Busy: 73, Stolen: 8},
	} {
		got, ok := ReadTicks(file(t, text))
		got.own, got.when = 0, time.Time{}
		if !ok || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "cpu\n", "cpu  10 20 30 40 5 6 7\n" /* before Linux 2.6.11: without steal */, "cpu0 10 20 30 40 5 6 7 8\n",
		"cpu  10 20 30 40 5 6 7 -8\n", "cpu  10 20 30 forty 5 6 7 8\n", "intr 1 2 3 4 5 6 7 8 9\n",
	} {
		if got, ok := ReadTicks(file(t, text)); ok {
			t.Errorf("%q: got %+v, want nothing", text, got)
		}
	}
	if _, ok := ReadTicks(filepath.Join(t.TempDir(), "none")); ok {
		t.Error("no file: got ticks, want nothing")
	}
}

// TestOthers has two processors for 10 s, 2000 ticks in all.
func TestOthers(t *testing.T) {
	begun := time.Now()
	from := Ticks{Processors: 2, All: 5000, Busy: 1000, own: time.Second, when: begun}
	for _, test := range []struct {
		name string
		busy float64 // ticks
		own  time.Duration
		edit func(*Ticks)
		want files.Optional
	}{
		{name: "nobody else", busy: 1000, own: 10 * time.Second, want: files.Some(0)},
		{name: "a quarter", busy: 1500, own: 10 * time.Second, want: files.Some(0.25)},
		{name: "less than nothing, by a tick", busy: 999, own: 10 * time.Second, want: files.Some(0)},
		{name: "an unknown number of processors", busy: 1500, own: 1, edit: func(t *Ticks) { t.Processors = 0 }},
		{name: "no clock of the process", busy: 1500, edit: func(t *Ticks) { t.own = 0 }},
		{name: "no time", busy: 1500, own: 1, edit: func(t *Ticks) { t.when = begun }},
		{name: "no tick", busy: 0, own: 1, edit: func(t *Ticks) { t.All = from.All }},
		{name: "the numbers went back", busy: -1, own: 1},
	} {
		to := Ticks{
			Processors: 2, All: from.All + 2000, Busy: from.Busy + test.busy, own: from.own + test.own,
			when: begun.Add(10 * time.Second),
		}
		if test.edit != nil {
			test.edit(&to)
		}
		if got := Others(from, to); got.Valid != test.want.Valid || math.Abs(got.Value-test.want.Value) > 1e-9 {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

// ticks is a reading with some numbers.
func ticks(all, stolen float64) Ticks { return Ticks{All: all, Stolen: stolen} }

func TestSteal(t *testing.T) {
	for _, test := range []struct {
		name     string
		from, to Ticks
		want     files.Optional
	}{
		{"a quarter", ticks(100, 10), ticks(180, 30), files.Some(0.25)},
		{"none", ticks(100, 10), ticks(180, 10), files.Some(0)},
		{"all of it", ticks(100, 10), ticks(120, 30), files.Some(1)},
		{"no tick has passed", ticks(100, 10), ticks(100, 10), files.Optional{}},
		{"the numbers went back", ticks(100, 10), ticks(90, 10), files.Optional{}},
		{"the stolen ones went back", ticks(100, 10), ticks(180, 9), files.Optional{}},
		{"more was stolen than there was", ticks(100, 10), ticks(110, 30), files.Optional{}},
	} {
		if got := Steal(test.from, test.to); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

// The processor time grows by no more than all processors can do, and by something where the process works.
func TestProcessorTime(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system has no such clock")
	}
	begun, from := time.Now(), ProcessorTime()
	x := 1.0
	for ProcessorTime()-from < 2*time.Millisecond {
		for range 1000 {
			x = x*0.999 + 0.1
		}
	}
	used := ProcessorTime() - from
	// The kernel brings the time of other threads up to date with its own clock, a hundred times a second or more.
	if most := time.Duration(runtime.NumCPU())*time.Since(begun) + 50*time.Millisecond; used > most {
		t.Errorf("got %v of processor time (%g), want %v at most", used, x, most)
	}
}

// stub puts a program nvidia-smi on the PATH, and nothing else.
func stub(t *testing.T, script string) {
	t.Helper()
	shell, err := os.Stat("/bin/sh")
	if err != nil || shell.IsDir() {
		t.Skip("needs /bin/sh")
	}
	dir := t.TempDir()
	must.OK(t, os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", dir)
}

func TestCardUsers(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if got := CardUsers(t.Context(), "NVIDIA H200"); got.Valid {
		t.Errorf("no nvidia-smi: got %+v, want none", got)
	}
	stub(t, `[ "$*" = "--query-compute-apps=pid,gpu_name --format=csv,noheader" ] || exit 2
echo '4711, NVIDIA H200'
echo '4712, NVIDIA A100'
echo '4711, NVIDIA H200'
echo '4713, NVIDIA H200'
echo "$PPID, NVIDIA H200"
echo '[Not Found], NVIDIA H200'
echo 'No running processes found'
`)
	if got, want := CardUsers(t.Context(), "NVIDIA H200"), files.Some(2); got != want {
		t.Errorf("got %+v, want %+v: without this process, and each once", got, want)
	}
	if got, want := CardUsers(t.Context(), "NVIDIA L4"), files.Some(0); got != want {
		t.Errorf("another card: got %+v, want %+v", got, want)
	}
	stub(t, "echo 'Failed to initialize NVML'; exit 9")
	if got := CardUsers(t.Context(), "NVIDIA H200"); got.Valid {
		t.Errorf("nvidia-smi fails: got %+v, want none", got)
	}
}

func TestWarnings(t *testing.T) {
	none := files.Optional{}
	for _, test := range []struct {
		name        string
		load, users files.Optional
		threads     int
		p10, p90    files.Optional
		want        string // the beginnings of the lines
	}{
		{"nothing known", none, none, 2, none, none, ""},
		{"half of the spread known", none, none, 2, files.Some(1), none, ""},
		{"nothing measured", none, none, 2, files.Some(0), files.Some(0), ""},
		{"just calm enough", files.Some(2), files.Some(0), 2, files.Some(2), files.Some(3), ""},
		{"load on one", files.Some(1.5), none, 1, none, none, "load average 1.5 exceeds 1 thread: "},
		{"another", none, files.Some(1), 2, none, none, "another process computes on the card (nvidia-smi lists it): "},
		{
			"all at once", files.Some(3.21), files.Some(3), 2, files.Some(2), files.Some(3.6),
			"load average 3.2 exceeds 2 threads: |3 other processes compute on the card (nvidia-smi lists them): |" +
				"p90/p10 of the rounds is 1.8, more than 1.5: ",
		},
	} {
		var got []string
		for _, line := range Warnings(test.load, test.threads, test.users, "the rounds", test.p10, test.p90) {
			reason, _, _ := strings.Cut(line, ": ")
			got = append(got, reason+": ")
		}
		if got := strings.Join(got, "|"); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
