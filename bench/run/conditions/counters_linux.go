package conditions

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Counters count two events in user mode, in all threads of this process: those that run when the counters are opened,
// and those that begin later. Programs that the process starts are counted too. A nil pointer counts nothing.
type Counters struct {
	fds  [2][]int   // of each event: a file descriptor for every thread that ran when it was opened
	last [2]reading // at the Read before
	err  error      // of the Read that failed: those after it fail too
}

// Linux's files. paranoidPath says who may count: up to 2, every process its own threads in user mode.
const (
	threadsPath  = "/proc/self/task"
	paranoidPath = "/proc/sys/kernel/perf_event_paranoid"
)

// openTries is how often the counters are opened anew because a thread began meanwhile.
const openTries = 10

// OpenCounters begins to count: [Instructions] and [Cycles], other events in tests. The error says in one line why they
// cannot be counted.
func OpenCounters(instructions, cycles Event) (*Counters, error) {
	for range openTries {
		threads, err := listThreads()
		if err != nil {
			return nil, err
		}
		c := new(Counters)
		if err := c.open(threads, [2]Event{instructions, cycles}); err != nil {
			c.Close()
			return nil, err
		}
		// A thread that began meanwhile is counted only if the thread that began it already was: it cannot be told.
		now, err := listThreads()
		if err == nil && !slices.ContainsFunc(now, func(id int) bool { return !slices.Contains(threads, id) }) {
			return c, nil
		}
		c.Close()
	}
	return nil, errors.New("conditions: no counters: new threads begin all the time")
}

// listThreads returns the threads of this process.
func listThreads() (ids []int, err error) {
	entries, err := os.ReadDir(threadsPath)
	if err != nil {
		return nil, fmt.Errorf("conditions: no counters: %w", err)
	}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, fmt.Errorf("conditions: no counters: %s: %w", threadsPath, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// open opens events for threads. The threads that these begin inherit them: their counts are added when they are read.
func (c *Counters) open(threads []int, events [2]Event) error {
	for i, e := range events {
		attr := unix.PerfEventAttr{
			Type: e.Type, Config: e.Config, Size: unix.PERF_ATTR_SIZE_VER0,
			Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
			Bits:        unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
		}
		for _, id := range threads {
			const anyProcessor, noGroup = -1, -1
			fd, err := unix.PerfEventOpen(&attr, id, anyProcessor, noGroup, unix.PERF_FLAG_FD_CLOEXEC)
			switch {
			case err == nil:
				c.fds[i] = append(c.fds[i], fd)
			case !errors.Is(err, unix.ESRCH): // the thread has ended
				return refusal(err, paranoidPath)
			}
		}
	}
	return nil
}

// refusal says why the kernel refuses to count. paranoid is the path of a file, for tests.
func refusal(err error, paranoid string) error {
	why := err.Error()
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENODEV):
		why = "the processor has none, or the virtual machine does not pass them on"
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		why = "not permitted, perhaps by the seccomp profile of a container"
		text, _ := os.ReadFile(paranoid)
		if level, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && level > 2 {
			why = fmt.Sprintf("not permitted: %s is %d, want 2 at most", paranoid, level)
		}
	case errors.Is(err, unix.ENOSYS):
		why = "the kernel has no perf_event_open, or the seccomp profile of a container forbids it"
	}
	return fmt.Errorf("conditions: no counters: %s (%w)", why, err)
}

// Read returns what was counted since the Read before, or since the counters were opened. After an error it is nothing,
// for good.
func (c *Counters) Read() (Counts, error) {
	if c == nil || c.err != nil {
		return Counts{}, nil
	}
	var counts [2]float64
	for i, fds := range c.fds {
		now, err := readSum(fds)
		if err != nil {
			c.err = fmt.Errorf("conditions: counters: %w", err)
			return Counts{}, c.err
		}
		counts[i] = now.since(c.last[i])
		c.last[i] = now
	}
	return Counts{Instructions: counts[0], Cycles: counts[1]}, nil
}

// Close ends the counting.
func (c *Counters) Close() {
	if c == nil {
		return
	}
	for _, fds := range c.fds {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}
}

// reading is what the kernel says of an event, of all threads together: how often it was counted, and for how many ns
// of the threads' time it was wanted and counted. A processor counts a few events at a time; more take turns.
type reading struct{ count, wanted, counted uint64 }

// readSum reads an event of several threads and adds them.
func readSum(fds []int) (sum reading, err error) {
	var cell [3 * 8]byte // the order of read_format in perf_event_open(2)
	for _, fd := range fds {
		n, err := unix.Read(fd, cell[:])
		if err != nil {
			return sum, err
		}
		if n != len(cell) {
			return sum, fmt.Errorf("%d bytes, want %d", n, len(cell))
		}
		sum.count += binary.NativeEndian.Uint64(cell[0:])
		sum.wanted += binary.NativeEndian.Uint64(cell[8:])
		sum.counted += binary.NativeEndian.Uint64(cell[16:])
	}
	return sum, nil
}

// since returns the events since an earlier reading. Where events took turns, it supposes that they were as frequent
// while nobody counted. It is 0, not known, if nobody ever did.
func (r reading) since(before reading) float64 {
	count, wanted, counted := r.count-before.count, r.wanted-before.wanted, r.counted-before.counted
	if counted == 0 {
		return 0
	}
	return float64(count) * (float64(wanted) / float64(counted))
}
