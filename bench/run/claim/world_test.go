package claim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
	"rollcall/results/files"
)

// world is a folder on which parties work, of which a test stops and goes on with any at every operation on a file.
// It is not for parties that run at the same time.
type world struct {
	t       *testing.T
	dir     string
	log     []string // the operations, for a test that fails
	made    int      // claims, in the order of their links
	current *Claim   // the last to be made of those of which a Try has returned
	since   int      // when it was made
	claims  []*Claim // all, to be released at the end
}

func newWorld(t *testing.T) *world {
	dir := must.Get(os.MkdirTemp(scratch(), "claims"))(t)
	w := &world{t: t, dir: filepath.Join(dir, "seed-1")}
	t.Cleanup(w.remove)
	return w
}

// remove ends the world, at the latest at the end of the test.
func (w *world) remove() {
	w.end()
	if err := os.RemoveAll(filepath.Dir(w.dir)); err != nil {
		w.t.Error(err)
	}
	w.claims = nil
}

// scratch is where syncs cost nothing, if there is such a place.
func scratch() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

// end releases all claims.
func (w *world) end() {
	for _, c := range w.claims {
		c.around, c.list = nil, nil
		_ = c.Release()
	}
}

// party is a process of a world, on a host of its own.
type party struct {
	*world
	*Watch
	name  string
	claim *Claim
	made  int   // when its last claim was made
	err   error // of the last Publish
	done  int   // files published
	step  func(op, name string)
	fault func(op string) error // that is reported after the operation has been made
	aged  time.Duration
	stale []string // the listing that the client of NFS keeps; nil: none
}

// party returns one to which every claim that it has seen once is dead when it sees it again unchanged.
func (w *world) party(name string) *party {
	p := &party{world: w, name: name}
	p.Watch = &Watch{Beat: time.Hour, Expiry: time.Minute, around: p.around, clock: func() time.Duration {
		p.aged += time.Minute
		return p.aged
	}, self: func() identity {
		return identity{process: name + "-------------"[len(name):], host: name, pid: 7, boot: name}
	}}
	return p
}

func (p *party) around(op, name string, do func() error) error {
	if p.step != nil {
		p.step(op, name)
	}
	err := do()
	p.log = append(p.log, strings.TrimRight(fmt.Sprintf("%s: %s %s %v", p.name, op, name, err), " "))
	switch op {
	case "link", "create", "rename", "remove", "mkdir":
		p.stale = nil // a client sees what it has changed in a folder itself
	}
	if (op == "link" || op == "create") && epochOf(name) > 0 && err == nil {
		p.world.made++
		p.made = p.world.made
	}
	if op == "rename" && err == nil && !strings.HasPrefix(name, ".") {
		p.published(name)
	}
	if err == nil && p.fault != nil {
		err = p.fault(op)
	}
	return err
}

// published checks that who has just published a file is who has the folder, and that the file is its own.
func (p *party) published(name string) {
	p.t.Helper()
	if p.claim == nil || p.claim != p.current {
		p.t.Errorf("%s has published %s, want nobody but %q, the last to claim the folder; the operations:\n%s",
			p.name, name, p.current.id, strings.Join(p.log, "\n"))
		return
	}
	got, err := os.ReadFile(filepath.Join(p.dir, name))
	if want := p.text(); err != nil || string(got) != want {
		p.t.Errorf("%s has published %q, %v, want its own text %q; the operations:\n%s",
			p.name, got, err, want, strings.Join(p.log, "\n"))
	}
}

func (p *party) text() string { return "of " + p.claim.id }

// try claims the folder and says whether it worked.
func (p *party) try() bool {
	p.t.Helper()
	c, holder, err := p.Try(p.dir)
	if err != nil {
		p.t.Errorf("%s: Try: %v; the operations:\n%s", p.name, err, strings.Join(p.log, "\n"))
		return false
	}
	if (c == nil) == (holder == nil) {
		p.t.Errorf("%s: Try: claim %v, holder %v, want one of them", p.name, c, holder)
	}
	if c == nil {
		return false
	}
	p.log = append(p.log, p.name+": has it")
	p.claim, p.claims = c, append(p.claims, c)
	if p.made > p.since { // else it is lost already
		p.current, p.since = c, p.made
	}
	return true
}

// twice tries twice: the second time any claim is dead.
func (p *party) twice() bool {
	p.t.Helper()
	has := p.try()
	return has || p.try()
}

// publish writes a file and publishes it.
func (p *party) publish() {
	path := p.claim.Path("curve.csv")
	p.err = p.around("create", filepath.Base(path), func() error { return os.WriteFile(path, []byte(p.text()), 0o666) })
	if p.err == nil {
		p.err = p.claim.Publish("curve.csv")
	}
	if p.err == nil {
		p.done++
	}
	p.log = append(p.log, fmt.Sprintf("%s: publish: %v", p.name, p.err))
}

// all does all that a process does: two tries, the second of which finds any claim dead.
func (p *party) all(release bool) {
	if !p.twice() {
		p.t.Errorf("%s: two tries, the other's claim is dead, want the claim; the operations:\n%s",
			p.name, strings.Join(p.log, "\n"))
		return
	}
	p.publish()
	if p.err != nil {
		p.t.Errorf("%s: the last to claim the folder: Publish: %v; the operations:\n%s",
			p.name, p.err, strings.Join(p.log, "\n"))
	}
	if release {
		p.release()
	}
}

func (p *party) release() {
	p.t.Helper()
	if err := p.claim.Release(); err != nil {
		p.t.Errorf("%s: Release: %v", p.name, err)
	}
}

// turns is a party that waits for its turn before every operation.
type turns struct {
	*party
	turn chan struct{}
	asks chan bool // for its next turn; false: it has ended
}

// inTurns returns a party that does something, as far as it is told to go on.
func (p *party) inTurns(do func()) *turns {
	r := &turns{party: p, turn: make(chan struct{}), asks: make(chan bool)}
	p.step = func(string, string) {
		r.asks <- true
		<-r.turn
	}
	go func() {
		defer func() { r.asks <- false }()
		<-r.turn
		do()
	}()
	return r
}

// goOn lets a party do some operations, and says whether there are more.
func (r *turns) goOn(operations int) bool {
	for range operations {
		r.turn <- struct{}{}
		if !<-r.asks {
			return false
		}
	}
	return true
}

// listing is the folder as a client of NFS shows it: anew once it has changed something there, and kept else.
func (p *party) listing(dir string) ([]string, error) {
	if p.stale != nil {
		return slices.Clone(p.stale), nil
	}
	names, err := listFolder(dir)
	p.stale = slices.Clone(names)
	return names, err
}

// unlinkable is a file system without links.
func unlinkable(w *Watch) {
	next := w.around
	w.around = func(op, name string, do func() error) error {
		if op == "link" {
			do = func() error { return &os.LinkError{Op: "link", Old: name, New: name, Err: os.ErrPermission} }
		}
		if next == nil {
			return do()
		}
		return next(op, name, do)
	}
}

// content lists the folder with what is in the files that are not hidden.
func content(t *testing.T, dir string) string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var list []string
	for _, e := range entries {
		text := ""
		if !strings.HasPrefix(e.Name(), ".") {
			b := must.Get(files.ReadRegular(filepath.Join(dir, e.Name())))(t)
			text = ": " + string(b)
		}
		list = append(list, e.Name()+text)
	}
	return strings.Join(list, ", ")
}
