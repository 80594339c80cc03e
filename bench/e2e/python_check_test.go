package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rollcall/bench/python"
	"rollcall/internal/must"
)

// The lines of a check, by the words that are looked for here.
var checkLines = map[string]string{
	"starts": "starts", "rounds": "trains 6 rounds", "bytes": "two runs give the same bytes",
	"hidden": "keeps nothing hidden", "resumed": "3 rounds, resumed", "empty": "a round without clients",
	"rate": "the server's rate", "one": "runs with one client", "ends": "keeps no end",
}

// verdicts returns the verdict of every line of a check, by the keys of checkLines.
func verdicts(t *testing.T, stdout string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(stdout) {
		verdict, text := strings.TrimSpace(line[:11]), line[13:]
		for key, begin := range checkLines {
			if strings.HasPrefix(text, begin) {
				found[key] = verdict
			}
		}
	}
	if len(found) != len(checkLines) {
		t.Errorf("%d lines that are known, want %d:\n%s", len(found), len(checkLines), stdout)
	}
	return found
}

// checkedMethod returns a file with a method: what its class has beside the rates, and its functions.
func checkedMethod(name, class, start, round string) string {
	indent := func(text, by string) string {
		return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
	}
	text := "import random\n\nimport numpy as np\nimport rollcall_fl as rc\n\nkept = []\n\n\nclass " +
		strings.ToUpper(name[:1]) + name[1:] + "(rc.Method):\n    rates = dict(lr=0.05, server_lr=1)\n"
	if class != "" {
		text += indent(class, "    ")
	}
	return text + "\n    def start(self, fed):\n" + indent(start, "        ") +
		"\n    def round(self, r):\n" + indent(round, "        ")
}

