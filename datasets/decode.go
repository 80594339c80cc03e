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
	"sync"
	"sync/atomic"
)

// decoded is a set of pictures in memory.
type decoded struct {
	images []uint8 // [n,32,32,3]
	labels []uint8 // [n]
	train  int     // the first pictures, which are those of train
}

// decodeGarbage is about how much memory decoding one picture leaves behind.
const decodeGarbage = 60 << 10

// errChanged is why pictures are refused that are not what they were a moment ago.
var errChanged = errors.New("changed while it was read")

// errBroken ends a walk after a picture that could not be decoded.
var errBroken = errors.New("a picture is broken")

// decodeAll reads the pictures of p: once through to know how many there are and in what order, then again to decode
// each one into its place. So loading takes little more memory than the set.
func decodeAll(ctx context.Context, p pictures, progress io.Writer) (*decoded, fingerprint, error) {
	l, mark, err := list(ctx, p)
	if err != nil {
		return nil, mark, err
	}
	say(progress, "%s: decoding %d pictures", p, len(l.names))
	d := &decoded{images: make([]uint8, len(l.names)*cinicPixels), labels: l.labels, train: l.train}
	again, err := decodeInto(ctx, p, l, d.images)
	if err == nil && again != mark {
		err = fmt.Errorf("%s: %w", p, errChanged)
	}
	return d, mark, err
}

// decodeInto decodes the pictures of p, which are those of l, into images [n,32,32,3], on all cores. Of several broken
// pictures the first in p's order is reported.
func decodeInto(ctx context.Context, p pictures, l *listing, images []uint8) (fingerprint, error) {
	type job struct {
		at   int
		data []byte
	}
	workers := runtime.GOMAXPROCS(0)
	jobs, free := make(chan job, workers), make(chan []byte, 2*workers+1) // as many buffers as can be under way
	for range cap(free) {
		free <- nil
	}
	errs := make([]error, len(l.names)) // of each picture; a worker writes those of its own alone
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for j := range jobs {
				if err := decodePicture(j.data, images[l.slot[j.at]*cinicPixels:][:cinicPixels]); err != nil {
					errs[j.at] = fmt.Errorf("%s: %s: %w", p, l.names[j.at], err)
					failed.Store(true)
				}
				free <- j.data
			}
		})
	}
	at := 0
	sweep := max(64, len(images)/4/decodeGarbage)
	mark, err := p.walk(ctx, func(name string, size int64, content io.Reader) error {
		switch {
		case failed.Load(): // all pictures before this one are under way, so that the first broken one is known in the end
			return errBroken
		case at == len(l.names) || name != l.names[at] || size > maxPicture:
			return errChanged
		}
		data, err := readPicture(<-free, size, content)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		jobs <- job{at, data}
		if at++; at%sweep == 0 {
			runtime.GC() // else garbage would grow to the size of the set before anybody looks at it
		}
		return nil
	})
	close(jobs)
	wg.Wait()
	if first := cmp.Or(errs...); first != nil && (ctx.Err() == nil || errors.Is(err, errBroken)) {
		return mark, first
	}
	if err == nil && at < len(l.names) {
		err = fmt.Errorf("%s: %w", p, errChanged)
	}
	return mark, err
}

// readPicture reads a file of exactly `size` bytes into buf, if it has room for them.
func readPicture(buf []byte, size int64, content io.Reader) ([]byte, error) {
	if int64(cap(buf)) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if n, err := io.ReadFull(content, buf); err != nil {
		return nil, fmt.Errorf("%d bytes, want %d: %w", n, size, cutShort(err))
	}
	return buf, nil
}

