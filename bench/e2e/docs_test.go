package e2e

// README.md, docs and the examples of --help are promises. Every command that they name is run here, page by page, as
// a script of testscript that has each command in the line in which the page has it: a failure names page and line.
//
// What readers do not see says what a test must know. A comment <!-- test: LINE --> is a line of the script, for
// example one that makes what the next command reads, or looks at what the last one wrote. After
// <!-- test: skip: WHY --> the commands up to the end of the next block or paragraph are not run, only looked up. After
// <!-- test: task: NAME --> the blocks up to the next heading are one of [docsTasks], a script of its own. From a
// command with a file of Python up to the next heading, nothing is run where no Python has NumPy.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/cli"
	"rollcall/bench/python"
	"rollcall/datasets"
	"rollcall/internal/must"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
	"rollcall/results/track"
)

type docsPage struct{ name, text string }

// docsPages are README.md, docs/*.md and the examples of every command.
func docsPages(t *testing.T) (pages []docsPage) {
	t.Helper()
	paths := append(must.Get(filepath.Glob("../../docs/*.md"))(t), must.Get(filepath.Glob("../../docs/*/*.md"))(t)...)
	for _, path := range append([]string{"../../README.md"}, paths...) {
		pages = append(pages, docsPage{strings.TrimPrefix(filepath.ToSlash(path), "../../"), contents(t, path)})
	}
	examples := contents(t, "testdata/docs/examples.md")
	docsWalk(cli.Root(), func(c *cobra.Command) {
		if c.Example != "" && !strings.HasPrefix(c.CommandPath(), "rollcall completion") { // cobra's own
			examples += "\n## " + c.CommandPath() + "\n\n  " + strings.ReplaceAll(c.Example, "\n", "\n  ") + "\n"
		}
	})
	return append(pages, docsPage{"examples", examples})
}

// docsWalk calls f with a command and with all commands below it.
func docsWalk(c *cobra.Command, f func(c *cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		docsWalk(sub, f)
	}
}

// docsCommand is a command of a page, without comments of the shell, in one line.
type docsCommand struct {
	line    int // in which it begins, from 1
	text    string
	skipped bool
	note    bool   // a line of the script, not of the page
	task    string // of which it is a part
	when    string // the condition on which it runs, "[numpy] " or none
}

var (
	docsNote = regexp.MustCompile(`^<!-- test: (.*) -->$`)
	docsSpan = regexp.MustCompile("`([^`]+)`")
	docsDo   = regexp.MustCompile(`\bdo\b`)
	docsDone = regexp.MustCompile(`\bdone\b`)
	// docsProgram is the beginning of a span of code that is a command; docsHole what a reader has to fill in, so that
	// a command with it in a sentence is looked up and not run.
	docsProgram = regexp.MustCompile(`^((bin/)?rollcall|make|go|eval|docker|python3|apt-get|` +
		`tensorboard|nvidia-smi|nsys|ncu) `)
	docsHole = regexp.MustCompile(` (?:[A-Z]+…?|n)( |$)|\\\|`)
)

// docsNumPy are the commands that need NumPy: those with a method in Python.
var docsNumPy = regexp.MustCompile(`\b\w+\.py\b`)

// docsCommands returns the commands of a page of Markdown: the lines of its blocks of shell, of which those that go on
// behind a backslash and those of a loop are one, and spans of code that begin with a program. Blocks of text, of
// Python and of YAML have none.
func docsCommands(text string) (commands []docsCommand) {
	var open docsCommand // what goes on in the next line
	fence, fenced, block, skip, used := "", false, false, false, false
	before, task, when := "", "", "" // the line, the task that it belongs to, and the condition on which it runs
	add := func(c docsCommand) {
		if docsNumPy.MatchString(c.text) {
			when = "[numpy] "
		}
		c.when = when
		commands = append(commands, c)
	}
	for i, line := range strings.Split(text, "\n") {
		language, isFence := strings.CutPrefix(line, "```")
		begins := before == "" || docsNote.MatchString(before) // and does not go on with a paragraph
		indented := !fenced && strings.HasPrefix(line, "    ") && (begins || block)
		block = indented || open.text != ""
		if line == "" && used {
			skip, used = false, false
		}
		before = line
		note := docsNote.FindStringSubmatch(line)
		switch {
		case isFence:
			fenced, fence = !fenced, language
		case note != nil && strings.HasPrefix(note[1], "foreign: "): // for TestDocsNames
		case note != nil && strings.HasPrefix(note[1], "skip: "):
			skip = true
		case note != nil && strings.HasPrefix(note[1], "task: "):
			task = strings.TrimPrefix(note[1], "task: ")
		case note != nil:
			add(docsCommand{line: i + 1, text: note[1], note: true, task: task})
		case indented || fenced && (fence == "" || fence == "sh"):
			if open.text == "" {
				open = docsCommand{line: i + 1, skipped: skip, task: task}
			}
			whole := false
			if open.text, whole = docsJoin(open.text, line); whole && open.text != "" {
				add(open)
				open = docsCommand{}
			}
			used = true
		case !fenced:
			if strings.HasPrefix(line, "#") {
				task, when = "", ""
			}
			for _, span := range docsSpan.FindAllStringSubmatch(line, -1) {
				if docsProgram.MatchString(span[1]) {
					hole := docsHole.MatchString(span[1])
					add(docsCommand{line: i + 1, text: span[1], skipped: skip || hole})
				}
			}
			used = used || line != ""
		}
	}
	return commands
}