// Every kind of mistake is found, and by its own line.
func TestMethodCheckFinds(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	const start = `self.w = fed.model("w")`
	const step = "ends = r.train(start=self.w)\nself.w.set(self.w + r.server_lr * rc.mean(ends - self.w))"
	for _, c := range []struct {
		name, class, start, round string
		failed                    string   // keys of checkLines
		others                    string   // verdict of all other lines; empty: ok
		also                      []string // lines that may fail too
		want                      string   // in the line that fails
		stderr                    string   // on stderr, once
	}{
		{
			name: "hides", start: start, failed: "hidden", also: []string{"resumed"},
			round: "ends = r.train(start=self.w)\nkept.append(len(ends))\n" +
				"self.w.set(self.w + r.server_lr / len(kept) * rc.mean(ends - self.w))",
			want: "hidden state: restored from a checkpoint, round 1 goes another way",
		},
		{
			name: "draws", start: start, failed: "bytes", also: []string{"hidden", "resumed"},
			round: "ends = r.train(start=self.w)\n" +
				"self.w.set(self.w + random.random() * r.server_lr * rc.mean(ends - self.w))",
			want: "round 1: weights off by ",
		},
		{
			name: "ignores", start: start, failed: "rate",
			round: "ends = r.train(start=self.w)\nself.w.set(rc.mean(ends) if len(ends) else self.w)",
			want:  "--server-lr 1 and 0.5 give the same bytes",
		},
		{
			name: "drifts", start: start + "\n" + `self.v = fed.row("v")`, failed: "empty",
			round: "ends = r.train(start=self.w)\n" +
				"self.v.set(0.9 * self.v + rc.mean(ends - self.w if len(ends) else ends))\n" +
				"self.w.set(self.w + r.server_lr * self.v)",
			want: "round 3: it moves by ",
		},
		{ // nothing is wrong with it
			name:  "declares",
			class: "moves_when_empty = True\nuses_server_lr = False\n\ndef model(self):\n    return self.v",
			start: start + "\n" + `self.v, self.n = fed.model("v"), fed.ints("n", ())` + "\nprint('begun')",
			round: "ends = r.train(start=self.w)\nself.n += 1\nself.w.set(rc.mean(ends) if len(ends) else self.w)\n" +
				"self.v.set(self.v + 1 / int(self.n) * (self.w - self.v))",
			stderr: "begun\n",
		},
		{
			name: "empties", start: start, failed: "empty",
			round: "ends = r.train(start=self.w)\n" +
				"self.w.set(self.w + r.server_lr / len(ends) * rc.sum(1, ends - self.w))",
			want: "ZeroDivisionError", stderr: "Traceback (most recent call last)",
		},
		{
			name: "keeps", start: start, round: step + "\nkept.append(ends)", failed: "ends",
			want: "its rows are kept after it",
		},
		{
			name: "divides", start: start, failed: "one",
			round: "if len(r.active) == 0:\n    return\nends = r.train(start=self.w)\n" +
				"self.w.set(self.w + r.server_lr / (len(ends) - 1) * rc.sum(1, ends - self.w))",
			want: "divides.py, line 19, in round: ZeroDivisionError: ", stderr: "Traceback (most recent call last)",
		},
		{
			name: "infinite", start: start, failed: "one",
			round: "if len(r.active) == 0:\n    return\nends = r.train(start=self.w)\n" +
				"with np.errstate(divide='ignore'):\n    c = np.float64(1) / (len(ends) - 1)\n" +
				"self.w.set(self.w + r.server_lr * c * rc.sum(1, ends - self.w))",
			want: "want ",
		},
		{
			name: "raises", start: "print('begun')\nraise ValueError('no start')", round: step, failed: "starts",
			others: "not checked", want: "raises.py, line 14, in start: ValueError: no start",
			stderr: "begun\nTraceback (most recent call last)",
		},
		{
			name: "spins", start: start, round: "while True:\n    pass", failed: "rounds", others: "not checked",
			want: "no answer within 4s of the method's own time (--method-timeout)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := script(t, t.TempDir(), c.name, checkedMethod(c.name, c.class, c.start, c.round))
			args := []string{"method", "check", path}
			if c.name == "spins" {
				args = append(args, "--method-timeout", "4s")
			}
			o := alone(t, args...)
			status := statusOK
			if c.failed != "" {
				status = statusFailure
			}
			if o.status != status {
				t.Fatalf("status %d, want %d\n%s%s", o.status, status, o.stdout, o.stderr)
			}
			for key, verdict := range verdicts(t, o.stdout) {
				want := "ok"
				switch {
				case key == c.failed:
					want = "FAILED"
				case slices.Contains(c.also, key):
					continue
				case c.others != "" && (key != "starts" || c.failed != "rounds"):
					want = c.others
				case c.name == "declares" && (key == "rate" || key == "empty"):
					want = "not checked"
				}
				if verdict != want {
					t.Errorf("%s: %s, want %s\n%s", checkLines[key], verdict, want, o.stdout)
				}
			}
			for line := range strings.Lines(o.stdout) {
				if strings.HasPrefix(line, "FAILED") && strings.Contains(line, checkLines[c.failed]) &&
					!strings.Contains(line, c.want) {
					t.Errorf("%q, want %q in it", line, c.want)
				}
			}
			if n := strings.Count(o.stderr, c.stderr); c.stderr != "" && n != 1 {
				t.Errorf("stderr has %q %d times, want once:\n%s", c.stderr, n, o.stderr)
			}
			if c.failed != "" && !strings.Contains(o.stderr, "FAILED, see above\n") {
				t.Errorf("stderr %q, want the number of failed checks", o.stderr)
			}
		})
	}
}

// The examples pass, and those that have a parent in Go have its weights.
func TestMethodCheckExamples(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	paths := must.Get(filepath.Glob(example("*")))(t)
	flags := map[string]string{
		"fedavg": "--equals fedavg-active", "fedau_py": "--equals fedau", "scaffold_py": "--equals scaffold",
		"fedprox": "--equals fedavg-active --fedprox-mu 0", "fedavgm": "--equals fedavg-active --fedavgm-beta 0",
	}
	if len(paths) < 7 {
		t.Fatalf("%d examples, want 7 or more", len(paths))
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".py")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := alone(t, append([]string{"method", "check", path}, strings.Fields(flags[name])...)...)
			if o.status != statusOK || o.stderr != "" {
				t.Fatalf("status %d, want 0 and nothing on stderr\n%s%s", o.status, o.stdout, o.stderr)
			}
			for key, verdict := range verdicts(t, o.stdout) {
				if verdict != "ok" {
					t.Errorf("%s: %s, want ok", checkLines[key], verdict)
				}
			}
			equal := "the same bytes\n"
			if name == "fedavgm" { // w + lr·v is rounded once more: v is mean − w, in float32
				equal = " of the largest weight, other bytes from round 1 on\n"
			}
			want := 0
			if flags[name] != "" {
				want = 2
			}
			n := 0
			for line := range strings.Lines(o.stdout) {
				if strings.HasPrefix(line, "ok           equals ") && strings.HasSuffix(line, equal) {
					n++
				}
			}
			if n != want {
				t.Errorf("%d lines that end in %q, want %d:\n%s", n, equal, want, o.stdout)
			}
		})
	}
}

