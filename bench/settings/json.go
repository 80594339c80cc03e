package settings

import (
	"encoding/json"
	"slices"

	"rollcall/algos"
)

// inEveryRun are the parameters of methods that run.json has of every run, whatever its method, since the first version
// had them. A parameter that came later is in the runs of its methods alone, and where it is not the default: no run is
// renamed because a method has learnt something.
var inEveryRun = []string{
	"fedawe-clip", "fedawe-model", "fedau-cutoff", "f3ast-beta", "f3ast-limit", "f3ast-mean", "f3ast-memoryless", "prior", "kappa",
	"bias-const", "ca-fed-beta", "ca-fed-tau", "fstar", "losses", "server-momentum", "server-weight-decay",
}

// ofFedAR are FedAR's parameters, which run.json has under the name "fedar", and only where one of them is not the
// paper's.
var ofFedAR = []string{"fedar-rho", "fedar-t0", "fedar-b", "fedavg-s-limit"}

// MarshalJSON returns the settings as run.json has them. The hash of this text names the folder of a run.
func (s Settings) MarshalJSON() ([]byte, error) {
	all, fedar := map[string]any{"trace-sha256": s.TraceSum}, map[string]any{}
	unlike := false
	for i := range rows {
		r := &rows[i]
		switch value := r.json(&s); {
		case r.Name == "trace": // its content names the run, not its path
		case slices.Contains(ofFedAR, r.Name):
			fedar[r.Name] = value
			unlike = unlike || r.text(&s) != r.Default
		case r.Field != nil, slices.Contains(inEveryRun, r.Name), r.chosen(&s):
			all[r.Name] = value
		}
	}
	if unlike {
		all["fedar"] = fedar
	}
	return json.Marshal(all)
}

// chosen reports whether a parameter of the run's method is not what it is by default.
func (r *Row) chosen(s *Settings) bool {
	return slices.Contains(r.Methods(), s.Method) && r.text(s) != r.DefaultFor(algos.Preset(s.Preset))
}

// json returns a value for encoding/json: a number, a truth value, or text; text as well where it can be none.
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
