package results

import (
	"slices"
	"strings"
)

// ParamsSeparator stands between the settings of a row's params.
const ParamsSeparator = ";"

// OnlyKeys returns those settings of a row's params whose key is among keys, in the same form.
func OnlyKeys(params string, keys []string) string {
	var kept []string
	for setting := range strings.SplitSeq(params, ParamsSeparator) {
		if key, _, _ := strings.Cut(setting, "="); slices.Contains(keys, key) {
			kept = append(kept, setting)
		}
	}
	return strings.Join(kept, ParamsSeparator)
}

// WithoutKeys returns the settings of a row's params whose key is not among keys, in the same form.
func WithoutKeys(params string, keys []string) string {
	settings := slices.DeleteFunc(strings.Split(params, ParamsSeparator), func(setting string) bool {
		key, _, _ := strings.Cut(setting, "=")
		return slices.Contains(keys, key)
	})
	return strings.Join(settings, ParamsSeparator)
}

// ColumnKeys returns the keys in the params of a table, each once.
func ColumnKeys(table []Printed) []string {
	var keys []string
	for _, p := range table {
		for setting := range strings.SplitSeq(p.Params, ParamsSeparator) {
			if key, _, ok := strings.Cut(setting, "="); ok && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// InAll returns the settings that all params have.
func InAll(params []string) string {
	var common []string
	for i, p := range params {
		settings := strings.Split(p, ParamsSeparator)
		if i == 0 {
			common = settings
			continue
		}
		common = slices.DeleteFunc(common, func(s string) bool { return !slices.Contains(settings, s) })
	}
	return strings.Join(common, ParamsSeparator)
}

// Without returns the settings of params that are not among those of others.
func Without(params, others string) string {
	drop := strings.Split(others, ParamsSeparator)
	settings := slices.DeleteFunc(strings.Split(params, ParamsSeparator), func(s string) bool { return slices.Contains(drop, s) })
	return strings.Join(settings, ParamsSeparator)
}

// KeyOf returns the key of a setting key=value.
func KeyOf(setting string) string {
	key, _, _ := strings.Cut(setting, "=")
	return key
}
