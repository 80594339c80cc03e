package memory

import (
	"maps"
	"runtime"
	"testing"
	"testing/fstest"

	"rollcall/internal/must"
)

const gib = 1 << 30

// tree is the files of a system: 20 GiB available, 1 GiB of them the process's already, and what more is given.
func tree(more map[string]string) fstest.MapFS {
	files := map[string]string{
		"proc/meminfo":     "MemTotal:       25165824 kB\nMemFree:  1 kB\nMemAvailable:   20971520 kB\n",
		"proc/self/status": "Name:\trollcall\nVmSize:\t 2097152 kB\nVmRSS:\t 1100000 kB\nRssAnon:\t 1048576 kB\n",
		"proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units     \n" +
			"Max address space         unlimited            unlimited            bytes     \n",
	}
	maps.Copy(files, more)
	fs := fstest.MapFS{}
	for name, text := range files {
		fs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fs
}

const (
	v1Mount = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
	v1CPU   = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	v2Mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	hybrid  = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
	noLimit = "9223372036854771712\n"
)

// The limits are in GiB; the process's own GiB is part of what it may hold.
func TestAvailable(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  float64
		from  string
	}{
		{"no control groups", nil, 21, "MemAvailable of /proc/meminfo"},
		{"ulimit -v", map[string]string{
			"proc/self/limits": "Max address space         6442450944           unlimited            bytes     \n",
		}, 5, "the address space of ulimit -v"},
		{"version 1", map[string]string{
			"proc/self/cgroup":                                 "8:pids:/\n4:memory:/job/7\n3:cpu:/other\n",
			"proc/self/mountinfo":                              v1CPU + v1Mount,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":       noLimit,
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes":   noLimit,
			"sys/fs/cgroup/memory/job/7/memory.limit_in_bytes": "8589934592\n",
			"sys/fs/cgroup/memory/job/7/memory.usage_in_bytes": "3221225472\n",
			"sys/fs/cgroup/memory/job/7/memory.stat":           "inactive_file 5\ntotal_inactive_file 1073741824\n",
		}, 8 - 3 + 1 + 1, "memory.limit_in_bytes of control group /job/7"},
		{"version 1, its parent's", map[string]string{
			"proc/self/cgroup":                                 "4:cpu,memory:/job/7\n",
			"proc/self/mountinfo":                              v1Mount,
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes":   "4294967296\n",
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes":   "3221225472\n",
			"sys/fs/cgroup/memory/job/7/memory.limit_in_bytes": "8589934592\n",
			"sys/fs/cgroup/memory/job/7/memory.usage_in_bytes": "1073741824\n",
		}, 4 - 3 + 1, "memory.limit_in_bytes of control group /job"},
		{"version 1 in a container: the mount is the group", map[string]string{
			"proc/self/cgroup": "4:memory:/docker/abc\n",
			"proc/self/mountinfo": "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup " +
				"cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "1073741824\n",
		}, 2 - 1 + 1, "memory.limit_in_bytes of control group /"},
		{"version 2", map[string]string{
			"proc/self/cgroup":                            "0::/user.slice/run\n",
			"proc/self/mountinfo":                         v2Mount,
			"sys/fs/cgroup/user.slice/memory.max":         "max\n",
			"sys/fs/cgroup/user.slice/memory.high":        "max\n",
			"sys/fs/cgroup/user.slice/run/memory.max":     "8589934592\n",
			"sys/fs/cgroup/user.slice/run/memory.current": "3221225472\n",
			"sys/fs/cgroup/user.slice/run/memory.stat":    "anon 7\ninactive_file 1073741824\n",
		}, 8 - 3 + 1 + 1, "memory.max of control group /user.slice/run"},
		{"version 2, memory.high", map[string]string{
			"proc/self/cgroup":                 "0::/run\n",
			"proc/self/mountinfo":              v2Mount,
			"sys/fs/cgroup/run/memory.max":     "8589934592\n",
			"sys/fs/cgroup/run/memory.high":    "6442450944\n",
			"sys/fs/cgroup/run/memory.current": "1073741824\n",
		}, 6 - 1 + 1, "memory.high of control group /run"},
		{"version 2, a grandparent's", map[string]string{
			"proc/self/cgroup":                   "0::/a/b/c\n",
			"proc/self/mountinfo":                v2Mount,
			"sys/fs/cgroup/a/memory.max":         "3221225472\n",
			"sys/fs/cgroup/a/memory.current":     "2147483648\n",
			"sys/fs/cgroup/a/b/memory.max":       "max\n",
			"sys/fs/cgroup/a/b/c/memory.max":     "8589934592\n",
			"sys/fs/cgroup/a/b/c/memory.current": "1073741824\n",
		}, 3 - 2 + 1, "memory.max of control group /a"},
		{"version 2, another namespace's name", map[string]string{
			"proc/self/cgroup":             "0::/../../elsewhere\n",
			"proc/self/mountinfo":          "30 23 0:26 /kubepods/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/memory.max":     "2147483648\n",
			"sys/fs/cgroup/memory.current": "1073741824\n",
		}, 2 - 1 + 1, "memory.max of control group /"},
		{"a mount point with a blank", map[string]string{
			"proc/self/cgroup":             "0::/run\n",
			"proc/self/mountinfo":          `30 23 0:26 / /mnt/my\040groups rw - cgroup2 cgroup rw`,
			"mnt/my groups/run/memory.max": "2147483648\n",
		}, 2 + 1, "memory.max of control group /run"},
		{"hybrid", map[string]string{
			"proc/self/cgroup":                               "4:memory:/job\n0::/\n",
			"proc/self/mountinfo":                            hybrid + v1CPU + v1Mount,
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "5368709120\n",
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1073741824\n",
			"sys/fs/cgroup/unified/cgroup.procs":             "1\n",
		}, 5 - 1 + 1, "memory.limit_in_bytes of control group /job"},
		{"max everywhere", map[string]string{
			"proc/self/cgroup": "0::/run\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/run/memory.max": "max\n", "sys/fs/cgroup/run/memory.high": "max\n",
		}, 21, "MemAvailable of /proc/meminfo"},
		{"full", map[string]string{
			"proc/self/cgroup": "0::/run\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/run/memory.max": "1073741824\n", "sys/fs/cgroup/run/memory.current": "2147483648\n",
		}, 1, "memory.max of control group /run"},
		{"files are missing", map[string]string{
			"proc/self/cgroup": "0::/run\n4:memory:/run\n", "proc/self/mountinfo": v2Mount + v1Mount,
		}, 21, "MemAvailable of /proc/meminfo"},
		{"garbage", map[string]string{
			"proc/self/cgroup": "\n0\n0::\nx:memory\n0::/run\n4:memory:/run",
			"proc/self/mountinfo": "\n - \n1 2 3 - cgroup2\n1 2 3 / / - x\n" + v2Mount +
				v1Mount,
			"sys/fs/cgroup/run/memory.max":                   "plenty\n",
			"sys/fs/cgroup/run/memory.high":                  "-5\n",
			"sys/fs/cgroup/run/memory.current":               "",
			"sys/fs/cgroup/memory/run/memory.limit_in_bytes": "\x00\xff",
		}, 21, "MemAvailable of /proc/meminfo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, known := available(tree(c.files))
			if got := float64(l.Bytes) / gib; !known || got != c.want || l.From != c.from {
				t.Errorf("%g GiB by %s, known %t, want %g by %s", got, l.From, known, c.want, c.from)
			}
		})
	}
}

