package settings

import (
	"encoding/json"

	"rollcall/algos"
)

// MarshalJSON returns the settings as run.json has them: every one that the run looks at, those at their defaults too.
// The hash of this text names the folder of a run: a default that changes changes the name, and a parameter of another
// method does not.
func (s Settings) MarshalJSON() ([]byte, error) {
	used, _ := s.split()
	return json.Marshal(used)
}

// Unused returns the settings that the run does not look at, as run.json has them.
func (s *Settings) Unused() map[string]any {
	_, unused := s.split()
	return unused
}

// split returns the settings that the run looks at, and the others. Files are there with their content, which names the
// run, in place of their paths.
func (s *Settings) split() (used, unused map[string]any) {
	used, unused = map[string]any{}, map[string]any{}
	for i := range rows {
		r := &rows[i]
		into := used
		if _, ok := s.Uses(r.Name); !ok {
			into = unused
		}
		switch r.Name {
		case "trace":
			into["trace-sha256"] = s.TraceSum
		case "init-from":
			into["init-sha256"] = s.InitSum
		default:
			into[r.Name] = r.json(s)
		}
	}
	return used, unused
}

// json returns a setting's value: numbers and switches as such, words and what can be none as text.
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
