package datasets

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"rollcall/internal/files"
)

// maxExtra is the size in bytes up to which other files in an archive are extracted too: a readme, the names of the
// classes.
const maxExtra = 1 << 20

// extract checks the archive and extracts its folder to found.Dir. It extracts to a temporary folder first, so that a
// broken archive leaves no files. It does not replace files that found.Dir has already.
func (s *source) extract(ctx context.Context, found Found) (err error) {
	sum, err := sumFile(ctx, found.Archive, md5.New())
	switch {
	case err != nil:
		return err
	case sum != s.archive.md5:
		return fmt.Errorf("%s: %w: MD5 %s, want %s", found.Archive, ErrAltered, sum, s.archive.md5)
	}
	temp, err := os.MkdirTemp(filepath.Dir(found.Dir), "."+s.folders[0]+"-*.tmp")
	if err == nil {
		defer os.RemoveAll(temp)
		err = s.unpack(ctx, found.Archive, temp)
	}
	if err == nil {
		err = moveMissing(temp, found.Dir)
	}
	if err != nil {
		return fmt.Errorf("extract %s: %w", found.Archive, err)
	}
	return nil
}

// unpack writes the files of the archive's folder to dir. It uses only the last element of their paths, so that no path
// in an archive leads out of dir.
func (s *source) unpack(ctx context.Context, archivePath, dir string) error {
	f, err := os.Open(archivePath)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
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
		// A known file must have its published size; an unknown one is extracted only if it is small.
		i := slices.IndexFunc(s.files, func(f publishedFile) bool { return f.name == name })
		switch {
		case h.Typeflag != tar.TypeReg || path.Clean(at) != s.folders[0]:
			continue
		case i >= 0 && h.Size != s.files[i].size:
			return fmt.Errorf("%s: %d bytes, want %d", name, h.Size, s.files[i].size)
		case i < 0 && h.Size > maxExtra:
			continue
		}
		err = files.Replace(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := io.Copy(w, &contextReader{ctx, t})
			return err
		})
		if err != nil {
			return err
		}
	}
	missing, err := s.missing(dir)
	if len(missing) > 0 {
		return fmt.Errorf("%s: not in the archive", missing[0])
	}
	return err
}

// moveMissing moves the files of one folder to another, except those that the other folder has already. It creates the
// other folder if necessary.
func moveMissing(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
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
	return files.SyncFolder(to)
}

// contextReader is a reader that returns an error once its context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read reads from the underlying reader, unless the context is done.
func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
