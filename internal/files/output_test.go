package files_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
)

// write writes a text to a named output; standard output is a buffer.
func write(name, content string) (stdout string, err error) {
	var b bytes.Buffer
	o, err := files.NewOutput(name, &b)
	if err == nil {
		err = o.Write(text(content))
	}
	return b.String(), err
}

// What is written to a name is then in a file, and the name is what it was.
func TestOutputFiles(t *testing.T) {
	whole := func(t *testing.T) { must.OK(t, os.Symlink(must.Get(filepath.Abs("real"))(t), "link")) }
	symlink := func(to, name string) func(*testing.T) { return func(t *testing.T) { must.OK(t, os.Symlink(to, name)) } }
	for name, c := range map[string]struct {
		setup    func(t *testing.T) // in a folder of its own that has the folder d
		path, in string             // the name, and the file that has the text then
		isLink   bool               // the name is a link still
	}{
		"new":                 {nil, "new.csv", "new.csv", false},
		"in a new folder":     {nil, "a/b/new.csv", "a/b/new.csv", false},
		"a link":              {symlink("real", "link"), "link", "real", true},
		"a whole path":        {whole, "link", "real", true},
		"a link to nothing":   {symlink("d/not-yet", "link"), "link", "d/not-yet", true},
		"a link in a folder":  {symlink("../real", "d/link"), "d/link", "real", true},
		"a folder is a link":  {symlink("d", "to-d"), "to-d/x", "d/x", false},
		"above a linked one":  {both(symlink("d/e", "to-e"), symlink("to-e/../up", "link")), "link", "d/up", true},
		"a link to a link":    {both(symlink("link", "first"), symlink("real", "link")), "first", "real", true},
		"a descriptor's name": {nil, "fd/1", "fd/1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			must.OK(t, os.MkdirAll("d/e", 0o777))
			must.OK(t, os.WriteFile("real", []byte("old and longer"), 0o640))
			if c.setup != nil {
				c.setup(t)
			}
			if stdout, err := write(c.path, "text"); err != nil || stdout != "" {
				t.Fatalf("got %q on standard output, %v", stdout, err)
			}
			if got := must.Get(os.ReadFile(c.in))(t); string(got) != "text" {
				t.Errorf("%s: %q, want the text", c.in, got)
			}
			info := must.Get(os.Lstat(c.path))(t)
			if isLink := info.Mode()&fs.ModeSymlink != 0; isLink != c.isLink {
				t.Errorf("%s: %v, want a link: %v", c.path, info.Mode(), c.isLink)
			}
			if mode := must.Get(os.Stat("real"))(t).Mode(); mode != 0o640 {
				t.Errorf("mode %v, want the older file's", mode)
			}
		})
	}
}

func both(a, b func(*testing.T)) func(*testing.T) { return func(t *testing.T) { a(t); b(t) } }

// The other names of a file, its owner, and a file in another user's folder.
func TestOutputKeeps(t *testing.T) {
	t.Chdir(t.TempDir())
	must.OK(t, os.WriteFile("a", []byte("old and longer"), 0o666))
	must.OK(t, os.Link("a", "b"))
	if _, err := write("a", "text"); err != nil || string(must.Get(os.ReadFile("b"))(t)) != "text" {
		t.Errorf("%v, and the other name has %q", err, must.Get(os.ReadFile("b"))(t))
	}
	if os.Getuid() == 0 {
		must.OK(t, os.WriteFile("theirs", nil, 0o666))
		must.OK(t, os.Chown("theirs", 12, 34))
		_, err := write("theirs", "text")
		s := must.Get(os.Stat("theirs"))(t).Sys().(*syscall.Stat_t)
		if err != nil || s.Uid != 12 || s.Gid != 34 {
			t.Errorf("%v, owner %d:%d, want 12:34", err, s.Uid, s.Gid)
		}
		return
	}
	must.OK(t, os.Mkdir("d", 0o777))
	must.OK(t, os.WriteFile("d/open", []byte("old and longer"), 0o666))
	must.OK(t, os.WriteFile("closed", nil, 0o444))
	must.OK(t, os.Chmod("d", 0o555))
	defer os.Chmod("d", 0o777)
	if _, err := write("d/open", "text"); err != nil || string(must.Get(os.ReadFile("d/open"))(t)) != "text" {
		t.Errorf("a file in a folder that takes no new one: %v", err)
	}
	if _, err := write("closed", "text"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file that may not be written: %v", err)
	}
}