func TestNothingKnown(t *testing.T) {
	for _, fs := range []fstest.MapFS{{}, {"proc/meminfo": {Data: []byte("MemTotal: 5 kB\nMemAvailable: lots\n")}}} {
		if l, known := available(fs); known {
			t.Errorf("%+v of %v, want nothing known", l, fs)
		}
	}
}

// This machine's own, which is at least what a test needs.
func TestSystem(t *testing.T) {
	l, known := System()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("nothing is known of ", runtime.GOOS)
	}
	if !known || l.Bytes < 1<<20 || l.From == "" {
		t.Errorf("%+v, known %t, want at least a megabyte", l, known)
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"8GB": 8e9, "8gb": 8e9, "8 GB": 8e9, "1.5GB": 15e8, "500MB": 5e8, "3kB": 3000, "2TB": 2e12,
		"8GiB": 8 << 30, "0.5MiB": 1 << 19, "1KiB": 1024, "1TiB": 1 << 40,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "8", "GB", "8G", "8B", "-1GB", "0GB", "0.0001KB", "NaNGB", "InfGB", "1e30TB", "8 G B", "GB8",
		"8GB8", "eight GB",
	} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 MB", 512e6: "512 MB", 44_800e6: "44.8 GB", 1e9: "1.0 GB"} {
		if got := Size(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}

func TestCeiling(t *testing.T) {
	var c Ceiling
	own, ownKnown := c.Limit()
	if system, known := System(); known != ownKnown || own.From != system.From {
		t.Errorf("without a value: %+v, known %t, want the system's, %+v", own, ownKnown, system)
	}
	must.OK(t, c.Set("3GB"))
	if l, known := c.Limit(); !known || l != (Limit{3e9, "--memory-limit"}) {
		t.Errorf("3GB: %+v, known %t", l, known)
	}
	if err := c.Set("much"); err == nil || c.String() != "3GB" {
		t.Errorf("much: error %v, and the value is %s, want an error and 3GB still", err, c.String())
	}
	must.OK(t, c.Set("off"))
	if l, known := c.Limit(); known {
		t.Errorf("off: %+v, want nothing known", l)
	}
}
