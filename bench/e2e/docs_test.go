package e2e

// README.md, docs and the examples of --help are promises: every command they name is run here as it stands there, or
// made short, or named with the reason why it cannot be run in a test. docs_lists_test.go has both lists.

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/bench/cli"
	"rollcall/internal/must"
	"rollcall/results/resultstest"
	"rollcall/results/track"
)

// docsPatience is the time that one command may take, many times the longest on two idle cores.
const docsPatience = 2 * time.Minute

// TestDocsCommands runs every command of every page in its order, each page in a folder of its own. With -short it
// looks at names and flags alone.
func TestDocsCommands(t *testing.T) {
	pages := docsPages(t)
	named := map[string]bool{}
	for _, p := range pages {
		for _, c := range p.commands {
			named[c] = true
		}
	}
	listed := map[string]bool{}
	for _, l := range slices.Concat(docsElsewhere, docsShort) {
		switch {
		case !named[l.command]:
			t.Errorf("docs_lists_test.go: %q: no page has this command, want it taken out", l.command)
		case listed[l.command]:
			t.Errorf("docs_lists_test.go: %q: listed twice, want it once", l.command)
		case l.instead == "":
			t.Errorf("docs_lists_test.go: %q: nothing beside it, want what is run instead, or why it is not", l.command)
		}
		listed[l.command] = true
	}
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			if len(p.commands) == 0 {
				t.Fatal("no command was found, want some")
			}
			var shell *docsShop
			for _, c := range p.commands {
				elsewhere := slices.ContainsFunc(docsElsewhere, func(l docsLine) bool { return l.command == c })
				line := docsShortened(c)
				if err := docsParse(line); err != nil {
					t.Errorf("%s: %v", c, err)
				}
				if elsewhere || testing.Short() {
					continue
				}
				if shell == nil {
					shell = newDocsShop(t, p.name)
				}
				begun := time.Now()
				if said, err := shell.run(line); err != nil {
					t.Errorf("%s\nrun as %s\n%v; a line of docs_lists_test.go makes a long one short\n%s",
						c, line, err, said)
				}
				t.Logf("%.1f s: %s", time.Since(begun).Seconds(), line)
			}
		})
	}
}

// docsShortened returns the command line that the test runs in place of a command.
func docsShortened(command string) string {
	i := slices.IndexFunc(docsShort, func(l docsLine) bool { return l.command == command })
	if i < 0 {
		return command
	}
	more, added := strings.CutPrefix(docsShort[i].instead, "+ ")
	if !added {
		return more
	}
	return docsCall.ReplaceAllStringFunc(command, func(call string) string {
		return strings.TrimRight(call, " ") + " " + more + " "
	})
}

var (
	docsCall     = regexp.MustCompile(`(?:^|[\s/(])rollcall ([^|;&>]*)`) // a shell's call of the program; its arguments
	docsVariable = regexp.MustCompile(`\$\w+|\{\}`)                      // of the shell, and of GNU parallel
	docsGoName   = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)`)
)

// docsParse checks a command without running it: rollcall must have its flags, and `go test` must find a test.
func docsParse(line string) error {
	for _, call := range docsCall.FindAllStringSubmatch(line, -1) {
		args := docsWords(docsVariable.ReplaceAllString(call[1], "1"))
		cmd, rest, err := cli.Root().Find(args)
		if err == nil {
			cmd.InitDefaultHelpFlag()
			err = cmd.ParseFlags(rest)
		}
		if err != nil {
			return err
		}
	}
	if args := docsWords(line); len(args) > 2 && args[0] == "go" && args[1] == "test" {
		return docsGoTest(args[2:])
	}
	return nil
}

// docsWords are the words of a command before a pipe or a redirection.
func docsWords(line string) []string {
	line, _, _ = strings.Cut(line, " |")
	line, _, _ = strings.Cut(line, " >")
	words := strings.Fields(line)
	for i, w := range words {
		words[i] = strings.Trim(w, `'"`)
	}
	return words
}

