package conditions

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"rollcall/internal/files"
)

// Paths of Linux's files. Tests have files of their own.
const (
	LoadPath  = "/proc/loadavg"
	TicksPath = "/proc/stat"
)

// Load returns the mean number of threads that ran or wanted to run in the last minute, of all processes, later seconds
// counting more; missing where the system does not say. A program that has just begun is hardly in it, but the load of
// a program that has just ended is: half of it goes in 40 s.
func Load(path string) files.Optional {
	text, err := os.ReadFile(path)
	if err != nil {
		return files.Optional{}
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil || !(load >= 0) || math.IsInf(load, 0) {
		return files.Optional{}
	}
	return files.Some(load)
}

// Ticks is the time of all processors since the machine started, in clock ticks.
type Ticks struct {
	Processors int
	All        float64 // busy, idle or stolen
	Busy       float64 // some process or the kernel ran
	Stolen     float64 // a hypervisor gave the processor to another machine while a thread wanted to run

	own  time.Duration // processor time of this process at that moment
	when time.Time
}

// ReadTicks returns the ticks so far; ok is false where the system does not say.
func ReadTicks(path string) (t Ticks, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return t, false
	}
	t.own, t.when = ProcessorTime(), time.Now()
	first, rest, _ := strings.Cut(string(text), "\n")
	cells := strings.Fields(first)
	// cpu user nice system idle iowait irq softirq steal guest guest_nice. The guests are in user and nice already.
	const label, idle, iowait, steal = 0, 4, 5, 8
	if len(cells) <= steal || cells[label] != "cpu" {
		return t, false
	}
	for i := label + 1; i <= steal; i++ {
		n, err := strconv.ParseUint(cells[i], 10, 64)
		if err != nil {
			return Ticks{}, false
		}
		ticks := float64(n)
		t.All += ticks
		switch i {
		case idle, iowait:
		case steal:
			t.Stolen = ticks
		default:
			t.Busy += ticks
		}
	}
	for line := range strings.Lines(rest) { // cpu0, cpu1, …
		if strings.HasPrefix(line, "cpu") {
			t.Processors++
		}
	}
	return t, true
}

// Steal returns the share of the time between two readings that was stolen from the machine, 0 … 1. It is missing if no
// tick has passed, or if the numbers went back.
func Steal(from, to Ticks) files.Optional {
	all, stolen := to.All-from.All, to.Stolen-from.Stolen
	if all <= 0 || stolen < 0 || stolen > all {
		return files.Optional{}
	}
	return files.Some(stolen / all)
}

// Others returns the share of all processors that other processes and the kernel took between two readings, 0 … 1. It
// is missing where the system does not say all that it takes: ticks, the number of processors, and the processor time
// of this process.
func Others(from, to Ticks) files.Optional {
	all, busy, elapsed := to.All-from.All, to.Busy-from.Busy, to.when.Sub(from.when).Seconds()
	if all <= 0 || busy < 0 || busy > all || to.Processors == 0 || to.own == 0 || elapsed <= 0 {
		return files.Optional{}
	}
	own := (to.own - from.own).Seconds() / (elapsed * float64(to.Processors))
	// The kernel counts whole ticks, so that the difference may fall below 0.
	return files.Some(min(max(busy/all-own, 0), 1))
}
