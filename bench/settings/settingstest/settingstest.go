// Package settingstest has settings for tests: those of tiny runs, and other values of each setting.
package settingstest

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/internal/must"
)

// Tiny returns the settings of a run of a fraction of a second; more follow, and win.
func Tiny(t *testing.T, more ...string) settings.Settings {
	t.Helper()
	return Resolved(t, "method=fedawe data=leaf clients=4 rounds=6 local-steps=1 batch=8 eval-every=1 lr=0.05", more...)
}

// Resolved returns the settings of a command line: words such as lr=0.05 in one text, and more. Of several values of a
// setting the last one counts.
func Resolved(t *testing.T, words string, more ...string) settings.Settings {
	t.Helper()
	var given settings.Given
	for _, word := range append(strings.Fields(words), more...) {
		name, value, _ := strings.Cut(word, "=")
		given = append(slices.DeleteFunc(given, func(s algos.Setting) bool { return s.Name == name }),
			algos.Setting{Name: name, Value: value})
	}
	return must.Get(settings.Resolve(given))(t)
}

// SecondValues returns other values that a setting can have.
func SecondValues(r *settings.Row, base map[string]string) (list []string) {
	if own := values[r.Name]; own != nil {
		return own
	}
	candidates := r.Words
	switch r.Kind {
	case algos.Switch:
		candidates = []string{"true", "false"}
	case algos.Number, algos.Whole:
		candidates = []string{"none", "1", "2", "3", "0.5", "0.1", "10", "0.9", "100", "0.001"}
	case algos.Word:
	}
	for _, value := range candidates {
		if _, err := strconv.Atoi(value); r.Kind == algos.Whole && err != nil && value != "none" {
			continue
		}
		isNumber := r.Kind == algos.Number || r.Kind == algos.Whole
		if value != r.Default && value != base[r.Name] && (!isNumber || r.CheckFor(value, 100) == nil) {
			list = append(list, value)
		}
	}
	return list
}

// values are second values where the ones that the row suggests are of no use.
var values = map[string][]string{
	"data": {"leaf"}, "net": {"lenet5", "cnn-cafed"}, "clients": {"5"}, "rounds": {"5"}, "swap-pairs": {"1"},
	"split": {"even"}, "split-file": {"S"},
	"trace": {"B"}, "init-from": {"W"}, "round-seconds": {"2"}, "trace-end": {"repeat"},
	"availability": {"sine"}, "validation": {"0.25"}, "hold-out": {"0.25"}, "draws": {"numpy"}, "clusters": {"3"},
	"g": {"0.2"}, "epsilon": {"0.1"}, "nu": {"0.3"}, "cutoff": {"0.4"}, "train-size": {"120"}, "test-size": {"30"},
	"clip": {"0.01"}, "chain": {"D"}, "chain-sample": {"4"}, "trace-sample": {"4"}, "trace-format": {"matrix-rounds"},
	"population": {"arrival:0:1"}, "outages": {"0.5:0:2"},
}
