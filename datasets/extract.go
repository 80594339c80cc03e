package datasets

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// maxExtra is the largest file beside the official ones that is extracted too: a readme, the names of the classes.
const maxExtra = 1 << 20

// extract unpacks the archive's folder to dir: first into a temporary folder beside it, which is then renamed. Files
// that dir holds already are left as they are.
func (a *archive) extract(ctx context.Context, archivePath, dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("datasets: %s: extract %s: %w", a.set, archivePath, err)
		}
	}()
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+a.folders[0]+"-*.tmp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o755); err != nil { // MkdirTemp's 0700 would hide the data from everybody else
		return err
	}
	if err := a.unpack(ctx, archivePath, temp); err != nil {
		return err
	}
	if err := syncDir(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		// Most likely the folder is there, from another process or with some files lost.
		if err := moveMissing(temp, dir); err != nil {
			return err
		}
	}
	return syncDir(filepath.Dir(dir))
}

// unpack writes the files of the archive's folder to dir, by their last names only, so that no path in an archive
// leads out of it.
func (a *archive) unpack(ctx context.Context, archivePath, dir string) error {
	f, err := os.Open(archivePath)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	want := map[string]int64{}
	for _, o := range a.files {
		want[o.name] = o.size
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		at, name := path.Split(path.Clean(h.Name))
		size, isOfficial := want[name]
		switch {
		case h.Typeflag != tar.TypeReg || path.Clean(at) != a.folders[0]:
			continue
		case isOfficial && h.Size != size:
			return fmt.Errorf("%s: %d bytes, want %d", name, h.Size, size)
		case !isOfficial && h.Size > maxExtra:
			continue
		}
		if err := writeFile(ctx, filepath.Join(dir, name), t); err != nil {
			return err
		}
		delete(want, name)
	}
	for _, o := range a.files {
		if _, lacks := want[o.name]; lacks {
			return fmt.Errorf("%s: not in the archive", o.name)
		}
	}
	return nil
}

// moveMissing moves the files of one folder into another, but for those that are there already.
func moveMissing(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		target := filepath.Join(to, e.Name())
		switch _, err := os.Lstat(target); {
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := os.Rename(filepath.Join(from, e.Name()), target); err != nil {
			return err
		}
	}
	return syncDir(to)
}

// writeFile copies r to a new file, down to the disk.
func writeFile(ctx context.Context, path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, &contextReader{ctx, r})
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// contextReader is a reader that ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
