package datasets

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

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

// openTar returns the content of a tar archive, which may be gzipped or not, up to [maxTree] bytes.
func openTar(r *bufio.Reader) (*atMost, error) {
	const at, magic = 257, "ustar"
	if head, err := r.Peek(at + len(magic)); err == nil && string(head[at:]) == magic {
		return &atMost{r: r, most: maxTree}, nil
	}
	z, err := newGunzip(r)
	return &atMost{r: z, most: maxTree}, err
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
	if begin, _ := g.r.Peek(2); string(begin) == "\x1f\x8b" {
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
