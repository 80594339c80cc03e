package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rollcall/algos"
	"rollcall/internal/files"
)

// usageError is the error of an impossible command line. It ends the program with status 2, other errors with 1.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usagef returns a usage error.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// IsUsage reports whether err is a usage error.
func IsUsage(err error) bool {
	_, is := errors.AsType[usageError](err)
	return is
}

// ErrorLine returns the text of an error in one line. Joined errors have a line each.
func ErrorLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// OneOf returns a usage error that offers the nearest known name, if name is none of them.
func OneOf(flag, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	if strings.Contains(name, ",") {
		return Usagef("--%s %q: several, want one of %s", flag, name, strings.Join(known, ", "))
	}
	return Usagef("--%s %q: %s", flag, name, Unknown(name, known))
}

// Unknown says that a name is none of the known ones, and which one or which ones may be meant.
func Unknown(name string, known []string) string {
	if family := Family(name, known); family != nil {
		return "unknown, want one of " + strings.Join(family, ", ")
	}
	return "unknown" + files.DidYouMean(name, known) + ", want one of " + strings.Join(known, ", ")
}

// Family returns the known names whose first word is the name, such as fedavg-active and fedavg-all for fedavg, with
// what they are if they are methods; nil if there are not several.
func Family(name string, known []string) (family []string) {
	for _, k := range known {
		if !strings.HasPrefix(k, strings.ToLower(name)+"-") || name == "" {
			continue
		}
		if brief := algos.Of(k).Brief; brief != "" {
			k += " (" + brief + ")"
		}
		family = append(family, k)
	}
	if len(family) < 2 {
		return nil
	}
	return family
}
