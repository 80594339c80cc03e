package datasets

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/internal/files"
)

// visitor is called with the name and the size in bytes of a picture, and with a function that opens its content.
type visitor func(name string, size int64, open func() (io.ReadCloser, error)) error

// pictures is a tree of files PART/CLASS/NAME.png in a folder or an archive, with the parts train and test. Names that
// begin with a dot, what operating systems leave, other parts, and files outside of classes are ignored. A folder of an
// unknown class is an error, as it would need a label. Anything but a PNG file in a class is an error too.
type pictures interface {
	// walk calls visit for every picture, whose content can be read until visit returns. As long as the fingerprint is
	// the same, the order is the same.
	walk(ctx context.Context, visit visitor) (fingerprint, error)
	// fingerprint returns the same fingerprint as walk, without decoding pictures.
	fingerprint(ctx context.Context) (fingerprint, error)
	String() string // the path, for errors
}

// fingerprint changes when the pictures change. It depends on the content of an archive, or on the names, sizes and
// times of the files in a folder, among them the time of their last change, which no program can set.
type fingerprint struct {
	sum    [sha256.Size]byte
	record record // the size and the checksum of an archive
}

// isPicture reports whether a file is a picture to read, given its path below the root of the tree.
func isPicture(file string) (bool, error) {
	parts := strings.Split(file, "/")
	if len(parts) < 3 || !slices.Contains(partNames[:], parts[0]) || slices.ContainsFunc(parts, isLitter) {
		return false, nil
	}
	switch {
	case !slices.Contains(cinicClasses, parts[1]):
		return false, fmt.Errorf("%s/%s: unknown class, want one of %s",
			parts[0], parts[1], strings.Join(cinicClasses, ", "))
	case len(parts) > 3:
		return false, fmt.Errorf("%s: a folder in a class, want PNG files", path.Join(parts[:3]...))
	case !strings.EqualFold(path.Ext(file), ".png"):
		return false, fmt.Errorf("%s: no PNG file by its name, want .png", file)
	}
	return true, nil
}

// isLitter reports whether a file or a folder is one that an operating system leaves, and no user has put there.
func isLitter(name string) bool {
	name, stream, _ := strings.Cut(strings.ToLower(name), ":") // a stream beside a file of Windows, copied to Linux
	return strings.HasPrefix(name, ".") || stream == "zone.identifier" || slices.Contains([]string{
		"thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin", "system volume information", // Windows
		"icon\r", "__macosx", // macOS
		"@eadir", "#recycle", "lost+found", // Synology, Linux
	}, name)
}

type dirPictures struct {
	dir  string
	most int // entries of a folder
}

func (d *dirPictures) String() string { return d.dir }

// fingerprint walks the tree without opening a file.
func (d *dirPictures) fingerprint(ctx context.Context) (fingerprint, error) {
	return d.walk(ctx, func(string, int64, func() (io.ReadCloser, error)) error { return nil })
}

// walk visits the files in the order of their names, part by part and class by class.
func (d *dirPictures) walk(ctx context.Context, visit visitor) (fingerprint, error) {
	h := sha256.New()
	fmt.Fprintln(h, "folder")
	for _, part := range partNames {
		classes, err := readFolder(filepath.Join(d.dir, part), d.most)
		if err != nil {
			return fingerprint{}, err
		}
		for _, class := range classes {
			folder := path.Join(part, class.Name())
			info, err := os.Stat(filepath.Join(d.dir, folder))
			if isLitter(class.Name()) || err == nil && !info.IsDir() || errors.Is(err, fs.ErrNotExist) { // a dead link
				continue
			}
			entries, err := readFolder(filepath.Join(d.dir, folder), d.most)
			if err != nil {
				return fingerprint{}, err
			}
			if len(entries) == 0 { // an empty folder of an unknown class is an error too
				if _, err := isPicture(folder + "/none.png"); err != nil {
					return fingerprint{}, fmt.Errorf("%s: %w", d, err)
				}
			}
			for _, f := range entries {
				if err := d.visit(ctx, path.Join(folder, f.Name()), h, visit); err != nil {
					return fingerprint{}, err
				}
			}
		}
	}
	var mark fingerprint
	h.Sum(mark.sum[:0])
	return mark, nil
}

