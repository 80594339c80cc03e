package slurm

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/internal/must"
)

// job is a job with everything that a job can have.
func job() *Job {
	return &Job{
		Name: "rollcall-my sweep", About: []string{"Table 2:\naccuracy", "8 runs left"},
		Command: []string{"/bin/roll call", "sweep", "--name=it's", "--data=leaf"}, TimeUp: 75,
		Dir: "/home/me/100% mine", Logs: "/home/me/100% mine/out/slurm", Parts: 20, AtOnce: 4, Time: "1-0",
		Tasks: []int{1, 2, 3, 4, 7, 9, 10}, Prologue: []string{"module load cuda", "ulimit -n 4096"},
		Lead: 60 * time.Second, Partition: "gpu", Account: "a", Gres: "gpu:h100:1", Threads: 8, MemoryMiB: 1500,
		More: []string{"--qos=low"},
	}
}

func TestScript(t *testing.T) {
	script := must.Get(job().Script())(t)
	head, body, _ := strings.Cut(script, "\n\n")
	want := `#!/bin/bash
# Table 2: accuracy
# 8 runs left
#SBATCH --job-name="rollcall-my sweep"
#SBATCH --array=1-4,7,9-10%4
#SBATCH --ntasks=1
#SBATCH --chdir="/home/me/100% mine"
#SBATCH --output="/home/me/100%% mine/out/slurm/%A_%a.log"
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@60
#SBATCH --partition=gpu
#SBATCH --account=a
#SBATCH --gres=gpu:h100:1
#SBATCH --time=1-0
#SBATCH --cpus-per-task=8
#SBATCH --mem=1500M
#SBATCH --qos=low`
	if head != want {
		t.Errorf("%s\nwant\n%s", head, want)
	}
	line := "module load cuda\nulimit -n 4096\n" +
		`'/bin/roll call' sweep '--name=it'\''s' --data=leaf "--part=${SLURM_ARRAY_TASK_ID}/20" &` + "\n"
	if !strings.Contains(body, line) {
		t.Errorf("%s\nwant the command %s", body, line)
	}
	least := &Job{Name: "a", Command: []string{"true"}, Dir: "/", Logs: "/logs", Tasks: []int{1}, AtOnce: 3}
	script, err := least.Script()
	if err != nil || strings.Contains(script, "--partition") || strings.Contains(script, "--mem") ||
		!strings.Contains(script, "#SBATCH --array=1\n") {
		t.Errorf("%v\n%s\nwant what was not given left to the cluster", err, script)
	}
	for _, change := range []func(*Job){
		func(j *Job) { j.Dir = `/a"b` },
		func(j *Job) { j.Logs = "/a\nb" },
		func(j *Job) { j.Name = `a\b` },
		func(j *Job) { j.Gres = "gpu:1\n#SBATCH --wrap=x" },
	} {
		j := job()
		change(j)
		if script, err := j.Script(); err == nil || script != "" {
			t.Errorf("%+v: %v\n%s\nwant an error", j, err, script)
		}
	}
}

// scriptOf returns the file of a job's script whose command is a line of shell, and its log: what the command and
// scontrol, which stands in for Slurm's, have written there.
func scriptOf(t *testing.T, command string) (cmd *exec.Cmd, log string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	j := &Job{Command: []string{"bash", "-c", command}, TimeUp: 75, Tasks: []int{3}, Parts: 4}
	script := must.Get(j.Script())(t)
	for name, text := range map[string]string{
		"job.sh": script, "sleep": "#!/bin/sh\necho slept $1 >>\"$LOG\"\n",
		"scontrol": "#!/bin/sh\necho scontrol \"$@\" >>\"$LOG\"\nexit $REQUEUE\n",
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, "bash", filepath.Join(dir, "job.sh"))
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "LOG="+log, "REQUEUE=0",
		"SLURM_ARRAY_JOB_ID=12", "SLURM_ARRAY_TASK_ID=3")
	return cmd, log
}

// read returns a file, empty if there is none.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// The script ends as the command does, and asks for a requeue of its own task alone if the command's time was up.
func TestScriptStatus(t *testing.T) {
	for _, c := range []struct {
		command, requeue string
		status           int
		log              string
	}{
		{"exit 0", "0", 0, ""},
		{"exit 1", "0", 1, ""},
		{"exit 130", "0", 130, ""},
		{"exit 75", "0", 75, "scontrol requeue 12_3\nslept 60\n"},
		{"exit 75", "1", 75, "scontrol requeue 12_3\n"},
		{"kill -9 $$", "0", 137, ""},
	} {
		cmd, log := scriptOf(t, c.command)
		cmd.Env = append(cmd.Env, "REQUEUE="+c.requeue)
		_ = cmd.Run() // the status is looked at
		if status := cmd.ProcessState.ExitCode(); status != c.status || read(t, log) != c.log {
			t.Errorf("%s: status %d, %q, want %d, %q", c.command, status, read(t, log), c.status, c.log)
		}
	}
}

// USR1 reaches the command, and neither it nor TERM, which Slurm sends to the command too, ends the script before it.
func TestScriptSignals(t *testing.T) {
	for _, c := range []struct {
		sent   syscall.Signal
		status int
		log    string
	}{
		{syscall.SIGUSR1, 75, "begun\ntime is up\nended\nscontrol requeue 12_3\nslept 60\n"},
		{syscall.SIGTERM, 130, "begun\nended\n"},
	} {
		// The command waits for a file after the signal, in steps of the real sleep.
		command := `status=130; trap 'echo time is up >>"$LOG"; status=75' USR1; echo begun >>"$LOG"
			for i in $(seq 600); do /bin/sleep 0.1; [ -e "$LOG.end" ] && break; done; echo ended >>"$LOG"; exit $status`
		cmd, log := scriptOf(t, command)
		must.OK(t, cmd.Start())
		until(t, func() bool { return read(t, log) == "begun\n" })
		must.OK(t, cmd.Process.Signal(c.sent))
		if c.sent == syscall.SIGUSR1 {
			until(t, func() bool { return strings.Contains(read(t, log), "time is up\n") })
		} else {
			time.Sleep(300 * time.Millisecond) // in which a script that does not wait would end
		}
		must.OK(t, os.WriteFile(log+".end", nil, 0o600))
		_ = cmd.Wait() // the status is looked at
		if status := cmd.ProcessState.ExitCode(); status != c.status || read(t, log) != c.log {
			t.Errorf("%v: status %d, %q, want %d, %q", c.sent, status, read(t, log), c.status, c.log)
		}
	}
}

// A command that ends the moment it gets USR1 has its own status, and not that of a wait that was broken off.
func TestScriptEndsAtOnce(t *testing.T) {
	for range 20 {
		cmd, log := scriptOf(t, `trap 'exit 75' USR1; echo begun >>"$LOG"; while :; do /bin/sleep 0.01; done`)
		must.OK(t, cmd.Start())
		until(t, func() bool { return read(t, log) == "begun\n" })
		must.OK(t, cmd.Process.Signal(syscall.SIGUSR1))
		_ = cmd.Wait() // the status is looked at
		status := cmd.ProcessState.ExitCode()
		if status != 75 || !strings.Contains(read(t, log), "scontrol requeue 12_3\n") {
			t.Fatalf("status %d, %q, want 75 and a requeue", status, read(t, log))
		}
	}
}

// until waits for something to become true.
func until(t *testing.T, what func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !what(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not so after a minute")
		}
	}
}
