package memory

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Limit is how many bytes this process may hold in all, and the name of what limits it.
type Limit struct {
	Bytes int64
	From  string
}

// available returns the smallest limit in the files of a Linux system; known is false if there is none. root is the
// root of the file system, which tests replace. The memory that the process holds already counts as available, because
// the process can use it again. Swap does not count: a run that swaps never ends.
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

// number returns the first number in the line of a file that begins with name, or in the first line if name is "".
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

// process is the memory of this process by its files in /proc, in bytes.
type process struct {
	held     int64 // resident memory that it shares with no other process
	space    int64 // address space in use
	maxSpace int64 // the most address space it may use (ulimit -v); negative: no limit
}

// processOf reads /proc/self.
func processOf(root fs.FS) process {
	p := process{maxSpace: -1}
	held, _ := number(root, "proc/self/status", "RssAnon:")
	space, known := number(root, "proc/self/status", "VmSize:")
	p.held, p.space = 1024*held, 1024*space
	if most, ok := number(root, "proc/self/limits", "Max address space"); ok && known {
		p.maxSpace = most
	}
	return p
}

// limits returns the process's own limit, if it has one.
func (p process) limits() []Limit {
	if p.maxSpace < 0 {
		return nil
	}
	return []Limit{{p.maxSpace - p.space, "the address space of ulimit -v"}}
}
