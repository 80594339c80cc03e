package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/nets/models"
)

// netEnd separates the nets of a list, whose texts have commas.
const netEnd = ";"

// mostNetText is how long the file of a net may be, in bytes.
const mostNetText = 64 << 10

// addNets registers the nets that a command line describes by texts and files, and returns the command line with their
// names in place of these.
func addNets(args []string) ([]string, error) {
	return replaced(args, []string{"net", "nets"}, func(flag, value string) (string, error) {
		names, err := netNames(value)
		switch {
		case err == nil:
			return strings.Join(names, ","), nil
		case args[0] == cobra.ShellCompRequestCmd: // an unfinished command line is no error
			return value, nil
		}
		return "", settings.Usagef("--%s: %w", flag, err)
	})
}

// netNames returns the names of the nets of a list. A text has commas, so that ; separates texts; a list of names and
// files has commas or ;.
func netNames(list string) (names []string, err error) {
	if isFile(list) {
		return oneNet(list)
	}
	for part := range strings.SplitSeq(list, netEnd) {
		part = strings.TrimSpace(part)
		words := []string{part}
		if !models.IsText(part) && !isFile(part) {
			words = strings.Split(part, ",")
		}
		for _, word := range words {
			one, err := oneNet(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			names = append(names, one...)
		}
	}
	return names, nil
}

// oneNet returns the name of a net, which it registers if the value is a file or a text. A name that nobody knows is an
// error of the flag.
func oneNet(value string) (name []string, err error) {
	own := ""
	switch {
	case models.Revision(value) != 0:
		return []string{value}, nil
	case isFile(value):
		text, err := files.ReadTextUpTo(value, mostNetText)
		if err != nil {
			return nil, err
		}
		base := filepath.Base(value)
		if own, err = models.Register(string(text), strings.TrimSuffix(base, filepath.Ext(base))); err != nil {
			return nil, fmt.Errorf("%s: %w", value, err)
		}
	case models.IsText(value):
		if own, err = models.Register(value, ""); err != nil {
			return nil, err
		}
	case strings.ContainsAny(value, `/\.`): // no name has these
		return nil, fmt.Errorf("%q: no file with the layers of a net", value)
	default:
		own = value
	}
	return []string{own}, nil
}

// isFile reports whether a value is a file, and no net of that name.
func isFile(value string) bool {
	info, err := os.Stat(value)
	return err == nil && info.Mode().IsRegular() && models.Revision(value) == 0
}

// netTexts returns a list of nets with the layers of those that are not of the catalogue.
func netTexts(list string) string {
	names, separator := strings.Split(list, ","), ","
	for i, name := range names {
		if names[i] = models.Text(name); names[i] != name {
			separator = netEnd
		}
	}
	return strings.Join(names, separator)
}
