package availability

import "fmt"

// uniform: the p_i are evenly spaced, from p_min for client 0 to 1 for the last client, and rounds are independent
// (FedAR, section 5). The paper prints the two ends; even spacing is inferred. A single client has p_min.
func uniform(o Options) (Process, error) {
	if !(o.PMin > 0 && o.PMin <= 1) {
		return nil, fmt.Errorf("smallest probability %g, want above 0 and at most 1", o.PMin)
	}
	for i := range o.Base {
		o.Base[i] = o.PMin + (1-o.PMin)*float64(i)/float64(max(1, len(o.Base)-1))
	}
	return stationary(o)
}
