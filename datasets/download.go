package datasets

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Limits of a download. The whole download has no time limit, because connections may be slow.
const (
	dialTimeout     = 15 * time.Second
	responseTimeout = 30 * time.Second // from request to response header
	idleTimeout     = 60 * time.Second // without a byte
	retryPause      = time.Second
	maxAttempts     = 6 // a further attempt needs one before it that received something
)

// transferAll downloads the rest of the file from one address. It tries again as long as attempts make progress, up to
// maxAttempts.
func (d *transfer) transferAll(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		before := d.got
		err := d.attempt(ctx)
		if err == nil || ctx.Err() != nil || !errors.Is(err, ErrUnavailable) || d.got == before ||
			attempt == maxAttempts {
			return err
		}
		select {
		case <-time.After(d.pause):
		case <-ctx.Done():
		}
	}
}

// newClient returns an HTTP client that gives up if a server is silent, but not if it is slow. It does not decompress,
// so that it receives the bytes of the file.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: responseTimeout,
		DisableCompression:    true,
		ForceAttemptHTTP2:     true,
	}}
}

// transfer is the download of one file, in all its attempts.
type transfer struct {
	*publishedFile
	from     string // the current address
	out      *os.File
	client   *http.Client
	progress io.Writer // as in Options
	got      int64     // bytes received by all attempts
}

// attempt requests the part that the file lacks, and appends it to the file.
func (d *transfer) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	have, err := d.out.Seek(0, io.SeekEnd)
	if err == nil && have > d.most() { // the file is too long to be a part of the download
		have, err = 0, d.restart()
	}
	if err != nil {
		return err
	}
	resp, err := d.ask(ctx, have)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch from, total := contentRange(resp); {
	case resp.StatusCode == http.StatusOK: // the whole file; a server that cannot resume sends it too
		if have > 0 {
			if err := d.restart(); err != nil {
				return err
			}
		}
		return d.receive(ctx, cancel, resp, 0, resp.ContentLength)
	case resp.StatusCode == http.StatusPartialContent && from == have:
		return d.receive(ctx, cancel, resp, have, total)
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && total == have:
		return nil // the file is complete already; its checksum decides
	case have > 0 && (resp.StatusCode == http.StatusPartialContent ||
		// the server has another file by now: start again
		resp.StatusCode == http.StatusRequestedRangeNotSatisfiable):
		_ = resp.Body.Close()
		if err := d.restart(); err != nil {
			return err
		}
		return d.attempt(ctx)
	}
	return fmt.Errorf("download %s: %w: status %s", d.from, ErrUnavailable, resp.Status)
}

// ask requests the file from byte `from` on.
func (d *transfer) ask(ctx context.Context, from int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.from, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "rollcall")
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	resp, err := d.client.Do(req)
	if err != nil {
		if outer := new(url.Error); errors.As(err, &outer) {
			err = outer.Err // without the address, which is in our error
		}
		return nil, fmt.Errorf("download %s: %w: %w", d.from, ErrUnavailable, err)
	}
	return resp, nil
}

// restart empties the file.
func (d *transfer) restart() error {
	if err := d.out.Truncate(0); err != nil {
		return err
	}
	_, err := d.out.Seek(0, io.SeekStart)
	return err
}

// receive appends the body to the file, which has `have` of `total` bytes (−1: unknown).
func (d *transfer) receive(
	ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response, have, total int64,
) error {
	most, limit := d.most(), total
	if total > most {
		return d.tooLong(d.from, fmt.Sprint(total))
	}
	if total < 0 {
		limit = most
	}
	shown := newProgress(d.progress, d.name, have, total)
	defer shown.Close()
	idle := time.AfterFunc(d.idle, func() { cancel(fmt.Errorf("stalled: nothing for %v", d.idle)) })
	defer idle.Stop()
	buf := make([]byte, 1<<17)
	for {
		// one byte more than the limit, to see whether there is more
		n, err := resp.Body.Read(buf[:min(int64(len(buf)), limit-have+1)])
		idle.Reset(d.idle)
		if have+int64(n) > limit {
			if limit < most {
				return fmt.Errorf("download %s: %w: more than the %d bytes announced", d.from, ErrAltered, limit)
			}
			return d.tooLong(d.from, fmt.Sprintf("more than %d", limit))
		}
		if n > 0 {
			if _, err := d.out.Write(buf[:n]); err != nil {
				return err // such as a full disk; the error has the path
			}
			have += int64(n)
			d.got += int64(n)
			_, _ = shown.Write(buf[:n])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			err = cmp.Or(context.Cause(ctx), err)
			return fmt.Errorf("download %s: %w: after %s: %w", d.from, ErrUnavailable, amount(have, total), err)
		}
	}
	if total >= 0 && have != total {
		return fmt.Errorf("download %s: %w: ended after %s", d.from, ErrUnavailable, amount(have, total))
	}
	return nil
}

// amount returns "17 of 40 bytes", or "17 bytes" if the total is unknown.
func amount(have, total int64) string {
	if total < 0 {
		return fmt.Sprintf("%d bytes", have)
	}
	return fmt.Sprintf("%d of %d bytes", have, total)
}

// contentRange returns where the part in a response starts, and the length of the whole file; −1 if the response does
// not say it.
func contentRange(resp *http.Response) (from, total int64) {
	var last int64
	from, total = -1, -1
	header := resp.Header.Get("Content-Range") // "bytes 7-9/40", or * in place of 7-9 or of 40
	_, _ = fmt.Sscanf(header, "bytes %d-%d/%d", &from, &last, &total)
	_, _ = fmt.Sscanf(header, "bytes */%d", &total)
	return from, total
}

// sumFile returns the checksum of a file in hex digits. Archives are checked with MD5, because their sites publish it;
// the files that are loaded from them are checked with SHA-256.
func sumFile(ctx context.Context, path string, h hash.Hash) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := io.Copy(h, &contextReader{ctx, f}); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
