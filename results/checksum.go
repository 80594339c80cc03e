package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/results/files"
)

// Checksums are of the files of a run, by name, and of run.json itself: they find accidents, not forgers, who can write
// a checksum as well.
type Checksums map[string]string

const checksumKind = "sha256:"

// ofSeedKind begins the checksum of data that are made from the seed.
const ofSeedKind = "seed-" + checksumKind

// OfFiles and OfSeed write the checksum of a run's data, hex digits of a SHA-256. Seeds of one cell are of the same
// files; data that are made from the seed differ from one to the next.
func OfFiles(digits string) string { return checksumKind + digits }

// OfSeed writes it of data that are made from the seed, see [OfFiles].
func OfSeed(digits string) string { return ofSeedKind + digits }

// checksums returns those of the files that are in a run's folder, as far as they can be read.
func checksums(dir string) (sums Checksums, err error) {
	sums = Checksums{}
	curve, err := ReadCurve(filepath.Join(dir, CurveFile))
	if err == nil {
		sums[CurveFile], err = CurveChecksum(curve)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	models, broken := ModelFiles(dir)
	err = errors.Join(err, broken)
	for _, name := range slices.Concat(models, []string{DecisionsFile, ClientsFile}) {
		sum, broken := fileChecksum(filepath.Join(dir, name))
		switch {
		case broken == nil:
			sums[name] = sum
		case !errors.Is(broken, fs.ErrNotExist):
			err = errors.Join(err, fmt.Errorf("results: %w", broken))
		}
	}
	return sums, err
}

// CurveChecksum returns the checksum of a curve without its times, which no two runs have alike.
func CurveChecksum(rows []CurveRow) (string, error) {
	timeless := make([]CurveRow, len(rows))
	for i, r := range rows {
		timeless[i] = r
		timeless[i].ElapsedSec = 0
	}
	var text strings.Builder
	err := files.WriteCSV(&text, timeless)
	return checksumOf([]byte(text.String())), err
}

// infoChecksum returns the checksum of run.json's content, without its own and without the times, which no two runs
// have alike. However it is written as JSON is the same.
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

// fileChecksum returns the checksum of a file, of which no more than a piece is held in memory.
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

func checksumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return checksumKind + hex.EncodeToString(sum[:])
}
