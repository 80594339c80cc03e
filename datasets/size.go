package datasets

import (
	"cmp"

	"rollcall/datasets/plan"
)

// officialPictures is the number of pictures in the official files of a set, train and test together.
var officialPictures = map[string]int{"cifar10": 60_000, "svhn": 73_257 + 26_032, "cinic10": 180_000, "mnist": 70_000}

// LeastBytes returns a lower bound on the memory of a set in bytes, without reading or generating it, so that callers
// can refuse early. It is 0 for files that need not be the official ones, as these may have any size.
func LeastBytes(name string, o Options) int64 {
	samples, size := 0, photoPixels
	switch name {
	case "synthetic":
		samples = cmp.Or(o.TrainSize, SyntheticTrain) + cmp.Or(o.TestSize, SyntheticTest)
	case "leaf":
		samples, size = o.Clients*leafLeast, 4*leafFeatures
		if o.LeafMore != nil {
			samples = max(0, leafTotal-o.Clients) // each client's number is rounded down
		}
	case "binary":
		samples, size = o.Clients*(binaryTrain+binaryTest), 4*binaryFeatures
	case "mnist":
		size = mnistSide * mnistSide
		fallthrough
	default:
		if !o.AllowAltered {
			samples = officialPictures[name]
		}
	}
	return int64(samples) * int64(size+1) // with one byte for the label
}

// Bytes returns the memory of the set in bytes.
func (s *Set) Bytes() (n int64) {
	for _, p := range []*plan.Samples{s.Train, s.Test} {
		n += int64(len(p.Images)) + 4*int64(len(p.Features)) + int64(len(p.Labels))
	}
	return n
}