// visit calls visit for one file, if it is a picture, and adds the file to the fingerprint.
func (d *dirPictures) visit(ctx context.Context, file string, mark io.Writer, visit visitor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	read, err := isPicture(file)
	if err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	if !read {
		return nil
	}
	full := filepath.Join(d.dir, filepath.FromSlash(file))
	info, err := os.Stat(full)
	if err != nil {
		return err
	}
	if err := files.CheckFile(info); err != nil {
		return fmt.Errorf("%s: %w", full, err)
	}
	// Whoever makes images of disks may give all files the same time of their content, but not of their change.
	fmt.Fprintf(mark, "%q %d %d %d\n", file, info.Size(), info.ModTime().UnixNano(), files.ChangeTime(full))
	if err := visit(file, info.Size(), func() (io.ReadCloser, error) { return os.Open(full) }); err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	return nil
}

// tarPictures is a tree of pictures in a tar archive, at its root or in a folder.
type tarPictures struct{ path string }

func (t *tarPictures) String() string { return t.path }

// fingerprint reads the archive once, without decompressing it.
func (t *tarPictures) fingerprint(ctx context.Context) (fingerprint, error) {
	r, err := recordOf(ctx, t.path)
	return r.fingerprint(), err
}

// fingerprint returns the fingerprint of an archive of this size and checksum.
func (r record) fingerprint() fingerprint {
	return fingerprint{sha256.Sum256(fmt.Appendf(nil, "archive %d %s", r.size, r.sha256)), r}
}

// walk visits the pictures in the order of the archive, and computes the checksum of the archive while it reads.
func (t *tarPictures) walk(ctx context.Context, visit visitor) (fingerprint, error) {
	f, size, err := openArchive(t.path)
	if err != nil {
		return fingerprint{}, err
	}
	defer f.Close()
	h := sha256.New()
	r := io.TeeReader(&contextReader{ctx, f}, h)
	if err := walkPictures(r, visit); err != nil {
		return fingerprint{}, fmt.Errorf("%s: %w", t, err)
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fingerprint{}, fmt.Errorf("%s: %w", t, err)
	}
	return record{size, hex.EncodeToString(h.Sum(nil))}.fingerprint(), nil
}

// walkPictures visits the pictures of a tar archive, gzipped or not, in whatever folder, in the order of the archive.
func walkPictures(r io.Reader, visit visitor) error {
	return walkTar(r, func(h *tar.Header, content io.Reader) error {
		file := belowRoot(h.Name, h.Typeflag == tar.TypeDir)
		read, err := isPicture(file)
		switch {
		case err != nil || !read || h.Typeflag == tar.TypeDir:
			return err
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%s: entry of type %q, want a file", file, h.Typeflag)
		}
		return visit(file, h.Size, func() (io.ReadCloser, error) { return io.NopCloser(content), nil })
	})
}

// belowRoot returns the path of an entry of an archive below the folder of the parts. An empty folder of an unknown
// class is an error too, and so becomes a picture in it.
func belowRoot(name string, isFolder bool) string {
	parts := strings.Split(strings.TrimPrefix(path.Clean("/"+name), "/"), "/")
	if isFolder {
		parts = append(parts, "none.png")
	}
	for i := len(parts) - 3; i > 0; i-- { // PART/CLASS/NAME may lie in any folder
		if slices.Contains(partNames[:], parts[i]) && !slices.ContainsFunc(parts, isLitter) {
			return path.Join(parts[i:]...)
		}
	}
	return path.Join(parts...)
}