// docsJoin appends a line of shell to the lines of a command before it, and says whether the command ends with it.
func docsJoin(before, line string) (command string, whole bool) {
	line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
	switch {
	case before == "":
	case strings.HasSuffix(before, `\`):
		before = strings.TrimSuffix(before, `\`)
	case strings.HasSuffix(before, "do"):
		before += " "
	default:
		before += "; "
	}
	command = before + strings.TrimSpace(line)
	loops := len(docsDo.FindAllString(command, -1)) - len(docsDone.FindAllString(command, -1))
	return command, loops == 0 && !strings.HasSuffix(command, `\`)
}

// docsTasks are what four kinds of users come for: a student with a method of her own, a referee, a newcomer, and the
// user of a cluster. The commands that a page gives for one do it from an empty folder, in order, with no other command
// between them that only the test knows.
var docsTasks = []string{"student", "referee", "newcomer", "cluster"}

// docsTaskCommands is how many commands a task may have, and docsTaskCheck what a hidden line of one may do: look.
const docsTaskCommands = 8

var docsTaskCheck = regexp.MustCompile(`^(\[|! |stdout |stderr |grep |exists )`)

// TestDocs runs the commands of every page, each page and each task in a folder of its own. With -short it looks them
// up alone.
func TestDocs(t *testing.T) {
	script, template, repository := t.TempDir(), t.TempDir(), must.Get(filepath.Abs("../.."))(t)
	var files []string
	tasks := map[string]int{} // the number of their commands
	for _, p := range docsPages(t) {
		commands := docsCommands(p.text)
		if len(commands) == 0 {
			t.Errorf("%s: no command was found, want some", p.name)
		}
		if strings.Contains(p.text, "\n<<<<<<< ") || strings.Contains(p.text, "\n>>>>>>> ") {
			t.Errorf("%s: both sides of a merge", p.name)
		}
		scripts := map[string][]string{"": make([]string, strings.Count(p.text, "\n")+1)} // by task, "": the page
		for _, c := range commands {
			lines := scripts[c.task]
			switch {
			case lines == nil && (tasks[c.task] > 0 || !slices.Contains(docsTasks, c.task)):
				t.Fatalf("%s:%d: task %q: want one of %q, each on one page", p.name, c.line, c.task, docsTasks)
			case lines == nil:
				lines = make([]string, len(scripts[""]))
				scripts[c.task] = lines
			}
			if c.task != "" && c.note && !docsTaskCheck.MatchString(c.text) {
				t.Errorf("%s:%d: %s: a hidden command of a task, want only checks", p.name, c.line, c.text)
			} else if !c.note {
				tasks[c.task]++
			}
			if err := docsParse(c.text); err != nil {
				t.Errorf("%s:%d: %s: %v", p.name, c.line, c.text, err)
			}
			quoted := strings.ReplaceAll(c.text, "'", "''")
			switch before := lines[c.line-1]; {
			case c.note:
				lines[c.line-1] = c.when + c.text
			case c.skipped, p.name == ownPage:
			case before == "":
				lines[c.line-1] = c.when + "exec bash -eo pipefail -c '" + quoted + "'"
			default:
				lines[c.line-1] = strings.TrimSuffix(before, "'") + "; " + quoted + "'"
			}
		}
		must.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(script, p.name)), 0o777))
		for task, lines := range scripts {
			file := strings.TrimSuffix(p.name+"."+task, ".")
			files = append(files, file)
			must.OK(t, os.WriteFile(filepath.Join(script, file), []byte(strings.Join(lines, "\n")), 0o666))
		}
	}
	for _, task := range docsTasks {
		if n := tasks[task]; n == 0 || n > docsTaskCommands {
			t.Errorf("task %s: %d commands, want 1 … %d", task, n, docsTaskCommands)
		}
	}
	if testing.Short() {
		return
	}
	must.OK(t, os.CopyFS(template, os.DirFS("testdata/docs")))
	must.OK(t, os.Symlink(must.Get(exec.LookPath("rollcall"))(t), filepath.Join(template, "bin", "rollcall")))
	must.OK(t, os.MkdirAll(filepath.Join(template, "results"), 0o777))
	must.OK(t, os.Symlink(filepath.Join(repository, "results", "replay"), filepath.Join(template, "results", "replay")))
	writeTinyData(t, template)
	// Its fingerprint begins with 3fa9, as in the examples.
	machine := track.Machine{Suite: "test/1", Engine: "cpu-avx2", Device: "CPU 47199", Precision: "fp32"}
	resultstest.Nights(t, filepath.Join(template, "results", "history"), machine, 14, 0, 1)
	machine.Name = "bench-1"
	resultstest.Nights(t, filepath.Join(template, "results", "history"), machine, 14, 0, 1)
	resultstest.Nights(t, filepath.Join(template, docsSlower), machine, 40, 5, 1.1)
	t.Chdir(script) // where files have their names alone, which failures begin with
	testscript.Run(t, testscript.Params{
		Files: files, ContinueOnError: true, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, os.Environ()...)
			env.Setenv("PATH", filepath.Join(env.WorkDir, "bin")+":"+os.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("ROLLCALL_DATA", filepath.Join(env.WorkDir, "data"))
			env.Setenv("REPO", repository)
			env.Setenv(docsSmallRuns, "1")
			return os.CopyFS(env.WorkDir, os.DirFS(template))
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "wheel":
				return os.Getenv(wheelFolder) != "", nil
			case "numpy":
				_, err := withNumPy()
				if os.Getenv(python.Variable) != "" {
					return true, err // whoever names a Python wants the test
				}
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// docsCall is a shell's call of the program, and docsValue what the shell or GNU parallel puts a number in place of.
var (
	docsCall  = regexp.MustCompile(`(?:^|[\s/(])rollcall ([^|;&>]*)`)
	docsValue = regexp.MustCompile(`\$\w+|\{\}|\bn$`)
)

// docsParse looks up the calls of the program in a command: they must have a command that it has, with its flags.
func docsParse(line string) error {
	for _, call := range docsCall.FindAllStringSubmatch(line, -1) {
		args := strings.Fields(docsValue.ReplaceAllString(strings.ReplaceAll(call[1], `\`, ""), "1"))
		for i, word := range args {
			args[i] = strings.Trim(word, `'"`)
		}
		if len(args) == 0 || args[0] == "COMMAND" {
			continue
		}
		cmd, rest, err := cli.Root().Find(args)
		if err == nil {
			cmd.InitDefaultHelpFlag()
			err = cmd.ParseFlags(rest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// docsSmallRuns is the variable under which the program does its work small, see docsSmall.
const docsSmallRuns = "ROLLCALL_TEST_SMALL_RUNS"

// docsSlower is a folder with the history of a machine that became slower.
const docsSlower = "slower"

// docsNumbers and docsLists are flags that make a command small: the largest number, and how many items of a list.
var (
	docsNumbers = map[string]int{
		"rounds": 3, "clients": 4, "local-steps": 1, "batch": 4, "eval-every": 1, "warmup": 0, "crossed": 5,
		"train-size": 60, "test-size": 20, "chain-sample": 4, "trace-sample": 4,
	}
	docsLists = map[string]int{"seeds": 3, "lrs": 2, "server-lrs": 2}
)

// docsSmall returns a command line that does in a blink what args do in minutes: with few rounds, clients, seeds and
// samples, on the CPU, and with the tiny SVHN of the tests in place of CIFAR-10. It returns nil for what takes a card,
// a cluster, a night or other programs, and for a check of a file that only an example has.
func docsSmall(args []string) []string {
	cmd, rest, err := cli.Root().Find(args)
	if err != nil || cmd.ParseFlags(rest) != nil {
		return args // the program says what is wrong
	}
	flags, path, named := cmd.Flags(), cmd.CommandPath(), cmd.Flags().Args()
	words, first := strings.Fields(path)[1:], strings.Join(named[:min(len(named), 1)], "")
	_, missing := os.Stat(first)
	figure, _ := papers.FigureByID(first)
	switch is := flags.Changed; {
	case path == "rollcall track run", path == "rollcall track ab", path == "rollcall track bisect",
		path == "rollcall method check" && missing != nil,
		is("check"), is("slurm") && !is("dry-run"), is("collect"):
		return nil
	case path == "rollcall track accept": // whose event is in no history that others read
		if all, _ := track.ReadFolder(docsSlower); len(all) == 1 {
			if v := track.DefaultRule().Judge(all[0], time.Now(), nil); len(v.Events) == 1 {
				return append(words, v.Events[0].ID, "--history", docsSlower, "--because", "x")
			}
		}
		return args
	case cmd.Name() == "sweep" && strings.HasSuffix(first, ".yaml"): // whose data and methods are in the file
		return append(args, "--rounds=3", "--seeds=3", "--device=cpu")
	case path == "rollcall demo": // its sweep
		return docsSmall(strings.Fields("sweep --name demo --methods fedau,mifa --availability sine --data synthetic " +
			"--nets lenet5"))
	case path == "rollcall results recheck" && first == "results/replay":
		return append(args, "--minutes", "0.2", "--only", "cafed-i1") // generated data, 1 s a run
	case cmd.Parent().Name() == "data" && slices.Contains(datasets.Names(), first):
		return append(words, "leaf")
	case path == "rollcall results show":
		cells, _ := filepath.Glob("out/*/*_*")
		cell := strings.Join(cells[:min(len(cells), 1)], "")
		if !strings.Contains(first, "/") { // the end of a cell's name, by which it is known too
			cell = cell[strings.LastIndex(cell, "_")+1:]
		}
		return append(words, cell)
	case flags.Lookup("rounds") == nil, is("help"), cmd.Name() == "figure" && figure.Runs == nil:
		return args
	}
	small := map[string][]string{"seeds": {"3"}} // for lists that are empty, which stand for all
	if paper, _, _ := strings.Cut(first, "-"); paper == "fedawe" || cmd.Name() == "sweep" || cmd.Name() == "tune" {
		small["methods"], small["availability"] = []string{"fedawe"}, []string{"sine"}
		small["data"] = []string{"svhn"}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		list, isList := f.Value.(pflag.SliceValue)
		if isList {
			values = list.GetSlice()
		}
		limit, isNumber := docsNumbers[f.Name]
		now, err := strconv.Atoi(strings.Join(values, ",")) // one, also of a list
		set := f.Changed
		switch f.Name {
		case "clients":
			// Figures of CA-Fed's have up to ten clusters, and of four clients nobody may come in three rounds.
			if strings.HasPrefix(first, "cafed-f") || cmd.Name() == "sweep" || cmd.Name() == "tune" {
				limit = 10
			}
		case "train-size", "test-size":
			// Of other data all samples are few.
			data := strings.Trim(flags.Lookup("data").Value.String(), "[]") // of a sweep a list
			isNumber = set || data == "synthetic" && cmd.Name() != "bench"
		case "crossed", "chain-sample", "trace-sample":
			isNumber = set
		}
		switch most, isCut := docsLists[f.Name]; {
		case isList && len(values) == 0 && small[f.Name] != nil:
			values, set = small[f.Name], true
		case isList && isCut && len(values) > most:
			values, set = values[:most], true
		case isNumber && (!set || err == nil && now > limit):
			values, set = []string{strconv.Itoa(limit)}, true
		}
		switch {
		case f.Name == "data" && slices.Equal(values, []string{"cifar10"}) && flags.Lookup("allow-altered") == nil:
			values, set = []string{"leaf"}, true
		case f.Name == "data" && slices.Equal(values, []string{"cifar10"}),
			f.Name == "data" && cmd.Name() == "bench" && values[0] == "synthetic": // at its full size
			values, set = []string{"svhn"}, true
		case f.Name == "allow-altered":
			values, set = []string{"true"}, true
		case f.Name == "device" && (values[0] == "auto" || strings.HasPrefix(values[0], "cuda")):
			values, set = []string{"cpu"}, true
		}
		if set {
			for _, v := range values {
				words = append(words, "--"+f.Name+"="+v)
			}
		}
	})
	return append(words, named...)
}
