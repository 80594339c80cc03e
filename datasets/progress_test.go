package datasets

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

func TestProgress(t *testing.T) {
	t.Run("lines", func(t *testing.T) {
		s := newSite(t, serve)
		dir, _, _ := alone(t)
		write(t, filepath.Join(dir, s.archive.name+".part"), s.tarball[:len(s.tarball)/2])
		var out bytes.Buffer
		must.Get(Fetch(t.Context(), "cifar10", Options{
			Dir: dir, Progress: &out, official: &s.fileSet,
		}))(t)
		first := fmt.Sprintf("cifar-10-binary.tar.gz: downloading, %d of %d bytes\n", len(s.tarball)/2, len(s.tarball))
		last := fmt.Sprintf("cifar-10-binary.tar.gz: %d of %d bytes\n", len(s.tarball), len(s.tarball))
		if got := out.String(); !strings.HasPrefix(got, first) || !strings.HasSuffix(got, last) ||
			strings.Count(got, "\n") > 11 {
			t.Errorf("got\n%s\nwant first %q, last %q, at most 11 lines", got, first, last)
		}
	})
	t.Run("bar", func(t *testing.T) {
		var out bytes.Buffer
		b := newBar(&out, "some.tar.gz", 500, 1000)
		b.Write(make([]byte, 500))
		b.Close()
		if got := out.String(); !strings.Contains(got, "some.tar.gz") || !strings.Contains(got, "100%") ||
			!strings.HasSuffix(got, "\n") {
			t.Errorf("got %q, want the name, 100%% and an end of line", got)
		}
	})
	t.Run("unknown length", func(t *testing.T) {
		for _, p := range []io.WriteCloser{newBar(io.Discard, "", 0, -1), newLines(io.Discard, "", 0, -1)} {
			p.Write(make([]byte, 1<<25))
			p.Close()
		}
	})
}
