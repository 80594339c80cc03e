package datasets

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"rollcall/datasets/plan"
	"rollcall/internal/files"
)

// A set in a NumPy .npz file, as np.savez writes it:
//
//	np.savez("mine.npz", x=x, y=y, x_test=x_test, y_test=y_test)
//
// x is uint8 [n,H,W,C] or [n,H,W], images, or float32 [n,H,W,C], [n,H,W] or [n,F], features that are read as they are.
// y [n] are the classes, 0 … 255, as integers. The names x_train and y_train are understood as well. Without x_test and
// y_test the test set has no samples. Other arrays of the file are not read.

// npzPrefix begins the name of a set in a file, on the command line.
const npzPrefix = "npz:"

// ErrNoFile is wrapped by the error about a value of --data that names no file.
var ErrNoFile = errors.New("want " + npzPrefix + "FILE")

// Bounds on a file, against slips: nobody trains on more here.
const (
	npzMostArrays  = 1000
	npzMostSamples = 10_000_000
	npzMostPixels  = 1 << 22 // values of a sample
)

// npzParts are the names of the arrays of each part: samples and labels.
var npzParts = [2][][2]string{{{"x", "y"}, {"x_train", "y_train"}}, {{"x_test", "y_test"}}}

// npz is a registered file.
type npz struct {
	path    string // absolute
	sum     string // SHA-256 of the file
	info    Info
	shapes  [2][]int // of the samples of each part; nil: the file has no such part
	arrays  [2][2]string
	float   bool
	samples [2]int
	most    int64 // bytes that an array may have
}

// IsOwn reports whether the value of --data names a file, which [Register] makes a set of.
func IsOwn(value string) bool { return strings.HasPrefix(value, npzPrefix) }

// Register adds the set in a file, npz:FILE, to the sets that [Open] knows, and returns its name: the name of the file,
// with - in place of what cannot stand in the name of a folder. It reads the labels and the shapes, and leaves the
// samples for Open. A file that is registered again is read again.
func Register(value string) (name string, err error) {
	path, ok := strings.CutPrefix(value, npzPrefix)
	if !ok || path == "" {
		return "", fmt.Errorf("datasets: %q: %w", value, ErrNoFile)
	}
	f := &npz{}
	if f.path, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("datasets: %s: %w", path, err)
	}
	if err := f.describe(); err != nil {
		return "", fmt.Errorf("datasets: %s: %w", path, err)
	}
	f.info.Name = ownName(path)
	called := func(l loader) bool { return l.info.Name == f.info.Name }
	known := slices.IndexFunc(loaders, called)
	if known >= 0 && loaders[known].own == nil { // the name of a set of rollcall
		f.info.Name += "-npz"
		known = slices.IndexFunc(loaders, called)
	}
	own := loader{info: f.info, revision: 1, generate: f.open, own: f}
	if known < 0 {
		loaders = append(loaders, own)
		return f.info.Name, nil
	}
	if was := loaders[known].own; was.path != f.path {
		return "", fmt.Errorf("datasets: %s: %s is also a set called %s, want files of different names", path, was.path,
			f.info.Name)
	}
	loaders[known] = own
	return f.info.Name, nil
}

// fileOf returns the registered file of a set; nil for other sets.
func fileOf(name string) *npz {
	l, _ := lookup(name, Options{})
	return l.own
}

// Own returns the file of a registered set, as --data names it, and the SHA-256 of its content; empty for other sets.
func Own(name string) (value, sum string) {
	if f := fileOf(name); f != nil {
		return npzPrefix + f.path, f.sum
	}
	return "", ""
}

// ownName returns the name of the set in a file.
func ownName(path string) string {
	base := filepath.Base(path)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	name := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, base)
	if name = strings.Trim(name, "-"); name == "" {
		return "own"
	}
	return name
}

// String describes the set: "500 training and 100 test images of 28×28×1 in 10 classes".
func (f *npz) String() string {
	what := "images"
	if f.float {
		what = "samples of float32"
	}
	s := f.info.Shape
	return fmt.Sprintf("%d training and %d test %s of %s", f.samples[0], f.samples[1], what, s)
}

