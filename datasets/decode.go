package datasets

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"

	"rollcall/internal/files"
)

// decoded is a set of pictures in memory, the training pictures first.
type decoded struct {
	images []uint8 // [n,32,32,3]
	labels []uint8 // [n]
	train  int     // number of training pictures
}

// decodeGarbage is about how many bytes of garbage the decoding of one picture leaves.
const decodeGarbage = 60 << 10

// maxHeld is the largest number of bytes of files in memory that are to be decoded, but for one file.
const maxHeld = 32 << 20

// errChanged says that the pictures changed between two passes over them.
var errChanged = errors.New("changed while it was read")

// decodeAll decodes the pictures of p in two passes. The first finds their number and order, and the second decodes
// each picture into its place. So loading needs little more memory than the set. More than `most` pictures of a class
// in a part are an error.
func decodeAll(ctx context.Context, p pictures, most int, progress io.Writer) (*decoded, fingerprint, error) {
	l, mark, err := list(ctx, p, most)
	if err != nil {
		return nil, mark, err
	}
	say(progress, "%s: decoding %d pictures", p, len(l.names))
	l.images = make([]uint8, len(l.names)*photoPixels)
	again, err := l.decode(ctx, p)
	if err == nil && again != mark {
		err = fmt.Errorf("%s: %w", p, errChanged)
	}
	return &l.decoded, mark, err
}

// decode decodes the pictures of p, which must be the pictures in l. It reads a batch of files and then decodes the
// batch on all cores. If several pictures are broken, the error names the first in p's order.
func (l *listing) decode(ctx context.Context, p pictures) (fingerprint, error) {
	var batch [][]byte
	// Index of the batch's first picture, the bytes of its files, and about how many bytes of garbage it leaves.
	at, held, garbage := 0, 0, 0
	decode := func() error {
		errs := make([]error, len(batch))
		err := files.Parallel(ctx, len(batch), func(i int) {
			if err := decodePicture(batch[i], l.images[l.slot[at+i]*photoPixels:][:photoPixels]); err != nil {
				errs[i] = fmt.Errorf("%s: %w", l.names[at+i], err)
			}
		})
		at, held, garbage, batch = at+len(batch), 0, 0, nil
		runtime.GC() // or the garbage would grow to the size of the set before a collection starts
		return cmp.Or(cmp.Or(errs...), err)
	}
	mark, err := p.walk(ctx, func(name string, size int64, open func() (io.ReadCloser, error)) error {
		if n := at + len(batch); n == len(l.names) || name != l.names[n] || size > maxPicture {
			return errChanged
		}
		data, err := readPicture(size, open)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		batch = append(batch, data)
		held += len(data)
		if garbage += decodeGarbage + len(data); garbage > max(4<<20, len(l.images)/4) || held > maxHeld {
			return decode()
		}
		return nil
	})
	if broken := decode(); broken != nil { // pictures of the last batch come before the error that ended the walk
		return mark, fmt.Errorf("%s: %w", p, broken)
	}
	if err == nil && at < len(l.names) {
		err = fmt.Errorf("%s: %w", p, errChanged)
	}
	return mark, err
}

// readPicture reads a file of exactly `size` bytes.
func readPicture(size int64, open func() (io.ReadCloser, error)) ([]byte, error) {
	data, n := make([]byte, size), 0
	f, err := open()
	if err == nil {
		defer f.Close()
		n, err = io.ReadFull(f, data)
	}
	if err != nil {
		return nil, fmt.Errorf("%d bytes, want %d: %w", n, size, cutShort(err))
	}
	return data, nil
}

