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

	"rollcall/results/files"
)

// remote is one published file.
type remote struct {
	url     string
	mirrors []string // other addresses of the same bytes, tried in this order if the first does not deliver
	name    string   // file name on disk
	md5     string   // published checksum; empty: none is, and the first download is recorded
	length  int64    // bytes; 0: not known
	// wellFormed says what is wrong with a finished download of which no checksum is published, so that an error page
	// is never recorded for the file. Only asked for if md5 is empty.
	wellFormed func(ctx context.Context, path string) error

	idle  time.Duration // a download that delivers nothing for so long is broken off
	pause time.Duration // before a broken download is resumed
}

// published returns the file at an address, under its own name there; md5 may be empty and length 0.
func published(url, md5 string, length int64) remote {
	return remote{url: url, name: path.Base(url), md5: md5, length: length, idle: idleTimeout, pause: retryPause}
}

// mostUnknown bounds a file whose length is not known: three times the largest one that is downloaded.
const mostUnknown = 2 << 30

// most returns how many bytes the file may have.
func (r *remote) most() int64 { return cmp.Or(r.length, mostUnknown) }

// tooLong is the error of an address that offers or sends more than the file may have.
func (r *remote) tooLong(from, found string) error {
	want := fmt.Sprint(r.length)
	if r.length == 0 {
		want = fmt.Sprintf("at most %d", mostUnknown)
	}
	return fmt.Errorf("download %s: %w: %s bytes, want %s", from, ErrAltered, found, want)
}

// bring downloads the file to a folder, which is made. A failure adds to notFound, which says where the set was looked
// for: that is part of the story.
func (r *remote) bring(ctx context.Context, folder string, o Options, notFound error) error {
	err := os.MkdirAll(folder, 0o755)
	if err == nil {
		err = r.download(ctx, filepath.Join(folder, r.name), o.Progress)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("download %s: %w", r.url, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("%w; %w", notFound, err)
	}
	return nil
}

// download brings the file to path by way of path.part, resuming what lies there. One process at a time does so. An
// error that is ErrUnavailable means the sites; what was read so far stays in path.part, unless it is not the file.
func (r *remote) download(ctx context.Context, path string, progress io.Writer) (err error) {
	mine, err := takeTurn(ctx, path, progress)
	if err != nil {
		return err
	}
	defer func() { err = joinLine(err, mine.end(err)) }()
	if isFile(path) { // another process has brought it while this one was looking, or waiting
		return nil
	}
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close() // a second time on the good path, where the first one's error has been looked at
	d := &transfer{remote: r, file: f, client: newClient(), progress: progress}
	defer d.client.CloseIdleConnections()
	var failures error // of the addresses so far
	for _, d.from = range append([]string{r.url}, r.mirrors...) {
		if err = d.transferAll(ctx); err == nil {
			err = r.accept(ctx, path, part, d.from)
		}
		if errors.Is(err, ErrAltered) { // nothing of it is worth keeping
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
	case errors.Is(err, ErrAltered) && isEmpty(f):
		return joinLine(err, os.Remove(part))
	case err != nil:
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return files.SyncFolder(filepath.Dir(path))
}

// accept checks the finished download in part, from an address, before it becomes path.
func (r *remote) accept(ctx context.Context, path, part, from string) error {
	if r.md5 == "" {
		return r.acceptUnpublished(ctx, path, part, from)
	}
	sum, err := sumFile(ctx, part, md5.New())
	if err == nil && sum != r.md5 {
		err = fmt.Errorf("download %s: %w: MD5 %s, want %s", from, ErrAltered, sum, r.md5)
	}
	return err
}

// joinLine is errors.Join on one line.
func joinLine(a, b error) error {
	if a == nil || b == nil {
		return errors.Join(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

func isEmpty(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Size() == 0
}
