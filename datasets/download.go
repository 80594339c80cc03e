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

// Limits of a download. There is no limit on the whole: slow lines are allowed to be slow.
const (
	dialTimeout     = 15 * time.Second
	responseTimeout = 30 * time.Second // from request to response header
	idleTimeout     = 60 * time.Second // without a byte
	retryPause      = time.Second
	maxAttempts     = 6 // each after the first must follow one that brought something
)

// transferAll fills the file from one address, in as many attempts as bring something.
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

// newClient returns a client that gives up on silence, but never on slowness. It does not decompress, so that bytes
// are those of the file.
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

// transfer is one download, over all its attempts.
type transfer struct {
	*remote
	from     string // the address at hand
	file     *os.File
	client   *http.Client
	progress io.Writer // as in Options
	got      int64     // bytes received by all attempts
}

// attempt asks for what the file lacks, and appends it.
func (d *transfer) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	have, err := d.file.Seek(0, io.SeekEnd)
	if err == nil && have > d.most() { // of no use
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
	case resp.StatusCode == http.StatusOK: // all of it, also from a server that cannot resume
		if have > 0 {
			if err := d.restart(); err != nil {
				return err
			}
		}
		return d.receive(ctx, cancel, resp, 0, resp.ContentLength)
	case resp.StatusCode == http.StatusPartialContent && from == have:
		return d.receive(ctx, cancel, resp, have, total)
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && total == have:
		return nil // all of it was here; its checksum decides
	case have > 0 && (resp.StatusCode == http.StatusPartialContent ||
		// the server has something else by now: from the start
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
			err = outer.Err // without its address, which is said here
		}
		return nil, fmt.Errorf("download %s: %w: %w", d.from, ErrUnavailable, err)
	}
	return resp, nil
}

// restart empties the file.
func (d *transfer) restart() error {
	if err := d.file.Truncate(0); err != nil {
		return err
	}
	_, err := d.file.Seek(0, io.SeekStart)
	return err
}

// receive appends the body to the file, which holds `have` of `total` bytes (−1: nobody knows).
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
		n, err := resp.Body.Read(buf[:min(int64(len(buf)), limit-have+1)]) // one byte more tells that there are more
		idle.Reset(d.idle)
		if have+int64(n) > limit {
			if limit < most {
				return fmt.Errorf("download %s: %w: more than the %d bytes announced", d.from, ErrAltered, limit)
			}
			return d.tooLong(d.from, fmt.Sprintf("more than %d", limit))
		}
		if n > 0 {
			if _, err := d.file.Write(buf[:n]); err != nil {
				return err // a full disk, say; the path is in it
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

// amount reads "17 of 40 bytes".
func amount(have, total int64) string {
	if total < 0 {
		return fmt.Sprintf("%d bytes", have)
	}
	return fmt.Sprintf("%d of %d bytes", have, total)
}

// contentRange returns where an answer's part starts and how long the whole is; −1 for what is not said.
func contentRange(resp *http.Response) (from, total int64) {
	var last int64
	from, total = -1, -1
	header := resp.Header.Get("Content-Range") // "bytes 7-9/40", or with a * for the length or for the part
	_, _ = fmt.Sscanf(header, "bytes %d-%d/%d", &from, &last, &total)
	_, _ = fmt.Sscanf(header, "bytes */%d", &total)
	return from, total
}

// sumFile returns the checksum of a file, in hex. MD5 is what the archives were published with; what is loaded is also
// checked by SHA-256.
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
