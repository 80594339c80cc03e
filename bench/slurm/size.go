package slurm

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Work is what is left of a command to do.
type Work struct {
	Runs    int           // that are left
	All     time.Duration // for all of them, one after the other
	Longest time.Duration // for the longest
	Known   bool          // false: nobody has measured the machines of the tasks
	AtOnce  int           // runs at a time in a task, on its cards
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

// Tasks returns the number of tasks for some work: each has at least half an hour's work or a run.
func Tasks(w Work) int {
	most := max(1, min((w.Runs+w.AtOnce-1)/w.AtOnce, MostTasks))
	if !w.Known || w.All <= 0 {
		return most
	}
	return min(most, int(math.Ceil(float64(w.All)/float64(w.AtOnce)/float64(max(w.Longest, leastWork)))))
}

// Limit returns the limit of a task's time, in minutes as sbatch takes it: twice the share of a task, since machines
// differ and the runs do not divide evenly.
func Limit(w Work, tasks int) string {
	limit := unknownTime
	if w.Known {
		limit = 2*max(w.Longest, w.All/time.Duration(max(1, tasks*w.AtOnce))) + startup
	}
	limit = min(mostTime, (limit + limitStep - 1).Truncate(limitStep))
	return strconv.Itoa(int(limit.Minutes()))
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
