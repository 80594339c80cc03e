package recheck

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"rollcall/internal/files"
)

// ArchiveName is the name of an archive of kept runs: a tar of folders CELL/seed-N, with the files of a run in each.
const ArchiveName = "runs.tar.gz"

// Bounds of an archive when it is unpacked: one that somebody made to fill the disk is refused.
const (
	mostUnpacked = 4 << 30 // bytes
	mostMembers  = 100_000 // files and folders, a hundred times those of a large table
)

// unpackAll unpacks every archive below the folder dir, to a folder of its path below to. bad is what is wrong with
// archives, whose runs are left out.
func unpackAll(ctx context.Context, dir, to string) (bad []error, err error) {
	if err := os.Mkdir(to, 0o777); err != nil {
		return nil, err
	}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil || d.Name() != ArchiveName {
			return errors.Join(err, ctx.Err())
		}
		path, into := filepath.Join(dir, name), filepath.Join(to, name)
		if err := unpack(path, into, mostUnpacked); err != nil {
			bad = append(bad, fmt.Errorf("recheck: %s: %w, want a whole archive of at most %d bytes", path, err,
				int64(mostUnpacked)))
			return os.RemoveAll(into)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("recheck: %s: %w", dir, err)
	}
	return bad, err
}

// unpack writes the files of an archive below the folder dir. It refuses an archive that is cut off, has more than most
// bytes, has a name that leads out of the folder, or has anything but files and folders, such as a link.
func unpack(path, dir string, most int64) error {
	f, _, err := files.OpenRegular(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	whole := &io.LimitedReader{R: zipped, N: most}
	if err = untar(tar.NewReader(whole), dir, most); err == nil {
		_, err = io.Copy(io.Discard, whole) // up to the checksum at the end of the file
	}
	if whole.N == 0 {
		err = errors.New("too large")
	}
	return err
}

// untar writes the members of an archive, which may say that they are larger than the archive: they have holes.
func untar(in *tar.Reader, dir string, most int64) error {
	for members := 0; ; members++ {
		member, err := in.Next()
		if err == nil {
			most -= member.Size
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case most < 0 || members == mostMembers:
			return errors.New("too large")
		case !filepath.IsLocal(member.Name):
			return fmt.Errorf("%q: leads out of the folder", member.Name)
		case member.Typeflag == tar.TypeDir:
			continue
		case member.Typeflag != tar.TypeReg:
			return fmt.Errorf("%q: neither a file nor a folder", member.Name)
		}
		to := filepath.Join(dir, member.Name)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // a name may be there once
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
}
