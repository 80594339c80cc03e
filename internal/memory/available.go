package memory

import (
	"cmp"
	"io/fs"
	"os"
	"path"
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
	var limits []Limit
	space, known := number(root, "proc/self/status", "VmSize:")
	if most, ok := number(root, "proc/self/limits", "Max address space"); ok && known {
		limits = append(limits, Limit{most - 1024*space, "the address space of ulimit -v"})
	}
	limits = append(limits, groupLimits(root)...)
	if kib, ok := number(root, "proc/meminfo", "MemAvailable:"); ok {
		limits = append(limits, Limit{1024 * kib, "MemAvailable of /proc/meminfo"})
	}
	if len(limits) == 0 {
		return Limit{}, false
	}
	least := slices.MinFunc(limits, func(a, b Limit) int { return cmp.Compare(a.Bytes, b.Bytes) })
	held, _ := number(root, "proc/self/status", "RssAnon:") // resident, and shared with no other process
	least.Bytes = max(0, least.Bytes) + 1024*held
	return least, true
}

// Peak returns the most bytes that this process has had resident; known is false where the system does not say.
func Peak() (bytes int64, known bool) {
	kib, known := number(os.DirFS("/"), "proc/self/status", "VmHWM:")
	return 1024 * kib, known
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

// hierarchy is a mounted tree of control groups, and the group of this process in it.
type hierarchy struct {
	at, group string // folders as paths below the root: the mount, and the group at it or below
	v2        bool   // version 2 of control groups
}

// unlimited is more than any machine has. Version 1 writes "no limit" as a number near 2⁶³.
const unlimited = 1 << 60

// groupLimits returns the limits of the process's control groups, of either version: of its own group, and of all
// groups around that one.
func groupLimits(root fs.FS) (limits []Limit) {
	for _, h := range hierarchies(root) {
		for dir := h.group; ; dir = path.Dir(dir) {
			limits = append(limits, h.left(root, dir)...)
			if dir == h.at || dir == "." {
				break
			}
		}
	}
	return limits
}

// left returns how much memory the limits of one group leave to the process.
func (h hierarchy) left(root fs.FS, dir string) (limits []Limit) {
	files, usage, inactive := []string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"
	if h.v2 {
		files, usage, inactive = []string{"memory.max", "memory.high"}, "memory.current", "inactive_file"
	}
	for _, file := range files {
		most, ok := number(root, path.Join(dir, file), "")
		if !ok || most >= unlimited {
			continue // "max", or no such file, as in the outermost group
		}
		used, _ := number(root, path.Join(dir, usage), "")
		cached, _ := number(root, path.Join(dir, "memory.stat"), inactive) // the system drops cached files when it must
		name := "/" + strings.TrimPrefix(strings.TrimPrefix(dir, h.at), "/")
		limits = append(limits, Limit{most - max(0, used-cached), file + " of control group " + name})
	}
	return limits
}

// hierarchies returns the trees of control groups that limit memory: that of version 2, and of version 1 for memory.
func hierarchies(root fs.FS) (all []hierarchy) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(groups)) { // ID:CONTROLLERS:GROUP
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		v2 := parts[0] == "0" && parts[1] == ""
		if !v2 && !slices.Contains(strings.Split(parts[1], ","), "memory") {
			continue
		}
		for mount := range strings.Lines(string(mounts)) {
			if h, ok := mounted(mount, path.Clean(parts[2]), v2); ok {
				all = append(all, h)
				break
			}
		}
	}
	return all
}

// mounted reads a line of /proc/self/mountinfo, if it is the mount of such a tree:
//
//	ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS … - TYPE SOURCE OPTIONS
//
// ROOT is the group at the mount point. If the process's group does not lie in ROOT, its name belongs to another
// namespace, and the mount point is the outermost group that the process can see.
func mounted(line, group string, v2 bool) (h hierarchy, ok bool) {
	mount, kind, found := strings.Cut(strings.TrimSpace(line), " - ")
	place, is := strings.Fields(mount), strings.Fields(kind)
	if !found || len(place) < 5 || len(is) < 3 {
		return h, false
	}
	if v2 && is[0] != "cgroup2" ||
		!v2 && (is[0] != "cgroup" || !slices.Contains(strings.Split(is[2], ","), "memory")) {
		return h, false
	}
	h = hierarchy{at: strings.TrimPrefix(path.Clean(unescaped(place[4])), "/"), v2: v2}
	h.group = h.at
	top := unescaped(place[3])
	if below, inside := strings.CutPrefix(group, strings.TrimSuffix(top, "/")+"/"); inside {
		h.group = path.Join(h.at, below)
	}
	return h, fs.ValidPath(h.group)
}

// unescaped undoes the escapes of mountinfo, which writes a blank as \040.
func unescaped(text string) string {
	before, rest, found := strings.Cut(text, `\`)
	if !found || len(rest) < 3 {
		return text
	}
	code, err := strconv.ParseUint(rest[:3], 8, 8)
	if err != nil {
		return text
	}
	return before + string([]byte{byte(code)}) + unescaped(rest[3:])
}
