package recheck

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// member is a file of an archive.
type member struct{ name, text string }

// membersOf returns all files below a folder.
func membersOf(t *testing.T, dir string) (members []member) {
	t.Helper()
	must.OK(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		members = append(members, member{name, string(text)})
		return err
	}))
	return members
}

// archive writes an archive of files, and of other members.
func archive(t *testing.T, path string, members []member, others ...*tar.Header) {
	t.Helper()
	var text bytes.Buffer
	zipped := gzip.NewWriter(&text)
	out := tar.NewWriter(zipped)
	for _, m := range members {
		must.OK(t, out.WriteHeader(&tar.Header{Name: m.name, Size: int64(len(m.text)), Mode: 0o666}))
		must.Get(out.Write([]byte(m.text)))(t)
	}
	for _, h := range others {
		must.OK(t, out.WriteHeader(h))
	}
	must.OK(t, out.Close())
	must.OK(t, zipped.Close())
	must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.OK(t, os.WriteFile(path, text.Bytes(), 0o666))
}

// An archive that is not what somebody packed, or that would write elsewhere, is refused, and what else is there is
// rechecked.
func TestArchiveRefused(t *testing.T) {
	packed := t.TempDir()
	train(t, packed, "fedar-3", 5)
	members := membersOf(t, filepath.Join(packed, "fedar-3"))
	for want, write := range map[string]func(path string){
		"leads out of the folder": func(path string) { archive(t, path, append(members, member{"../x", "x"})) },
		`"/x": leads out`:         func(path string) { archive(t, path, append(members, member{"/x", "x"})) },
		"neither a file nor a folder": func(path string) {
			archive(t, path, members, &tar.Header{Name: "l", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink})
		},
		`"h": neither`: func(path string) {
			archive(t, path, members, &tar.Header{Name: "h", Linkname: members[0].name, Typeflag: tar.TypeLink})
		},
		"file exists": func(path string) { archive(t, path, append(members, members[0])) },
		"unexpected EOF": func(path string) {
			archive(t, path, members)
			text := must.Get(os.ReadFile(path))(t)
			must.OK(t, os.WriteFile(path, text[:len(text)-5], 0o666)) // in the checksum
		},
		"gzip: invalid header": func(path string) { must.OK(t, os.WriteFile(path, []byte("0123456789abcdef"), 0o666)) },
	} {
		t.Run(want, func(t *testing.T) {
			out := t.TempDir()
			train(t, out, "fedar-2", 3)
			must.OK(t, os.MkdirAll(filepath.Join(out, "fedar-3"), 0o777))
			write(filepath.Join(out, "fedar-3", ArchiveName))
			r := recheck(t, options(out))
			if len(r.Lines) != 1 || len(r.Problems) != 1 || r.Err() == nil {
				t.Fatalf("%+v, %v, %v, want one line and one problem", r.Lines, r.Problems, r.Err())
			}
			if err := r.Problems[0].Error(); !strings.Contains(err, want) || !strings.Contains(err, out) {
				t.Errorf("%s: want %q in it, and the path", err, want)
			}
		})
	}
}

// An archive that would fill the disk is refused.
func TestArchiveTooLarge(t *testing.T) {
	path, to := filepath.Join(t.TempDir(), ArchiveName), t.TempDir()
	archive(t, path, []member{{"a/curve.csv", strings.Repeat("0", 1<<20)}})
	if err := unpack(path, to, 1<<19); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v, want that it is too large", err)
	}
	must.OK(t, unpack(path, t.TempDir(), 1<<22))
	// A file with a hole is larger than what the archive has of it.
	holes := t.TempDir()
	must.OK(t, os.WriteFile(filepath.Join(holes, "curve.csv"), nil, 0o666))
	must.OK(t, os.Truncate(filepath.Join(holes, "curve.csv"), 1<<22))
	pack := exec.Command("tar", "--sparse", "--format=posix", "-czf", path, "-C", holes, "curve.csv")
	if text, err := pack.CombinedOutput(); err != nil {
		t.Skipf("no tar that packs holes: %v: %s", err, text)
	}
	if err := unpack(path, t.TempDir(), 1<<21); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v, want that a file with a hole is too large", err)
	}
}
