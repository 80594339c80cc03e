package datasets

import (
	"fmt"
	"io"

	"rollcall/datasets/plan"
)

// CIFAR-100 (Krizhevsky 2009), the binary version: a file of 50,000 records and one of 10,000. A record is one of 20
// coarse labels, one of 100 fine labels and 3×32×32 pixels. The fine labels are the classes.
const (
	cifar100Classes = 100
	cifar100Record  = 2 + photoPixels
)

// cifar100Info has the mean and the deviation that are usual for this set: of all pixels of the training images.
var cifar100Info = Info{
	Name: "cifar100", Net: "cnn-cifar10", Augmented: true, Flip: true,
	Shape: plan.Shape{H: photoSide, W: photoSide, C: 3, Classes: cifar100Classes},
	Mean:  []float32{.5071, .4865, .4409}, Std: []float32{.2673, .2564, .2762},
}

// cifar100Files describes the files at https://www.cs.toronto.edu/~kriz/cifar.html, which prints the MD5 of the archive
// and none of the files in it. A file that is extracted from that archive is recorded; one that is found is accepted if
// it has as many images of every class as the official one.
var cifar100Files = source{
	info:    &cifar100Info,
	folders: []string{"cifar-100-binary"},
	archive: published("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
		"03b5dce01913d631647c71ecec9e9cb8", 168513733),
	files: []publishedFile{
		{name: "train.bin", size: 50_000 * cifar100Record, part: 0},
		{name: "test.bin", size: 10_000 * cifar100Record, part: 1},
	},
	samples: [2]int{50_000, 10_000},
	record:  cifar100Record,
	parse:   parseCIFAR100,
}

// parseCIFAR100 reads a file with [parseCIFAR]. In an official one, every class has the same number of images.
func parseCIFAR100(r io.Reader, size int64, f publishedFile, room content) (images, labels []uint8, err error) {
	if images, labels, err = parseCIFAR(r, size, f, room, cifar100Classes, 1); err != nil || f.counts == nil {
		return images, labels, err
	}
	var count [cifar100Classes]int
	for _, l := range labels {
		count[l]++
	}
	for class, n := range count {
		if want := len(labels) / cifar100Classes; n != want {
			return nil, nil, fmt.Errorf("%w: %d images of class %d, want %d", ErrAltered, n, class, want)
		}
	}
	return images, labels, nil
}
