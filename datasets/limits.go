package datasets

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Limits on what files may claim and contain. Where the official numbers are known, they are the limit. These are for
// altered sets, and for CINIC-10, whose archive has no published checksum.
const (
	// maxPictures is the largest number of pictures in a file, or in a tree. Of the larger sets in these formats,
	// EMNIST has 697,932 and SVHN with its extra images 604,388.
	maxPictures = 1 << 20
	maxPicture  = 1 << 20 // bytes of a PNG file; the official ones have some 3 KB
	maxEntries  = 1 << 20 // entries of an archive; the official one has 270,000 pictures
	maxName     = 255     // bytes of the path of an entry, as of a file's name; the official ones have up to 45
	maxNames    = 1 << 25 // bytes of the paths of all pictures together; the official ones have 7 MB
	maxTree     = 1 << 32 // bytes of an archive, decompressed; the official one has about 1 GB
	maxRecord   = 1 << 12 // bytes of a file .sha256
	maxSurplus  = 1 << 20 // bytes behind the end of the data that are counted, to say how many there are
)

// expecting returns a file of the set for [source.parse], which accepts the official numbers of samples and lengths, of
// both parts, as two files of a set may have each other's names, or any if altered files are allowed.
func (s *source) expecting(f publishedFile, altered bool) publishedFile {
	if altered {
		return f
	}
	f.counts = s.samples[:]
	if f.sum == "MD5 "+f.md5 { // the checksum is of the file as it was published, and not of its content alone
		for _, other := range s.files {
			f.lengths = append(f.lengths, other.length)
		}
	}
	return f
}

// checkCount returns an error if the file says that it has a number of samples that is not accepted.
func (f *publishedFile) checkCount(n int64) error {
	switch {
	case f.counts == nil && n > maxPictures:
		return fmt.Errorf("%d samples, want at most %d", n, maxPictures)
	case f.counts != nil && !slices.Contains(f.counts, int(n)):
		return fmt.Errorf("%w: %d samples, want %d", ErrAltered, n, f.counts[f.part])
	}
	return nil
}

// checkLength returns an error if the file cannot be the published one, given its size in bytes.
func (f *publishedFile) checkLength(size int64) error {
	if f.lengths != nil && !slices.Contains(f.lengths, size) {
		return fmt.Errorf("%w: %d bytes on disk, want %d", ErrAltered, size, f.length)
	}
	return nil
}

// mostBytes returns the largest size in bytes of a file of the accepted numbers of samples, each of so many pixels and
// a label, which may be a double. It is twice as much as these need: for other variables, and for a compressed file
// that is larger than its content.
func (f *publishedFile) mostBytes(pixels int) int64 {
	n := maxPictures
	if f.counts != nil {
		n = slices.Max(f.counts)
	}
	return 2*int64(n)*int64(pixels+8) + 1<<20
}

// grown returns a slice that begins with the bytes of `have` and is 16 times as long, or `total` long if that is less.
// So a reader needs memory for 16 times the bytes that come, whatever the file claims, and copies a fifteenth of them.
func grown(have []uint8, total int) []uint8 {
	all := make([]uint8, min(total, max(1<<20, 16*len(have))))
	copy(all, have)
	return all
}

// atMost reads from r, and returns an error instead of more than `most` bytes.
type atMost struct {
	r          io.Reader
	read, most int64
}

func (a *atMost) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if a.read += int64(n); a.read > a.most {
		return 0, fmt.Errorf("more than %d bytes, decompressed", a.most)
	}
	return n, err
}

// mostInflated returns how many bytes of samples a compressed file or element of `size` bytes may have. Deflate makes
// up to 1,032 bytes of one, but pictures are no zeros: SVHN's become 1.2 times as long, MNIST's 4.8 times.
func mostInflated(size int64) int64 { return max(64<<20, 32*size) }

// readFolder returns the entries of a folder by name. More than `most` are an error.
func readFolder(path string, most int) ([]os.DirEntry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(most + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(entries) > most:
		return nil, fmt.Errorf("%s: %w: more than %d files", path, ErrAltered, most)
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}
