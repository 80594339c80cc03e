package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// usageError is a command line that cannot be meant: it ends the program with status 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }

func (e usageError) Unwrap() error { return e.err }

// Usagef returns a usage error.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// IsUsage reports whether err is a usage error.
func IsUsage(err error) bool {
	var u usageError
	return errors.As(err, &u)
}

// OneLine is the text of an error, which may be several joined ones, in one line.
func OneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// OneOf checks a name, and offers the nearest valid one.
func OneOf(flag, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	return Usagef("--%s %q: unknown%s, want one of %s", flag, name, DidYouMean(name, known), strings.Join(known, ", "))
}

// DidYouMean returns ", did you mean X" for the known name nearest to name, "" if none is near.
func DidYouMean(name string, known []string) string {
	best, distance := "", 1+max(2, len(name)/2)
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best
}

// editDistance is Levenshtein's: insertions, deletions and replacements, byte by byte.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
