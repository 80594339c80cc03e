package conditions

import (
	"math"
	"os"
	"strconv"
	"strings"

	"rollcall/results/files"
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
	All    float64 // running, idle or stolen
	Stolen float64 // a hypervisor gave the processor to another machine while a thread wanted to run
}

// ReadTicks returns the ticks so far; ok is false where the system does not say.
func ReadTicks(path string) (t Ticks, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return t, false
	}
	first, _, _ := strings.Cut(string(text), "\n")
	cells := strings.Fields(first)
	// cpu user nice system idle iowait irq softirq steal guest guest_nice. The guests are in user and nice already.
	const label, steal = 0, 8
	if len(cells) <= steal || cells[label] != "cpu" {
		return t, false
	}
	for i, cell := range cells[1 : steal+1] {
		ticks, err := strconv.ParseUint(cell, 10, 64)
		if err != nil {
			return Ticks{}, false
		}
		t.All += float64(ticks)
		if i+1 == steal {
			t.Stolen = float64(ticks)
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
