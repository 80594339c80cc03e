package slurm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Work is all runs of a command, those that are finished too, so that a task has the same runs whenever it is asked.
type Work struct {
	Runs   int
	All    time.Duration // for all of them, one after the other
	Known  bool          // false: nobody has measured the machines of the tasks
	Cards  int           // of a task; 1 on the CPU
	AtOnce int           // runs at a time in a task, on all its cards
}

const (
	// leastWork is the least work of a task, so that runs of seconds are not a job each.
	leastWork = 30 * time.Minute
	// MostTasks is the largest number of tasks: below MaxArraySize of a cluster that was not told otherwise, 1001.
	MostTasks = 1000
	// unknownTime is the limit of a task on machines that nobody has measured.
	unknownTime = time.Hour
	// startup is how long a task may take to begin: to read the data, and to compile kernels.
	startup = 5 * time.Minute
	// limitStep is what limits of time are rounded up to.
	limitStep = 5 * time.Minute
	// mostTime is the largest limit that is chosen: a task that needs more is requeued.
	mostTime = 24 * time.Hour
)

// Tasks returns the number of tasks for some work: each has half an hour of it and AtOnce runs, at least.
func Tasks(w Work) int {
	n := min(w.Runs/w.AtOnce, MostTasks)
	if w.Known {
		n = min(n, int(w.All/(time.Duration(w.Cards)*leastWork)))
	}
	return max(1, n)
}

// Limit returns the limit of a task's time, in minutes as sbatch takes it: twice what the largest part takes, since
// machines differ. known is false if nobody has measured the machines of the tasks.
func Limit(largest time.Duration, known bool) string {
	limit := unknownTime
	if known {
		limit = 2*largest + startup
	}
	limit = min(mostTime, (limit + limitStep - 1).Truncate(limitStep))
	return strconv.Itoa(int(limit.Minutes()))
}

// Array returns indices, in order, as sbatch takes them: 1,4-7, or with at most two tasks at once 1,4-7%2.
func Array(indices []int, atOnce int) string {
	var b strings.Builder
	for i := 0; i < len(indices); i++ {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		from := i
		for i+1 < len(indices) && indices[i+1] == indices[i]+1 {
			i++
		}
		if b.WriteString(strconv.Itoa(indices[from])); i > from {
			fmt.Fprintf(&b, "-%d", indices[i])
		}
	}
	if atOnce > 0 && atOnce < len(indices) {
		fmt.Fprintf(&b, "%%%d", atOnce)
	}
	return b.String()
}

// Cards returns how many cards generic resources such as gpu:2 or gpu:h100:2,shard:1 are; 0: none.
func Cards(gres string) (n int) {
	for one := range strings.SplitSeq(gres, ",") {
		parts := strings.Split(one, ":")
		if parts[0] != "gpu" {
			continue
		}
		count := 1 // of gpu and gpu:h100
		if last, err := strconv.Atoi(parts[len(parts)-1]); err == nil {
			count = max(0, last)
		}
		n += count
	}
	return n
}

// timeForms are the forms of sbatch's --time, with the seconds of each number in them.
var timeForms = []struct {
	form    *regexp.Regexp
	seconds []int
}{
	{regexp.MustCompile(`^(\d{1,6})$`), []int{60}},
	{regexp.MustCompile(`^(\d{1,6}):(\d\d)$`), []int{60, 1}},
	{regexp.MustCompile(`^(\d{1,5}):(\d\d):(\d\d)$`), []int{3600, 60, 1}},
	{regexp.MustCompile(`^(\d{1,4})-(\d\d?)$`), []int{86400, 3600}},
	{regexp.MustCompile(`^(\d{1,4})-(\d\d?):(\d\d)$`), []int{86400, 3600, 60}},
	{regexp.MustCompile(`^(\d{1,4})-(\d\d?):(\d\d):(\d\d)$`), []int{86400, 3600, 60, 1}},
}

// ParseTime reads a limit of time as sbatch takes it.
func ParseTime(text string) (time.Duration, error) {
	for _, f := range timeForms {
		match := f.form.FindStringSubmatch(text)
		if match == nil {
			continue
		}
		sec := 0
		for i, unit := range f.seconds {
			n, err := strconv.Atoi(match[i+1])
			if err != nil {
				return 0, err
			}
			sec += n * unit
		}
		if sec > 0 {
			return time.Duration(sec) * time.Second, nil
		}
	}
	return 0, fmt.Errorf("want minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S, and more than 0")
}
