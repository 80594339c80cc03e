package datasets

import (
	"cmp"
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

// Errors that callers distinguish with [errors.Is].
var (
	ErrNotFound    = errors.New("not found")             // nowhere on this machine
	ErrUnavailable = errors.New("unavailable")           // the official site could not be reached, or did not deliver
	ErrAltered     = errors.New("not the official file") // a checksum differs from the published one
)

// Set is one data set in memory.
type Set struct {
	Train, Test *plan.Samples
	Split       *Split // for sets that are generated client by client; nil: [Cut] splits the set
	Natural     *Split // the samples of each writer, for SplitNatural; nil: nobody knows who has made which sample
	Name        string
	Dir         string // the folder of its files; empty for a generated set
	// Checksum is the SHA-256, in hex digits, of the images or features (little-endian) and the labels of the training
	// set, followed by the same of the test set, and who has which sample if Natural is set.
	Checksum string
}

// Options says where the files are, and how a generated set is generated. The zero value is ready to use.
type Options struct {
	Dir          string // the first folder to search, and the folder of downloads; empty: none
	AllowAltered bool   // accepts well-formed files that are not the official ones; their Set.Checksum differs

	// Progress receives the progress of downloads, as a bar on a terminal and as lines elsewhere, and messages about
	// decoding and the cache; nil: no output.
	Progress io.Writer

	Seed                uint32 // for synthetic, leaf, binary and SwapPairs
	TrainSize, TestSize int    // pictures of synthetic; 0: SyntheticTrain and SyntheticTest

	Clients              int     // N, at least 1, for leaf, binary and SwapPairs
	Reading              Reading // for leaf, binary and SwapPairs
	LeafGamma, LeafDelta float64 // γ and δ of leaf, at least 0
	LeafIID              bool    // leaf: all clients share one model, as with the released --iid
	LeafShared           bool    // leaf: models around a shared one, samples around 0; not with LeafIID
	// LeafMore [N] says which clients are more available, and have ten times as many samples of leaf as the others, as
	// with the released --augmentation; nil: the numbers of samples do not depend on availability.
	LeafMore []bool

	// SwapPairs is the number of pairs of labels to swap in an image set, which is then split among Clients in two
	// groups; 0: no labels are swapped, and the set is not split.
	SwapPairs int

	official *source // replaces the set's own source in tests
}

// Reading chooses between the two definitions of the sets that CA-Fed's papers generate client by client.
type Reading string

// The readings.
const (
	ReadPaper Reading = "paper" // as the paper describes the set
	ReadCode  Reading = "code"  // as the authors' released code generates it
)

// Info describes a data set. It is known without reading the files.
type Info struct {
	Name      string
	Net       string    // default network
	Augmented bool      // training sees random crops of the images, and mirrored ones if Flip is true
	Flip      bool      // augmentation mirrors images; false if a mirrored image would mean something else
	Mean, Std []float32 // [C] normalisation of values scaled to [0, 1]; nil: computed from the training set
	Natural   bool      // it is known who has made which sample, for SplitNatural
	ByHand    string    // what makes the files, which nobody publishes; empty: they are downloaded, or there are none

	Shape    plan.Shape
	Features bool // the samples are numbers that are read as they are, and not images
}

// samples returns a part of an image set, given images [n,H,W,C] and labels [n].
func (i *Info) samples(part int, images, labels []uint8) *plan.Samples {
	return &plan.Samples{
		Name: i.Name + "/" + partNames[part], H: i.Shape.H, W: i.Shape.W, C: i.Shape.C, Classes: i.Shape.Classes,
		Images: images, Labels: labels, Mean: i.Mean, Std: i.Std,
	}
}

const (
	imageClasses = 10 // classes of CIFAR-10, SVHN, CINIC-10, MNIST and the synthetic set
	photoSide    = 32 // pixels of a side of the pictures of CIFAR-10, SVHN, CINIC-10 and the synthetic set
	photoPixels  = photoSide * photoSide * 3
)

// photoShape is what the samples of these sets look like.
var photoShape = plan.Shape{H: photoSide, W: photoSide, C: 3, Classes: imageClasses}

// partNames are the names of the parts, in the order of their random streams.
var partNames = [2]string{"train", "test"}

// loader generates one data set, or reads it from its official files.
type loader struct {
	info     Info
	revision int                                          // whoever changes the samples raises it, see [Revision]
	generate func(context.Context, Options) (*Set, error) // sets Train, Test and Split only; nil: read from files
	official *source                                      // the files; nil: generated, or own
	own      *npz                                         // the file of a user, see [Register]; nil: another set
}

// loaders lists every data set. A new data set is a new file, and a line here.
var loaders = []loader{
	{info: cifar10Info, revision: 1, official: &cifar10Files},
	{info: cifar100Info, revision: 1, official: &cifar100Files},
	{info: svhnInfo, revision: 1, official: &svhnFiles},
	{info: cinic10Info, revision: 1, official: &cinic10Files},
	{info: mnistInfo, revision: 1, official: &mnistFiles},
	{info: fashionInfo, revision: 1, official: &fashionFiles},
	{info: femnistInfo, revision: 1, official: &femnistFiles},
	{info: syntheticInfo, revision: 1, generate: generateSynthetic},
	{info: leafInfo, revision: 1, generate: generateLEAF},
	{info: binaryInfo, revision: 1, generate: generateBinary},
}

// Names returns the names of all data sets.
func Names() []string {
	var names []string
	for _, l := range loaders {
		names = append(names, l.info.Name)
	}
	return names
}

// sharedRevision counts changes that concern every data set: the generator (package rng), batch plans, crops and flips
// (package plan), swapped labels and the samples reserved for validation. Whoever changes one of them raises it.
const sharedRevision = 1

// Revision returns the revision of the samples that clients read. It is the sum of three numbers: for the data set, for
// the kind of split, and for the code that all data sets share. Each number only rises, so the sum rises with any of
// them. The kind is empty for a set with its own split and for swapped labels. An unknown data set has revision 0.
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

// About returns the description of a data set. Its slices must not be written to.
func About(name string) (Info, error) {
	l, err := lookup(name, Options{})
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

// Open generates a data set, or reads it from its files, which it downloads first if necessary (see [Fetch]).
func Open(ctx context.Context, name string, o Options) (*Set, error) {
	l, err := lookup(name, o)
	if err != nil {
		return nil, err
	}
	set, err := l.open(ctx, o)
	return set, named(name, err)
}

// named adds the name of the data set to an error; nil stays nil.
func named(name string, err error) error {
	if err != nil {
		return fmt.Errorf("datasets: %s: %w", name, err)
	}
	return nil
}

// open does the work of [Open]: it sets all fields of the set, and validates the samples.
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
		// in pieces, because a garbage collection waits for Write to return
		for piece := range slices.Chunk(s.Images, 1<<20) {
			h.Write(piece)
		}
		var bytes []byte
		for piece := range slices.Chunk(s.Features, 1<<18) {
			bytes, _ = binary.Append(bytes[:0], binary.LittleEndian, piece) // never fails for numbers
			h.Write(bytes)
		}
		h.Write(s.Labels)
	}
	set.Natural.sum(h)
	set.Checksum = hex.EncodeToString(h.Sum(nil))
	return set, nil
}