// describe reads the file up to its samples.
func (f *npz) describe() (err error) {
	return f.opened(func(z *zip.Reader) error {
		entries, err := npzEntries(z)
		if err != nil {
			return err
		}
		classes := 0
		for part := range npzParts {
			most, err := f.describePart(entries, part)
			if err != nil {
				return err
			}
			classes = max(classes, most+1)
		}
		if f.shapes[1] != nil && !slices.Equal(f.shapes[0], f.shapes[1]) {
			return fmt.Errorf("%s has samples of %v, and %s of %v, want the same", f.arrays[0][0], f.shapes[0],
				f.arrays[1][0], f.shapes[1])
		}
		if classes < 2 {
			return fmt.Errorf("%s: all labels are 0, want two classes at least", f.arrays[0][1])
		}
		f.setInfo(classes)
		return nil
	})
}

// setInfo sets what follows from the shapes.
func (f *npz) setInfo(classes int) {
	s := plan.Shape{H: 1, W: 1, C: 1, Classes: classes}
	switch dims := f.shapes[0]; len(dims) {
	case 1:
		s.C = dims[0]
	case 2:
		s.H, s.W = dims[0], dims[1]
	default:
		s.H, s.W, s.C = dims[0], dims[1], dims[2]
	}
	f.info.Shape, f.info.Net = s, "cnn-cifar10"
	if s.H < npzSmall || s.W < npzSmall {
		f.info.Net = "linear-mnist"
	}
	f.info.Augmented, f.info.Flip, f.info.Features = !f.float, !f.float, f.float
}

// npzSmall is the least side of images whose default net has convolutions.
const npzSmall = 8

