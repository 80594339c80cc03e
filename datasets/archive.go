package datasets

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"rollcall/internal/files"
)

// gzipMagic begins a gzip stream.
const gzipMagic = "\x1f\x8b"

// gunzip decompresses a gzip file, as `gzip -d` does: the file may have several streams, one after the other, and
// zeros after the last one, which tapes and copies in blocks leave. Other bytes after the end are an error.
type gunzip struct {
	r   *bufio.Reader
	z   *gzip.Reader
	err error // of the end, once it is reached
}

func newGunzip(r *bufio.Reader) (*gunzip, error) {
	z, err := gzip.NewReader(r) // reads from r byte by byte, and no byte after its end
	if err != nil {
		return nil, cutShort(err)
	}
	z.Multistream(false)
	return &gunzip{r: r, z: z}, nil
}

func (g *gunzip) Read(p []byte) (n int, err error) {
	for n == 0 && g.err == nil && len(p) > 0 { // a stream may be empty
		if n, g.err = g.z.Read(p); errors.Is(g.err, io.EOF) {
			g.err = g.next()
		}
	}
	return n, g.err
}

// next begins the next stream; [io.EOF]: there is none.
func (g *gunzip) next() error {
	if begin, _ := g.r.Peek(2); string(begin) == gzipMagic {
		if err := g.z.Reset(g.r); err != nil {
			return cutShort(err)
		}
		g.z.Multistream(false)
		return nil
	}
	for {
		switch b, err := g.r.ReadByte(); {
		case err != nil: // io.EOF after the last zero
			return err
		case b != 0:
			return fmt.Errorf("after the end of the gzip stream: byte %#02x, want zeros or nothing", b)
		}
	}
}

// formats are the beginnings of files in which people have a set, too, and which are not read.
var formats = []struct{ name, begin string }{
	{"a zip file", "PK\x03\x04"},
	{"an xz file", "\xfd7zXZ\x00"},
	{"a bzip2 file", "BZh"},
	{"a zstd file", "\x28\xb5\x2f\xfd"},
	{"a 7z file", "7z\xbc\xaf\x27\x1c"},
	{"an HDF5 file", "\x89HDF"},
	{"a pickle of Python", "\x80"},
	{"a NumPy file", "\x93NUMPY"},
	{"a JPEG picture", "\xff\xd8\xff"},
	{"a web page", "<"},
}

// format names the format of a file by its first bytes; "" if it is none of [formats].
func format(begin []byte) string {
	for _, f := range formats {
		if bytes.HasPrefix(bytes.TrimLeft(begin, " \r\n"), []byte(f.begin)) {
			return f.name
		}
	}
	return ""
}

// walkTar calls visit for every entry of a tar archive, gzipped or not, whose content it may read. It reads to the end
// of a compressed stream, where gzip checks its checksum.
func walkTar(r io.Reader, visit func(h *tar.Header, content io.Reader) error) error {
	b := bufio.NewReaderSize(r, 1<<16)
	begin, _ := b.Peek(16)
	what := format(begin)
	content := &atMost{r: b, most: maxTree}
	switch zipped := bytes.HasPrefix(begin, []byte(gzipMagic)); {
	case what != "":
		return fmt.Errorf("%s, want a tar archive, gzipped or not", what)
	case zipped:
		z, err := newGunzip(b)
		if err != nil {
			return err
		}
		content.r = z
	}
	last := "" // name of the previous entry, to say where an archive is broken
	for t, n := tar.NewReader(content), 0; ; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF) && n == 0:
			return errors.New("an archive of nothing")
		case errors.Is(err, io.EOF):
			_, err := io.Copy(io.Discard, content)
			return cutShort(err)
		case err != nil && n == 0:
			return fmt.Errorf("no tar archive, gzipped or not: %w", cutShort(err))
		case err != nil:
			return fmt.Errorf("after entry %.200q: %w", last, cutShort(err))
		case len(h.Name) > maxName:
			return fmt.Errorf("%.64q…: a name of %d bytes, want at most %d", h.Name, len(h.Name), maxName)
		case n == maxEntries:
			return fmt.Errorf("%q: more than %d files and folders", h.Name, maxEntries)
		}
		last = h.Name
		if err := visit(h, t); err != nil {
			return err
		}
	}
}

// openArchive opens an archive, and returns its size in bytes. Nothing is read of a file that is larger than any
// download may be, as its checksum would take hours.
func openArchive(path string) (*os.File, int64, error) {
	f, size, err := files.OpenRegular(path)
	if err == nil && size > mostUnknown {
		f.Close()
		return nil, 0, fmt.Errorf("%s: %d bytes, want at most %d", path, size, mostUnknown)
	}
	return f, size, err
}
