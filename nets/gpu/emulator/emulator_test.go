package emulator

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"rollcall/internal/must"
)

// program compiles testdata/drive.cpp, once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rollcall-drive")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "drive")
	out, err := exec.Command("g++", "-std=c++17", "-O1", "-o", path, "testdata/drive.cpp", "-ldl").CombinedOutput()
	if err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return path, nil
})

// These functions build the library of the kernels in testdata, without and with AddressSanitizer, once.
var (
	plain     = sync.OnceValues(func() (string, error) { return Build("testdata", false) })
	sanitized = sync.OnceValues(func() (string, error) { return Build("testdata", true) })
)

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// drive runs a case of testdata/drive.cpp. It returns the output and whether the case succeeded.
func drive(t *testing.T, asan bool, name string, env ...string) (string, bool) {
	t.Helper()
	out, err := command(t, asan, name, env...).CombinedOutput()
	return string(out), err == nil
}

// command returns the command that runs a case of testdata/drive.cpp.
func command(t *testing.T, asan bool, name string, env ...string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skipf("left out: %v", err)
	}
	build := plain
	if asan {
		build = sanitized
	}
	lib := must.Get(build())(t)
	path := must.Get(program())(t)
	cmd := exec.CommandContext(t.Context(), path, lib, name)
	others := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "CUDA_VISIBLE_DEVICES=") // is about this machine's cards
	})
	cmd.Env = append(append(others, Env(lib, asan)...), env...)
	return cmd
}

var kinds = []struct {
	name string
	asan bool
}{{"plain", false}, {"asan", true}}

// Each case compares the emulator with plain loops. Its message says what it got and what it wanted.
func TestCases(t *testing.T) {
	env := map[string][]string{"devices": {"ROLLCALL_EMULATOR_DEVICES=2", "ROLLCALL_EMULATOR_MEMORY=1048576"}}
	for _, name := range []string{
		"reverse", "reverse_dropped", "rotate_dropped", "shuffles", "ldmatrix", "cp_async", "cp_async_no_wait",
		"poison", "deferred", "graph", "lose_context", "devices", "math",
	} {
		for _, kind := range kinds {
			t.Run(name+"/"+kind.name, func(t *testing.T) {
				if out, ok := drive(t, kind.asan, name, env[name]...); !ok {
					t.Fatal(out)
				}
			})
		}
	}
}

// A missing barrier must give wrong results with every seed: no order of the threads may hide it.
func TestSeeds(t *testing.T) {
	for _, name := range []string{"reverse_dropped", "rotate_dropped", "reverse", "cp_async"} {
		for _, seed := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
			if out, ok := drive(t, false, name, "ROLLCALL_EMULATOR_SEED="+seed); !ok {
				t.Errorf("%s with seed %s: %s", name, seed, out)
			}
		}
	}
}

func TestBlockOrder(t *testing.T) {
	orders := map[string]string{}
	for _, seed := range []string{"1", "2", "3"} {
		out, ok := drive(t, false, "block_order", "ROLLCALL_EMULATOR_THREADS=1", "ROLLCALL_EMULATOR_SEED="+seed)
		if !ok {
			t.Fatal(out)
		}
		if strings.HasPrefix(out, "0 1 2 3 4") {
			t.Errorf("seed %s: blocks ran in their order: %s", seed, out)
		}
		if other, same := orders[out]; same {
			t.Errorf("seeds %s and %s give the same order: %s", seed, other, out)
		}
		orders[out] = seed
	}
}

// A barrier or collective that some threads miss ends the launch at once, with a text that says which threads wait
// where.
func TestDiagnosis(t *testing.T) {
	for name, want := range map[string][]string{
		"leaves_early": {
			`leaves_early: block \([01],0,0\) of \(2,1,1\): threads wait for each other`,
			`64 at __syncthreads of \S*barrier.cu:\d+`, `64 returned \(first \(64,0,0\)\)`,
		},
		"two_barriers": {
			`32 at __syncthreads of \S*barrier.cu:(51|53) \(first \(0,0,0\)\)`,
			`96 at __syncthreads of \S*barrier.cu`,
		},
		"lane_missing": {
			`lane_missing: block`, `at __shfl_xor_sync of \S*barrier.cu:\d+`, `4 returned \(first \(7,0,0\)\)`,
		},
		"lanes_disagree": {
			`__shfl_\w+_sync with mask ffffffff, but lane \d+ is at __shfl_\w+_sync with mask ffffffff, ` +
				`\S*barrier.cu:\d+`,
		},
		"mma_half": {`at mma_tf32_16x8x8 of \S*barrier.cu`, `112 at __syncthreads of \S*barrier.cu`},
	} {
		for _, kind := range kinds {
			t.Run(name+"/"+kind.name, func(t *testing.T) {
				out, ok := drive(t, kind.asan, name)
				if !ok {
					t.Fatal(out)
				}
				for _, w := range want {
					if !regexp.MustCompile(w).MatchString(out) {
						t.Errorf("got %q, want a text that matches %q", out, w)
					}
				}
			})
		}
	}
}

// line returns the file name and number of the line of testdata/memory.cu that has a mark.
func line(t *testing.T, mark string) string {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/memory.cu"))(t)
	before, _, found := strings.Cut(string(text), "// "+mark)
	if !found {
		t.Fatalf("no mark %s in memory.cu", mark)
	}
	return regexp.QuoteMeta("memory.cu:") + strconv.Itoa(strings.Count(before, "\n")+1) + `\b`
}

