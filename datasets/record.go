package datasets

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"rollcall/internal/files"
)

// record has the size and the checksum of a file whose site publishes no checksum. The first download, or whoever
// extracts the file from an official archive, writes them to a file .sha256 beside the file, and later copies must
// agree with them. `sha256sum -c` reads that file too.
type record struct {
	size   int64  // 0: unknown, in a record that sha256sum has written
	sha256 string // hex
}

// String returns "1234 bytes, SHA-256 1f…".
func (r record) String() string {
	if r.size == 0 {
		return "SHA-256 " + r.sha256
	}
	return fmt.Sprintf("%d bytes, SHA-256 %s", r.size, r.sha256)
}

func recordPath(path string) string { return path + ".sha256" }

// readRecord reads the record of the file at path; it is the zero record if there is none.
func readRecord(path string) (record, error) {
	text, err := files.ReadUpTo(recordPath(path), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, err
	}
	if text, err = files.Text(text); err != nil {
		return record{}, fmt.Errorf("%s: %w", recordPath(path), err)
	}
	name := filepath.Base(path)
	line := regexp.MustCompile(`(?m)^([[:xdigit:]]{64}) [ *](?:.*/)?` + regexp.QuoteMeta(name) + `\r?$`)
	sum := line.FindSubmatch(text)
	if sum == nil {
		return record{}, fmt.Errorf("%s: no SHA-256 of %s, want a line of it, or no such file", recordPath(path), name)
	}
	found := record{sha256: strings.ToLower(string(sum[1]))}
	if size := regexp.MustCompile(`(?m)^# (\d+) bytes`).FindSubmatch(text); size != nil {
		if found.size, err = strconv.ParseInt(string(size[1]), 10, 64); err != nil {
			return record{}, fmt.Errorf("%s: %s bytes: %w", recordPath(path), size[1], err)
		}
	}
	return found, nil
}

// writeRecord writes the record r of the file at path, and says where it comes from.
func writeRecord(path, origin string, r record) error {
	err := files.Replace(recordPath(path), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "# %d bytes, %s\n%s  %s\n", r.size, origin, r.sha256, filepath.Base(path))
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", recordPath(path), err)
	}
	return nil
}

func recordOf(ctx context.Context, path string) (record, error) {
	f, size, err := openArchive(path)
	if err != nil {
		return record{}, err
	}
	f.Close()
	sum, err := sumFile(ctx, path, sha256.New())
	return record{size, sum}, err
}

// recorded compares now, the record computed from a file, with the record of its first download. It returns the latter,
// or the zero record if there is none.
func recorded(path string, now record) (Status, record, error) {
	switch before, err := readRecord(path); {
	case err != nil:
		return "", record{}, err
	case before == record{}:
		return Unchecked, before, nil
	case before.sha256 != now.sha256 || before.size != now.size && before.size != 0:
		return Altered, before, nil
	default:
		return Recorded, before, nil
	}
}

// unpublished returns the status of a complete file of which no checksum is published, given what would be its record.
// path is where it is; "": in an archive, where it has none.
func unpublished(path string, now record) (status Status, found, wanted string) {
	var before record
	var err error
	if status = Unchecked; path != "" {
		status, before, err = recorded(path, now)
	}
	switch {
	case err != nil:
		return Malformed, err.Error(), ""
	case status == Altered:
		return status, now.String(), before.String()
	case status == Unchecked:
		return status, now.String() + ", complete, and nothing is recorded or published", ""
	}
	return status, "", ""
}

// acceptUnpublished checks a finished download without a published checksum, in the file part, before it becomes path.
// It must be well-formed and agree with the record of the first download; the first download is recorded.
func (f *publishedFile) acceptUnpublished(ctx context.Context, path, part, from string) error {
	if err := f.wellFormed(ctx, part); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("download %s: %w: %w", from, ErrAltered, err)
	}
	now, err := recordOf(ctx, part)
	if err != nil {
		return err
	}
	switch status, before, err := recorded(path, now); {
	case err != nil:
		return err
	case status == Unchecked:
		return writeRecord(path, "as first downloaded from "+from, now)
	case status == Altered:
		return fmt.Errorf("download %s: %w: %s, want %s (recorded in %s; delete that file if the site's has changed)",
			from, ErrAltered, now, before, recordPath(path))
	}
	return nil
}
