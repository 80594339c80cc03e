package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"rollcall/internal/files"
)

// Checksums are the checksums of a run's files, run.json included, by file name. They find accidents; whoever forges a
// file can write its checksum as well.
type Checksums map[string]string

// checksumKind begins the checksum of a file.
const checksumKind = "sha256:"

// ofSeedKind begins the checksum of data that a program generates from the seed.
const ofSeedKind = "seed-" + checksumKind

// OfFiles returns the checksum of data that were read from files; digits are the hex digits of a SHA-256. All seeds of
// one cell must have read the same files.
func OfFiles(digits string) string { return checksumKind + digits }

// OfSeed returns the checksum of data that were generated from the seed; digits are the hex digits of a SHA-256. The
// seeds of one cell have different data, so their checksums differ.
func OfSeed(digits string) string { return ofSeedKind + digits }

// checksums returns the checksums of a run's files: of the curve up to a round, if there is a curve, and of the named
// files. A file that cannot be read is an error, and the checksums of the others are returned with it.
func checksums(dir string, round int, names []string) (sums Checksums, err error) {
	sums = Checksums{}
	curve, err := ReadCurve(filepath.Join(dir, CurveFile))
	if curve = upTo(curve, round); err == nil && len(curve) > 0 {
		sums[CurveFile], err = curveChecksum(curve)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, name := range names {
		sum, broken := fileChecksum(filepath.Join(dir, name))
		if broken != nil {
			err = errors.Join(err, fmt.Errorf("results: %w", broken))
			continue
		}
		sums[name] = sum
	}
	return sums, err
}

// curveChecksum returns the checksum of a curve without its elapsed times, which differ between equal runs.
func curveChecksum(rows []CurveRow) (string, error) {
	timeless := make([]CurveRow, len(rows))
	for i, r := range rows {
		timeless[i] = r
		timeless[i].ElapsedSec = 0
	}
	var text strings.Builder
	err := files.WriteCSV(&text, timeless)
	return checksumOf([]byte(text.String())), err
}

// infoChecksum returns the checksum of the content of run.json, without that checksum itself and without the times,
// which differ between equal runs. White space and the order of the keys make no difference.
func infoChecksum(text []byte) (string, error) {
	var tree map[string]any
	if err := decodeJSON(text, &tree); err != nil {
		return "", err
	}
	delete(tree, "started")
	delete(tree, "finished")
	if sums, ok := tree["checksums"].(map[string]any); ok {
		delete(sums, RunFile)
	}
	whole, err := canonical(tree)
	return checksumOf(whole), err
}

// fileChecksum returns the checksum of a file. It reads piece by piece, as a saved model may be large.
func fileChecksum(path string) (string, error) {
	f, _, err := files.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // nothing was written
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return checksumKind + hex.EncodeToString(sum.Sum(nil)), nil
}

// checksumOf returns the checksum of a text in the form that run.json has: sha256: and hex digits.
func checksumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return checksumKind + hex.EncodeToString(sum[:])
}
