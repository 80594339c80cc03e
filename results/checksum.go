package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"rollcall/internal/files"
	"rollcall/results/safetensors"
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

// IsOfSeed reports whether a checksum is of data that were generated from the seed.
func IsOfSeed(checksum string) bool { return strings.HasPrefix(checksum, ofSeedKind) }

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
			err = errors.Join(err, fmt.Errorf("results: %s: %w", filepath.Join(dir, name), broken))
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

// moment is a size in bytes up to which a file is read in a moment, whatever it is.
const moment = 64 << 20

// fileChecksum returns the checksum of a file. It reads piece by piece, as a saved model may be large. A large file
// that is no model or no CSV, and may be of any size, is an error before it is read.
func fileChecksum(path string) (string, error) {
	f, size, err := files.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // nothing was written
	sum, text := sha256.New(), io.Reader(f)
	switch {
	case !isModelFile(filepath.Base(path)):
		text = files.ShortLines(f)
	case size > moment:
		_, err = safetensors.New(f, size)
	}
	if err == nil {
		_, err = io.Copy(sum, text)
	}
	if err != nil {
		return "", err
	}
	return checksumKind + hex.EncodeToString(sum.Sum(nil)), nil
}

// checksumOf returns the checksum of a text in the form that run.json has: sha256: and hex digits.
func checksumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return checksumKind + hex.EncodeToString(sum[:])
}

// hashDigits is the length of a [Hash]: 40 bits, so that even a million settings collide with probability under one
// half.
const hashDigits = 10

// Hash returns a short name for settings: the first [hashDigits] hexadecimal digits of the SHA-256 of their canonical
// JSON (no white space, keys sorted, 1.0 and 1e0 written as 1). A struct, a map and a json.RawMessage with the same
// content have the same hash.
//
// It panics on settings that JSON cannot express (channels, functions, NaN): callers refuse these at their input.
func Hash(settings any) string {
	text, err := canonical(settings)
	if err != nil {
		panic(fmt.Sprintf("results: hash of settings: %v", err))
	}
	return hash(text)
}

// hash returns the [Hash] of settings that are canonical JSON already.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// canonical returns a value as canonical JSON: equal values give equal bytes.
func canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := decodeJSON(text, &tree); err != nil {
		return nil, err
	}
	if tree, err = canonicalNumbers(tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree) // sorts the keys of maps
}

// canonicalNumbers replaces the numbers of a decoded value in place: integers of 64 bits keep all digits, and other
// numbers become the nearest float64.
func canonicalNumbers(tree any) (any, error) {
	var err error
	switch t := tree.(type) {
	case map[string]any:
		for k, v := range t {
			if t[k], err = canonicalNumbers(v); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
		}
	case []any:
		for i, v := range t {
			if t[i], err = canonicalNumbers(v); err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case json.Number:
		// Integers first, because a float64 would round those above 2^53.
		if n, err := strconv.ParseInt(t.String(), 10, 64); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(t.String(), 10, 64); err == nil {
			return n, nil
		}
		x, err := strconv.ParseFloat(t.String(), 64)
		if err != nil {
			return nil, files.Wanted(t.String(), "a number of 64 bits", err)
		}
		if x == 0 {
			return 0, nil // also −0.0
		}
		return x, nil
	}
	return tree, nil
}
