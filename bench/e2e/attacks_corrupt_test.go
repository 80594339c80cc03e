//go:build unix

package e2e

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/results"
)

// outcome of a corruption: what has to come of it.
type corruptOutcome int

const (
	// damaged: verify names the file, list and report end with 1 and the run is in no mean, merge and diff do nothing,
	// the same command again refuses the run, and --replace leaves what the first one left.
	damaged corruptOutcome = iota
	// twin is damaged, but the same command again finds two seeds with the same numbers.
	twin
	// unverified is a run of schema 1: verify ends with 1, no mean takes it with others, and it is refused.
	unverified
	// unfinished is no result: it is in no mean, and it runs again.
	unfinished
	// apart is a run that is whole and unlike the others of its cell: its mean is its own, and it is refused.
	apart
	// beside is a sound run that has written a file that is not as it was: verify, list and report name it, merge does
	// nothing, and the same command makes it again.
	beside
	// stray is a sound run with a file that it has not written: it is named, and does no harm.
	stray
	// harmless changes nothing: the run is kept.
	harmless
)

// corruption is one way in which the files of a run are not what they were.
type corruption struct {
	name  string
	do    func(c *corrupt)
	named string // what verify says, beside the folder; the file as a rule
	want  corruptOutcome
	again string // what the same command says
	way   string // out of a refusal; "": --replace
}

// corrupt is a copy of finished runs in which one is made wrong.
type corrupt struct {
	t   *testing.T
	out string
	dir string // of the run: FedAWE with seed 4, if it is not said

	bases map[string]*accidentBase // runs of accidents, see [TestAccidents]
}

// corruptBase are the arguments of the commands that make what is corrupted, each of a fraction of a second: seeds of a
// sweep, and single runs with clients.csv and with decisions.csv.
func corruptBase(out string) [][]string {
	var commands [][]string
	for _, line := range []string{
		"sweep --methods fedawe,mifa --data binary --clients 4 --rounds 4 --eval-every 1 --seeds 3,4,5",
		"run --method fedar --availability uniform --data synthetic --net lenet5 --train-size 60 --test-size 20 " +
			"--clients 5 --rounds 2 --eval-every 1 --local-steps 1 --batch 2",
		"run --method ca-fed --availability markov --data leaf --clients 4 --rounds 2 --eval-every 1 --decisions",
	} {
		commands = append(commands, append(strings.Fields(line), "--device", "cpu", "--threads", "1", "--out", out))
	}
	return commands
}

// again runs the command that made the run.
func (c *corrupt) again(more ...string) outcome {
	for i, method := range []string{"sweep", "fedar", "ca-fed"} {
		if strings.Contains(c.dir, string(filepath.Separator)+method) {
			return rollcall(c.t, append(corruptBase(c.out)[i], more...)...)
		}
	}
	c.t.Fatalf("%s: of no command", c.dir)
	return outcome{}
}

// Every corruption of a run's files is named and keeps the run out of every mean, and the command that made the run
// ends with the right numbers or with an error.
func TestAttackCorruptions(t *testing.T) {
	// Of commands in one process, one that ends last may leave behind what --threads 1 of another has set.
	procs := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	base := filepath.Join(t.TempDir(), "out")
	for _, args := range corruptBase(base) {
		pass(t, args...)
	}
	want := timelessTree(t, base)
	if len(corruptions) < 34 {
		t.Errorf("%d corruptions, want 34 at least", len(corruptions))
	}
	seen := map[string]bool{}
	for i, x := range corruptions {
		if seen[x.name] {
			t.Errorf("%s: twice", x.name)
		}
		seen[x.name] = true
		if testing.Short() && i%8 != 0 {
			continue // -short is for the race detector, under which each takes seconds
		}
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := &corrupt{t: t, out: filepath.Join(t.TempDir(), "out")}
			copyTree(t, base, c.out)
			x.do(c.of("sweep/fedawe_*/seed-4"))
			c.verify(&x)
			c.look(&x, base)
			if longtest.On() || i%4 == 0 { // drawing pictures is what takes the time
				c.report(&x)
			}
			c.repeat(&x, want)
		})
	}
}

// verify holds `results verify` to what has to come of a corruption.
func (c *corrupt) verify(x *corruption) {
	status := statusFailure
	if x.want == harmless || x.want == unfinished || x.want == apart {
		status = statusOK
	}
	o := rollcall(c.t, "results", "verify", c.out)
	if o.status != status {
		c.t.Errorf("verify: status %d, want %d\n%s%s", o.status, status, o.stdout, o.stderr)
	}
	for _, text := range []string{c.dir, x.named} {
		if status != statusOK && !strings.Contains(o.stderr, text) {
			c.t.Errorf("verify: %q, want %q in it", o.stderr, text)
		}
	}
}

