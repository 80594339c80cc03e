package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"rollcall/datasets/plan"
)

// MNIST (LeCun, Cortes, Burges): 60,000 training and 10,000 test images of grey digits, 28×28 pixels, as idx files.
// Images and labels are in separate files.
const mnistSide = 28

// mnistInfo has the usual mean and deviation of this set. The papers do not augment its images.
var mnistInfo = Info{
	Name: "mnist", Net: "linear-mnist", Shape: plan.Shape{H: mnistSide, W: mnistSide, C: 1, Classes: imageClasses},
	Mean: []float32{.1307}, Std: []float32{.3081},
}

// mnistFiles are the files of http://yann.lecun.com/exdb/mnist/, from two sites that mirror them. A file on disk may be
// compressed or not, so its SHA-256 is the checksum of the uncompressed content. It was computed from the files with
// the published MD5.
var mnistFiles = source{
	info:    &mnistInfo,
	folders: []string{filepath.Join("MNIST", "raw"), "mnist", "raw"},
	files:   mnistOfficial, foreign: namesakes("fashion-mnist", fashionOfficial),
	samples: [2]int{60_000, 10_000},
	parse:   parseMNIST,
}

var mnistOfficial = []publishedFile{
	mnistFile(0, "train-images-idx3-ubyte", "f68b3c2dcbeaaa9fbdd348bbdeb94873", 9912422,
		"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
	mnistFile(0, "train-labels-idx1-ubyte", "d53e105ee54ea40749a09fcbcd1e9432", 28881,
		"65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
	mnistFile(1, "t10k-images-idx3-ubyte", "9fb629c4189551a2d022fa330f9573f3", 1648877,
		"0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
	mnistFile(1, "t10k-labels-idx1-ubyte", "ec29112dd5afa0611ce80d1b7f02629c", 4542,
		"ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
}

// mnistFile returns a file of a part, with the MD5 and the length of the compressed file and the SHA-256 of its
// content.
func mnistFile(part int, name, md5 string, length int64, sha256 string) publishedFile {
	return idxFile(part, name, md5, length, sha256,
		"https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
}

// idxFile returns such a file, which lies at two sites.
func idxFile(part int, name, md5 string, length int64, sha256, site, mirror string) publishedFile {
	f := published(site+name+".gz", md5, length)
	f.mirrors = []string{mirror + name + ".gz"}
	f.sum, f.part = "SHA-256 "+sha256, part
	// Kaggle has the files uncompressed, with a dot before idx, and its zip file a folder of the name around each.
	dotted := strings.Replace(name, "-idx", ".idx", 1)
	f.also = []string{dotted + ".gz", filepath.Join(name, name), filepath.Join(dotted, dotted)}
	return f
}

// parseMNIST reads file f, of at most `limit` bytes, with [parseIDX]: images [n,28,28,1], or labels [n], whose range it
// checks.
func parseMNIST(r io.Reader, limit int64, f publishedFile, _ content) (images, labels []uint8, err error) {
	if strings.Contains(f.name, "-images-") {
		images, err = parseIDX(r, limit, f, mnistSide, mnistSide)
		return images, nil, err
	}
	labels, err = parseIDX(r, limit, f)
	for i, l := range labels {
		if l >= imageClasses {
			return nil, nil, fmt.Errorf("label %d is %d, want 0 … %d", i, l, imageClasses-1)
		}
	}
	return nil, labels, err
}

// parseIDX reads an idx file with bytes [n, shape…], of which f must accept n. The content has at most `limit` bytes,
// whatever the header claims. The header is big-endian: 0, 0, the type (8: bytes), the number of dimensions, and then
// each dimension as uint32.
func parseIDX(r io.Reader, limit int64, f publishedFile, shape ...int) ([]uint8, error) {
	var magic [4]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return nil, fmt.Errorf("header: %w", cutShort(err))
	}
	if want := [4]byte{0, 0, 8, byte(1 + len(shape))}; magic != want {
		return nil, fmt.Errorf("header: %x, want %x (bytes in %d dimensions)", magic, want, 1+len(shape))
	}
	dims := make([]uint32, 1+len(shape))
	if err := binary.Read(r, binary.BigEndian, dims); err != nil {
		return nil, fmt.Errorf("header: %w", cutShort(err))
	}
	size := int64(dims[0])
	for i, d := range shape {
		if dims[1+i] != uint32(d) {
			return nil, fmt.Errorf("dimensions %v, want n items of %v", dims, shape)
		}
		size *= int64(d)
	}
	if size < 1 {
		return nil, fmt.Errorf("dimensions %v, want at least one item", dims)
	}
	if err := f.checkCount(int64(dims[0])); err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("dimensions %v: %d bytes, want at most %d in a file of this size", dims, size, limit)
	}
	var data []uint8
	for at := 0; at < int(size); {
		data = grown(data, int(size))
		n, err := io.ReadFull(r, data[at:])
		if at += n; err != nil {
			return nil, fmt.Errorf("%d bytes of data, want %d: %w", at, size, cutShort(err))
		}
	}
	// A file with more than one array, or with something appended, is not an idx file.
	switch n, err := io.CopyN(io.Discard, r, maxSurplus); {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, cutShort(err)
	case n == maxSurplus:
		return nil, fmt.Errorf("%d bytes of data or more, want %d", size+n, size)
	case n > 0:
		return nil, fmt.Errorf("%d bytes of data, want %d", size+n, size)
	}
	return data, nil
}
