package datasets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"rollcall/internal/files"
)

// cacheHeader is the beginning of a cache file of decoded pictures; images [n,32,32,3] and labels [n] follow. Numbers
// are little-endian. Magic includes the version of the format, so that a file of another version is not read.
type cacheHeader struct {
	Magic   [16]byte
	Source  [sha256.Size]byte // fingerprint of the pictures
	Train   uint32            // number of training pictures
	Test    uint32            // number of test pictures
	Content [sha256.Size]byte // SHA-256 of everything after the header
	Sum     [sha256.Size]byte // SHA-256 of the header up to here
}

var cacheMagic = [16]byte([]byte("rollcall cinic 1"))

var cacheHeaderSize = int64(binary.Size(cacheHeader{}))

// cached returns the pictures of p. It reads them from the cache if the cache has their fingerprint, and otherwise
// decodes them and writes the cache. More than `most` pictures of a class in a part are an error. It reports to
// progress what happens to the cache; a cache that cannot be written is not an error.
func cached(ctx context.Context, p pictures, mark fingerprint, most int, progress io.Writer) (*decoded, error) {
	dir, pathErr := os.UserCacheDir()
	path := filepath.Join(dir, "rollcall", "cinic10.cache")
	if pathErr == nil {
		d, err := readCache(ctx, path, mark, min(maxPictures, int64(most*len(cinicClasses)*len(partNames))))
		switch {
		case err == nil:
			return d, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, fs.ErrNotExist):
			say(progress, "%s: %v; created again", path, err)
		}
	}
	runtime.GC() // frees the memory of a bad cache, which is as large as the set
	d, now, err := decodeAll(ctx, p, most, progress)
	switch {
	case err != nil:
		return nil, err
	case now != mark:
		return nil, fmt.Errorf("%s: %w", p, errChanged)
	}
	if pathErr == nil {
		pathErr = writeCache(ctx, path, mark, d)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case pathErr != nil:
		say(progress, "%s: decoded pictures not kept: %v", p, pathErr)
	default:
		say(progress, "%s: decoded pictures kept in %s", p, path)
	}
	return d, nil
}

// readCache reads the cache of the pictures with a fingerprint, of which it accepts up to `most`. It checks the whole
// content every time.
func readCache(ctx context.Context, path string, mark fingerprint, most int64) (*decoded, error) {
	f, size, err := files.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &contextReader{ctx, f}
	raw := make([]byte, cacheHeaderSize)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, fmt.Errorf("header: %w", cutShort(err))
	}
	var h cacheHeader
	if _, err := binary.Decode(raw, binary.LittleEndian, &h); err != nil {
		return nil, err
	}
	// The sizes are checked before memory is allocated for the pictures.
	n := int64(h.Train) + int64(h.Test)
	switch sum := headerSum(raw); {
	case h.Magic != cacheMagic:
		return nil, fmt.Errorf("header: %.32q, want %q", h.Magic[:], cacheMagic[:])
	case h.Sum != sum:
		return nil, fmt.Errorf("corrupt: header of SHA-256 %x, want %x", sum, h.Sum)
	case h.Source != mark.sum:
		return nil, errors.New("stale: the pictures have changed")
	case n > most:
		return nil, fmt.Errorf("corrupt: %d pictures, want at most %d", n, most)
	case size != cacheHeaderSize+n*(photoPixels+1):
		return nil, fmt.Errorf("corrupt: %d bytes, want %d", size, cacheHeaderSize+n*(photoPixels+1))
	}
	d := &decoded{images: make([]uint8, n*photoPixels), labels: make([]uint8, n), train: int(h.Train)}
	for _, part := range [][]uint8{d.images, d.labels} {
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, fmt.Errorf("corrupt: %w", cutShort(err))
		}
	}
	if sum := d.sum(); sum != h.Content {
		return nil, fmt.Errorf("corrupt: SHA-256 %x, want %x", sum, h.Content)
	}
	return d, nil
}

// sum returns the SHA-256 of the images followed by the labels, as a cache stores them.
func (d *decoded) sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(d.images)
	h.Write(d.labels)
	h.Sum(sum[:0])
	return sum
}

// headerSum returns the SHA-256 of a header without its last field, which stores this sum.
func headerSum(raw []byte) [sha256.Size]byte { return sha256.Sum256(raw[:len(raw)-sha256.Size]) }

func writeCache(ctx context.Context, path string, mark fingerprint, d *decoded) error {
	h := cacheHeader{
		Magic: cacheMagic, Source: mark.sum, Content: d.sum(),
		Train: uint32(d.train), Test: uint32(len(d.labels) - d.train),
	}
	raw, err := binary.Append(nil, binary.LittleEndian, &h)
	if err != nil {
		return err
	}
	sum := headerSum(raw)
	copy(raw[len(raw)-len(sum):], sum[:])

	err = files.Replace(path, func(w io.Writer) error {
		all := io.MultiReader(bytes.NewReader(raw), bytes.NewReader(d.images), bytes.NewReader(d.labels))
		_, err := io.Copy(w, &contextReader{ctx, all})
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// say writes a line to w, if w is not nil.
func say(w io.Writer, format string, args ...any) {
	if w != nil {
		fmt.Fprintf(w, format+"\n", args...)
	}
}
