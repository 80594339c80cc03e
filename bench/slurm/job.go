package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rollcall/internal/files"
)

// Job is an array job. Empty texts leave the choice to the cluster.
type Job struct {
	Name      string
	About     []string      // lines about the job, for who reads the script
	Prologue  []string      // lines before the command, such as "module load cuda"
	Command   []string      // of every task: the program and its arguments, to which its --part is added
	TimeUp    int           // the command's exit status that asks for a requeue
	Dir       string        // the working folder of every task
	Logs      string        // the folder of the tasks' logs
	Parts     int           // n: task i makes --part i/n
	Tasks     []int         // the i that have something to do, in order
	AtOnce    int           // most tasks that run at the same time; 0: all
	Time      string        // limit of a task, as sbatch takes it
	Lead      time.Duration // how long before the limit a task is told that its time is up
	Partition string
	Account   string
	Gres      string   // generic resources of a task, such as gpu:1
	Threads   int      // processors of a task; 0: the cluster's default
	MemoryMiB int64    // of a task; 0: the cluster's default, also where nobody has told Slurm what its nodes have
	More      []string // other options of sbatch, such as --qos=low
}

// Script returns the batch script. An error names a value that no line for sbatch can hold.
func (j *Job) Script() (string, error) {
	var options []string
	for _, o := range []struct{ name, value string }{
		{"job-name", j.Name},
		{"array", Array(j.Tasks, j.AtOnce)},
		{"ntasks", "1"},
		{"chdir", j.Dir},
		{"output", strings.ReplaceAll(j.Logs, "%", "%%") + "/%A_%a.log"},
		{"open-mode", "append"}, // a task that starts again appends to its log
		{"requeue", ""},
		{"signal", fmt.Sprintf("B:USR1@%d", int(j.Lead.Seconds()))},
		{"partition", j.Partition},
		{"account", j.Account},
		{"gres", j.Gres},
		{"time", j.Time},
		{"cpus-per-task", positive(int64(j.Threads), "")},
		{"mem", positive(j.MemoryMiB, "M")},
	} {
		if o.value == "" && o.name != "requeue" {
			continue
		}
		// sbatch ends a quoted value at the next quote and knows no escape within.
		if strings.ContainsAny(o.value, "\"\\\n\r") {
			return "", fmt.Errorf("slurm: --%s %q: want it without quotes, backslashes and line breaks",
				o.name, o.value)
		}
		if o.value != files.ShellQuoted(o.value) && o.value != "" {
			o.value = `"` + o.value + `"`
		}
		options = append(options, strings.TrimSuffix("--"+o.name+"="+o.value, "="))
	}
	var b strings.Builder
	b.WriteString("#!/bin/bash\n")
	for _, line := range j.About {
		fmt.Fprintf(&b, "# %s\n", strings.Join(strings.Fields(line), " "))
	}
	for _, option := range append(options, j.More...) {
		fmt.Fprintf(&b, "#SBATCH %s\n", option)
	}
	var words []string
	for _, word := range j.Command {
		words = append(words, files.ShellQuoted(word))
	}
	words = append(words, fmt.Sprintf(`"--part=${SLURM_ARRAY_TASK_ID}/%d"`, j.Parts))
	fmt.Fprintf(&b, body, strings.Join(append(slices.Clone(j.Prologue), strings.Join(words, " ")), "\n"), j.TimeUp)
	return b.String(), nil
}

// body is the script after the lines for sbatch, of the command and the status that asks for a requeue.
const body = `
# Slurm sends USR1 to this shell alone, when the time of the task is nearly up, and ends all its processes with TERM and
# then KILL after a cancellation, a preemption or a requeue. The command writes checkpoints after USR1 and TERM.
trap 'kill -USR1 $! 2>/dev/null' USR1
trap : TERM # the command has it too
%s &
command=$!
status=1
while :; do # a signal ends wait, and the command is still there
	wait "$command"
	status=$?
	kill -0 "$command" 2>/dev/null || break
done
wait "$command" 2>/dev/null # where a signal ended wait just as the command ended, only now its status is known
last=$?
[ "$last" -eq 127 ] || status=$last # 127: bash has forgotten it, because the loop had it
if [ "$status" -eq %d ]; then # it resumes in the same task, started again
	scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" && sleep 60
fi
exit "$status"
`

// positive returns a number with its unit, and nothing for 0.
func positive(n int64, unit string) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10) + unit
}