// --equals names the first round that is off, and refuses what is no method in Go.
func TestMethodCheckEquals(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	o := alone(t, "method", "check", example("fedavgm"), "--equals", "fedavg-active")
	for _, on := range []string{"leaf", "images, lenet5"} {
		want := fmt.Sprintf("FAILED       equals fedavg-active on %s: round 2: weights off by ", on)
		if o.status != statusFailure || !strings.Contains(o.stdout, want) {
			t.Errorf("status %d, want 1 and %q: with beta 0.9 the second round is the first to differ\n%s", o.status,
				want, o.stdout)
		}
	}
	dir := t.TempDir()
	broken := script(t, dir, "broken", "1/0\n")
	taken := script(t, dir, "takes", checkedMethod("takes", `timeout = rc.param(1.0)`+"\nname = 'method'",
		`self.w = fed.model("w")`, "pass"))
	for _, c := range []struct {
		args   []string
		status int
		want   string // on stdout or stderr
	}{
		{[]string{example("fedavg"), "--equals", "fedavg"}, statusUsage, `--equals "fedavg"`},
		{[]string{example("fedavg"), "--equals", "fedawi"}, statusUsage, "did you mean fedawe"},
		{[]string{example("fedavgm"), "--fedavgm-beta", "1"}, statusUsage, "--fedavgm-beta 1: want at least 0"},
		{[]string{example("fedavg"), "--fedavgm-beta", "1"}, statusUsage, "unknown flag --fedavgm-beta"},
		{[]string{example("fedavg"), "--method-timeout", "-1s"}, statusUsage, "--method-timeout -1s: want 0 or more"},
		{nil, statusUsage, "0 files, want one"},
		{[]string{filepath.Join(dir, "none.py")}, statusUsage, "none.py: no such file"},
		{[]string{dir}, statusUsage, dir + ": no file: want a file with a method"},
		{[]string{broken, "--broken-beta", "0"}, statusFailure, "FAILED       starts: broken.py, line 1"},
		{[]string{taken}, statusFailure, "FAILED       starts: " + taken + ": --method-timeout is a flag of rollcall"},
	} {
		o := alone(t, append([]string{"method", "check"}, c.args...)...)
		if o.status != c.status || !strings.Contains(o.stdout+o.stderr, c.want) {
			t.Errorf("%q: status %d, want %d and %q\n%s%s", c.args, o.status, c.status, c.want, o.stdout, o.stderr)
		}
	}
	if o := alone(t, "__complete", "method", "check", example("fedavgm"), "--fedav"); !strings.Contains(o.stdout,
		"--fedavgm-beta\t") {
		t.Errorf("completions %q, want --fedavgm-beta among them", o.stdout)
	}
}

// What `method new` writes passes its check and runs. It overwrites nothing.
func TestMethodNew(t *testing.T) {
	ofProcesses(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "fed-aum.py")
	for _, named := range []string{filepath.Join(dir, "fed-aum"), path} {
		o := alone(t, "method", "new", named)
		if named == path { // it is there now
			if o.status != statusFailure || !strings.Contains(o.stderr, path+": the file exists") {
				t.Errorf("status %d, %q, want 1 and the file named", o.status, o.stderr)
			}
			continue
		}
		want := path + ": written; next:\n  rollcall method check " + path + "\n  rollcall run --method " + path
		if o.status != statusOK || !strings.HasPrefix(o.stdout, want) {
			t.Fatalf("status %d, %q, want %q\n%s", o.status, o.stdout, want, o.stderr)
		}
	}
	if text := string(must.Get(os.ReadFile(path))(t)); !strings.Contains(text, "class FedAum(rc.Method):") {
		t.Errorf("%s\nwant the class FedAum", text)
	}
	for name, want := range map[string]string{
		"fedau": `name "fedau" is taken`, "FedAU": `name "FedAU" is taken`, "1x": `name "1x"`, "": `name ""`,
		"a b": `name "a b"`,
	} {
		if o := alone(t, "method", "new", filepath.Join(dir, "x")+"/../"+name+".py"); o.status != statusUsage ||
			!strings.Contains(o.stderr, want) {
			t.Errorf("%q: status %d, %q, want 2 and %q", name, o.status, o.stderr, want)
		}
	}
	needsPython(t)
	for _, line := range []string{
		"method check " + path, "method check --fed-aum-share 0.5 " + path,
		"run --method " + path + " --data leaf --rounds 2 --device cpu --out " + filepath.Join(dir, "out"),
	} {
		if o := alone(t, strings.Fields(line)...); o.status != statusOK {
			t.Errorf("%s: status %d, want 0\n%s%s", line, o.status, o.stdout, o.stderr)
		}
	}
}

