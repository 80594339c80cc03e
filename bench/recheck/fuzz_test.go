package recheck

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"rollcall/internal/must"
)

// FuzzUntar: an archive makes regular files and folders below its folder, and nothing elsewhere, or is an error.
func FuzzUntar(f *testing.F) {
	for _, members := range [][]tar.Header{
		{{Name: "a/b.csv"}, {Name: "a", Typeflag: tar.TypeDir}, {Name: "../out"}},
		{{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, {Name: "l/x"}},
		{{Name: "x"}, {Name: "x"}, {Name: "x/y"}},
		{{Name: "s", Typeflag: tar.TypeLink, Linkname: "x"}, {Name: "long/" + string(bytes.Repeat([]byte("n"), 300))}},
	} {
		var text bytes.Buffer
		out := tar.NewWriter(&text)
		for _, h := range members {
			h.Mode = 0o666
			must.OK(f, out.WriteHeader(&h))
		}
		must.OK(f, out.Close())
		f.Add(text.Bytes())
	}
	top := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := filepath.Join(top, "in", "side")
		must.OK(t, os.RemoveAll(filepath.Join(top, "in")))
		must.OK(t, os.MkdirAll(dir, 0o700))
		_ = untar(tar.NewReader(bytes.NewReader(text)), dir, 1<<20)
		must.OK(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			below := filepath.IsLocal(must.Get(filepath.Rel(dir, path))(t))
			if err == nil && !d.IsDir() && (!d.Type().IsRegular() || !below) {
				t.Errorf("%s: %s, want regular files below %s", path, d.Type(), dir)
			}
			return err
		}))
	})
}
