package papers

import (
	"slices"

	"rollcall/results"
)

// TrainsAs returns how a method trains in its own paper on a data set, in a preset: the settings whose defaults differ
// from method to method. net is the data set's own. Data that are never augmented are not augmented here either,
// whatever the preset says.
func TrainsAs(method, preset, data, net string) results.Params {
	trains := fedaweLocal[preset]
	switch {
	case slices.Contains(cafedOwn, method):
		return trains.And(cafedTrains(method, preset, data, net))
	case slices.Contains(fedarOwn, method):
		return trains.And(fedarTrains)
	}
	return trains.And(fedaweRates[method])
}
