package memory

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Limit is how many bytes this process may hold in all, and what says so.
type Limit struct {
	Bytes int64
	From  string
}

// available returns the smallest of the limits that the files of a Linux system tell of; known is false if none does.
// What the process holds already is its own: it can be used again, and counts as available. Swap does not count.
func available(root fs.FS) (l Limit, known bool) {
	process := processOf(root)
	limits := append(process.limits(), groupLimits(root)...)
	if kib, ok := number(root, "proc/meminfo", "MemAvailable:"); ok {
		limits = append(limits, Limit{1024 * kib, "MemAvailable of /proc/meminfo"})
	}
	if len(limits) == 0 {
		return Limit{}, false
	}
	least := slices.MinFunc(limits, func(a, b Limit) int { return cmp.Compare(a.Bytes, b.Bytes) })
	least.Bytes = max(0, least.Bytes) + process.held
	return least, true
}

// number returns the first number of the line of a file that begins with a name, or of the whole file if that is "".
func number(root fs.FS, file, name string) (n int64, ok bool) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, name)
		fields := strings.Fields(rest)
		if !found || len(fields) == 0 || name != "" && strings.TrimLeft(rest, " \t") == rest {
			continue
		}
		n, err = strconv.ParseInt(fields[0], 10, 64)
		return n, err == nil && n >= 0
	}
	return 0, false
}
