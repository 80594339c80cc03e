package results

import "math"

const (
	fedar3ID     = "fedar-3"
	fedar3Source = "Table 3 of " + fedarPaper + "; of one run, CIFAR-10, p_min = 0.1; FedAvg with all clients in every round"
)

// fedar3Percent holds the table as printed, in percent: mean and standard deviation over the clients, variance, mean and standard
// deviation of the worst and of the best tenth.
var fedar3Percent = []struct {
	method, params string
	percent        [7]float64
}{
	{"fedar", "", [7]float64{40.9, 18.1, 325, 20.8, 4.5, 67.7, 8.7}},
	{"mifa", "", [7]float64{34.0, 13.6, 182.5, 19.7, 4.2, 53.8, 8.8}},
	{"fedvarp", "", [7]float64{41.3, 20.7, 432.5, 19.4, 2.6, 73.9, 11.6}},
	{"fedavg-active", "p-min=1", [7]float64{41.0, 18.0, 321.6, 21.2, 4.3, 69.5, 12.6}},
}

// fedar3 returns FedAR's Table 3.
func fedar3() []Printed {
	var rows []Printed
	for _, r := range fedar3Percent {
		for i, m := range ClientMetrics {
			v := tenths(r.percent[i])
			if m == ClientAccVar {
				v = math.Round(r.percent[i]*10) / 1e5
			}
			rows = append(rows, Printed{Table: fedar3ID, Method: r.method, Data: "cifar10", Availability: "uniform", Params: r.params, Metric: m, Mean: Some(v), N: 1})
		}
	}
	return rows
}
