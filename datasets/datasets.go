package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"rollcall/datasets/plan"
)

// Errors that callers tell apart with [errors.Is].
var (
	ErrNotFound    = errors.New("not found")             // nowhere on this machine
	ErrUnavailable = errors.New("unavailable")           // the official site could not be reached, or did not deliver
	ErrAltered     = errors.New("not the official file") // a checksum differs from the published one
)

// Set is one data set in memory.
type Set struct {
	Train, Test *plan.Samples
	Split       *Split // of a set that is made client by client; nil: still to be cut, see [Cut]
	Name        string
	Dir         string // folder the files were read from; empty for a generated set
	// Checksum is the SHA-256, hex, of the training set's images or features (little-endian) and labels, and then the
	// test set's.
	Checksum string
}

// Options says where data is, and what a generated set is like. The zero value is ready to use.
type Options struct {
	Dir          string // first folder looked in, and the one downloaded to; empty: none
	AllowAltered bool   // accept well-formed files that are not the official ones, whose Set.Checksum differs

	// Progress gets the progress of a download, a bar if it is a terminal and lines if not, and what is decoded or
	// cached; nil: silent.
	Progress io.Writer

	Seed                uint32 // of synthetic, leaf, binary and SwapPairs
	TrainSize, TestSize int    // pictures of synthetic; 0: SyntheticTrain and SyntheticTest

	Clients              int     // N of leaf, binary and SwapPairs, at least 1
	Reading              Reading // of leaf, binary and SwapPairs
	LeafGamma, LeafDelta float64 // γ and δ of leaf, at least 0

	// SwapPairs is the number of pairs of labels that are swapped in an image set, which is then cut among Clients in
	// two groups; 0: it is not cut, and all labels are true.
	SwapPairs int

	official source // instead of the set's own; for tests
}

// Info is what the suite knows of a data set without reading it.
type Info struct {
	Name      string
	Net       string    // default network
	Augmented bool      // whether training sees random crops of it (and, with Flip, mirrored ones)
	Flip      bool      // mirrored by augmentation; false where a mirrored sample would mean something else
	Mean, Std []float32 // [C] normalisation of values scaled to [0, 1]; nil: taken from the training set

	side, channels int // of the images of a set that is read from files
}

// samples returns a part of an image set, images [n,side,side,channels] of ten classes.
func (i *Info) samples(part int, images, labels []uint8) *plan.Samples {
	return &plan.Samples{
		Name: i.Name + "/" + partNames[part], H: i.side, W: i.side, C: i.channels, Classes: imageClasses,
		Images: images, Labels: labels, Mean: i.Mean, Std: i.Std,
	}
}

const (
	imageClasses = 10 // of every image set
	photoSide    = 32 // of the pictures of CIFAR-10, SVHN, CINIC-10 and the synthetic set, which have three colours
	photoPixels  = photoSide * photoSide * 3
)

// partNames are the names of the parts, in the order of their random streams.
var partNames = [2]string{"train", "test"}

// loader is one data set: generated, or read from its official files.
type loader struct {
	info     Info
	revision int                                          // raised by whoever changes the samples, see [Revision]
	generate func(context.Context, Options) (*Set, error) // Train, Test and Split alone need be set
	official source
}

// loaders lists every data set. A new one is a file, and its line here.
var loaders = []loader{
	{info: cifar10Info, revision: 1, official: &cifar10Files},
	{info: svhnInfo, revision: 1, official: &svhnFiles},
	{info: cinic10Info, revision: 1, official: &cinic10Tree},
	{info: mnistInfo, revision: 1, official: &mnistFiles},
	{info: Info{Name: "synthetic", Net: "cnn-cifar10", Augmented: true}, revision: 1, generate: generateSynthetic},
	{info: Info{Name: "leaf", Net: "linear-synthetic"}, revision: 1, generate: generateLEAF},
	{info: Info{Name: "binary", Net: "linear-binary"}, revision: 1, generate: generateBinary},
}

// Names returns the names of all data sets.
func Names() []string {
	var names []string
	for _, l := range loaders {
		names = append(names, l.info.Name)
	}
	return names
}

// sharedRevision is raised by whoever changes what every run reads whatever its data: the generator (package rng),
// batch plans, crops and flips (package plan), swapped labels and the samples kept back for validation.
const sharedRevision = 1

// Revision returns the revision of what clients read: of the samples of a data set, of how a split kind gives them to
// clients (of a set that brings its own split, and of swapped labels, the empty kind), and of what all data have in
// common. Each of the three is a number that only rises, so that their sum rises with any of them. An unknown data set
// has revision 0.
func Revision(data, split string) int {
	l, err := lookup(data, Options{})
	if err != nil {
		return 0
	}
	sum := l.revision + sharedRevision
	for _, s := range splitKinds {
		if string(s.kind) == split {
			sum += s.revision
		}
	}
	return sum
}

// About returns what is known of one data set.
func About(name string) (Info, error) {
	l, err := lookup(name, Options{})
	l.info.Mean, l.info.Std = slices.Clone(l.info.Mean), slices.Clone(l.info.Std)
	return l.info, err
}

func lookup(name string, o Options) (loader, error) {
	for _, l := range loaders {
		if l.info.Name == name {
			if o.official != nil {
				l.official = o.official
			}
			return l, nil
		}
	}
	return loader{}, fmt.Errorf("datasets: %q: unknown data set, want one of %s", name, strings.Join(Names(), ", "))
}

// Open reads a data set, fetching it first if need be (see [Fetch]), or generates it.
func Open(ctx context.Context, name string, o Options) (*Set, error) {
	l, err := lookup(name, o)
	if err != nil {
		return nil, err
	}
	set, err := l.open(ctx, o)
	return set, named(name, err)
}

// named says of an error which data set it is about.
func named(name string, err error) error {
	if err != nil {
		return fmt.Errorf("datasets: %s: %w", name, err)
	}
	return nil
}

func (l loader) open(ctx context.Context, o Options) (set *Set, err error) {
	if l.generate != nil {
		set, err = l.generate(ctx, o)
	} else {
		set, err = read(ctx, l.official, o)
	}
	if err != nil {
		return nil, err
	}
	set.Name = l.info.Name
	if o.SwapPairs != 0 {
		if err := swapLabels(set, o); err != nil {
			return nil, err
		}
	}
	h := sha256.New()
	for _, s := range []*plan.Samples{set.Train, set.Test} {
		if err := s.Validate(); err != nil {
			return nil, err
		}
		for piece := range slices.Chunk(s.Images, 1<<20) { // a collection of garbage waits until a piece is hashed
			h.Write(piece)
		}
		var bytes []byte
		for piece := range slices.Chunk(s.Features, 1<<18) {
			bytes, _ = binary.Append(bytes[:0], binary.LittleEndian, piece) // numbers can always be written
			h.Write(bytes)
		}
		h.Write(s.Labels)
	}
	set.Checksum = hex.EncodeToString(h.Sum(nil))
	return set, nil
}

func read(ctx context.Context, s source, o Options) (*Set, error) {
	found, err := fetch(ctx, s, o)
	if err != nil {
		return nil, err
	}
	set, err := s.open(ctx, found, o)
	if err == nil {
		set.Dir = found.Dir
	}
	return set, err
}
