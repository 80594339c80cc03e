package results

import (
	"slices"
	"strings"
)

// paramsSeparator stands between the settings of a row's params.
const paramsSeparator = ";"

// onlyKeys returns those settings of a row's params whose key is among keys, in the same form.
func onlyKeys(params string, keys []string) string {
	var kept []string
	for setting := range strings.SplitSeq(params, paramsSeparator) {
		if key, _, _ := strings.Cut(setting, "="); slices.Contains(keys, key) {
			kept = append(kept, setting)
		}
	}
	return strings.Join(kept, paramsSeparator)
}

// WithoutKeys returns the settings of a row's params whose key is not among keys, in the same form.
func WithoutKeys(params string, keys []string) string {
	settings := slices.DeleteFunc(strings.Split(params, paramsSeparator), func(setting string) bool {
		key, _, _ := strings.Cut(setting, "=")
		return slices.Contains(keys, key)
	})
	return strings.Join(settings, paramsSeparator)
}

// columnKeys returns the keys in the params of a table, each once.
func columnKeys(table []Printed) []string {
	var keys []string
	for _, p := range table {
		for setting := range strings.SplitSeq(p.Params, paramsSeparator) {
			if key, _, ok := strings.Cut(setting, "="); ok && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// commonParams returns the settings that every row of ours has in its params, or the paper's where there is none of ours.
func commonParams(rows []ComparisonRow) string {
	var ours []string
	for _, r := range rows {
		if r.Status != "" { // else the paper's alone
			ours = append(ours, r.Params)
		}
	}
	return inAll(ours)
}

// inAll returns the settings that all params have.
func inAll(params []string) string {
	var common []string
	for i, p := range params {
		settings := strings.Split(p, paramsSeparator)
		if i == 0 {
			common = settings
			continue
		}
		common = slices.DeleteFunc(common, func(s string) bool { return !slices.Contains(settings, s) })
	}
	return strings.Join(common, paramsSeparator)
}

// without returns the settings of params that are not among those of others.
func without(params, others string) string {
	drop := strings.Split(others, paramsSeparator)
	settings := slices.DeleteFunc(strings.Split(params, paramsSeparator), func(s string) bool { return slices.Contains(drop, s) })
	return strings.Join(settings, paramsSeparator)
}
