package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/algos"
	"rollcall/internal/must"
	"rollcall/results/papers"
)

// replayStub stands in for rollcall: it notes its arguments, fails at $BROKEN, waits for a signal at $SLOW, and
// otherwise writes the files of a table or figure, with one run of a table that is complete and one that is not.
const replayStub = `#!/bin/sh
echo "$*" >>"$LOG"
[ "$1" != results ] || { [ "$2" != summarise ] || echo rows >"$4/summary.csv"; exit; }
[ "$2" != "$BROKEN" ] || exit 1
kind=$1 id=$2
while [ "$1" != --out ]; do shift; done
mkdir -p "$2/$id"
for seed in 3 4; do
	run=$2/$id/cell/seed-$seed
	mkdir -p "$run"
	touch "$run/curve.csv" "$run/.lock"
	[ "$seed" = 4 ] || echo '  "status": "complete"' >"$run/run.json"
done
[ "$id" != "$SLOW" ] || { trap 'echo stopped >>"$LOG"; exit 130' TERM; sleep 60 & wait; }
case $kind in
table) echo rows >"$2/$id/summary.csv" ;;
figure) for end in .csv .svg -paper.csv .json; do echo rows >"$2/$id/$id$end"; done ;;
esac`

// replaying is a folder in which results/replay/replay.sh runs with the stub.
type replaying struct {
	t   *testing.T
	dir string
}

func newReplaying(t *testing.T) *replaying {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("left out: no sh")
	}
	r := &replaying{t, t.TempDir()}
	must.OK(t, os.WriteFile(r.path("rollcall"), []byte(replayStub), 0o700))
	return r
}

func (r *replaying) path(name string) string { return filepath.Join(r.dir, name) }

