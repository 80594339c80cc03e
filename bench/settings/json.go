package settings

import (
	"encoding/json"
	"path/filepath"

	"rollcall/algos"
	"rollcall/datasets"
	"rollcall/nets/models"
	"rollcall/results"
)

// MarshalJSON returns the settings for run.json: every setting that the run reads, including those at their defaults.
// The hash of this text names the folder of a run. So a changed default changes the name, and a parameter of another
// method does not, nor a setting that came later at the value at which runs are as they were before it.
func (s Settings) MarshalJSON() ([]byte, error) { return json.Marshal(s.Named()) }

// Named returns the settings that name the run. A file stands there with the checksum of its content, which decides
// what the run computes, in place of its path.
func (s *Settings) Named() map[string]any {
	all := map[string]any{}
	for _, r := range rows() {
		if !r.names(s) {
			continue
		}
		// The same file under another path makes the same run.
		switch key := results.FileSettings[r.Name]; r.Name {
		case "trace":
			all[key] = s.TraceSum
		case "chain":
			all[key] = s.ChainSum
		case "init-from":
			all[key] = s.InitSum
		case "split-file":
			all[key] = s.SplitSum
		default:
			all[r.Name] = r.json(s)
		}
	}
	if sum := algos.Of(s.Method).Sum; sum != "" { // the same for the sources of a method that is a program of its own
		all["method-sha256"] = sum
	}
	if models.Own(s.Net) {
		all[results.NetLayers] = models.Layers(s.Net)
	}
	if _, sum := datasets.Own(s.Data); sum != "" {
		all["data-sha256"] = sum
	}
	return all
}

// Files returns the paths of the files that the settings name, absolute, as the flags of a command line have them: of a
// method, a data set, a split, a trace, chains and initial weights. It is nil without any.
func (s *Settings) Files() map[string]string {
	paths := map[string]string{}
	add := func(name, path string) {
		if abs, err := filepath.Abs(path); path != "" && err == nil {
			paths[name] = abs
		}
	}
	add("method", algos.Of(s.Method).Program)
	for name := range results.FileSettings {
		if _, reads := s.Uses(name); reads {
			add(name, s.Get(name))
		}
	}
	if file, _ := datasets.Own(s.Data); file != "" {
		paths["data"] = file
	}
	if len(paths) == 0 {
		return nil
	}
	return paths
}

// Unnamed returns the settings that the column params of the curve has and that do not name the run, nil for none: a
// sweep gives its settings to all methods. run.json has them apart from the others, so that the curve agrees with it.
func (s *Settings) Unnamed() any {
	rest := map[string]any{}
	for name := range s.Params().All() {
		if r := rowOf(name); !r.names(s) {
			rest[name] = r.json(s)
		}
	}
	if len(rest) == 0 {
		return nil // an empty map would be written
	}
	return rest
}

// names reports whether the setting is in the name of a run: the run reads it, and it is not left out as a setting
// that came when runs were kept already. Of a method's parameter each method says whether it came later; a setting of
// all runs with a value AsBefore did for all.
func (r *Row) names(s *Settings) bool {
	if _, reads := s.Uses(r.Name); !reads || r.Apart {
		return false
	}
	text := r.text(s)
	if r.Field == nil && r.For != nil {
		return !r.LeftOut(s.Method, text)
	}
	return r.AsBefore == "" || text != r.AsBefore
}

// json returns a setting's value for JSON: numbers and switches as such, words and values that may be none as text.
func (r *Row) json(s *Settings) any {
	text := r.text(s)
	switch {
	case r.None, r.Kind == algos.Word:
		return text
	case r.Kind == algos.Switch:
		return text == "true"
	}
	return json.Number(text)
}
