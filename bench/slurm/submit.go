package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"rollcall/internal/files"
)

// The files of a folder of jobs.
const (
	scriptFile = "job.sh"
	jobsFile   = "jobs" // a line for each submitted job: its number, and of how many parts its tasks make some
)

// Submission is a job that was submitted.
type Submission struct {
	ID    string
	Parts int // 0: not noted, as older versions did not
}

// jobNumber is what sbatch --parsable prints before the name of another cluster.
var jobNumber = regexp.MustCompile(`^[0-9]+$`)

// Submit writes the script of a job into a folder, which it makes, submits it, and returns its number. after is the
// number of a job whose tasks must have succeeded before; empty: none. It notes the number and the parts in the folder,
// for [Submitted].
func Submit(ctx context.Context, folder, script string, parts int, after string) (id string, err error) {
	if _, err := exec.LookPath("sbatch"); err != nil {
		return "", fmt.Errorf("slurm: no program sbatch here: want a machine that submits jobs, or --dry-run")
	}
	if err := files.CheckPlace(filepath.Join(folder, jobsFile)); err != nil { // not after the job is submitted
		return "", fmt.Errorf("slurm: %s: %w", filepath.Join(folder, jobsFile), err)
	}
	path := filepath.Join(folder, scriptFile)
	if err := files.Replace(path, func(w io.Writer) error {
		_, err := io.WriteString(w, script)
		return err
	}); err != nil {
		return "", fmt.Errorf("slurm: %s: %w", path, err)
	}
	args := []string{"--parsable"}
	if after != "" { // a job that can never begin would be waited for in vain
		args = append(args, "--dependency=afterok:"+after, "--kill-on-invalid-dep=yes")
	}
	out, err := command(ctx, "sbatch", append(args, path)...)
	if err != nil {
		return "", err
	}
	id, _, _ = strings.Cut(strings.TrimSpace(out), ";")
	if !jobNumber.MatchString(id) {
		return "", fmt.Errorf("slurm: sbatch printed %q, want the number of a job", out)
	}
	jobs, err := os.OpenFile(filepath.Join(folder, jobsFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return id, fmt.Errorf("slurm: job %s is submitted, and not noted: %w", id, err)
	}
	_, err = fmt.Fprintln(jobs, id, parts)
	if err = errors.Join(err, jobs.Close()); err != nil {
		return id, fmt.Errorf("slurm: job %s is submitted, and not noted: %w", id, err)
	}
	return id, nil
}

// Submitted returns the jobs that were submitted with a folder, the last one last, and after them those of the folders
// in it; none if there is no folder.
func Submitted(folder string) (jobs []Submission, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	if jobs, err = noted(filepath.Join(folder, jobsFile)); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			below, err := noted(filepath.Join(folder, e.Name(), jobsFile))
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, below...)
		}
	}
	return jobs, nil
}

// noted reads a file of jobs; none if there is no file.
func noted(path string) (jobs []Submission, err error) {
	text, err := files.ReadText(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		id, noted, two := strings.Cut(line, " ")
		parts, err := strconv.Atoi(noted)
		if !jobNumber.MatchString(id) || two && (err != nil || parts < 1) {
			return nil, fmt.Errorf("slurm: %s: %q, want the number of a job and of its parts", path, line)
		}
		jobs = append(jobs, Submission{id, parts})
	}
	return jobs, nil
}

// Tally is how many tasks of some jobs, but for ended ones, are in which state: "3 RUNNING, 5 PENDING (Priority)".
type Tally struct {
	Tasks int
	Text  string
}

// Queue asks Slurm for the tasks of jobs that have not ended.
func Queue(ctx context.Context, ids []string) (t Tally, err error) {
	// squeue fails for jobs that it has forgotten, so it is asked for all of the user's.
	out, err := command(ctx, "squeue", "--noheader", "--array", fmt.Sprint("--user=", os.Getuid()),
		"--format=%F %T %r")
	if err != nil {
		return t, err
	}
	counts := map[string]int{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 2 || !slices.Contains(ids, words[0]) || ended[words[1]] {
			continue
		}
		state := words[1]
		if reason := strings.Join(words[2:], " "); state == "PENDING" && reason != "" && reason != "None" {
			state += " (" + reason + ")"
		}
		counts[state]++
		t.Tasks++
	}
	var parts []string
	for state, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, state))
	}
	slices.Sort(parts)
	t.Text = strings.Join(parts, ", ")
	return t, nil
}

// ended are the states of tasks that squeue still lists for some minutes after their end.
var ended = map[string]bool{
	"BOOT_FAIL": true, "CANCELLED": true, "COMPLETED": true, "DEADLINE": true, "FAILED": true, "NODE_FAIL": true,
	"OUT_OF_MEMORY": true, "PREEMPTED": true, "REVOKED": true, "TIMEOUT": true,
}

// Patience is how long Wait goes on while Slurm does not answer: its controller may be restarted.
const Patience = 10 * time.Minute

// Wait returns once no task of the jobs is left. It calls say with every new tally, and asks Slurm every so often. A
// task that is requeued may be in no list for a moment, so Slurm has to say twice that none is left.
func Wait(ctx context.Context, ids []string, every time.Duration, say func(Tally)) error {
	last, answered, none := "", time.Now(), 0
	for {
		t, err := Queue(ctx, ids)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && time.Since(answered) >= Patience:
			return err
		case err == nil && t.Tasks == 0:
			if none++; none == 2 {
				return nil
			}
		case err == nil:
			answered, none = time.Now(), 0
			if t.Text != last {
				last = t.Text
				say(t)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// command runs a program of Slurm and returns what it prints. The error has the last line of its complaint.
func command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("slurm: %s: %w: %s", name, err, lines[len(lines)-1])
	}
	return stdout.String(), nil
}
