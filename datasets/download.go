package datasets

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"rollcall/internal/files"
)

// publishedFile is one file of a data set. A file in an archive has a name, a size, a checksum and a part only.
type publishedFile struct {
	name    string   // on disk; a file whose name ends in .gz may be uncompressed on disk, without .gz
	also    []string // other names, with folders, that it has elsewhere
	size    int64    // bytes, for a file in an archive
	sum     string   // "MD5 …" or "SHA-256 …" of the uncompressed content
	part    int      // 0 to train on, 1 to test
	counts  []int    // the numbers of samples that are accepted, see [source.expecting]; nil: any up to maxPictures
	lengths []int64  // likewise of the bytes on disk, for a file that is never compressed; nil: any

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
	made, err := files.MakeFolders(folder)
	if err == nil {
		err = f.download(ctx, filepath.Join(folder, f.name), o.Progress)
	}
	if err != nil {
		files.RemoveEmpty(made) // a folder of a mistaken name, such as ~, is none that the user has wanted
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
// next attempt, unless it is empty or its content is wrong.
func (f *publishedFile) download(ctx context.Context, path string, progress io.Writer) (err error) {
	mine, err := takeTurn(ctx, path, progress)
	if err != nil {
		return err
	}
	defer func() { err = joinLine(err, mine.end(err)) }()
	if isFile(path) { // another process downloaded it while this one searched or waited
		return nil
	}
	part := path + partSuffix
	out, err := openOwn(part)
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
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil && isEmpty(out) {
		err = joinLine(err, os.Remove(part))
	}
	if err != nil {
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

// partSuffix ends the name of a file that is being downloaded.
const partSuffix = ".part"

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

func isEmpty(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Size() == 0
}

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
	}, CheckRedirect: checkRedirect}
}

// maxRedirects is as in net/http, which has no limit of its own beside [checkRedirect].
const maxRedirects = 10

// checkRedirect refuses a redirect to another host or port, or from https to http. The official sites need none, and by
// plain http anybody on the way can answer with one: to a service of this machine or of its network, such as the one
// that hands out a cloud's credentials. As no other host is asked, none of these is.
func checkRedirect(to *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	secured := from.Scheme == "http" && to.URL.Scheme == "https" && from.Port() == "" && to.URL.Port() == "" &&
		from.Hostname() == to.URL.Hostname()
	switch {
	case len(via) == maxRedirects:
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	case !secured && (from.Scheme != to.URL.Scheme || from.Host != to.URL.Host):
		return fmt.Errorf("%.200s redirects to %.200s, want the same host, and https if it was", from, to.URL)
	}
	return nil
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
	if d.got == 0 && strings.HasPrefix(d.from, "http://") {
		say(d.progress, "%s: comes over plain http, held to its published MD5", d.name)
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
	f, _, err := openArchive(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := io.Copy(h, &contextReader{ctx, f}); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// newProgress returns a writer that shows the progress of a download that has `have` of `total` bytes (−1: unknown).
// The caller writes the further bytes to it. It shows a bar if w is a terminal, lines on other writers, and nothing if
// w is nil.
func newProgress(w io.Writer, what string, have, total int64) io.WriteCloser {
	if f, is := files.Terminal(w); is {
		return newBar(f, what, have, total)
	}
	if w == nil {
		w = io.Discard
	}
	return newLines(w, what, have, total)
}

// bar is a progress bar, a line that is drawn again and again. It ignores errors of drawing.
type bar struct {
	*progressbar.ProgressBar
	w io.Writer
}

func newBar(w io.Writer, what string, have, total int64) bar {
	b := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
		progressbar.OptionShowTotalBytes(true), progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond))
	_ = b.Set64(have)
	return bar{b, w}
}

// Close ends the line of the bar, whether the download is complete or not.
func (b bar) Close() error {
	_ = b.Exit()
	_, err := fmt.Fprintln(b.w)
	return err
}

// lines shows progress as a line for every tenth of the file, or for every 16 MiB if the total is unknown.
type lines struct {
	w           io.Writer
	what        string
	have, total int64
	said        int64 // tenths, or steps of 16 MiB, up to the last line
}

// newLines writes the first line of a download that has `have` of `total` bytes.
func newLines(w io.Writer, what string, have, total int64) *lines {
	l := &lines{w: w, what: what, have: have, total: total}
	l.said = l.steps()
	fmt.Fprintf(w, "%s: downloading, %s\n", what, amount(have, total))
	return l
}

// Write counts the bytes, and writes a line when the next step is reached.
func (l *lines) Write(p []byte) (int, error) {
	l.have += int64(len(p))
	if s := l.steps(); s > l.said {
		l.said = s
		fmt.Fprintf(l.w, "%s: %s\n", l.what, amount(l.have, l.total))
	}
	return len(p), nil
}

// Close does nothing, as every line is complete.
func (l *lines) Close() error { return nil }

// steps returns the tenths of the file, or the steps of 16 MiB, that were received.
func (l *lines) steps() int64 {
	if l.total > 0 {
		return l.have * 10 / l.total
	}
	return l.have >> 24
}
