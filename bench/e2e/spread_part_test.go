package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/run/tune"
	"rollcall/results"
)

// partSweep is a sweep of 12 runs in 4 cells, two of which share their settings with no other.
func partSweep(out string, more ...string) []string {
	return append([]string{
		"sweep", "--methods", "mifa,fedawe", "--availability", "sine,stationary", "--seeds", "3,4,10", "--data", "leaf",
		"--clients", "4", "--rounds", "3", "--eval-every", "3", "--device", "cpu", "--out", out,
	}, more...)
}

// The parts of a table, a sweep and a figure, made in folders of their own and merged, are what one command leaves, and
// no run is made twice.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		name string
		line []string
		n    int
		runs int
	}{
		{"sweep", partSweep(""), 5, 12},
		{"more parts than runs", partSweep(""), 14, 12},
		{
			"table",
			strings.Fields("table cafed-1 --rounds 4 --clients 6 --seeds 3,4 --data binary --device cpu --out"), 3, 10,
		},
		{"figure", strings.Fields("figure cafed-i2 --rounds 3 --clients 6 --seeds 3,4 --device cpu --out"), 2, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := func(out string, more ...string) []string {
				args := slices.Clone(c.line)
				args[slices.Index(args, "--out"):][0] = "--out=" + out
				return append(slices.DeleteFunc(args, func(a string) bool { return a == "" }), more...)
			}
			alone, merged := t.TempDir(), filepath.Join(t.TempDir(), "merged")
			pass(t, line(alone)...)
			made, folders := 0, []string{}
			for i := range c.n {
				out := filepath.Join(t.TempDir(), fmt.Sprint("part", i+1))
				o := pass(t, line(out, fmt.Sprintf("--part=%d/%d", i+1, c.n))...)
				found, err := filepath.Glob(filepath.Join(out, "*", "*", "seed-*", results.RunFile))
				if err != nil || len(found) != len(begun(o.stderr)) {
					t.Errorf("part %d: %d runs, %v, %d begun, want the same number",
						i+1, len(found), err, len(begun(o.stderr)))
				}
				if len(found) > 0 {
					folders = append(folders, out)
				}
				made += len(found)
				if !strings.Contains(o.stderr, fmt.Sprintf("besides part %d/%d there are ", i+1, c.n)) {
					t.Errorf("part %d: want the other runs named:\n%s", i+1, o.stderr)
				}
			}
			if made != c.runs || len(seedFolders(t, alone)) != c.runs {
				t.Errorf("%d runs made, %d by one command, want %d", made, len(seedFolders(t, alone)), c.runs)
			}
			pass(t, append([]string{"results", "merge", "--out", merged}, folders...)...)
			o := pass(t, line(merged)...) // draws the figure, and trains nothing
			if len(begun(o.stderr)) > 0 {
				t.Errorf("begun after the merge: %q, want all runs kept", begun(o.stderr))
			}
			sameTree(t, "merged", timelessTree(t, merged), timelessTree(t, alone))
		})
	}
}

// The parts of a tuning, each of whole cells, and its rungs, each in two parts of its runs, leave the files of one
// process.
func TestTuneParts(t *testing.T) {
	more := []string{"--methods", "fedawe,mifa,fedau", "--availability", "sine"}
	alone, merged, shared := t.TempDir(), filepath.Join(t.TempDir(), "merged"), t.TempDir()
	pass(t, tuneOf(alone, tuneGrid, more...)...)
	want := trialsAndRates(t, alone)
	var folders []string
	for _, part := range []string{"1/2", "2/2", "4/4"} {
		out := t.TempDir()
		o := pass(t, tuneOf(out, tuneGrid, append(more, "--part", part)...)...)
		if part != "4/4" {
			folders = append(folders, out)
		} else if !strings.Contains(o.stderr, "tune tune: no cell is in part 4/4\n") || o.stdout != "" {
			t.Errorf("part 4 of 3 cells: %s%s, want a line and nothing else", o.stdout, o.stderr)
		}
	}
	pass(t, append([]string{"results", "merge", "--out", merged}, folders...)...)
	if o := pass(t, tuneOf(merged, tuneGrid, more...)...); len(begun(o.stderr)) > 0 {
		t.Errorf("begun after the merge: %q, want all runs kept", begun(o.stderr))
	}
	if got := trialsAndRates(t, merged); got != want {
		t.Errorf("merged:\n%s\nwant\n%s", got, want)
	}
	sameTree(t, "merged", timelessTree(t, merged), timelessTree(t, alone))

	readIf := func(path ...string) string {
		text, _ := os.ReadFile(filepath.Join(path...)) // there is none yet
		return string(text)
	}
	rung := func(k, part string) outcome {
		return rollcall(t, tuneOf(shared, tuneGrid, append(more, "--rung", k, "--part", part)...)...)
	}
	oneLineError(t, rung("2", "1/2"), statusTimeUp, "--rung 2: the rung before it is not finished, want it first")
	for _, k := range []string{"1", "2", "3"} {
		for _, part := range []string{"1/2", "2/2"} {
			o := rung(k, part)
			missing := strings.Contains(o.stderr, "besides part 1/2 of rung "+k+" there are ")
			trials := readIf(shared, "tune", tune.TrialsFile)
			wrote := strings.Contains(trials, ","+k+","+map[string]string{"1": "2", "2": "4", "3": "8"}[k]+",1,")
			if o.status != statusOK || missing != (part == "1/2") || wrote == missing ||
				strings.Contains(o.stdout, "mifa") != (k == "3" && part == "2/2") {
				t.Errorf("rung %s, part %s: status %d, want 0, the other part named by the first, and trials by the "+
					"second alone:\n%s%s", k, part, o.status, o.stdout, o.stderr)
			}
		}
	}
	if got := trialsAndRates(t, shared); got != want {
		t.Errorf("rung by rung:\n%s\nwant\n%s", got, want)
	}
	sameTree(t, "rung by rung", timelessTree(t, shared), timelessTree(t, alone))
}