// opened calls read with the open archive, and sets the SHA-256 of the file, or compares it.
func (f *npz) opened(read func(*zip.Reader) error) error {
	in, size, err := files.OpenRegular(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // nothing was written
	f.most = mostInflated(size)
	z, err := zip.NewReader(in, size)
	if err != nil {
		begin := make([]byte, 16)
		n, _ := in.ReadAt(begin, 0)
		if what := format(begin[:n]); what != "" && what != "a zip file" {
			return fmt.Errorf("%s, want an .npz file of np.savez", what)
		}
		return fmt.Errorf("no .npz file of np.savez: %w", err)
	}
	if err := read(z); err != nil {
		return err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(in, 0, size)); err != nil {
		return err
	}
	switch sum := hex.EncodeToString(h.Sum(nil)); {
	case f.sum == "":
		f.sum = sum
	case f.sum != sum:
		return fmt.Errorf("changed since this command began: SHA-256 %s, want %s", sum, f.sum)
	}
	return nil
}

// npzEntries returns the arrays of an archive by name.
func npzEntries(z *zip.Reader) (map[string]*zip.File, error) {
	if len(z.File) > npzMostArrays {
		return nil, fmt.Errorf("%d arrays, want at most %d", len(z.File), npzMostArrays)
	}
	entries := map[string]*zip.File{}
	for _, e := range z.File {
		name := strings.TrimSuffix(e.Name, ".npy")
		if entries[name] != nil {
			return nil, fmt.Errorf("array %.40q twice, want it once", name)
		}
		entries[name] = e
	}
	return entries, nil
}

// describePart reads the shape of the samples of a part, and all its labels; most is the largest. It does nothing if
// the file has no test part.
func (f *npz) describePart(entries map[string]*zip.File, part int) (most int, err error) {
	for _, names := range npzParts[part] {
		x, y := entries[names[0]], entries[names[1]]
		switch {
		case x == nil && y == nil:
			continue
		case x == nil || y == nil:
			return 0, fmt.Errorf("arrays %s: want both %s and %s", arrayNames(entries), names[0], names[1])
		case f.arrays[part] != [2]string{}:
			return 0, fmt.Errorf("arrays %s: want one of %s and %s", arrayNames(entries), f.arrays[part][0], names[0])
		}
		f.arrays[part] = names
	}
	names := f.arrays[part]
	if names != [2]string{} {
		if err := f.describeSamples(entries[names[0]], part); err != nil {
			return 0, fmt.Errorf("%s: %w", names[0], err)
		}
		labels, err := f.readLabels(entries[names[1]], f.samples[part])
		if err != nil {
			return 0, fmt.Errorf("%s: %w", names[1], err)
		}
		return int(slices.Max(labels)), nil
	}
	if part == 0 {
		return 0, fmt.Errorf("arrays %s: want x and y, and for a test set x_test and y_test", arrayNames(entries))
	}
	return 0, nil
}

// arrayNames lists the arrays of a file for an error.
func arrayNames(entries map[string]*zip.File) string {
	if len(entries) == 0 {
		return "none"
	}
	var names []string
	for name := range entries {
		names = append(names, fmt.Sprintf("%.40q", name))
	}
	slices.Sort(names)
	const most = 8
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}

// array is an open array of the archive.
type array struct {
	*files.NPYReader
	io.Closer
}

// openArray reads the header of an array, whose elements have so many bytes as the archive says.
func (f *npz) openArray(e *zip.File) (*array, error) {
	in, err := e.Open()
	if err != nil {
		return nil, err
	}
	r, err := files.NewNPYReader(in)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	a := &array{r, in}
	switch bytes := int64(r.Len()) * int64(r.Size()); {
	case bytes > f.most:
		err = fmt.Errorf("%d bytes of %s of shape %v, want at most %d in a file of this size, or arrays that are not "+
			"compressed: np.savez", bytes, r.Type, r.Shape, f.most)
	case e.UncompressedSize64 < uint64(bytes):
		err = fmt.Errorf("%d bytes in the archive, want %d for %s of shape %v", e.UncompressedSize64, bytes, r.Type,
			r.Shape)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return a, nil
}

// describeSamples sets the type and the shape of the samples of a part.
func (f *npz) describeSamples(e *zip.File, part int) error {
	a, err := f.openArray(e)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // the samples are read later
	dims := len(a.Shape)
	float := a.Type == "<f4" || a.Type == ">f4"
	switch {
	case !float && a.Type != "|u1":
		return fmt.Errorf("type %s, want uint8, for images, or float32: x.astype(\"float32\")", a.Type)
	case a.Fortran && dims > 1:
		return errors.New("in Fortran order, want C order: np.ascontiguousarray(x)")
	case part == 1 && float != f.float:
		return fmt.Errorf("type %s, and the training part has another, want the same", a.Type)
	case dims < 2 || dims > 4 || dims == 2 && !float:
		return fmt.Errorf("shape %v, want [n,H,W,C] or [n,H,W], or with float32 [n,F]", a.Shape)
	}
	pixels, shape := 1, a.Shape[1:]
	for _, d := range shape {
		if d < 1 || d > npzMostPixels/pixels {
			return fmt.Errorf("shape %v, want samples of 1 … %d values", a.Shape, npzMostPixels)
		}
		pixels *= d
	}
	switch n := a.Shape[0]; {
	case n < 1 || n > npzMostSamples:
		return fmt.Errorf("shape %v, want 1 … %d samples", a.Shape, npzMostSamples)
	case dims == 4 && channelsFirst(shape):
		return fmt.Errorf("shape %v has the channels first, want [n,H,W,C]: x.transpose(0, 2, 3, 1)", a.Shape)
	}
	f.float, f.shapes[part], f.samples[part] = float, slices.Clone(shape), a.Shape[0]
	return nil
}

// channelsFirst reports whether samples are images as PyTorch has them, [C,H,W]: one or three, and two sides of about
// the same length. Rows of features, [1,1,F], and series, [1,T,F], are none.
func channelsFirst(shape []int) bool {
	c, h, w := shape[0], shape[1], shape[2]
	return (c == 1 || c == 3) && min(h, w) > 4 && max(h, w) <= 2*min(h, w)
}

// readLabels reads the labels of n samples.
func (f *npz) readLabels(e *zip.File, n int) ([]uint8, error) {
	a, err := f.openArray(e)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }() // nothing was written
	kind := strings.TrimLeft(a.Type, "<>|=")
	switch {
	case kind[0] != 'u' && kind[0] != 'i':
		return nil, fmt.Errorf("type %s, want integers, the classes: y.astype(\"uint8\")", a.Type)
	case len(a.Shape) != 1 && (len(a.Shape) != 2 || a.Shape[1] != 1):
		return nil, fmt.Errorf("shape %v, want [%d], a class of each sample", a.Shape, n)
	case a.Shape[0] != n:
		return nil, fmt.Errorf("%d labels, want %d, one of each sample", a.Shape[0], n)
	}
	labels := make([]uint8, n)
	piece := make([]float64, min(n, 1<<12))
	for at := 0; at < n; {
		some := piece[:min(len(piece), n-at)]
		if err := a.Read(some); err != nil {
			return nil, err
		}
		for i, v := range some {
			if v < 0 || v > math.MaxUint8 {
				return nil, fmt.Errorf("label %d is %.0f, want 0 … %d", at+i, v, math.MaxUint8)
			}
			labels[at+i] = uint8(v)
		}
		at += len(some)
	}
	return labels, a.End() // the archive compares its checksum at the end
}

// open reads the set.
func (f *npz) open(ctx context.Context, _ Options) (*Set, error) {
	set := &Set{Dir: f.path}
	err := f.opened(func(z *zip.Reader) error {
		entries, err := npzEntries(z)
		if err != nil {
			return err
		}
		for part, to := range []**plan.Samples{&set.Train, &set.Test} {
			if *to, err = f.part(ctx, entries, part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	if !f.float {
		set.Train.Mean, set.Train.Std = moments(set.Train.Images, f.info.Shape.C)
		set.Test.Mean, set.Test.Std = set.Train.Mean, set.Train.Std
	}
	return set, nil
}

// part reads a part of the set.
func (f *npz) part(ctx context.Context, entries map[string]*zip.File, part int) (*plan.Samples, error) {
	s := f.info.samples(part, nil, nil)
	names, n := f.arrays[part], f.samples[part]
	if n == 0 {
		s.Images, s.Labels = []uint8{}, []uint8{}
		if f.float {
			s.Images, s.Features = nil, []float32{}
		}
		return s, nil
	}
	x, y := entries[names[0]], entries[names[1]]
	if x == nil || y == nil {
		return nil, errors.New("changed since this command began")
	}
	was := *f
	if err := f.describeSamples(x, part); err != nil {
		return nil, fmt.Errorf("%s: %w", names[0], err)
	}
	if f.float != was.float || f.samples != was.samples || !slices.Equal(f.shapes[part], was.shapes[part]) {
		return nil, errors.New("changed since this command began")
	}
	a, err := f.openArray(x)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", names[0], err)
	}
	defer func() { _ = a.Close() }() // nothing was written
	if f.float {
		s.Features, err = readFloats(ctx, a)
	} else {
		s.Images, err = readImages(ctx, a)
	}
	if err == nil {
		err = a.End()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", names[0], err)
	}
	if s.Labels, err = f.readLabels(y, n); err != nil {
		return nil, fmt.Errorf("%s: %w", names[1], err)
	}
	return s, nil
}

// npzPiece is how many elements are read between two looks at the context.
const npzPiece = 1 << 16

func readImages(ctx context.Context, a *array) ([]uint8, error) {
	images := make([]uint8, a.Len())
	for piece := range slices.Chunk(images, npzPiece) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := a.ReadBytes(piece); err != nil {
			return nil, err
		}
	}
	return images, nil
}

func readFloats(ctx context.Context, a *array) ([]float32, error) {
	features, buf := make([]float32, a.Len()), make([]float64, npzPiece)
	for piece := range slices.Chunk(features, npzPiece) {
		some := buf[:len(piece)]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := a.Read(some); err != nil {
			return nil, err
		}
		for i, v := range some {
			piece[i] = float32(v)
		}
	}
	return features, nil
}
