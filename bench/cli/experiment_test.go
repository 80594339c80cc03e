package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
)

// Every wrong file is refused in one line, which has the line of the file where there is one.
func TestWrongExperiments(t *testing.T) {
	t.Chdir(t.TempDir())
	must.OK(t, os.Mkdir("dir.yaml", 0o777))
	const methods = "methods: mifa\n"
	bomb := "a: &a [1,2,3,4,5,6,7,8,9,0]\n"
	for _, name := range []string{"b", "c", "d", "e"} {
		before := "*" + string(name[0]-1)
		bomb += name + ": &" + name + " [" + strings.Repeat(before+",", 9) + before + "]\n"
	}
	for _, c := range []struct{ text, want string }{
		{"", "x.yaml: empty, want keys such as methods: [fedavg-active, fedawe]"},
		{"# nothing\n", "x.yaml: empty, want keys such as methods: [fedavg-active, fedawe]"},
		{"null\n", "x.yaml: empty, want keys such as methods: [fedavg-active, fedawe]"},
		{"mifa\n", `x.yaml:1: "mifa", want keys with values, such as rounds: 20`},
		{"- mifa\n", "x.yaml:1: a list, want keys with values, such as rounds: 20"},
		{"methods: [mifa\n", ""},
		{methods + "gama: 0.1\n", ""},
		{methods + "rounds: 5\nrounds: 6\n", "x.yaml:3: rounds: twice, first in line 2"},
		{methods + "method: fedau\n", "x.yaml:2: method: twice, first in line 1"},
		{methods + "rounds: x\n", ""},
		{methods + "rounds: 2.5\n", ""},
		{methods + "\nrounds: 0\n", ""},
		{methods + "rounds:\n", "x.yaml:2: rounds: nothing, want a value or a list of values"},
		{methods + "rounds: []\n", "x.yaml:2: rounds: an empty list, want a value or a list of values"},
		{methods + "rounds: [[1, 2]]\n", "x.yaml:2: rounds: a list, want a value or a list of values"},
		{methods + "rounds: {from: 1}\n", "x.yaml:2: rounds: keys with values, want a value or a list of values"},
		{methods + "rounds: !!int 5\n", "x.yaml:2: rounds: a tag !!int, want a value or a list of values"},
		{methods + "alpha: [0.1, 0.1]\n", ""},
		{methods + "gamma: [0.1, 0.3]\n", ""},
		{"rounds: 5\n", ""},
		{"methods: [mifa, fedex]\n", ""},
		{"methods: ./missing.py\n", ""},
		{methods + "like: [fedawe, fedar]\n", ""},
		{methods + "device: cpu\n", "x.yaml:2: device: says where or how to train, want it on the command line: --device"},
		{methods + "help: true\n", "x.yaml:2: help: says where or how to train, want it on the command line: --help"},
		{methods + "\trounds: 5\n", "x.yaml:2: a tab before the text, want spaces, as YAML has it"},
		{methods + "---\nrounds: 5\n", ""},
		{methods + "a\xffb: 5\n", "x.yaml:2: no text in UTF-8, want YAML"},
		{methods + "rounds: 5\x00\n", "x.yaml:2: no text in UTF-8, want YAML"},
		{methods + bomb, ""},
		{methods + "rounds: &r [*r]\n", ""},
		{methods + "<<: {rounds: 5}\n",
			"x.yaml:2: <<: a merge key, want the settings written out: cells have those at the top too"},
		{methods + "trace: |\n  a\n  b\n", ""},
		{methods + "name: run\n", ""},
		{methods + "\"--rounds\": 5\n", ""},
		{methods + "1: 5\n", ""},
		{methods + "[a, b]: 5\n", ""},
		{methods + "cells:\n", "x.yaml:2: cells: nothing, want a list of cells, each with a name"},
		{methods + "cells: {a: 5}\n", "x.yaml:2: cells: keys with values, want a list of cells, each with a name"},
		{methods + "cells: [a]\n", ""},
		{methods + "cells:\n  - rounds: 5\n", ""},
		{methods + "cells:\n  - name: a\n    rounds: 5\n  - name: a\n", "x.yaml:5: cell a: twice, first in line 3"},
		{methods + "cells:\n  - name: a\n    rounds: x\n", ""},
		{methods + "cells:\n  - name: a\n    rounds: 5\n    rounds: 6\n", ""},
		{methods + "cells:\n  - name: a\n    gama: 5\n", ""},
		{methods + "cells:\n  - name: a\n    gamma: 5\n", ""},
		{methods + "cells:\n  - name: a\n    seeds: 5\n", "x.yaml:4: seeds: not in a cell, want it at the top"},
		{methods + "cells:\n  - name: a\n  - name: b\n", ""},
		{methods + "cells:\n  - name: gamma\n    rounds: 5\n", ""},
		{methods + "cells:\n  - name: a\n    trace: a;b\n", `x.yaml:4: trace: "a;b": a semicolon, want none in a cell`},
		{methods + "cells:\n  - name: a\n    methods: ./missing.py\n", ""},
		{methods + "alpha: [" + numbers(200) + "]\ngamma: [" + numbers(60) + "]\n", ""},
	} {
		must.OK(t, os.WriteFile("x.yaml", []byte(c.text), 0o666))
		checkRefused(t, c.text, []string{"sweep", "x.yaml"}, c.want)
	}
	checkRefused(t, "", []string{"sweep", "dir.yaml"},
		"sweep: dir.yaml: no file, want one with an experiment (rollcall init writes one)")
	checkRefused(t, "", []string{"sweep", "missing.yaml"}, "sweep: stat missing.yaml: no such file or directory")
	checkRefused(t, "", []string{"sweep", "x.yaml", "dir.yaml"}, "sweep: dir.yaml after x.yaml, want one file")
	checkRefused(t, "", []string{"sweep", "x.txt"},
		`sweep: unexpected argument "x.txt", want a file of an experiment whose name ends in .yaml`)
}

