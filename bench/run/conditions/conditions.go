package conditions

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
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

// Others returns the share of all processors that other processes and the kernel took between two readings, 0 … 1;
// missing where the system does not say ticks, the number of processors, or the processor time of this process.
func Others(from, to Ticks) files.Optional {
	all, busy, elapsed := to.All-from.All, to.Busy-from.Busy, to.when.Sub(from.when).Seconds()
	if all <= 0 || busy < 0 || busy > all || to.Processors == 0 || to.own == 0 || elapsed <= 0 {
		return files.Optional{}
	}
	own := (to.own - from.own).Seconds() / (elapsed * float64(to.Processors))
	// The kernel counts whole ticks, so that the difference may fall below 0.
	return files.Some(min(max(busy/all-own, 0), 1))
}

// cardTimeout is how long nvidia-smi may take to answer. Where its daemon does not run, it takes seconds.
const cardTimeout = 20 * time.Second

// CardUsers returns the number of other processes that compute on the cards of a name, as nvidia-smi lists them. It is
// missing if nvidia-smi is missing, fails, or has not answered in time: this never keeps a measurement from being made.
// Call it before an engine is opened. In a container nvidia-smi may list this process by a number of the host, or no
// process at all.
func CardUsers(ctx context.Context, name string) files.Optional {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return files.Optional{}
	}
	ctx, cancel := context.WithTimeout(ctx, cardTimeout)
	defer cancel()
	ask := exec.CommandContext(ctx, path, "--query-compute-apps=pid,gpu_name", "--format=csv,noheader")
	ask.WaitDelay = time.Second // its own children may hold the pipe open
	out, err := ask.Output()
	if err != nil {
		return files.Optional{}
	}
	return files.Some(float64(usersOf(string(out), name, os.Getpid())))
}

// usersOf counts the processes in nvidia-smi's output that are on a card of a name, without the process own. A process
// on several cards has a line for each, and counts once. What is no line of a process is left out.
func usersOf(lines, name string, own int) int {
	seen := map[int]bool{own: true}
	for line := range strings.Lines(lines) {
		pid, card, _ := strings.Cut(line, ",")
		n, err := strconv.Atoi(strings.TrimSpace(pid))
		if err == nil && strings.TrimSpace(card) == name {
			seen[n] = true
		}
	}
	return len(seen) - 1
}

// mostSpread is the largest p90/p10 of repeated times without a warning. Times of the same work on a machine that does
// nothing else differ by a few percent.
const mostSpread = 1.5

// Differ reports whether repeated times or speeds of the same work differ too much.
func Differ(p10, p90 files.Optional) bool {
	return p10.Valid && p90.Valid && p10.Value > 0 && p90.Value/p10.Value > mostSpread
}

// Warnings returns a line for each reason not to trust a measurement on so many threads, with what to do about it: the
// load before it, other processes on the card, and repeated times or speeds that [Differ]. what names these: "the
// rounds".
func Warnings(
	load files.Optional, threads int, users files.Optional, what string, p10, p90 files.Optional,
) (lines []string) {
	if load.Valid && load.Value > float64(threads) {
		lines = append(lines, fmt.Sprintf("load average %.1f exceeds %s: other programs run, or ran in the minute "+
			"before, perhaps your own command; end them, wait a minute and measure again",
			load.Value, files.Count(threads, "thread")))
	}
	switch {
	case users == files.Some(1):
		lines = append(lines, "another process computes on the card (nvidia-smi lists it): end it and measure again")
	case users.Valid && users.Value > 1:
		lines = append(lines, fmt.Sprintf("%.0f other processes compute on the card (nvidia-smi lists them): end them "+
			"and measure again", users.Value))
	}
	if Differ(p10, p90) {
		lines = append(lines, fmt.Sprintf("p90/p10 of %s is %.1f, more than %g: the machine did other work meanwhile, "+
			"or too few clients kept its threads busy; measure again without that, or trust processor times alone",
			what, p90.Value/p10.Value, mostSpread))
	}
	return lines
}
