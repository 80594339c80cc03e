package datasets

import (
	"cmp"

	"rollcall/datasets/plan"
)

// officialPictures is how many pictures the official files of a set hold, in both parts.
var officialPictures = map[string]int{"cifar10": 60_000, "svhn": 73_257 + 26_032, "cinic10": 180_000, "mnist": 70_000}

// LeastBytes returns how many bytes of memory a set takes at the least, as far as that is known without reading or
// making it. Files that need not be the official ones may be of any size: 0.
func LeastBytes(name string, o Options) int64 {
	samples, size := 0, photoPixels
	switch name {
	case "synthetic":
		samples = cmp.Or(o.TrainSize, SyntheticTrain) + cmp.Or(o.TestSize, SyntheticTest)
	case "leaf":
		samples, size = o.Clients*leafLeast, 4*leafFeatures
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
	return int64(samples) * int64(size+1) // and a label
}

// Bytes returns how many bytes of memory the set takes.
func (s *Set) Bytes() (n int64) {
	for _, p := range []*plan.Samples{s.Train, s.Test} {
		n += int64(len(p.Images)) + 4*int64(len(p.Features)) + int64(len(p.Labels))
	}
	return n
}
