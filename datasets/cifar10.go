package datasets

import (
	"context"
	"crypto/sha256"
	"fmt"
)

// CIFAR-10 (Krizhevsky 2009), the binary version: six files of 10,000 records, each a label and 3×32×32 pixels.
const (
	cifarSide    = 32
	cifarPixels  = 3 * cifarSide * cifarSide
	cifarRecord  = 1 + cifarPixels
	cifarClasses = 10
	cifarSize    = 10_000 * cifarRecord // bytes of a file
)

// cifar10Info: statistics as usual for this set; the deviations are means over images, as FedAWE's code has them.
var cifar10Info = Info{
	Name: "cifar10", Net: "cnn-cifar10", Augmented: true, Flip: true,
	Mean: []float32{.4914, .4822, .4465}, Std: []float32{.2023, .1994, .2010},
}

// cifar10Archive is https://www.cs.toronto.edu/~kriz/cifar.html; the last file is the test set.
var cifar10Archive = archive{
	remote: published("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),
	fileSet: fileSet{
		set:     "cifar10",
		folders: []string{"cifar-10-batches-bin"},
		packed:  "cifar-10-binary.tar.gz",
		files: []publishedFile{
			cifarFile("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
			cifarFile("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
			cifarFile("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
			cifarFile("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
			cifarFile("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
			cifarFile("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
		},
		sum: func(_ context.Context, path string, f publishedFile) (string, error) {
			data, err := readOfficial(path, f)
			if err == nil {
				err = checkCIFAR10(data)
			}
			return sha256Text(data), err
		},
	},
}

func cifarFile(name, sha256 string) publishedFile {
	return publishedFile{remote: remote{name: name}, size: cifarSize, sum: "SHA-256 " + sha256}
}

func sha256Text(data []byte) string { return fmt.Sprintf("SHA-256 %x", sha256.Sum256(data)) }

// openCIFAR10 reads the six files, in their order, as many at a time as there are cores.
func openCIFAR10(ctx context.Context, o Options) (*Set, error) {
	a := sourceOf(o, &cifar10Archive)
	dir, err := a.fetch(ctx, o)
	if err != nil {
		return nil, err
	}
	each := int(a.files[0].size / cifarRecord) // records of a file, of every file as many
	count := each * len(a.files)
	images, labels := make([]uint8, count*cifarPixels), make([]uint8, count)

	err = a.read(dir, o, func(i int, path string, f publishedFile) (string, error) { // a file is in memory twice
		if err := ctx.Err(); err != nil {
			return "", err
		}
		data, err := readOfficial(path, f)
		if err == nil {
			err = parseCIFAR10(f.name, data, each, images[i*each*cifarPixels:][:each*cifarPixels], labels[i*each:][:each])
		}
		return sha256Text(data), err
	})
	if err != nil {
		return nil, err
	}
	train, test := cifar10Info.parts(images, labels, count-each)
	return &Set{Train: train, Test: test, Dir: dir}, nil
}

// parseCIFAR10 reads a file of exactly `records` records into images [records,32,32,3] and labels [records]. The file
// keeps an image as three planes, 32 rows of 32 pixels each; engines want a pixel's channels beside each other.
// Nothing is written unless the whole file is well-formed.
func parseCIFAR10(file string, data []byte, records int, images, labels []uint8) error {
	if len(data) != records*cifarRecord {
		return &lengthError{file, int64(len(data)), int64(records) * cifarRecord}
	}
	if err := checkCIFAR10(data); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	const plane = cifarSide * cifarSide
	for i := range records {
		record := data[i*cifarRecord : (i+1)*cifarRecord]
		labels[i] = record[0]
		red, green, blue := record[1:1+plane], record[1+plane:1+2*plane], record[1+2*plane:1+3*plane]
		out := images[i*cifarPixels : (i+1)*cifarPixels]
		for p := range plane {
			out[3*p], out[3*p+1], out[3*p+2] = red[p], green[p], blue[p]
		}
	}
	return nil
}

// checkCIFAR10 reports what is wrong with a file of whole records.
func checkCIFAR10(data []byte) error {
	for i := range len(data) / cifarRecord {
		if l := data[i*cifarRecord]; l >= cifarClasses {
			return fmt.Errorf("record %d: label %d, want 0 … %d", i, l, cifarClasses-1)
		}
	}
	return nil
}