// decodePicture decodes a PNG file of 32×32 pixels of at most 8 bits into out [32,32,3]. Grey and palette pictures
// become what PIL's convert("RGB") makes of them: a grey value three times, scaled to 8 bits, or the palette's colour.
// A transparent colour is one like any other, as there; but an alpha channel is an error, since none is known to be in
// the set and dropping it may uncover colours nobody was meant to see.
func decodePicture(data []byte, out []uint8) error {
	const header = "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
	if len(data) < len(header)+10 || string(data[:len(header)]) != header {
		return fmt.Errorf("no PNG: begins with %x", data[:min(len(data), len(header))])
	}
	ihdr := data[len(header):]
	width, height, depth, kind := binary.BigEndian.Uint32(ihdr), binary.BigEndian.Uint32(ihdr[4:]), ihdr[8], ihdr[9]
	switch {
	case width != cinicSide || height != cinicSide:
		return fmt.Errorf("%d×%d pixels, want %d×%d", width, height, cinicSide, cinicSide)
	case kind != 0 && kind != 2 && kind != 3:
		return fmt.Errorf("colour type %d%s, want 0 (grey), 2 (RGB) or 3 (palette)", kind,
			map[byte]string{4: " (grey and alpha)", 6: " (RGB and alpha)"}[kind])
	case depth > 8:
		return fmt.Errorf("%d bits a channel, want at most 8", depth)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return cutShort(err)
	}
	switch p := picture.(type) {
	case *image.RGBA:
		fromFour(out, p.Pix, p.Stride)
	case *image.NRGBA: // of a colour that is transparent
		fromFour(out, p.Pix, p.Stride)
	case *image.Gray:
		for i := range cinicSide * cinicSide {
			v := p.Pix[i/cinicSide*p.Stride+i%cinicSide]
			out[3*i], out[3*i+1], out[3*i+2] = v, v, v
		}
	case *image.Paletted:
		colours := paletteSize(data) // p's own palette has been extended to what the pixels ask for
		for i := range cinicSide * cinicSide {
			v := p.Pix[i/cinicSide*p.Stride+i%cinicSide]
			if int(v) >= colours {
				return fmt.Errorf("pixel %d: colour %d of a palette of %d", i, v, colours)
			}
			c := opaque(p.Palette[v])
			out[3*i], out[3*i+1], out[3*i+2] = c[0], c[1], c[2]
		}
	default:
		return fmt.Errorf("a picture of %T, want grey, RGB or a palette", picture)
	}
	return nil
}

// fromFour drops the fourth of four bytes a pixel.
func fromFour(out, pix []uint8, stride int) {
	for i := range cinicSide * cinicSide {
		copy(out[3*i:3*i+3], pix[i/cinicSide*stride+i%cinicSide*4:])
	}
}

// opaque returns a colour of a palette as the file has it.
func opaque(c color.Color) [3]uint8 {
	n, ok := c.(color.NRGBA)
	if !ok {
		n, _ = color.NRGBAModel.Convert(c).(color.NRGBA)
	}
	return [3]uint8{n.R, n.G, n.B}
}

// paletteSize returns the colours in the palette of a PNG file that has been decoded.
func paletteSize(data []byte) int {
	const signature, around = 8, 12 // bytes: at the start; of a chunk's length, type and checksum
	for at := signature; at+around <= len(data); {
		size := int(binary.BigEndian.Uint32(data[at:]))
		if string(data[at+4:at+8]) == "PLTE" {
			return size / 3
		}
		at += size + around
	}
	return 0
}

// listing says which pictures there are, and where each one goes.
type listing struct {
	names  []string // in the order of the walk
	slot   []int    // of each: its place in the set
	labels []uint8  // in the set's order: train before test, then by class, then by name
	train  int      // pictures of train
}

// list walks p without reading any picture.
func list(ctx context.Context, p pictures) (*listing, fingerprint, error) {
	l := &listing{}
	mark, err := p.walk(ctx, func(name string, size int64, _ io.Reader) error {
		switch {
		case size > maxPicture:
			return fmt.Errorf("%s: %d bytes, want at most %d", name, size, maxPicture)
		case len(l.names) == maxPictures:
			return fmt.Errorf("%s: more than %d pictures", name, maxPictures)
		}
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

// arrange orders the pictures by part, class and name.
func (l *listing) arrange() error {
	order := make([]int, len(l.names))
	for i := range order {
		order[i] = i
	}
	part := func(name string) int { // 0 train, 1 test
		first, _, _ := strings.Cut(name, "/")
		return slices.Index(partNames[:], first)
	}
	// a class's name is the start of no other's: by path is by class, then by name
	slices.SortFunc(order, func(a, b int) int {
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
