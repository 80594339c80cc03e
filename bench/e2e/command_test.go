package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// commandOf is the command of a cell as results show prints it.
var commandOf = regexp.MustCompile(`\ncommand\n  (.*)\n`)

// callsOf lets a shell read a line, and returns the arguments of each call of the program in it.
func callsOf(t *testing.T, line string) (calls [][]string) {
	t.Helper()
	script := `rollcall() { printf '%s\0' "$@"; printf '\n'; }; ` + line
	out := must.Get(exec.CommandContext(t.Context(), "sh", "-c", script).Output())(t)
	for call := range strings.Lines(string(out)) {
		calls = append(calls, strings.Split(strings.TrimSuffix(call, "\x00\n"), "\x00"))
	}
	return calls
}

// The command that results show and a report have for a cell trains the same bytes again, whatever was given to the
// command that trained the cell first.
func TestCellCommand(t *testing.T) {
	tiny := []string{"--rounds", "3", "--clients", "6", "--eval-every", "1", "--device", "cpu", "--threads", "1"}
	trace := filepath.Join(t.TempDir(), "it's a trace.csv")
	must.OK(t, os.WriteFile(trace, []byte("client,start,end\n0,0,9\n1,0,9\n2,1,9\n"), 0o666))
	for name, args := range map[string][]string{
		"sweep": {
			"sweep", "--methods", "fedau,f3ast,ca-fed", "--data", "leaf", "--availability", "markov", "--seeds", "3,4",
			"--rates", "fedau=0.07/1.5", "--f3ast-beta", "0.01",
		},
		"two papers": {"sweep", "--methods", "fedar,fedawe", "--data", "binary", "--like", "fedar", "--seeds", "5"},
		"table": {
			"table", "cafed-1", "--data", "binary", "--methods", "ca-fed,f3ast", "--preset", "paper", "--seeds", "3,4",
		},
		"switches": {
			"run", "--method", "f3ast", "--data", "leaf", "--f3ast-mean", "--eval-train=false", "--seed", "9",
		},
		"trace": {
			"run", "--method", "mifa", "--data", "leaf", "--availability", "trace", "--trace", trace,
			"--seed-split", "7",
		},
		"alpha": {
			"run", "--data", "synthetic", "--net", "lenet5", "--train-size", "200", "--test-size", "50",
			"--alpha", "0.3", "--draws", "numpy", "--local-steps", "1",
		},
		"net": {
			"run", "--data", "synthetic", "--net", "its: conv 3 5x5 stride 2, average", "--train-size", "200",
			"--test-size", "50", "--local-steps", "1",
		},
		"precision": {"run", "--data", "leaf", "--method", "fedvarp", "--precision", "bf16"},
	} {
		t.Run(name, func(t *testing.T) {
			out, again := t.TempDir(), t.TempDir()
			pass(t, slices.Concat(args, tiny, []string{"--out", out})...)
			cells := must.Get(filepath.Glob(filepath.Join(out, "*", "*_*")))(t)
			if len(cells) == 0 {
				t.Fatal("no cell")
			}
			for _, cell := range cells {
				shown := pass(t, "results", "show", cell).stdout
				found := commandOf.FindStringSubmatch(shown)
				if found == nil {
					t.Fatalf("no command in\n%s", shown)
				}
				for _, call := range callsOf(t, found[1]) {
					pass(t, append(call, "--threads", "1", "--out", again)...)
				}
				for _, seed := range must.Get(filepath.Glob(filepath.Join(cell, "seed-*")))(t) {
					first := filepath.Join(seed, "curve.csv")
					second := filepath.Join(again, strings.TrimPrefix(first, out))
					if a, b := testColumns(t, first), testColumns(t, second); a != b {
						t.Errorf("%s has\n%s\nand the command trains\n%s", first, a, b)
					}
				}
			}
		})
	}
}

// The line in command.txt trains the bytes of a sweep of a file again, wherever that file is then; and a line that was
// there already is not added.
func TestFolderCommand(t *testing.T) {
	dir, out, again := t.TempDir(), t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "it's mine.yaml")
	must.OK(t, os.WriteFile(filepath.Join(dir, "a,b.csv"), []byte("client,start,end\n0,0,9\n1,0,9\n2,1,9\n"), 0o666))
	must.OK(t, os.WriteFile(file, []byte(`name: mine
methods: [mifa, fedau]
data: leaf
clients: 6
rounds: 3
seeds: 3-4
cells:
  - name: two of them
    availability: [sine, stationary]
    gamma: [0.1, 0.3]
  - name: own
    availability: trace
    trace: ['a,b.csv']
    eval-every: 1
    trace-end: repeat
`), 0o666))
	tiny := []string{"--device", "cpu", "--threads", "1"}
	first := slices.Concat([]string{"sweep", file, "--batch=4"}, tiny, []string{"--out", out})
	pass(t, first...)
	pass(t, first...)
	line := contents(t, filepath.Join(out, "mine", "command.txt"))
	must.OK(t, os.Remove(file))
	calls := callsOf(t, line)
	if len(calls) != 1 || strings.Count(line, "\n") != 1 {
		t.Fatalf("command.txt has\n%s\nwant one line", line)
	}
	pass(t, slices.Concat(calls[0], tiny, []string{"--out", again})...)
	curves := must.Get(filepath.Glob(filepath.Join(out, "mine", "*", "seed-*", "curve.csv")))(t)
	if want := 2 * 2 * 4; len(curves) != want { // methods, seeds; gamma 0.1 and 0.3, stationary, and the trace
		t.Errorf("%d runs, want %d", len(curves), want)
	}
	for _, curve := range curves {
		second := filepath.Join(again, strings.TrimPrefix(curve, out))
		if a, b := testColumns(t, curve), testColumns(t, second); a != b {
			t.Errorf("%s has\n%s\nand the command trains\n%s", curve, a, b)
		}
	}
	if kept := contents(t, filepath.Join(out, "mine", "experiment.yaml")); !strings.HasPrefix(kept, "name: mine\n") {
		t.Errorf("experiment.yaml is\n%s\nwant the file of the sweep", kept)
	}
}

// testColumns returns what a run measured on the test set, and all that says what it is. The other rows of the training
// set depend on whether a sweep asked for them.
func testColumns(t *testing.T, path string) (text string) {
	t.Helper()
	_, rows := table(t, contents(t, path))
	for _, r := range rows {
		for _, column := range []string{
			"method", "preset", "net", "seed", "round", "active", "lr", "test_loss", "test_acc",
		} {
			text += r[column] + " "
		}
		text += "\n"
	}
	return text
}
