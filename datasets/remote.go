package datasets

import (
	"cmp"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"rollcall/internal/files"
)

// publishedFile is one file of a data set. A file in an archive has a name, a size, a checksum and a part only.
type publishedFile struct {
	name string // on disk; a file whose name ends in .gz may be uncompressed on disk, without .gz
	size int64  // bytes, for a file in an archive
	sum  string // "MD5 …" or "SHA-256 …" of the uncompressed content
	part int    // 0 to train on, 1 to test

	url     string
	mirrors []string // other addresses of the same bytes, tried in order if the first one fails
	md5     string   // published checksum; empty: none, and the first download is recorded
	length  int64    // bytes to download; 0: unknown
	// wellFormed checks a finished download without a published checksum, so that an error page is never recorded as
	// the file. It is needed only if md5 is empty.
	wellFormed func(ctx context.Context, path string) error

	idle  time.Duration // a download that receives nothing for so long is aborted
	pause time.Duration // between two attempts
}

// published returns the file at an address, with the name that it has in the address; md5 may be empty and length 0.
func published(url, md5 string, length int64) publishedFile {
	return publishedFile{url: url, name: path.Base(url), md5: md5, length: length, idle: idleTimeout, pause: retryPause}
}

// mostUnknown is the largest size in bytes of a file of unknown length, three times the largest file of our sets.
const mostUnknown = 2 << 30

// most returns the largest number of bytes that the file may have.
func (f *publishedFile) most() int64 { return cmp.Or(f.length, mostUnknown) }

// tooLong returns the error about an address that announces or sends more bytes than the file may have.
func (f *publishedFile) tooLong(from, found string) error {
	want := fmt.Sprint(f.length)
	if f.length == 0 {
		want = fmt.Sprintf("at most %d", mostUnknown)
	}
	return fmt.Errorf("download %s: %w: %s bytes, want %s", from, ErrAltered, found, want)
}

// bring downloads the file to a folder, which it creates if necessary. If that fails, the error also says notFound,
// which lists the folders that were searched.
func (f *publishedFile) bring(ctx context.Context, folder string, o Options, notFound error) error {
	err := os.MkdirAll(folder, 0o755)
	if err == nil {
		err = f.download(ctx, filepath.Join(folder, f.name), o.Progress)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("download %s: %w", f.url, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("%w; %w", notFound, err)
	}
	return nil
}

// download downloads the file to path.part, continues an earlier download there, checks it, and renames it to path. One
// process at a time does this. The error is ErrUnavailable if the sites failed. After an error path.part stays for the
// next attempt, unless its content is wrong.
func (f *publishedFile) download(ctx context.Context, path string, progress io.Writer) (err error) {
	mine, err := takeTurn(ctx, path, progress)
	if err != nil {
		return err
	}
	defer func() { err = joinLine(err, mine.end(err)) }()
	if isFile(path) { // another process downloaded it while this one searched or waited
		return nil
	}
	part := path + ".part"
	out, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer out.Close() // without an error the file is closed already, and Close was checked
	d := &transfer{publishedFile: f, out: out, client: newClient(), progress: progress}
	defer d.client.CloseIdleConnections()
	var failures error // of all addresses so far
	// Try the addresses in order. A local error, such as a full disk, would meet every address and ends the loop.
	for _, d.from = range append([]string{f.url}, f.mirrors...) {
		if err = d.transferAll(ctx); err == nil {
			err = f.accept(ctx, path, part, d.from)
		}
		if errors.Is(err, ErrAltered) { // another attempt cannot use these bytes
			err = joinLine(err, d.restart())
		}
		if err == nil || ctx.Err() != nil || (!errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrAltered)) {
			break
		}
		failures = joinLine(failures, err)
		err = failures
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrAltered) && isEmpty(out):
		return joinLine(err, os.Remove(part))
	case err != nil:
		return err
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return files.SyncFolder(filepath.Dir(path))
}

// accept checks a finished download in the file part, before it becomes path.
func (f *publishedFile) accept(ctx context.Context, path, part, from string) error {
	if f.md5 == "" {
		return f.acceptUnpublished(ctx, path, part, from)
	}
	sum, err := sumFile(ctx, part, md5.New())
	if err == nil && sum != f.md5 {
		err = fmt.Errorf("download %s: %w: MD5 %s, want %s", from, ErrAltered, sum, f.md5)
	}
	return err
}

// joinLine joins two errors as errors.Join does, but on one line.
func joinLine(a, b error) error {
	if a == nil || b == nil {
		return errors.Join(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// isEmpty reports whether a file has no bytes.
func isEmpty(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Size() == 0
}
