package settings

import (
	"encoding/json"

	"rollcall/algos"
)

// MarshalJSON returns the settings for run.json: every setting that the run reads, including those at their defaults.
// The hash of this text names the folder of a run. So a changed default changes the name, and a parameter of another
// method does not.
func (s Settings) MarshalJSON() ([]byte, error) {
	used, _ := s.split()
	return json.Marshal(used)
}

// Unused returns the settings that the run does not read. run.json has them too, apart from the others.
func (s *Settings) Unused() map[string]any {
	_, unused := s.split()
	return unused
}

// split returns the settings that the run reads, and the others. A file stands there with the checksum of its content,
// which decides what the run computes, in place of its path.
func (s *Settings) split() (used, unused map[string]any) {
	used, unused = map[string]any{}, map[string]any{}
	for i := range rows() {
		r := &rows()[i]
		into := used
		if _, ok := s.Uses(r.Name); !ok {
			into = unused
		}
		switch r.Name { // the same file under another path makes the same run
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
