package datasets

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"slices"
)

// byteOrder reads and appends.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// matWriter makes MAT-files for tests, byte by byte, apart from the reader.
type matWriter struct{ byteOrder }

func (w matWriter) header() []byte {
	b := append([]byte("MATLAB 5.0 MAT-file, made by a test"), bytes.Repeat([]byte{' '}, 89)...)
	b = w.AppendUint16(b, 0x0100)
	if w.Uint16([]byte{1, 0}) == 1 {
		return append(b, "IM"...)
	}
	return append(b, "MI"...)
}

// element writes a whole element, padded.
func (w matWriter) element(kind matType, data []byte) []byte {
	b := w.AppendUint32(w.AppendUint32(nil, uint32(kind)), uint32(len(data)))
	b = append(b, data...)
	return append(b, make([]byte, (8-len(b)%8)%8)...)
}

// small writes an element of at most four bytes into its tag.
func (w matWriter) small(kind matType, data []byte) []byte {
	b := append(w.AppendUint32(nil, uint32(len(data))<<16|uint32(kind)), data...)
	return append(b, make([]byte, 8-len(b))...)
}

// matrix writes a variable; its numbers and its name go into tags if they fit.
func (w matWriter) matrix(name string, class matClass, dims []int32, kind matType, data []byte) []byte {
	fit := func(kind matType, data []byte) []byte {
		if len(data) > 0 && len(data) <= 4 {
			return w.small(kind, data)
		}
		return w.element(kind, data)
	}
	var d []byte
	for _, n := range dims {
		d = w.AppendUint32(d, uint32(n))
	}
	flags := w.AppendUint32(w.AppendUint32(nil, uint32(class)), 0)
	head := slices.Concat(w.element(miUINT32, flags), w.element(miINT32, d), fit(miINT8, []byte(name)))
	return w.element(miMATRIX, append(head, fit(kind, data)...))
}

// compressed compresses an element.
func (w matWriter) compressed(element []byte) []byte {
	var z bytes.Buffer
	c, _ := zlib.NewWriterLevel(&z, zlib.BestSpeed)
	c.Write(element)
	c.Close()
	return append(w.AppendUint32(w.AppendUint32(nil, uint32(miCOMPRESSED)), uint32(z.Len())), z.Bytes()...)
}

// images writes X of images [n,32,32,3].
func (w matWriter) images(images []uint8) []byte {
	x := make([]byte, len(images))
	for i := range images {
		n, row, column, channel := i/3072, i/96%32, i/3%32, i%3
		x[n*3072+channel*1024+column*32+row] = images[i]
	}
	return w.matrix("X", mxUINT8, []int32{32, 32, 3, int32(len(images) / 3072)}, miUINT8, x)
}

// labels writes y of labels 0 … 9 as it stands in the official files: doubles, kept as bytes.
func (w matWriter) labels(labels []uint8) []byte {
	y := make([]byte, len(labels))
	for i, l := range labels {
		if y[i] = l; l == 0 {
			y[i] = 10
		}
	}
	return w.matrix("y", mxDOUBLE, []int32{int32(len(y)), 1}, miUINT8, y)
}

func little() matWriter { return matWriter{binary.LittleEndian} }

// digits are n images and labels, every one different.
func digits(n int) (images, labels []uint8) {
	images, labels = make([]uint8, n*photoPixels), make([]uint8, n)
	for i := range images {
		images[i] = uint8(i*7 + i/3072*13 + i/251)
	}
	for i := range labels {
		labels[i] = uint8(i % 10)
	}
	return images, labels
}