// numbers returns as many numbers above 0 and at most 1, with commas.
func numbers(n int) string {
	var list []string
	for i := range n {
		list = append(list, "0."+strings.Repeat("0", 3-len(strconv.Itoa(i+1)))+strconv.Itoa(i+1))
	}
	return strings.Join(list, ", ")
}

func checkRefused(t *testing.T, text string, args []string, want string) {
	t.Helper()
	var stderr strings.Builder
	status := Run(t.Context(), args, io.Discard, &stderr)
	if got := stderr.String(); status != StatusUsage || got != "rollcall: "+want+"\n" {
		t.Errorf("%q:\n%.300q status %d\n%s\nwant\n%s", args, text, status, got, want)
	}
}

// What rollcall init writes is trained as it is, within the time that it says.
func TestInitIsTrained(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, stderr strings.Builder
	if status := Run(t.Context(), []string{"init"}, &out, &stderr); status != StatusOK {
		t.Fatalf("init: status %d, %s", status, &stderr)
	}
	checkRun := func(args ...string) string {
		t.Helper()
		var out, stderr strings.Builder
		if status := Run(t.Context(), args, &out, &stderr); status != StatusOK {
			t.Fatalf("%q: status %d, %s", args, status, &stderr)
		}
		return out.String()
	}
	args := []string{"sweep", "experiment.yaml", "--device", "cpu"}
	if testing.Short() {
		args = append(args, "--rounds", "2", "--seeds", "3")
	}
	table := checkRun(args...)
	for _, want := range []string{"Sweep experiment", "mifa gamma=0.1 ", "fedawe gamma=0.3 "} {
		if !strings.Contains(table, want) {
			t.Errorf("%s\nwant %q in it", table, want)
		}
	}
	// The example in the comments works too, once it is none.
	text := string(must.Get(os.ReadFile("experiment.yaml"))(t))
	kept := string(must.Get(os.ReadFile(filepath.Join("out", "experiment", experimentFile)))(t))
	if text != kept {
		t.Errorf("the file beside the summary is\n%s\nwant the one that was read", kept)
	}
	_, cells, _ := strings.Cut(text, "#\n# cells:")
	text += "\ncells:" + strings.ReplaceAll(cells, "\n#", "\n")
	must.OK(t, os.WriteFile("cells.yaml", []byte(text), 0o666))
	table = checkRun("sweep", "cells.yaml", "--rounds", "2", "--seeds", "3", "--name", "cells", "--device", "cpu")
	for _, want := range []string{"mifa few steps;gamma=0.1", "mifa fading;gamma=0.5"} {
		if !strings.Contains(table, want) {
			t.Errorf("%s\nwant %q in it", table, want)
		}
	}
	if status := Run(t.Context(), []string{"init"}, io.Discard, &stderr); status != StatusFailure ||
		!strings.Contains(stderr.String(), "experiment.yaml: the file exists") {
		t.Errorf("init again: status %d, %s, want a failure", status, &stderr)
	}
}

