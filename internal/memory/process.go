package memory

import "io/fs"

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
