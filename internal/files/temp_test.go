//go:build unix && !solaris && !aix

package files

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// writerFolder names the folder that a child of this test writes in.
const writerFolder = "ROLLCALL_TEST_WRITER_FOLDER"

// A file that a living process writes stays, however others write beside it; that of a killed one goes with a write.
func TestSweepOfAnotherProcess(t *testing.T) {
	if dir := os.Getenv(writerFolder); dir != "" {
		_ = WriteFile(filepath.Join(dir, "slow"), func(io.Writer) error {
			os.Stdout.WriteString("begun\n")
			_, err := io.Copy(io.Discard, os.Stdin) // until the parent lets go
			return err
		})
		return
	}
	dir := t.TempDir()
	child := func() (kill, end func()) {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestSweepOfAnotherProcess$")
		cmd.Env = append(os.Environ(), writerFolder+"="+dir)
		in := must.Get(cmd.StdinPipe())(t)
		out := must.Get(cmd.StdoutPipe())(t)
		must.OK(t, cmd.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
			t.Fatalf("the child said %q, %v", line, err)
		}
		return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, func() { _ = in.Close(); _ = cmd.Wait() }
	}
	kill, _ := child()
	_, end := child()
	for range 20 {
		must.OK(t, WriteFile(filepath.Join(dir, "fast"), func(io.Writer) error { return nil }))
	}
	if got := temps(t, dir); len(got) != 2 {
		t.Errorf("beside two living writers: %q, want the files of both", got)
	}
	kill()
	if got := temps(t, dir); len(got) != 2 {
		t.Fatalf("after a kill: %q, want what it leaves: the test is of nothing", got)
	}
	must.OK(t, WriteFile(filepath.Join(dir, "fast"), func(io.Writer) error { return nil }))
	if got := temps(t, dir); len(got) != 1 {
		t.Errorf("after a kill and a write: %q, want that of the living writer alone", got)
	}
	end()
	if _, err := os.Stat(filepath.Join(dir, "slow")); err != nil {
		t.Errorf("the living writer's file: %v, want it in place", err)
	}
	if got := temps(t, dir); len(got) != 0 {
		t.Errorf("at the end: %q, want no temporary file", got)
	}
}

// Nobody here knows the writers of another machine: files of a day go, younger ones stay, and so do other names.
func TestSweepOfAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{
		".rollcall-ffffffff-YOUNG.tmp": staleAfter - time.Hour, ".rollcall-ffffffff-OLD.tmp": staleAfter + time.Hour,
		".rollcall-OLDER.tmp": staleAfter + time.Hour, "notes.tmp": 30 * staleAfter, ".rollcall-notes": 30 * staleAfter,
	} {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, nil, 0o666))
		must.OK(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}
	must.OK(t, os.Mkdir(filepath.Join(dir, ".rollcall-folder.tmp"), 0o777))
	Sweep(dir)
	got := strings.Join(all(t, dir), " ")
	if want := ".rollcall-ffffffff-YOUNG.tmp .rollcall-folder.tmp .rollcall-notes notes.tmp"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Many writers in one folder sweep one another's names all the time, and none loses its file.
func TestSweepBesideWriters(t *testing.T) {
	dir := t.TempDir()
	failed := make(chan error)
	for k := range 8 {
		go func() {
			var err error
			for range 50 {
				if err == nil {
					err = WriteFile(filepath.Join(dir, string(rune('a'+k))), func(io.Writer) error { return nil })
				}
			}
			failed <- err
		}()
	}
	for range 8 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if got := all(t, dir); len(got) != 8 {
		t.Errorf("%q, want eight files", got)
	}
}

func all(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func temps(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, name := range all(t, dir) {
		if strings.HasSuffix(name, tempSuffix) {
			names = append(names, name)
		}
	}
	return names
}

// What comes to the place of a new file at the last moment is told as what was there before.
func TestRename(t *testing.T) {
	dir := t.TempDir()
	temp, path := filepath.Join(dir, "temp"), filepath.Join(dir, "f")
	must.OK(t, errors.Join(os.WriteFile(temp, nil, 0o600), os.Mkdir(path, 0o700)))
	if err := rename(temp, path); !errors.Is(err, ErrNoFile) {
		t.Errorf("onto a folder: %v, want %v", err, ErrNoFile)
	}
	if err := rename(filepath.Join(dir, "none"), path+"2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v, want %v", err, fs.ErrNotExist)
	}
}