// look holds list, merge and diff to it.
func (c *corrupt) look(x *corruption, base string) {
	bad := x.want == damaged || x.want == twin
	named := bad || x.want == beside || x.want == stray
	status := map[bool]int{true: statusFailure}[named]
	list := rollcall(c.t, "results", "list", "--format", "csv", c.out)
	if list.status != status {
		c.t.Errorf("list: status %d, want %d\n%s", list.status, status, list.stderr)
	}
	whole := false // whether the list has the cell as it was
	_, rows := table(c.t, list.stdout)
	for _, r := range rows {
		if r["method"] == c.method() {
			whole = whole || r["status"] == "complete" && (r["seeds"] == "3 4 5" || r["table"] == "run") &&
				r["mark"] == ""
		}
	}
	if sound := x.want >= beside; whole != sound {
		c.t.Errorf("list: the cell is complete: %t, want %t:\n%s", whole, sound, list.stdout)
	}
	bad = bad || x.want == beside
	status = map[bool]int{true: statusFailure}[bad]
	into := filepath.Join(filepath.Dir(c.out), "merged")
	merge := rollcall(c.t, "results", "merge", c.out, "--out", into)
	if _, err := os.Lstat(into); merge.status != status || bad != errors.Is(err, fs.ErrNotExist) {
		c.t.Errorf("merge: status %d, %v, want %d, and nothing written if not 0\n%s",
			merge.status, err, status, merge.stderr)
	}
	if named || x.want == apart || x.want == unverified {
		status = statusFailure // seeds that are not alike are not compared unasked
	}
	diff := rollcall(c.t, "results", "diff", base, c.out)
	if diff.status != status || (status != statusOK) != (diff.stdout == "") {
		c.t.Errorf("diff: status %d, want %d, and no word on stdout if not 0\n%s%s",
			diff.status, status, diff.stdout, diff.stderr)
	}
}

// method is what the run is of.
func (c *corrupt) method() string {
	method, _, _ := strings.Cut(filepath.Base(filepath.Dir(c.dir)), "_")
	return method
}

// report holds `report` to it.
func (c *corrupt) report(x *corruption) {
	status := statusFailure
	if x.want != damaged && x.want != twin && x.want != beside && x.want != stray {
		status = statusOK
	}
	to := filepath.Join(filepath.Dir(c.out), "report")
	o := rollcall(c.t, "report", filepath.Dir(filepath.Dir(c.dir)), "--to", to)
	if o.status != status {
		c.t.Errorf("report: status %d, want %d\n%s", o.status, status, o.stderr)
	}
	n, all := "0", map[bool]string{true: "3", false: "1"}[strings.Contains(c.dir, "sweep")]
	for _, path := range filesBelow(c.t, to) {
		if matched, _ := filepath.Match("curves-*.csv", filepath.Base(path)); !matched {
			continue
		}
		_, rows := table(c.t, contents(c.t, path))
		for _, r := range rows {
			if r["method"] == c.method() {
				n = max(n, r["n"])
			}
		}
	}
	if sound := x.want >= beside; (n == all) != sound {
		c.t.Errorf("report: a mean over %s runs, of %s that there are, want them all: %t", n, all, sound)
	}
}

// repeat holds the command that made the run to it.
func (c *corrupt) repeat(x *corruption, want map[string]string) {
	o := c.again()
	if !strings.Contains(o.stderr+o.stdout, x.again) {
		c.t.Errorf("again: %q, want %q in it", o.stderr+o.stdout, x.again)
	}
	switch x.want {
	case twin:
		if o.status != statusFailure {
			c.t.Errorf("again: status %d, want 1\n%s", o.status, o.stderr)
		}
		return
	case damaged, unverified, apart:
		way := cmp.Or(x.way, "--replace")
		if o.status != statusFailure || !strings.Contains(o.stderr, way) {
			c.t.Errorf("again: status %d, want 1 and %s as a way out\n%s", o.status, way, o.stderr)
		}
		o = c.again(way)
	}
	if o.status != statusOK {
		c.t.Fatalf("again: status %d, want 0\n%s", o.status, o.stderr)
	}
	for _, old := range must.Get(filepath.Glob(filepath.Join(c.out, "*", "*", "*", ".old*")))(c.t) {
		c.check(os.RemoveAll(old)) // a device without end may be in it
	}
	got, want := timelessTree(c.t, c.out), maps.Clone(want)
	for name := range got {
		if x.want >= beside && want[name] == "" { // the accident's own file stays
			delete(got, name)
		}
		if x.want == harmless && filepath.Base(name) == results.RunFile { // in whatever form it is
			delete(got, name)
			delete(want, name)
		}
	}
	sameTree(c.t, "again", got, want)
}