// A method that never answers ends its run too, which starts it once before, to count its rows, and the processes that
// the method has started end with it. A file that is never read ends its command in the same time.
func TestMethodTimeout(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	const (
		late   = "no answer within 4s of the method's own time (--method-timeout)"
		unread = "the file and what it imports are not read within 4s (--method-timeout)"
	)
	dir := t.TempDir()
	sleeps := func(name string) string { // a process that writes its number, and lives on
		return fmt.Sprintf("__import__('subprocess').run(['sh', '-c', 'echo $$ >%s; sleep 300'])",
			filepath.Join(dir, name+".pid"))
	}
	for _, c := range []struct{ name, command, top, round, want string }{
		{"spins", "run --method", "", "while True:\n    pass", late},
		{"waits", "run --method", "", sleeps("waits"), late},
		{"imports", "run --method", sleeps("imports") + "\n", "pass", unread},
		{"checked", "method check", sleeps("checked") + "\n", "pass", unread},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := c.top + checkedMethod(c.name, "", `self.w = fed.model("w")`, c.round)
			line := c.command + " " + script(t, dir, c.name, text) + " --method-timeout 4s"
			if strings.HasPrefix(c.command, "run") {
				line += " --data leaf --rounds 2 --clients 4 --device cpu --out " + filepath.Join(dir, c.name)
			}
			o := alone(t, strings.Fields(line)...)
			if o.status != statusFailure || !strings.Contains(o.stdout+o.stderr, c.want) {
				t.Errorf("status %d, want 1 and %q\n%s%s", o.status, c.want, o.stdout, o.stderr)
			}
			if c.name == "spins" {
				return
			}
			pid := must.Get(strconv.Atoi(strings.TrimSpace(contents(t, filepath.Join(dir, c.name+".pid")))))(t)
			for range 100 { // a process that was killed is there until init has waited for it
				if !runs(pid) {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			t.Errorf("process %d, which the method has started, lives on", pid)
		})
	}
}

// runs reports whether a process is there, and is none that only waits to be forgotten.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(text), ") Z ")
}