// The older file stays until a whole new one is there.
func TestOutputFails(t *testing.T) {
	t.Chdir(t.TempDir())
	must.OK(t, os.WriteFile("real", []byte("old"), 0o666))
	must.OK(t, os.Symlink("real", "link"))
	mine := errors.New("the writer's own")
	o := must.Get(files.NewOutput("link", nil))(t)
	err := o.Write(func(w io.Writer) error {
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		return mine
	})
	if !errors.Is(err, mine) || string(must.Get(os.ReadFile("real"))(t)) != "old" {
		t.Errorf("%v, want the writer's error and the older file", err)
	}
	if names := filestest.FileNames(t, "."); names != "link real" {
		t.Errorf("left: %s", names)
	}
}

// What is no file and cannot be written through is an error that names what the user has written.
func TestOutputRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	must.OK(t, os.Mkdir("folder", 0o777))
	filestest.Socket(t, filepath.Join(must.Get(os.Getwd())(t), "socket"))
	for name, to := range map[string]string{
		"loop": "loop", "a": "b", "b": "a", "to-folder": "folder", "to-socket": "socket", "lost": "no/where",
	} {
		must.OK(t, os.Symlink(to, name))
	}
	for name, want := range map[string]string{
		"": "empty", "folder": "a folder", "folder/": "a folder", "new/": "a folder", ".": "a folder",
		"to-folder": "a folder", "socket": "a socket", "to-socket": "a socket", "loop": "too many levels",
		"a": "too many levels", "lost": "no/where, whose folder does not exist", "socket/x": "not a directory",
		"/dev/fd/987": "bad file descriptor", "nul\x00": "invalid argument",
	} {
		_, err := files.NewOutput(name, nil)
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") && name != "" ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it named and %q", name, err, want)
		}
	}
	if names := filestest.FileNames(t, "."); strings.Count(names, " ") != 7 {
		t.Errorf("left: %s, want nothing new", names)
	}
}

// Pipes and devices are written through, and stay.
func TestOutputThrough(t *testing.T) {
	t.Chdir(t.TempDir())
	must.OK(t, syscall.Mkfifo("pipe", 0o666))
	must.OK(t, os.Symlink("pipe", "to-pipe"))
	for _, name := range []string{"pipe", "to-pipe"} {
		read := make(chan string)
		go func() {
			got, _ := os.ReadFile("pipe")
			read <- string(got)
		}()
		if _, err := write(name, "text"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := <-read; got != "text" {
			t.Errorf("%s: the reader has %q", name, got)
		}
	}
	t.Run("device", func(t *testing.T) {
		null := filestest.Device(t, "null", filestest.Null)
		full := filestest.Device(t, "full", filestest.Full)
		must.OK(t, os.Symlink(full, "to-full"))
		if _, err := write(null, "text"); err != nil {
			t.Error(err)
		}
		if _, err := write("to-full", "text"); !errors.Is(err, syscall.ENOSPC) ||
			!strings.HasPrefix(err.Error(), "to-full: ") {
			t.Errorf("full: %v", err)
		}
		for _, name := range []string{null, full} {
			if mode := must.Get(os.Lstat(name))(t).Mode(); mode&fs.ModeCharDevice == 0 {
				t.Errorf("%s: %v, want a device", name, mode)
			}
		}
	})
}

// Standard output by its names, and other descriptors, at the place where they are.
func TestOutputDescriptors(t *testing.T) {
	t.Chdir(t.TempDir())
	must.OK(t, os.Symlink("/dev/stdout", "link"))
	for _, name := range []string{"-", "/dev/stdout", "/dev/fd/1", "link"} {
		if got, err := write(name, "text"); err != nil || got != "text" {
			t.Errorf("%s: %q on standard output, %v", name, got, err)
		}
	}
	log := must.Get(os.Create("log"))(t)
	defer log.Close()
	must.Get(log.WriteString("first "))(t)
	for range 2 {
		if _, err := write("/dev/fd/"+strconv.Itoa(int(log.Fd())), "text "); err != nil {
			t.Error(err)
		}
	}
	if got := must.Get(os.ReadFile("log"))(t); string(got) != "first text text " {
		t.Errorf("the descriptor's file has %q", got)
	}
}