// docsGoTest checks that the package of a `go test` is there, and has a test or benchmark of the given name.
func docsGoTest(args []string) error {
	i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "./") })
	if i < 0 {
		return fmt.Errorf("%q: no package, want one", args)
	}
	folder := filepath.Join("../..", args[i])
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s: no tests, want some", folder)
	}
	var names []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		for _, m := range docsGoName.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	for i, a := range args {
		kind := map[string]string{"-run": "Test", "-bench": "Benchmark"}[a]
		if kind == "" || args[i+1] == "^$" {
			continue
		}
		pattern, err := regexp.Compile(args[i+1])
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(names, func(n string) bool {
			return strings.HasPrefix(n, kind) && pattern.MatchString(n)
		}) {
			return fmt.Errorf("%s %s: nothing in %s has such a name, want some", a, args[i+1], folder)
		}
	}
	return nil
}

// docsShop is a folder where the commands of one page run.
type docsShop struct {
	ctx context.Context
	dir string
	env []string
}

// newDocsShop makes the folder, with tiny data sets and a history of two weeks. Two programs come first in its PATH:
// rollcall, which is this test, and make, which prints long targets instead of running them.
func newDocsShop(t *testing.T, page string) *docsShop {
	t.Helper()
	program := must.Get(os.Executable())(t)
	root := must.Get(filepath.Abs("../.."))(t)
	s := &docsShop{ctx: t.Context(), dir: t.TempDir()}
	environment := map[string]string{
		"PATH": filepath.Join(s.dir, "bin") + ":" + os.Getenv("PATH"), "HOME": s.dir,
		"ROLLCALL_DATA": filepath.Join(s.dir, "data"),
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if _, ours := environment[name]; !ours {
			s.env = append(s.env, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		s.env = append(s.env, name+"="+environment[name])
	}
	for name, script := range map[string]string{
		"rollcall": fmt.Sprintf("%s=1 exec %q \"$@\"", asProgram, program),
		"make":     docsMake + fmt.Sprintf("exec %q $dry -C %q --no-print-directory \"$@\"", docsLook("make"), root),
		// What these would do, docsParse has looked at.
		"go": "exit 0", "less": "exec cat",
	} {
		docsWrite(t, filepath.Join(s.dir, "bin", name), "#!/bin/sh\n"+script+"\n", 0o777)
	}
	writeTinyData(t, s.dir)
	docsWrite(t, filepath.Join(s.dir, "log.csv"), "client,start,end\n0,0,2\n1,1,3\n2,0,4\n3,2,4\n", 0o666)
	docsWrite(t, filepath.Join(s.dir, "webhook.env"), "export ROLLCALL_WEBHOOK=\n", 0o666)
	for _, folder := range []string{"results/history", "rollcall-history"} { // the second is below $HOME
		resultstest.Nights(t, filepath.Join(s.dir, folder), docsMachine, 14, 0, 1)
	}
	for _, line := range docsBefore[page] {
		if said, err := s.run(line); err != nil {
			t.Fatalf("before the commands of %s: %s: %v\n%s", page, line, err, said)
		}
	}
	return s
}

// docsMake runs targets that end at once and prints the others, which fails for a target that does not exist.
const docsMake = `case "$*" in help|env|"-s env") dry= ;; *) dry=-n ;; esac
`

// docsMachine is the machine whose history the commands of the pages find.
var docsMachine = track.Machine{Suite: "test/1", Engine: "cpu-avx2", Device: "Some CPU", Precision: "fp32"}

// docsLook returns the path of a program.
func docsLook(program string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return "/usr/bin/" + program // whose absence is said by who wants to run it
	}
	return path
}

func docsWrite(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.OK(t, os.WriteFile(path, []byte(text), mode))
}

// run runs a line of shell and returns its output. It fails if any part of the line fails.
func (s *docsShop) run(line string) (said string, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, docsPatience)
	defer cancel()
	line = strings.ReplaceAll(line, "FINGERPRINT", docsMachine.Fingerprint()[:4])
	cmd := exec.CommandContext(ctx, "sh", "-ec", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, s.env, time.Second
	text, err := cmd.CombinedOutput()
	if len(text) > 4000 {
		text = append([]byte("… "), text[len(text)-4000:]...)
	}
	return string(text), err
}