func read(ctx context.Context, s *source, o Options) (*Set, error) {
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

// LeastBytes returns a lower bound on the memory of a set in bytes, without reading or generating it, so that callers
// can refuse early. It is 0 for files that need not be the official ones, as these may have any size.
func LeastBytes(name string, o Options) int64 {
	about, err := About(name)
	if err != nil {
		return 0
	}
	size := about.Shape.Pixels()
	if about.Features {
		size *= 4
	}
	sizes := LeastSizes(name, o)
	return int64(sizes[0]+sizes[1]) * int64(size+1) // with one byte for the label
}

// LeastSizes returns how many samples the training set and the test set have at least, as far as that is known without
// reading or generating them: exactly, for official files and those that are registered. All samples of leaf and binary
// count as training samples.
func LeastSizes(name string, o Options) (sizes [2]int) {
	if f := fileOf(name); f != nil {
		return f.samples
	}
	switch name {
	case "synthetic":
		return [2]int{cmp.Or(o.TrainSize, SyntheticTrain), cmp.Or(o.TestSize, SyntheticTest)}
	case "leaf":
		sizes[0] = o.Clients * leafLeast
		if o.LeafMore != nil {
			sizes[0] = max(0, leafTotal-o.Clients) // each client's number is rounded down
		}
	case "binary":
		sizes[0] = o.Clients * (binaryTrain + binaryTest)
	default:
		if l, err := lookup(name, o); err == nil && l.official != nil && !o.AllowAltered {
			sizes = l.official.samples
		}
	}
	return sizes
}

// Bytes returns the memory of the set in bytes.
func (s *Set) Bytes() (n int64) {
	for _, p := range []*plan.Samples{s.Train, s.Test} {
		n += int64(len(p.Images)) + 4*int64(len(p.Features)) + int64(len(p.Labels))
	}
	return n
}