// A part takes what is there already, also runs of other parts, and plans its own runs alone.
func TestPartOfAWhole(t *testing.T) {
	out := t.TempDir()
	pass(t, partSweep(out)...)
	o := pass(t, partSweep(out, "--part", "2/3")...)
	if len(begun(o.stderr)) > 0 || strings.Contains(o.stderr, "besides part") || strings.Contains(o.stdout, "running") {
		t.Errorf("want the whole table, and nothing made:\n%s%s", o.stdout, o.stderr)
	}
	plan := pass(t, partSweep(t.TempDir(), "--part", "2/5", "--plan")...).stdout
	if !strings.Contains(plan, " 3 runs: 0 kept, 0 go on, 3 to be made\n") {
		t.Errorf("%s\nwant a plan of the 3 runs of 12 that are in part 2 of 5", plan)
	}
}

// The script of a job has the command line with the flags of its tasks alone, as a shell reads it, and the size that
// the plan or the flags say. Without Slurm it can be looked at, and nothing is written.
func TestSlurmDryRun(t *testing.T) {
	t.Chdir(t.TempDir())
	out := "it's $HOME/out"
	script := pass(t, partSweep(out, "--slurm", "--dry-run", "--partition=gpu", "--time", "1-0", "--gres=gpu:2",
		"--account", "me", "--tasks=5", "--array-limit=2", "--sbatch=--qos=low", "--sbatch=--exclusive", "--threads=1",
		"--rates=mifa=0.1/2,fedawe=0.3", "--no-wait", "--prologue", "module load cuda",
		"--prologue=ulimit -n 4096")...).stdout
	for _, want := range []string{
		"\n#SBATCH --job-name=rollcall-sweep\n", "\n#SBATCH --array=1-5%2\n", "\n#SBATCH --partition=gpu\n",
		"\n#SBATCH --account=me\n", "\n#SBATCH --gres=gpu:2\n", "\n#SBATCH --time=1-0\n",
		"\n#SBATCH --cpus-per-task=1\n", "\n#SBATCH --qos=low\n#SBATCH --exclusive\n",
		"\nmodule load cuda\nulimit -n 4096\n/",
		"\n# 12 runs left, the longest of about ", "\n#SBATCH --signal=B:USR1@60\n",
	} {
		if !strings.Contains(script, want) {
			t.Errorf("%s\nwant %q in it", script, want)
		}
	}
	line := regexp.MustCompile(`(?m)^/.* &$`).FindString(script)
	words, err := exec.Command("sh", "-c",
		"SLURM_ARRAY_TASK_ID=4; printf '%s\\n' "+strings.TrimSuffix(line, " &")).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	got := strings.Split(strings.TrimSpace(string(words)), "\n")[1:]
	want := strings.Split("sweep|--availability=sine,stationary|--clients=4|--data=leaf|--device=cpu|--eval-every=3|"+
		"--methods=mifa,fedawe|--out="+out+"|--rates=mifa=0.1/2,fedawe=0.3|--rounds=3|--seeds=3,4,10|--threads=1|"+
		"--no-wait|--part=4/5", "|")
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if left := filesBelow(t, "."); len(left) > 0 {
		t.Errorf("left %q, want nothing", left)
	}
	t.Setenv("PATH", t.TempDir())
	oneLineError(t, rollcall(t, partSweep(out, "--slurm")...), statusFailure, "slurm: no program sbatch here")
	oneLineError(t, rollcall(t, partSweep(out, "--collect")...), statusFailure, "no job was submitted, want --slurm")
}
