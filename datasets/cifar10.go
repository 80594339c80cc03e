package datasets

import (
	"fmt"
	"io"
)

// CIFAR-10 (Krizhevsky 2009), the binary version: six files of 10,000 records. A record is a label and 3×32×32 pixels.
const (
	cifarRecord = 1 + photoPixels
	cifarSize   = 10_000 * cifarRecord // bytes in a file
)

// cifar10Info has the usual mean and deviation of this set. The deviations are means over the deviations of single
// images, as in FedAWE's released code.
var cifar10Info = Info{
	Name: "cifar10", Net: "cnn-cifar10", Augmented: true, Flip: true, Shape: photoShape,
	Mean: []float32{.4914, .4822, .4465}, Std: []float32{.2023, .1994, .2010},
}

// cifar10Files describes the files at https://www.cs.toronto.edu/~kriz/cifar.html.
var cifar10Files = source{
	info:    &cifar10Info,
	folders: []string{"cifar-10-batches-bin"},
	archive: published("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
		"c32a1d4ab5d03f1284b67883e8d87530", 170052171),
	files: []publishedFile{
		cifarFile(0, "data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
		cifarFile(0, "data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
		cifarFile(0, "data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
		cifarFile(0, "data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
		cifarFile(0, "data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
		cifarFile(1, "test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
	},
	samples: [2]int{50_000, 10_000},
	record:  cifarRecord,
	parse: func(r io.Reader, size int64, f publishedFile, room content) (images, labels []uint8, err error) {
		return parseCIFAR(r, size, f, room, imageClasses, 0)
	},
}

// cifarFile returns a file of the archive; part is 0 for training and 1 for testing.
func cifarFile(part int, name, sha256 string) publishedFile {
	return publishedFile{name: name, size: cifarSize, sum: "SHA-256 " + sha256, part: part}
}

// parseCIFAR reads a file of whole records into images [n,32,32,3] and labels [n], 0 … classes−1. A record has `before`
// bytes that are not read, the label and the image. The file stores an image as three planes of 32 rows of 32 pixels,
// but engines need the channels of a pixel next to each other.
func parseCIFAR(
	r io.Reader, size int64, f publishedFile, room content, classes uint8, before int,
) (images, labels []uint8, err error) {
	if size != f.size {
		return nil, nil, &lengthError{size, f.size}
	}
	record := make([]byte, before+1+photoPixels)
	n := int(size) / len(record)
	if images, labels = room.images, room.labels; images == nil {
		images, labels = make([]uint8, n*photoPixels), make([]uint8, n)
	}
	for i := range n {
		if _, err := io.ReadFull(r, record); err != nil {
			return nil, nil, cutShort(err)
		}
		if labels[i] = record[before]; labels[i] >= classes {
			return nil, nil, fmt.Errorf("record %d: label %d, want 0 … %d", i, labels[i], classes-1)
		}
		fromPlanes(record[before+1:], images[i*photoPixels:], photoSide, 1)
	}
	return images, labels, nil
}

// fromPlanes sets pixels [32,32,3] from three planes, one for each channel. A plane has the pixel [row,column] at
// byRow·row + byColumn·column.
func fromPlanes(planes, pixels []uint8, byRow, byColumn int) {
	const plane = photoSide * photoSide
	red, green, blue := planes[:plane], planes[plane:2*plane], planes[2*plane:3*plane]
	for row := range photoSide {
		for column := range photoSide {
			from, to := byRow*row+byColumn*column, (row*photoSide+column)*3
			pixels[to], pixels[to+1], pixels[to+2] = red[from], green[from], blue[from]
		}
	}
}
