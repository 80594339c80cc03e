package files

import (
	"archive/zip"
	"io"
	"iter"
	"time"
)

// NPZ writes a NumPy .npz file: a zip archive with one .npy file for each array. The arrays are not compressed, and
// the archive has no time of its own, so that the same arrays give the same bytes.
//
//	z := files.NewNPZ(w)
//	err := files.AddNPZ(z, "x", []int{2, 3}, slices.Values([][]float32{{0, 1, 2}, {3, 4, 5}}))
//	err = errors.Join(err, z.Close())
type NPZ struct{ archive *zip.Writer }

// NewNPZ begins an .npz file.
func NewNPZ(w io.Writer) *NPZ { return &NPZ{zip.NewWriter(w)} }

// zipEpoch is the time of every file in the archive: the first that a zip archive can have, as in NumPy's own.
var zipEpoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// AddNPZ adds an array, whose elements come in parts of any length, so that an array need not be in memory. Arrays and
// archives may have more than 4 GiB.
func AddNPZ[T Element](z *NPZ, name string, shape []int, parts iter.Seq[[]T]) error {
	w, err := z.archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store, Modified: zipEpoch})
	if err != nil {
		return err
	}
	return encodeNPY(w, shape, parts)
}

// Close ends the archive; it does not close the writer below it.
func (z *NPZ) Close() error { return z.archive.Close() }
