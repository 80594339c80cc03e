package datasets

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// SVHN (Netzer et al. 2011), the cropped digits: two MAT-files, each with X uint8 [32,32,3,n] and y [n,1]. X is in
// MATLAB's order, in which the row runs fastest. The label 10 means the digit 0. The "extra" images are not used.

// svhnInfo has the mean and the deviation of FedAWE's released code. Augmentation does not mirror the images, because a
// mirrored digit is not a digit.
var svhnInfo = Info{
	Name: "svhn", Net: "cnn-svhn", Augmented: true, Shape: photoShape,
	Mean: []float32{.4376821, .4437697, .47280442}, Std: []float32{.19803012, .20101562, .19703614},
}

// svhnFiles are the files at http://ufldl.stanford.edu/housenumbers/. The MD5s are the ones that other loaders check
// too.
var svhnFiles = source{
	info:    &svhnInfo,
	folders: []string{"svhn"},
	files: []publishedFile{
		svhnFile(0, "train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373", 182040794),
		svhnFile(1, "test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3", 64275384),
	},
	samples: [2]int{73_257, 26_032},
	parse:   parseSVHN,
}

func svhnFile(part int, name, md5 string, length int64) publishedFile {
	f := published("http://ufldl.stanford.edu/housenumbers/"+name, md5, length)
	f.sum, f.part = "MD5 "+md5, part
	return f
}

// parseSVHN reads file f, of `size` bytes, into images [n,32,32,3] and labels [n], 0 … 9. It skips variables other than
// X and y. It decompresses X image by image into the set itself, so that loading needs little more memory than the set.
func parseSVHN(r io.Reader, size int64, f publishedFile, _ content) (images, labels []uint8, err error) {
	err = readMAT5(r, size, f.mostBytes(photoPixels), func(v *matVariable) (err error) {
		switch {
		case v.name == "X" && images != nil, v.name == "y" && labels != nil:
			return fmt.Errorf("twice in the file")
		case v.name == "X":
			images, err = svhnImages(v, size, f)
		case v.name == "y":
			labels, err = svhnLabels(v, f)
		}
		return err
	})
	switch n := len(images) / photoPixels; {
	case err != nil:
		return nil, nil, err
	case images == nil:
		return nil, nil, &matError{"X", fmt.Errorf("not in the file, want images [%d %d 3 n]", photoSide, photoSide)}
	case labels == nil:
		return nil, nil, &matError{"y", fmt.Errorf("not in the file, want labels [n 1]")}
	case n != len(labels):
		return nil, nil, &matError{"y", fmt.Errorf("%d labels, want %d, the images of X", len(labels), n)}
	}
	return images, labels, nil
}

// svhnImages reads X image by image. Byte row + 32·column + 1024·channel of an image in the file becomes
// [row, column, channel]. A file of the wrong size is refused before there is memory for its images.
func svhnImages(v *matVariable, size int64, f publishedFile) ([]uint8, error) {
	switch {
	case v.class != mxUINT8 || v.kind != miUINT8:
		return nil, fmt.Errorf("class %d stored as type %d, want bytes (%d as %d)", v.class, v.kind, mxUINT8, miUINT8)
	case len(v.dims) == 3: // MATLAB drops a last dimension of 1
		v.dims = append(v.dims, 1)
	}
	if len(v.dims) != 4 || !slices.Equal(v.dims[:3], []int64{photoSide, photoSide, 3}) || v.dims[3] < 1 {
		return nil, fmt.Errorf("dimensions %v, want [%d %d 3 n]", v.dims, photoSide, photoSide)
	}
	if err := cmp.Or(f.checkCount(v.dims[3]), f.checkLength(size)); err != nil {
		return nil, err
	}
	if most := mostInflated(size); v.size > most {
		return nil, fmt.Errorf("%d bytes of data, want at most %d in a file of this size", v.size, most)
	}
	var images []uint8
	var planes [photoPixels]uint8
	for at := 0; at < int(v.size); at += photoPixels {
		if len(images) < at+photoPixels {
			images = grown(images, int(v.size))
		}
		if _, err := io.ReadFull(v.data, planes[:]); err != nil {
			return nil, fmt.Errorf("image %d: %w", at/photoPixels, cutShort(err))
		}
		fromPlanes(planes[:], images[at:], 1, photoSide)
	}
	return images, nil
}

// svhnLabels reads y, which may have any type of numbers.
func svhnLabels(v *matVariable, f publishedFile) ([]uint8, error) {
	if v.class == 0 {
		return nil, fmt.Errorf("no real numbers, want labels [n 1]")
	}
	// SciPy saves an array of one dimension as a row.
	if len(v.dims) != 2 || (v.dims[0] != 1 && v.dims[1] != 1) || v.dims[0]*v.dims[1] < 1 {
		return nil, fmt.Errorf("dimensions %v, want [n 1]", v.dims)
	}
	if err := f.checkCount(v.dims[0] * v.dims[1]); err != nil {
		return nil, err
	}
	var labels []uint8
	err := v.numbers(func(i int, x float64) error {
		if !(x >= 1 && x <= imageClasses) || x != float64(uint8(x)) {
			return fmt.Errorf("label %d is %g, want 1 … %d", i, x, imageClasses)
		}
		labels = append(labels, uint8(x)%imageClasses)
		return nil
	})
	return labels, err
}