// What is no method's file, and what a class declares that nothing can read, are said in a line that names the file,
// the class and what is wanted.
func TestMethodRefused(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	dir := t.TempDir()
	for i, c := range []struct{ class, want string }{
		{`name = 5`, "TypeError: class Own: name = 5, want text"},
		{`name = None`, "TypeError: class Own: name = None, want text"},
		{`name = b"own"`, "TypeError: class Own: name = b'own', want text"},
		{`__doc__ = 5`, "TypeError: class Own: __doc__ = 5, want text"},
		{`rates = 5`, "TypeError: class Own: rates = 5, want a dict of lr and server_lr"},
		{`rates = dict(lr="x")`, "TypeError: class Own: rates: lr = 'x', want a number"},
		{`rates = {1: 2, "lr": 1}`, "ValueError: class Own: rates: 1, want lr and server_lr"},
		{`moves_when_empty = "yes"`, "TypeError: class Own: moves_when_empty = 'yes', want True or False"},
		{`uses_server_lr = 1`, "TypeError: class Own: uses_server_lr = 1, want True or False"},
		{`p = rc.param("a", words=["a", 1])`, "TypeError: param('a'): words=['a', 1], want a list of words"},
		{`p = rc.param("a", words="abc")`, "TypeError: param('a'): words='abc', want a list of words"},
		{`p = rc.param(1.0, help=5)`, "TypeError: param(1.0): help=5, want text"},
		{`p = rc.param(1.0, low="x")`, "TypeError: param(1.0): low='x', want a number"},
	} {
		name := fmt.Sprintf("own%d", i)
		path := script(t, dir, name, "import rollcall_fl as rc\n\nclass Own(rc.Method):\n    "+c.class+"\n")
		o := alone(t, "run", "--method", path, "--data", "leaf")
		last := o.stderr[strings.LastIndex(strings.TrimSuffix(o.stderr, "\n"), "\n")+1:]
		if o.status != statusFailure || !strings.HasPrefix(last, "rollcall: "+name+".py") ||
			!strings.HasSuffix(last, c.want+"\n") {
			t.Errorf("%s: status %d, %q, want 1 and %q", c.class, o.status, o.stderr, c.want)
		}
	}

	text := contents(t, example("fedavg"))
	large, imports := script(t, dir, "large", text), script(t, dir, "imports", "import large\n"+text)
	must.OK(t, os.Truncate(large, 3<<30)) // sparse
	must.OK(t, os.Mkdir(filepath.Join(dir, "a,b"), 0o777))
	comma := script(t, filepath.Join(dir, "a,b"), "comma", text)
	plain, upper := filepath.Join(dir, "plain"), filepath.Join(dir, "UPPER.PY")
	must.OK(t, os.WriteFile(plain, []byte(text), 0o666))
	must.OK(t, os.WriteFile(upper, []byte(text), 0o666))
	const tooLarge = "large.py: 3221225472 bytes, want "
	const noName = ": no method, want the name of one or a file whose name ends in .py"
	for _, c := range []struct {
		line   string
		status int
		want   string
	}{
		{"run --method " + large, statusUsage, tooLarge + "a file with a method, of at most 16777216"},
		{"sweep --methods mifa," + large, statusUsage, tooLarge},
		{"method check " + large, statusUsage, tooLarge},
		{"run --method " + imports, statusFailure, tooLarge + "at most 16777216"},
		{"run --method " + comma, statusOK, ": complete"},
		{"run --method=" + comma, statusOK, ": kept, finished before"},
		{"run --method a,b/none.py", statusUsage, "stat a,b/none.py: no such file"},
		{"run --method " + plain, statusUsage, plain + `"` + noName},
		{"sweep --methods mifa," + upper, statusUsage, upper + `"` + noName},
		{"run --method none.Py", statusUsage, `--method "none.Py"` + noName},
		{"run --method " + filepath.Join(dir, "none"), statusUsage, noName},
		{"method check " + plain, statusUsage, plain + ": want a file whose name ends in .py"},
		{"run --method fedawi", statusUsage, `--method "fedawi": unknown, did you mean fedawe`},
	} {
		line := strings.Fields(c.line)
		if line[0] != "method" {
			line = append(line, strings.Fields(tinyPython+filepath.Join(dir, "out"))...)
		}
		if o := alone(t, line...); o.status != c.status || !strings.Contains(o.stdout+o.stderr, c.want) {
			t.Errorf("%s: status %d, %q, want %d and %q", c.line, o.status, o.stdout+o.stderr, c.status, c.want)
		}
	}
}

// An interpreter that is none is named by its variable. The package lies in the folder of temporary files if the user's
// cache folder cannot be made.
func TestMethodInterpreter(t *testing.T) {
	ofProcesses(t)
	needsPython(t)
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	must.OK(t, os.WriteFile(text, []byte("no program\n"), 0o777))
	for _, c := range []struct{ interpreter, want string }{
		{"/nonexistent", "python: $ROLLCALL_PYTHON: "},
		{dir, "python: $ROLLCALL_PYTHON: "},
		{"no-such-python", "python: $ROLLCALL_PYTHON: "},
		{"true", "has ended: exit status 0 ($ROLLCALL_PYTHON is true, want a Python with NumPy)"},
		{"false", "has ended: exit status 1 ($ROLLCALL_PYTHON is false, want a Python with NumPy)"},
		{text, "exec format error ($ROLLCALL_PYTHON is " + text + ", want a Python with NumPy)"},
	} {
		o := withEnv(t, []string{python.Variable + "=" + c.interpreter}, "run", "--method", example("fedavg"), "--data",
			"leaf")
		oneLineError(t, o, statusFailure, c.want)
	}

	for _, home := range []string{"/proc", "", text} {
		temp := t.TempDir()
		args := strings.Fields("run --method " + example("fedavg") + " " + tinyPython + t.TempDir())
		succeeded(t, withEnv(t, []string{"HOME=" + home, "XDG_CACHE_HOME=", "TMPDIR=" + temp}, args...), args)
		only(t, temp, "rollcall-*/python-*/rollcall_fl/child.py")
	}
	o := withEnv(t, []string{"HOME=/proc", "XDG_CACHE_HOME=", "TMPDIR=" + text}, "run", "--method", example("fedavg"),
		"--data", "leaf")
	oneLineError(t, o, statusFailure, "python: no folder for the package rollcall_fl: ", "/proc", text)
}
