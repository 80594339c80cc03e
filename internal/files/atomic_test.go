package files_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/files/filestest"
	"rollcall/internal/must"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "c.txt")
	for _, want := range []string{"first", "the second, longer", ""} {
		must.OK(t, files.WriteFile(path, text(want)))
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("content: got %q, %v, want %q", got, err, want)
		}
	}
	if got := filestest.FileNames(t, filepath.Dir(path)); got != "c.txt" {
		t.Errorf("folder: got %q, want c.txt alone", got)
	}
}

func TestWriteFileLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 255)) // the longest name Linux takes
	if err := files.WriteFile(path, text("x")); err != nil {
		t.Errorf("name of 255 bytes: got %v, want no error", err)
	}
}

// The umask is the process's own, so this test must not run beside others.
func TestWriteFileMode(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "f")
	must.OK(t, files.WriteFile(path, text("x")))
	info := must.Get(os.Stat(path))(t)
	if got, want := info.Mode(), fs.FileMode(0o640); got != want {
		t.Errorf("mode with umask 027: got %v, want %v", got, want)
	}
}

func TestWriteFileFails(t *testing.T) {
	errWriter := errors.New("the writer's own")
	tests := []struct {
		name  string
		setup func(t *testing.T, dir string) string // returns the path to write
		write func(io.Writer) error
		is    error
		left  string // in dir afterwards
	}{
		{
			"writer fails after some bytes",
			func(t *testing.T, dir string) string {
				path := filepath.Join(dir, "f")
				must.OK(t, os.WriteFile(path, []byte("old"), 0o600))
				return path
			},
			func(w io.Writer) error {
				_, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) // more than is buffered
				return errWriter
			}, errWriter, "f",
		},
		{
			"target is a folder",
			func(t *testing.T, dir string) string {
				path := filepath.Join(dir, "f")
				must.OK(t, os.MkdirAll(filepath.Join(path, "sub"), 0o700))
				return path
			},
			text("x"), files.ErrNoFile, "f",
		},
		{
			"target is a pipe",
			func(t *testing.T, dir string) string {
				must.OK(t, syscall.Mkfifo(filepath.Join(dir, "f"), 0o600))
				return filepath.Join(dir, "f")
			},
			text("x"), files.ErrNoFile, "f",
		},
		{
			"target is a socket",
			func(t *testing.T, dir string) string {
				filestest.Socket(t, filepath.Join(dir, "f"))
				return filepath.Join(dir, "f")
			},
			text("x"), files.ErrNoFile, "f",
		},
		{
			"target is a device",
			func(t *testing.T, dir string) string {
				return filestest.Device(t, filepath.Join(dir, "f"), filestest.Null)
			},
			text("x"), files.ErrNoFile, "f",
		},
		{
			"parent is a file",
			func(t *testing.T, dir string) string {
				must.OK(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o600))
				return filepath.Join(dir, "f", "g")
			},
			text("x"), syscall.ENOTDIR, "f",
		},
		{
			"folder without permission to write",
			func(t *testing.T, dir string) string {
				if os.Getuid() == 0 {
					t.Skip("root may write everywhere")
				}
				must.OK(t, os.Chmod(dir, 0o500))
				t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
				return filepath.Join(dir, "f")
			},
			text("x"), fs.ErrPermission, "",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := test.setup(t, dir)
			err := files.WriteFile(path, test.write)
			if !errors.Is(err, test.is) {
				t.Errorf("error: got %v, want one that is %v", err, test.is)
			}
			if err == nil || !strings.HasPrefix(err.Error(), "results: "+path+": ") ||
				strings.Contains(err.Error(), ".tmp") {
				t.Errorf("error: got %v, want it to start with the path and not to speak of the temporary name", err)
			}
			if got := filestest.FileNames(t, dir); got != test.left {
				t.Errorf("folder afterwards: got %q, want %q", got, test.left)
			}
			old, _, err := files.OpenRegular(path)
			if err != nil { // there was none
				return
			}
			defer old.Close()
			if old, err := io.ReadAll(old); err != nil || string(old) != "old" {
				t.Errorf("file afterwards: got %q, want what it was", old)
			}
		})
	}
}

// An error about a file that the writer reads names that one.
func TestWriteFileOfAnother(t *testing.T) {
	dir := t.TempDir()
	err := files.WriteFile(filepath.Join(dir, "f"), func(w io.Writer) error {
		from, err := os.Open(dir) // reading a folder fails
		if err == nil {
			_, err = io.Copy(w, from)
			err = errors.Join(err, from.Close())
		}
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "read "+dir+": ") {
		t.Errorf("got %v, want it to name what was read", err)
	}
}

func TestWriteFilePanic(t *testing.T) {
	dir := t.TempDir()
	func() {
		defer func() { _ = recover() }()
		_ = files.WriteFile(filepath.Join(dir, "f"), func(io.Writer) error { panic("writer") })
	}()
	if got := filestest.FileNames(t, dir); got != "" {
		t.Errorf("folder after a panic: got %q, want nothing", got)
	}
}