// command returns the script for a group, on the output folder out.
func (r *replaying) command(group, out string, env ...string) *exec.Cmd {
	r.t.Helper()
	if err := os.WriteFile(r.path("log"), nil, 0o600); err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.CommandContext(r.t.Context(), "sh", "../../results/replay/replay.sh", group)
	cmd.Env = append(os.Environ(), "ROLLCALL="+r.path("rollcall"), "OUT="+r.path(out), "KEEP="+r.path("keep"),
		"LOG="+r.path("log"), "SCOREBOARD="+r.path("rollcall")+" results pages", "FLAGS=--device cpu", "BROKEN=",
		"SLOW=")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// log returns the commands that the script has run, without those that read results.
func (r *replaying) log() (commands []string) {
	r.t.Helper()
	for line := range strings.Lines(contents(r.t, r.path("log"))) {
		if !strings.HasPrefix(line, "results ") {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	return commands
}

// run runs a group to its end, and returns the commands.
func (r *replaying) run(group, out string, env ...string) (commands []string, said string, err error) {
	r.t.Helper()
	cmd := r.command(group, out, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	return r.log(), stderr.String(), err
}

// Every command of every group is one of the program's, with flags that it has and values that the papers have. What is
// finished is kept, and of what takes hours the complete runs.
func TestReplay(t *testing.T) {
	for _, group := range []string{"cheap", "fedawe", "cafed", "fedar"} {
		r := newReplaying(t)
		commands, said, err := r.run(group, "out")
		if err != nil || len(commands) < 20 && group == "cheap" {
			t.Fatalf("%s: %v, %d commands\n%s", group, err, len(commands), said)
		}
		if log := contents(t, r.path("log")); !strings.HasSuffix(log, "results pages "+r.path("keep")+"\n") {
			t.Errorf("%s: the pages are not written at the end", group)
		}
		for _, command := range commands {
			words := strings.Fields(command)
			kind, id, reading := words[0], words[1], ""
			if err := docsParse("rollcall " + command); err != nil {
				t.Errorf("%s: %v", command, err)
			}
			flag := func(name string) string {
				if i := slices.Index(words, "--"+name); i > 0 {
					return words[i+1]
				}
				return ""
			}
			if reading = flag("preset"); reading != "" && !slices.Contains(algos.Presets(), reading) {
				t.Errorf("%s: preset %s, want one of %q", command, reading, algos.Presets())
			}
			if flag("draws") != "" {
				reading = flag("draws")
			}
			if flag("reading") != "" {
				reading = strings.ReplaceAll(flag("reading"), ",", "+")
			}
			known, want := papers.FigureNames(), []string{id + "-paper.csv", id + ".json"}
			if byDefault := map[bool]string{true: "paper", false: "code"}[strings.HasPrefix(id, "cafed-f")]; reading ==
				byDefault || reading == "" || reading == "numpy" {
				want = append(want, id+".csv", id+".svg")
			}
			if kind == "table" {
				known, want = papers.TableNames(), []string{"summary.csv"}
			}
			run := []string{"cell/seed-3/curve.csv", "cell/seed-3/run.json"}
			switch {
			case id == "fedar-3" && reading == "": // and what is there of its other reading
				want = slices.Concat(want, run, []string{"T-200/summary.csv", "runs.tar.gz"})
			case slices.Contains([]string{"fedawe-2", "fedawe-8", "fedar-2", "cafed-f1c"}, id):
				want = append(want, run...)
			case id == "fedar-3", id == "fedar-mnist", strings.HasPrefix(id, "cafed-") && id != "cafed-f1d":
				packed, err := exec.CommandContext(t.Context(), "tar", "-tzf", filepath.Join(r.path("keep"), id,
					"runs.tar.gz")).Output()
				if err != nil || !slices.Equal(strings.Fields(string(packed)), run) {
					t.Errorf("%s: %v, %q in the archive, want %q", command, err, packed, run)
				}
			}
			if !slices.Contains(known, id) || flag("device") != "cpu" {
				t.Errorf("%s: want a %s of the papers, with --device cpu", command, kind)
			}
			at := filepath.Join(r.path("keep"), id, reading)
			if id == "cafed-s1" || id == "fedar-mnist" {
				want = append(want, "runs.tar.gz")
			}
			for i, name := range want {
				want[i] = filepath.Join(at, name)
			}
			slices.Sort(want)
			if kept := filesBelow(t, at); !slices.Equal(kept, want) {
				t.Errorf("%s: kept %q, want %q", command, kept, want)
			}
		}
	}
}

// What fails does not keep the rest from being made. What is kept is not made again, with another OUT either; of what
// takes hours the kept runs are taken.
func TestReplayGoesOn(t *testing.T) {
	r := newReplaying(t)
	commands, said, err := r.run("cheap", "out", "BROKEN=cafed-i2")
	if err == nil || !strings.Contains(said, "failed: cafed-i2 cafed-i2 cafed-i2 cafed-i2") ||
		!strings.HasPrefix(commands[len(commands)-1], "figure cafed-i2 ") {
		t.Fatalf("%v\n%s\nwant it to try cafed-i2 again at the end, and to fail", err, said)
	}
	commands, said, err = r.run("cheap", "elsewhere")
	if err != nil || len(commands) != 4 || !strings.HasPrefix(commands[0], "figure cafed-i2 ") {
		t.Fatalf("%v\n%s\n%q, want cafed-i2 alone in its four readings", err, said, commands)
	}
	if _, said, err = r.run("fedar", "out"); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	run := filepath.Join("fedar-2", "cell", "seed-3", "run.json")
	mine := []byte(`"status": "complete", mine`)
	must.OK(t, os.WriteFile(filepath.Join(r.path("keep"), run), mine, 0o600))
	must.OK(t, os.WriteFile(r.path("rollcall"), []byte(strings.Replace(replayStub, "[ \"$seed\" = 4 ] ||",
		"[ \"$seed\" = 4 ] || [ -f \"$run/run.json\" ] ||", 1)), 0o700))
	if _, said, err = r.run("fedar", "other"); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if got := contents(t, filepath.Join(r.path("other"), run)); !strings.Contains(got, "mine") {
		t.Errorf("another folder has %s, want the run that was kept", got)
	}
}

// A signal reaches the program, which ends in good order; what is finished is kept, and the page written.
func TestReplayStopped(t *testing.T) {
	r := newReplaying(t)
	cmd := r.command("fedar", "out", "SLOW=fedar-2")
	must.OK(t, cmd.Start())
	for until := time.Now().Add(20 * time.Second); !strings.Contains(contents(t, r.path("log")), "table fedar-2"); {
		if time.Now().After(until) {
			t.Fatal("fedar-2 has not begun")
		}
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // the stub is at its wait
	must.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	err := cmd.Wait()
	lines := strings.Split(strings.TrimSpace(contents(t, r.path("log"))), "\n")
	keep := r.path("keep")
	want := []string{"stopped", "results summarise fedar-2 " + keep + "/fedar-2", "results pages " + keep}
	if n := len(lines); cmd.ProcessState.ExitCode() != statusInterrupted || n < 3 || !slices.Equal(lines[n-3:], want) {
		t.Fatalf("%v\n%q\nwant status %d after %q", err, lines, statusInterrupted, want)
	}
	if _, err := os.Stat(r.path("keep/fedar-2/cell/seed-3/run.json")); err != nil {
		t.Error(err)
	}
}
