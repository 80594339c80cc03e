package datasets

import "path/filepath"

// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 60,000 training and 10,000 test images of clothes, in MNIST's format and
// under the names of MNIST's files.

// fashionInfo has the usual mean and deviation of this set, of all pixels of the training images.
var fashionInfo = Info{
	Name: "fashion-mnist", Net: "lenet5", Shape: mnistInfo.Shape,
	Mean: []float32{.2860}, Std: []float32{.3530},
}

// fashionFiles are the files of https://github.com/zalandoresearch/fashion-mnist, whose README prints the addresses and
// the MD5s. The SHA-256s were computed from files that have these MD5s.
var fashionFiles = source{
	info:    &fashionInfo,
	folders: []string{filepath.Join("FashionMNIST", "raw"), "fashion-mnist", "fashion"},
	files:   fashionOfficial,
	foreign: namesakes("mnist", mnistOfficial),
	samples: [2]int{60_000, 10_000},
	parse:   parseMNIST,
}

var fashionOfficial = []publishedFile{
	fashionFile(0, "train-images-idx3-ubyte", "8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26421880,
		"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"),
	fashionFile(0, "train-labels-idx1-ubyte", "25c81989df183df01b3e8a0aad5dffbe", 29515,
		"bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
	fashionFile(1, "t10k-images-idx3-ubyte", "bef4ecab320f06d8554ea6380940ec79", 4422102,
		"5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"),
	fashionFile(1, "t10k-labels-idx1-ubyte", "bb300cfdad3c16e7a12a480ee83cd310", 5148,
		"0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
}

func fashionFile(part int, name, md5 string, length int64, sha256 string) publishedFile {
	return idxFile(part, name, md5, length, sha256, "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
		"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/")
}

// namesakes returns the files of another set that has files of the same names, by their checksum.
func namesakes(set string, all []publishedFile) map[string]string {
	names := map[string]string{}
	for _, f := range all {
		names[f.sum] = f.name + " of " + set
	}
	return names
}
