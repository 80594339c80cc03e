// Package settingstest has settings for tests: those of tiny runs, and other values of each setting.
package settingstest

import (
	"maps"
	"os"
	"path/filepath"
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

// contexts are settings beside those of [Small], so that one setting can show. Parameters of methods run with the
// first method that reads them, those of availability models with the first model.
var contexts = map[string]string{
	"eval-last":     "eval-every=10 eval-last=2 rounds=6",
	"weights":       "method=unbiased p=1 weights=equal",
	"init":          "method=fedavg-active",
	"availability":  "rounds=12 p=0.5",
	"leaf-gamma":    "data=leaf leaf-shared=true",
	"leaf-delta":    "data=leaf",
	"leaf-shared":   "data=leaf",
	"leaf-iid":      "data=leaf",
	"period":        "availability=staircase p=0.9",
	"gamma":         "availability=sine p=0.9",
	"cutoff":        "availability=interleaved-sine p=0.5",
	"low":           "availability=staircase p=0.9 period=4",
	"g":             "availability=markov data=leaf clients=12",
	"nu":            "availability=markov data=leaf clients=12",
	"epsilon":       "availability=markov data=leaf clients=12 rounds=12",
	"clusters":      "availability=clusters data=leaf clients=12 clusters=2",
	"classes":       "availability=markov data=leaf clients=12",
	"p-min":         "availability=uniform",
	"trace":         "availability=trace trace=A",
	"round-seconds": "availability=trace trace=A",
	"trace-end":     "availability=trace trace=A rounds=12 trace-end=empty",
	"q":             "availability=markov-q",
	"groups":        "availability=periodic groups=2 on=1",
	"on":            "availability=periodic groups=2 on=1",
	"sigma":         "availability=log-normal",
	"size-power":    "availability=data-size",
	"chain":         "availability=chain chain=C",
	"chain-sample":  "availability=chain chain=C",
	"trace-format":  "availability=trace trace=M trace-format=matrix",
	"trace-offset":  "availability=trace trace=A",
	"split-file":    "split-file=R",
	"population":    "p=1",
	"outages":       "p=1",
	"fedau-cutoff":  "p=0.3 rounds=8",
	"fedar-rho":     "p=0.3 rounds=8",
	"fedar-t0":      "p=0.3 rounds=8",
	"fedar-b":       "p=0.3 rounds=8 fedar-t0=1",
	"fedar-g":       "p=0.3 rounds=8 fedar-t0=1",
	"kappa":         "bias-const=none fstar=zero", // solving takes a second
	"bias-const":    "fstar=zero",
	"ca-fed-beta":   "fstar=zero",
	"ca-fed-tau":    "fstar=zero",
	"losses":        "fstar=zero",

	"leaf-augmentation": "availability=markov data=leaf clients=12",
}

// Context returns what a run needs beside the settings of [Small] so that another value of a setting shows.
func Context(r *settings.Row) map[string]string {
	given := map[string]string{}
	if r.Field == nil { // a method's own
		given["method"], given["data"], given["availability"] = r.Methods()[0], "leaf", "stationary"
		given["p"], given["clients"], given["rounds"], given["validation"] = "0.6", "12", "6", "0.25"
	}
	for setting := range strings.FieldsSeq(contexts[r.Name]) {
		name, value, _ := strings.Cut(setting, "=")
		given[name] = value
	}
	return given
}

// Small returns the settings of a run of a fraction of a second with more, whose files of [WriteFiles] are below dir.
func Small(more map[string]string, dir string) (given settings.Given) {
	all := map[string]string{
		"method": "fedawe", "data": "synthetic", "net": "lenet5", "train-size": "80", "test-size": "20",
		"clients": "4", "rounds": "4",
		"local-steps": "2", "batch": "8", "eval-every": "1", "lr": "0.05",
	}
	maps.Copy(all, more)
	if all["data"] == "leaf" {
		delete(all, "net")
		delete(all, "train-size")
		delete(all, "test-size")
	}
	if all["swap-pairs"] != "" {
		delete(all, "split")
	}
	if all["local-epochs"] != "" && all["local-epochs"] != "none" {
		delete(all, "local-steps")
	}
	for _, name := range []string{"trace", "chain", "init-from", "split-file"} {
		if file := all[name]; file != "" {
			all[name] = filepath.Join(dir, file)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		given = append(given, algos.Setting{Name: name, Value: all[name]})
	}
	return given
}

// WriteFiles writes the files that settings of [Context] and [SecondValues] name, but for the weights W.
func WriteFiles(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"A": "0,0,9\n1,0,2\n2,2,9\n3,4,9\n",
		"B": "0,0,1\n1,1,9\n2,0,9\n3,3,9\n",
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("client,start,end\n"+text), 0o666))
	}
	for name, text := range map[string]string{
		"C": "client,pi,lambda\n0,0.5,0\n1,0.9,0\n2,0.1,0\n3,0.5,0\n",
		"D": "client,to_active,to_inactive\n0,1,1\n1,1,1\n2,1,1\n3,1,1\n",
		"R": "client,index\n0,1\n1,2\n2,3\n3,4\n",
		"S": "client,index\n3,1\n0,2\n1,3\n2,4\n",
		"M": "1,0,1,1\n1,1,0,1\n0,1,0,0\n0,0,1,1\n",
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
}
