package papers

import (
	"math"

	"rollcall/results"
	"rollcall/results/files"
)

const (
	fedar3ID     = "fedar-3"
	fedar3Source = "Table 3 of " + fedarPaper + "; of one run, CIFAR-10, p_min = 0.1; FedAvg with all clients in every round"
)

// fedar3Percent holds the table as printed, in percent: mean and standard deviation over the clients, variance, mean and standard
// deviation of the worst and of the best tenth.
var fedar3Percent = []struct {
	method  string
	params  results.Params
	percent [7]float64
}{
	{"fedar", "", [7]float64{40.9, 18.1, 325, 20.8, 4.5, 67.7, 8.7}},
	{"mifa", "", [7]float64{34.0, 13.6, 182.5, 19.7, 4.2, 53.8, 8.8}},
	{"fedvarp", "", [7]float64{41.3, 20.7, 432.5, 19.4, 2.6, 73.9, 11.6}},
	{"fedavg-active", "p-min=1", [7]float64{41.0, 18.0, 321.6, 21.2, 4.3, 69.5, 12.6}},
}

// fedar3Printed returns FedAR's Table 3.
func fedar3Printed() []results.Printed {
	var rows []results.Printed
	for _, r := range fedar3Percent {
		for i, m := range results.ClientMetrics {
			v := tenths(r.percent[i])
			if m == results.ClientAccVar {
				v = math.Round(r.percent[i]*10) / 1e5
			}
			rows = append(rows, results.Printed{Table: fedar3ID, Method: r.method, Data: "cifar10", Availability: "uniform", Params: r.params, Metric: m, Mean: files.Some(v), N: 1})
		}
	}
	return rows
}

const (
	fedarPaper = "C. Jiang, H. Zhou, X. Zhang, S. Chakraborty: FedAR: Addressing Client Unavailability in Federated Learning with Local " +
		"Update Approximation and Rectification, ECML PKDD 2024"

	fedar2ID     = "fedar-2"
	fedar2Source = "Table 2 of " + fedarPaper + "; p-values by rounds; only those are here whose exponents are certain, the paper calls all of them below 0.001"
)

// fedar2Printed returns the p-values of FedAR's Table 2, which pairs the test accuracies of the rounds. 0 is what is printed.
func fedar2Printed() []results.Printed {
	at := func(data string, params results.Params, method string, p float64) results.Printed {
		return results.Printed{Table: fedar2ID, Method: method, Data: data, Availability: "uniform", Params: params, Metric: results.PRounds, Mean: files.Some(p), N: 1}
	}
	return []results.Printed{
		at("cifar10", "p-min=0.5", "fedvarp", 0),
		at("cifar10", "p-min=0.5", "mifa", 0),
		at("cifar10", "p-min=0.5", "scaffold", 1.38e-246),
		at("cifar10", "p-min=0.5", "fedavg-s", 3.46e-316),
		at("svhn", "", "fedvarp", 0.00029),
	}
}