// decodePicture decodes a PNG file of 32×32 pixels and at most 8 bits a channel into out [32,32,3]. It converts grey
// and palette pictures as PIL's convert("RGB") does: a grey value becomes three equal values, scaled to 8 bits, and an
// index becomes the colour in the palette. As in PIL, transparent colours are ordinary colours. An alpha channel is an
// error: the official pictures have none, and without it hidden colours could become visible.
func decodePicture(data []byte, out []uint8) error {
	const header = "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
	if len(data) < len(header)+10 || string(data[:len(header)]) != header {
		return fmt.Errorf("no PNG: starts with %x", data[:min(len(data), len(header))])
	}
	// png.Decode would accept pictures of any size and memory, so the header is checked first.
	ihdr := data[len(header):]
	width, height, depth, kind := binary.BigEndian.Uint32(ihdr), binary.BigEndian.Uint32(ihdr[4:]), ihdr[8], ihdr[9]
	switch {
	case width != photoSide || height != photoSide:
		return fmt.Errorf("%d×%d pixels, want %d×%d", width, height, photoSide, photoSide)
	case kind != 0 && kind != 2 && kind != 3:
		return fmt.Errorf("colour type %d%s, want 0 (grey), 2 (RGB) or 3 (palette)",
			kind, map[byte]string{4: " (grey and alpha)", 6: " (RGB and alpha)"}[kind])
	case depth > 8:
		return fmt.Errorf("%d bits a channel, want at most 8", depth)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return cutShort(err)
	}
	if p, ok := picture.(*image.RGBA); ok { // so are nearly all official pictures; the loop below is half as fast
		for i := range photoSide * photoSide {
			copy(out[3*i:3*i+3], p.Pix[4*i:])
		}
		return nil
	}
	paletted, _ := picture.(*image.Paletted)
	colours := paletteSize(data) // png.Decode extends a palette to the largest index in the picture
	for i := range photoSide * photoSide {
		x, y := i%photoSide, i/photoSide
		if paletted != nil && int(paletted.ColorIndexAt(x, y)) >= colours {
			return fmt.Errorf("pixel %d: colour %d of a palette of %d", i, paletted.ColorIndexAt(x, y), colours)
		}
		c, _ := color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)
		out[3*i], out[3*i+1], out[3*i+2] = c.R, c.G, c.B
	}
	return nil
}

// paletteSize returns the number of colours in the palette of a valid PNG file; 0 if it has no palette.
func paletteSize(data []byte) int {
	const signature, around = 8, 12 // bytes: of the signature; of a chunk's length, type and checksum
	for at := signature; at+around <= len(data); {
		size := int(binary.BigEndian.Uint32(data[at:]))
		if string(data[at+4:at+8]) == "PLTE" {
			return size / 3
		}
		at += size + around
	}
	return 0
}

// listing has the names of the pictures, and the place of each in the set.
type listing struct {
	decoded          // in the order of the set: train before test, then by class, then by name
	names   []string // in the order of the walk
	slot    []int    // the place in the set of each name
}

// list returns the pictures of p and their fingerprint, without reading a picture. More than `most` pictures of a class
// in a part are an error.
func list(ctx context.Context, p pictures, most int) (*listing, fingerprint, error) {
	l, count, bytes := &listing{}, map[string]int{}, 0 // the pictures of each folder, and the bytes of the names
	mark, err := p.walk(ctx, func(name string, size int64, _ func() (io.ReadCloser, error)) error {
		switch {
		case size > maxPicture:
			return fmt.Errorf("%s: %d bytes, want at most %d", name, size, maxPicture)
		case len(l.names) == maxPictures:
			return fmt.Errorf("%s: more than %d pictures", name, maxPictures)
		case bytes+len(name) > maxNames:
			return fmt.Errorf("%s: more than %d bytes of names", name, maxNames)
		case count[path.Dir(name)] == most:
			return fmt.Errorf("%w: %s: more than %d pictures, want %d", ErrAltered, path.Dir(name), most, most)
		}
		bytes += len(name)
		count[path.Dir(name)]++
		l.names = append(l.names, name)
		return nil
	})
	if err == nil {
		if err = l.arrange(); err != nil {
			err = fmt.Errorf("%s: %w", p, err)
		}
	}
	return l, mark, err
}

// arrange assigns places and labels to the pictures, which it sorts by part, class and name.
func (l *listing) arrange() error {
	order := indices(len(l.names))
	part := func(name string) int { // 0 train, 1 test
		first, _, _ := strings.Cut(name, "/")
		return slices.Index(partNames[:], first)
	}
	// No class has a name that begins with another's, so the order of paths is the order by class and then by name.
	slices.SortFunc(order, func(a, b int32) int {
		x, y := l.names[a], l.names[b]
		return cmp.Or(cmp.Compare(part(x), part(y)), cmp.Compare(x, y))
	})
	l.slot, l.labels = make([]int, len(order)), make([]uint8, len(order))
	for at, i := range order {
		name := l.names[i]
		if at > 0 && name == l.names[order[at-1]] {
			return fmt.Errorf("%s: twice in the archive", name)
		}
		l.slot[i], l.labels[at] = at, uint8(slices.Index(cinicClasses, path.Base(path.Dir(name))))
		if part(name) == 0 {
			l.train = at + 1
		}
	}
	for i, own := range [][]uint8{l.labels[:l.train], l.labels[l.train:]} {
		for c, class := range cinicClasses {
			if !slices.Contains(own, uint8(c)) {
				return fmt.Errorf("%s/%s: no pictures, want at least one", partNames[i], class)
			}
		}
	}
	return nil
}
