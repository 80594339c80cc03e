package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// The line of command.txt repeats the sweep of a file in any folder: nets and paths with commas, in lists and cells.
func TestCommandFileRepeats(t *testing.T) {
	dir := t.TempDir()
	must.OK(t, os.MkdirAll(filepath.Join(dir, "exp"), 0o777))
	for name, text := range map[string]string{
		"a,b.csv":  "client,index\n0,0\n1,1\n0,2\n1,3\n",
		"c.csv":    "client,index\n0,3\n1,2\n0,1\n1,0\n",
		"log.csv":  "client,start,end\n0,0,9\n1,1,9\n",
		"own.txt":  "conv 4 5x5 pool\nlinear 8\n",
		"own.yaml": ownExperiment,
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, "exp", name), []byte(text), 0o666))
	}
	do := func(args ...string) string {
		t.Helper()
		var stdout, stderr strings.Builder
		if status := Run(t.Context(), args, &stdout, &stderr); status != StatusOK {
			t.Fatalf("%q: status %d, %s", args, status, &stderr)
		}
		return stdout.String()
	}
	folders := func(out string) string {
		var names []string
		for _, path := range must.Get(filepath.Glob(filepath.Join(out, "own", "*", "seed-3", "run.json")))(t) {
			names = append(names, filepath.Base(filepath.Dir(filepath.Dir(path))))
		}
		return strings.Join(names, "\n")
	}
	t.Chdir(dir)
	table := do("sweep", "exp/own.yaml", "--device", "cpu")
	for _, split := range []string{"exp/a,b.csv", "exp/c.csv"} {
		if !strings.Contains(table, "files;split-file="+split) {
			t.Errorf("%s\nwant a line for the split %s", table, split)
		}
	}
	line := string(must.Get(os.ReadFile(filepath.Join("out", "own", results.CommandFile)))(t))
	first := folders("out")
	t.Chdir(t.TempDir())
	do(append(shellWords(line)[1:], "--out", "again")...)
	if again := folders("again"); again != first || strings.Count(first, "\n") != 4 {
		t.Errorf("%s trains\n%s\nwant 5 cells:\n%s", line, again, first)
	}
}

const ownExperiment = `
name: own
methods: fedavg-active
data: synthetic
clients: 2
rounds: 1
p: 1
batch: 2
local-steps: 1
train-size: 8
test-size: 4
cells:
  - name: files
    split: ["file:a,b.csv", file:c.csv]
    nets: [own.txt, "conv 2 5x5 pool, linear 4"]
  - name: log
    nets: lenet5
    availability: trace
    trace: log.csv
    round-seconds: 1
`

// shellWords splits a line as a shell does, of which only words and single quotes are known.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(strings.TrimSpace(line), "'") {
		fields := strings.Split(part, " ")
		if i%2 == 1 {
			fields = []string{part}
		}
		if i > 0 {
			words[len(words)-1] += fields[0]
			fields = fields[1:]
		}
		words = append(words, fields...)
	}
	return words
}
