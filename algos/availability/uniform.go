package availability

import "fmt"

// uniform: p_i is evenly spaced from p_min, client 0's, to 1, the last client's [inferred: FedAR, section 5, prints the
// two ends alone]; rounds are independent. A single client has p_min.
func uniform(o Options) (Process, error) {
	if !(o.PMin > 0 && o.PMin <= 1) {
		return nil, fmt.Errorf("smallest probability %g, want above 0 and at most 1", o.PMin)
	}
	for i := range o.Base {
		o.Base[i] = o.PMin + (1-o.PMin)*float64(i)/float64(max(1, len(o.Base)-1))
	}
	return stationary(o)
}
