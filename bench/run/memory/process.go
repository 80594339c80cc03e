package memory

import "io/fs"

// process is what the files of a process tell of its memory, in bytes.
type process struct {
	held     int64 // that is its own and resident
	space    int64 // of addresses that it has taken
	maxSpace int64 // that it may take (ulimit -v); negative: as many as there are
}

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
