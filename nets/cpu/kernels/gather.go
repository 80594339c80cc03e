package kernels

import (
	"fmt"
	"math"
)

// Normal turns bytes into numbers: x = (v/255 − mean[c])/std[c], rounded as PyTorch's ToTensor and Normalize round in
// float32.
type Normal[T Float] struct {
	channels int
	table    []T         // [C,256] the number that every byte becomes
	group    normalGroup // for the vector kernels
	scalar   bool        // whether the vector kernels would not give the numbers of the table, or C > groupLanes
}

// groupLanes is the number of bytes that a vector kernel reads at a time.
const groupLanes = 16

// normalGroup describes a group of whole pixels, as many as fit into groupLanes bytes, to the vector kernels.
type normalGroup struct {
	mean, std, inverse [groupLanes]float32 // for the channel of every byte; 0, 1 and 1 behind the last pixel
	straight           [groupLanes]uint8   // the order of the bytes as they are
	flipped            [groupLanes]uint8   // the order of the bytes if the pixels are mirrored
	pixels             int
}

// NewNormal returns the normalisation with the given mean and standard deviation of every channel. Both are in units of
// v/255, which is in [0, 1].
func NewNormal[T Float](mean, std []float32) *Normal[T] {
	n := &Normal[T]{channels: len(mean), table: make([]T, len(mean)*256)}
	n.scalar = n.channels > groupLanes
	for c := range mean {
		for v := range 256 {
			x := float32(v)/255 - mean[c]
			n.table[c*256+v] = T(x / std[c])
			n.scalar = n.scalar || quotient(x, std[c]) != x/std[c]
		}
	}
	if n.scalar {
		return n
	}
	g := &n.group
	g.pixels = groupLanes / n.channels
	for i := range groupLanes {
		pixel, c := i/n.channels, i%n.channels
		g.std[i], g.inverse[i], g.straight[i], g.flipped[i] = 1, 1, uint8(i), uint8(i)
		if pixel < g.pixels {
			g.mean[i], g.std[i], g.inverse[i] = mean[c], std[c], 1/std[c]
			g.flipped[i] = uint8((g.pixels-1-pixel)*n.channels + c)
		}
	}
	return n
}

// quotient returns x/d as the vector kernels compute it: x·(1/d), and one correction. It is the correctly rounded
// quotient unless numbers become too large or too small on the way; no other exception has been found in 10⁸ tries.
func quotient(x, d float32) float32 {
	inverse := 1 / d
	q := x * inverse
	return fma(fma(-q, d, x), inverse, q)
}

// fma returns a·b + c, rounded once.
func fma(a, b, c float32) float32 {
	p, w := float64(a)*float64(b), float64(c) // p is exact
	s := p + w
	v := s - p
	rest := (p - (s - v)) + (w - v) // s + rest is the exact sum
	// Half of all float64 are odd. An odd s lies between two float32 or between one and the middle of two, so that it
	// is rounded to the same side as the sum itself.
	if bits := math.Float64bits(s); rest != 0 && bits&1 == 0 {
		if (rest > 0) == (s > 0) {
			s = math.Float64frombits(bits + 1)
		} else {
			s = math.Float64frombits(bits - 1)
		}
	}
	return float32(s)
}

// Crop says which part of an image [H,W,C] is read, the usual augmentation of training images: put Pad pixels around
// the image, which are zero after normalisation, take the H×W pixels from (Row, Col) on, and mirror them left to right
// if Flip. Row = Col = Pad takes the image itself. Border pixels of zeros are written around the result. Ahead is how
// many bytes the image that is wanted next is behind this one: the processor is asked for it, wherever that is.
type Crop struct {
	H, W, C, Border, Pad, Row, Col int
	Flip                           bool
	Ahead                          int
}

// size returns the number of elements that are written, border included.
func (c *Crop) size() int { return (c.H + 2*c.Border) * c.stride() }

// stride returns the number of elements in a row of the result, border included.
func (c *Crop) stride() int { return (c.W + 2*c.Border) * c.C }

// overlap is the rectangle of rows × cols pixels that a crop and its image share. Its corner is (row, col) in the crop
// and (imgRow, imgCol) in the image.
type overlap struct{ rows, cols, row, col, imgRow, imgCol int }

// overlap returns the overlap of a crop and its image; ok is false if it is empty.
func (c *Crop) overlap() (o overlap, ok bool) {
	down, right := c.Row-c.Pad, c.Col-c.Pad
	o = overlap{rows: c.H - max(down, -down), cols: c.W - max(right, -right)}
	o.row, o.imgRow = max(0, -down), max(0, down)
	o.col, o.imgCol = max(0, -right), max(0, right)
	if c.Flip {
		o.col = c.W - o.col - o.cols
	}
	return o, o.rows > 0 && o.cols > 0
}

// clearAround clears dst if the overlap leaves any of it out, and returns the index of the first element of the
// overlap.
func clearAround[T Float](dst []T, c *Crop, o *overlap) (first int) {
	if o.rows*o.cols*c.C < len(dst) {
		clear(dst)
	}
	return (o.row+c.Border)*c.stride() + (o.col+c.Border)*c.C
}

// Table returns the number that every byte becomes in every channel, [C,256].
func (n *Normal[T]) Table() []T { return n.table }

// check panics if the sizes of dst, img and the crop do not fit together.
func (n *Normal[T]) check(dst []T, img []uint8, c *Crop) {
	if min(c.H, c.W, c.C) < 1 || c.Border < 0 || c.C != n.channels || len(dst) != c.size() || len(img) < c.H*c.W*c.C {
		panic(fmt.Sprintf("cpu: gather: %d bytes for %d elements of %d channels, %d×%d×%d with a border of %d wanted",
			len(img), len(dst), n.channels, c.H, c.W, c.C, c.Border))
	}
}

func (generic[T]) Gather(dst []T, img []uint8, n *Normal[T], c Crop) {
	n.check(dst, img, &c)
	o, ok := c.overlap()
	if !ok {
		clear(dst)
		return
	}
	first := clearAround(dst, &c, &o)
	for i := range o.rows {
		line := img[((o.imgRow+i)*c.W+o.imgCol)*c.C:][:o.cols*c.C]
		n.row(dst[first+i*c.stride():][:len(line)], line, c.Flip)
	}
}

// row looks up the numbers of a row of pixels, and mirrors the row if flip.
func (n *Normal[T]) row(dst []T, img []uint8, flip bool) {
	at, step := 0, n.channels
	if flip {
		at, step = len(dst)-n.channels, -n.channels
	}
	for ; len(img) > 0; img = img[n.channels:] {
		for ch, v := range img[:n.channels] {
			dst[at+ch] = n.table[ch*256+int(v)]
		}
		at += step
	}
}
