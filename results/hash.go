package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"rollcall/internal/files"
)

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