// An overrun by one element is found. AddressSanitizer names the line; without it, the guards beside an allocation show
// only that there was an overrun.
func TestOverrun(t *testing.T) {
	for name, want := range map[string]string{
		"global_overrun":  "heap-buffer-overflow.*(?s:.*)" + line(t, "GLOBAL"),
		"shared_overrun":  "use-after-poison.*(?s:.*)" + line(t, "SHARED"),
		"dynamic_overrun": "use-after-poison.*(?s:.*)" + line(t, "DYNAMIC"),
		"misaligned":      line(t, "ALIGNED") + ".*misaligned address",
	} {
		t.Run(name, func(t *testing.T) {
			out, ok := drive(t, true, name)
			if ok || !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("success %v, got %s\nwant a failure that matches %q", ok, out, want)
			}
		})
	}
	out, ok := drive(t, false, "global_overrun")
	if ok ||
		!strings.Contains(out, "700 an illegal memory access was encountered (bytes beside the allocation of 128 at") {
		t.Errorf("without AddressSanitizer: success %v, got %s, want code 700 from the guards", ok, out)
	}
}

func TestLimits(t *testing.T) {
	out, ok := drive(t, false, "limits", "ROLLCALL_EMULATOR_MEMORY=1048576")
	if want := "entry no_such_kernel is not in the emulator's library\nentry reverse takes 24 bytes in the PTX, " +
		"16 in the source\n"; !ok || out != want {
		t.Errorf("got %s, want %s", out, want)
	}
}

// CUDA_VISIBLE_DEVICES chooses devices and their order, by index or by the beginning of a UUID. A driver with MIG shows
// a process one instance.
func TestVisibleDevices(t *testing.T) {
	const none = "100 no CUDA-capable device is detected"
	for _, c := range []struct {
		name, env string // variables by blanks, without the prefix ROLLCALL_EMULATOR_ but for CUDA_VISIBLE_DEVICES
		want      string // the devices as drive lists them, or a part of the error
	}{
		{"all", "DEVICES=3", "00000000-0000 9.0\n00000001-0000 9.0\n00000002-0000 9.0\n"},
		{"one capability", "DEVICES=2 CAPABILITY=8.6", "00000000-0000 8.6\n00000001-0000 8.6\n"},
		{"capabilities", "DEVICES=3 CAPABILITY=9.0,8.0", "00000000-0000 9.0\n00000001-0000 8.0\n00000002-0000 8.0\n"},
		{
			"order, capabilities of the physical ones",
			"DEVICES=3 CAPABILITY=9.0,8.0,8.6 CUDA_VISIBLE_DEVICES=2,0", "00000002-0000 8.6\n00000000-0000 9.0\n",
		},
		{
			"an invalid index ends the list", "DEVICES=3 CUDA_VISIBLE_DEVICES=0,2,-1,1",
			"00000000-0000 9.0\n00000002-0000 9.0\n",
		},
		{"one beyond the last", "DEVICES=2 CUDA_VISIBLE_DEVICES=1,2,0", "00000001-0000 9.0\n"},
		{"a device twice", "DEVICES=2 CUDA_VISIBLE_DEVICES=1,1,0", "00000001-0000 9.0\n"},
		{"empty", "CUDA_VISIBLE_DEVICES=", none},
		{"the first is invalid", "DEVICES=2 CUDA_VISIBLE_DEVICES=-1,0", none},
		{"no device of that name", "DEVICES=2 CUDA_VISIBLE_DEVICES=cpu", none},
		{
			"UUIDs", "DEVICES=3 CUDA_VISIBLE_DEVICES=GPU-00000002,GPU-00000000-0000-726f-6c6c-63616c6c2065",
			"00000002-0000 9.0\n00000000-0000 9.0\n",
		},
		{"a prefix of several UUIDs", "DEVICES=3 CUDA_VISIBLE_DEVICES=1,GPU-0000000,0", "00000001-0000 9.0\n"},
		{"a UUID of none", "DEVICES=2 CUDA_VISIBLE_DEVICES=1,GPU-00000007,0", "00000001-0000 9.0\n"},
		{"MIG: the first", "DEVICES=2 MIG=3", "00000000-0001 9.0\n"},
		{
			"MIG: the first named", "DEVICES=2 MIG=2 CUDA_VISIBLE_DEVICES=MIG-00000001-0002,MIG-00000000-0001",
			"00000001-0002 9.0\n",
		},
		{"MIG: by index", "DEVICES=2 MIG=2 CUDA_VISIBLE_DEVICES=1,0", "00000001-0001 9.0\n"},
		{"MIG: by the UUID of the card", "DEVICES=2 MIG=2 CUDA_VISIBLE_DEVICES=GPU-00000001", "00000001-0001 9.0\n"},
		{"MIG: no such instance", "DEVICES=2 MIG=2 CUDA_VISIBLE_DEVICES=MIG-00000001-0003", none},
	} {
		t.Run(c.name, func(t *testing.T) {
			var env []string
			for variable := range strings.FieldsSeq(c.env) {
				if !strings.HasPrefix(variable, "CUDA_") {
					variable = "ROLLCALL_EMULATOR_" + variable
				}
				env = append(env, variable)
			}
			out, ok := drive(t, false, "list", env...)
			right := ok && out == c.want
			if c.want == none {
				right = !ok && strings.Contains(out, none)
			}
			if !right {
				t.Errorf("success %v, devices\n%s\nwant\n%s", ok, out, c.want)
			}
		})
	}
}