// A file becomes the command line that does the same, with paths below the folder of the file; flags of the command
// line come over it, in its cells too.
func TestExperimentAsFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	must.OK(t, os.Mkdir("dir", 0o777))
	text := `method: [mifa, ./own.py, 'a,b.py', /abs.py]
alpha: [0.1, 1e-1]
seeds: 3-5
leaf-iid: true
trace: [x.csv, 'y,z.csv']
rates: [mifa=0.1, r.csv]
data: npz:own.npz
base: &b [5, 6]
cells:
  - name: one
    gamma: *b
    chain: c.csv
    net: [lenet5, 'conv 4 3x3, linear 2']
`
	must.OK(t, os.WriteFile("dir/x.yaml", []byte(text), 0o666))
	for _, c := range []struct{ args, want []string }{
		{nil, []string{
			"--methods=mifa", "--methods=dir/own.py", `--methods="dir/a,b.py"`, "--methods=/abs.py",
			"--alpha=0.1", "--alpha=1e-1", "--seeds=3-5", "--leaf-iid=true", "--trace=dir/x.csv",
			"--trace=dir/y,z.csv", "--rates=mifa=0.1", "--rates=dir/r.csv", "--data=npz:dir/own.npz", "--base=5",
			"--base=6",
			`--cell=one: gamma=5; gamma=6; chain=dir/c.csv; nets=lenet5; nets="conv 4 3x3, linear 2"`,
		}},
		{
			[]string{"--method", "fedau", "--gamma=1", "--out", "o.yaml", "--trace", "t", "--rates", "r", "--nets=n"},
			[]string{
				"--alpha=0.1", "--alpha=1e-1", "--seeds=3-5", "--leaf-iid=true", "--data=npz:dir/own.npz", "--base=5",
				"--base=6", "--cell=one: chain=dir/c.csv",
			},
		},
	} {
		args := append([]string{"sweep", "dir/x.yaml"}, c.args...)
		got, x, err := expandExperiment(Root(), args)
		if want := slices.Concat([]string{"sweep"}, c.want, c.args); err != nil || x == nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v\n%q, want\n%q", args, err, got, want)
		}
	}
}

// Whatever a file has, it is read to a command line or refused in one line, within a moment.
func FuzzExperiment(f *testing.F) {
	f.Add(firstExperiment)
	f.Add("methods: &a [mifa]\ncells:\n  - name: b\n    methods: *a\n    gamma: [0.1, 0.2]\n")
	f.Add("a: {b: [c, !!int 5]}\n--- |\n x\n")
	cmd, _, err := Root().Find([]string{"sweep"})
	must.OK(f, err)
	fs := cmd.Flags()
	f.Fuzz(func(t *testing.T, text string) {
		x := &experiment{path: "x.yaml", text: []byte(text), lines: map[string]int{}}
		err := x.parse(fs)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") || !strings.HasPrefix(err.Error(), "x.yaml") {
				t.Errorf("%q: %q, want one line with the file", text, err)
			}
			return
		}
		for _, arg := range x.flags(fs, nil) {
			if !strings.HasPrefix(arg, "--") || strings.ContainsAny(arg, "\n\r\x00") {
				t.Errorf("%q: argument %q, want a flag in one line", text, arg)
			}
		}
		if files.OneLine(text) == "" {
			t.Errorf("%q: no error, want one: there is nothing in it", text)
		}
	})
}
