package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
)

// Every wrong file is refused in one line, which has the line of the file where there is one.
func TestWrongExperiments(t *testing.T) {
	t.Chdir(t.TempDir())
	must.OK(t, os.Mkdir("dir.yaml", 0o777))
	known := strings.Join(algos.Names(), ", ")
	const methods = "methods: mifa\n"
	const bomb = "a: &a [1,2,3,4,5,6,7,8,9,0]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\n"
	// Each of the cells, which are short, has a list that is long.
	long := "a: &a [" + numbers(900) + "]\ncells:\n" + strings.Repeat("  - {name: NAME, gamma: *a}\n", 30)
	for i := range 30 {
		long = strings.Replace(long, "NAME", "c"+strconv.Itoa(i), 1)
	}
	for _, c := range []struct{ text, want string }{
		{"", "x.yaml: empty, want keys such as methods: [fedavg-active, fedawe]"},
		{"# nothing\n", "x.yaml: empty, want keys such as methods: [fedavg-active, fedawe]"},
		{"null\n", "x.yaml: empty, want keys such as methods: [fedavg-active, fedawe]"},
		{"mifa\n", `x.yaml:1: "mifa", want keys with values, such as rounds: 20`},
		{"- mifa\n", "x.yaml:1: a list, want keys with values, such as rounds: 20"},
		{
			"methods: [mifa\n",
			"x.yaml:1: no YAML: did not find expected ',' or ']'",
		},
		{
			methods + "gama: 0.1\n",
			"x.yaml:2: unknown flag --gama, did you mean --gamma, want one that rollcall sweep --help lists",
		},
		{methods + "rounds: 5\nrounds: 6\n", "x.yaml:3: rounds: twice, first in line 2"},
		{methods + "method: fedau\n", "x.yaml:2: method: twice, first in line 1"},
		{
			methods + "rounds: x\n",
			`x.yaml:2: --rounds "x": want whole numbers, separated by commas`,
		},
		{
			methods + "rounds: 2.5\n",
			`x.yaml:2: --rounds "2.5": want whole numbers, separated by commas`,
		},
		{
			methods + "\nrounds: 0\n",
			"x.yaml:3: --rounds 0: want 1 … 2147483647",
		},
		{methods + "rounds: *nope\n", "x.yaml:2: no YAML: unknown anchor 'nope' referenced"},
		{"%YAML 2.9\n---\n" + methods, "x.yaml: no YAML: found incompatible YAML document"},
		{methods + "trace: \"a\\0b\"\n", `x.yaml:2: trace: "a\x00b", want a value or a list of values`},
		{methods + "rounds:\n", "x.yaml:2: rounds: nothing, want a value or a list of values"},
		{methods + "rounds: []\n", "x.yaml:2: rounds: an empty list, want a value or a list of values"},
		{methods + "rounds: [[1, 2]]\n", "x.yaml:2: rounds: a list, want a value or a list of values"},
		{methods + "rounds: {from: 1}\n", "x.yaml:2: rounds: keys with values, want a value or a list of values"},
		{methods + "rounds: !!int 5\n", "x.yaml:2: rounds: a tag !!int, want a value or a list of values"},
		{
			methods + "alpha: [0.1, 0.1]\n",
			"x.yaml:2: --alpha: 0.1 twice, want it once",
		},
		{
			methods + "gamma: [0.1, 0.3]\n",
			"x.yaml:2: --gamma 0.1,0.3: of no use in any cell of this sweep, want it with --availability " +
				"sine or interleaved-sine, or not at all",
		},
		{
			"rounds: 5\n",
			"--methods: empty, want at least one of " + known,
		},
		{
			"methods: [mifa, fedex]\n",
			`x.yaml:1: --methods "fedex": unknown, did you mean fedau, want one of ` + known,
		},
		{
			"methods: ./missing.py\n",
			"x.yaml:1: stat missing.py: no such file or directory: want a file with a method",
		},
		{
			methods + "like: [fedawe, fedar]\n",
			"x.yaml:2: like: 2 values, want one",
		},
		{
			methods + "device: cpu\n",
			"x.yaml:2: device: says where or how to train, want it on the command line: --device",
		},
		{methods + "help: true\n", "x.yaml:2: help: says where or how to train, want it on the command line: --help"},
		{methods + "\trounds: 5\n", "x.yaml:2: a tab before the text, want spaces, as YAML has it"},
		{
			methods + "---\nrounds: 5\n",
			"x.yaml:2: a second document, want one",
		},
		{methods + "a\xffb: 5\n", "x.yaml:2: no text in UTF-8, want YAML"},
		{methods + "rounds: 5\x00\n", "x.yaml:2: no text in UTF-8, want YAML"},
		{
			methods + bomb,
			"x.yaml:3: b: a list, want a value or a list of values",
		},
		{long, "x.yaml:1: more than 20000 values, want fewer"},
		{
			methods + "rounds: &r [*r]\n",
			"x.yaml:2: rounds: a list, want a value or a list of values",
		},
		{
			methods + "<<: {rounds: 5}\n",
			"x.yaml:2: <<: a merge key, want the settings written out: cells have those at the top too",
		},
		{
			methods + "trace: |\n  a\n  b\n",
			`x.yaml:2: trace: "a\nb\n", want a value or a list of values`,
		},
		{
			methods + "name: run\n",
			`x.yaml:2: --name "run": want the name of a folder that is no table, figure or run`,
		},
		{
			methods + "\"--rounds\": 5\n",
			`x.yaml:2: "--rounds": no key, want the name of a flag of sweep`,
		},
		{
			methods + "1: 5\n",
			`x.yaml:2: "1": no key, want the name of a flag of sweep`,
		},
		{
			methods + "[a, b]: 5\n",
			`x.yaml:2: "": no key, want the name of a flag of sweep`,
		},
		{methods + "cells:\n", "x.yaml:2: cells: nothing, want a list of cells, each with a name"},
		{methods + "cells: {a: 5}\n", "x.yaml:2: cells: keys with values, want a list of cells, each with a name"},
		{
			methods + "cells: [a]\n",
			`x.yaml:2: cell 1: "", want a name: a letter or a digit, then those, spaces and . _ + ( ) -`,
		},
		{
			methods + "cells:\n  - rounds: 5\n",
			`x.yaml:3: cell 1: "", want a name: a letter or a digit, then those, spaces and . _ + ( ) -`,
		},
		{methods + "cells:\n  - name: a\n    rounds: 5\n  - name: a\n", "x.yaml:5: cell a: twice, first in line 3"},
		{
			methods + "cells:\n  - name: a\n    rounds: x\n",
			"x.yaml:4: cell a: --rounds x: want whole numbers, separated by commas",
		},
		{
			methods + "cells:\n  - name: a\n    rounds: 5\n    rounds: 6\n",
			"x.yaml:5: rounds: twice, first in line 4",
		},
		{
			methods + "cells:\n  - name: a\n    gama: 5\n",
			"x.yaml:4: cell a: --gama: unknown setting, did you mean gamma",
		},
		{
			methods + "cells:\n  - name: a\n    gamma: 5\n",
			"x.yaml:4: cell a: --gamma 5: of no use in these cells, want it with --availability sine or " +
				"interleaved-sine, or not at all",
		},
		{methods + "cells:\n  - name: a\n    seeds: 5\n", "x.yaml:4: seeds: not in a cell, want it at the top"},
		{
			methods + "cells:\n  - name: a\n  - name: b\n",
			"x.yaml:4: cell b: the same runs as cell a, want them in one",
		},
		{
			methods + "cells:\n  - name: gamma\n    rounds: 5\n",
			`x.yaml:2: --cell "gamma": want a name that is no setting's: a letter or a digit, then those, ` +
				"spaces and . _ + ( ) -",
		},
		{methods + "cells:\n  - name: a\n    trace: a;b\n", `x.yaml:4: trace: "a;b": a semicolon, want none in a cell`},
		{
			methods + "cells:\n  - name: a\n    methods: ./missing.py\n",
			"x.yaml:3: cell a: stat missing.py: no such file or directory: want a file with a method",
		},
		{
			methods + "alpha: [" + numbers(200) + "]\ngamma: [" + numbers(60) + "]\n",
			"sweep: more than 10000 cells, want fewer values or shorter lists",
		},
	} {
		must.OK(t, os.WriteFile("x.yaml", []byte(c.text), 0o666))
		checkRefused(t, c.text, []string{"sweep", "x.yaml", "--plan"}, c.want)
	}
	// A file that is not there is no wrong command line, but has its line too.
	must.OK(t, os.WriteFile("x.yaml", []byte(methods+"availability: trace\ntrace: no.csv\n"), 0o666))
	var stderr strings.Builder
	if status := Run(t.Context(), []string{"sweep", "x.yaml"}, io.Discard, &stderr); status != StatusFailure ||
		stderr.String() != "rollcall: x.yaml:3: --trace: open no.csv: no such file or directory\n" {
		t.Errorf("status %d, %s, want a failure with the line of the trace", status, &stderr)
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
	kept := string(must.Get(os.ReadFile(filepath.Join("out", "experiment", results.ExperimentFile)))(t))
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
    split: [even, 'file:a,b.csv']
`
	must.OK(t, os.WriteFile("dir/x.yaml", []byte(text), 0o666))
	for _, c := range []struct{ args, want []string }{
		{nil, []string{
			"--methods=mifa", "--methods=dir/own.py", `--methods="dir/a,b.py"`, "--methods=/abs.py",
			"--alpha=0.1,1e-1", "--seeds=3-5", "--leaf-iid=true", "--trace=dir/x.csv",
			"--trace=dir/y,z.csv", "--rates=mifa=0.1", "--rates=dir/r.csv", "--data=npz:dir/own.npz", "--base=5,6",
			`--cell=one: gamma=5; gamma=6; chain=dir/c.csv; nets=lenet5; nets=conv 4 3x3, linear 2; ` +
				`split=even; split="file:dir/a,b.csv"`,
		}},
		{
			[]string{"--method", "fedau", "--gamma=1", "--out", "o.yaml", "--trace", "t", "--rates", "r", "--nets=n"},
			[]string{
				"--alpha=0.1,1e-1", "--seeds=3-5", "--leaf-iid=true", "--data=npz:dir/own.npz", "--base=5,6",
				`--cell=one: chain=dir/c.csv; split=even; split="file:dir/a,b.csv"`,
			},
		},
	} {
		args := append([]string{"sweep", "dir/x.yaml"}, c.args...)
		got, x, err := expandExperiment(Root(), args)
		want := slices.Concat([]string{"sweep"}, c.want, c.args)
		if err != nil || x == nil || !slices.Equal(got, want) {
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
