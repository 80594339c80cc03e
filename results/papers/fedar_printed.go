package papers

import (
	"slices"

	"rollcall/results"
	"rollcall/results/metrics"
)

// fedarPaper is the paper in citations.
const fedarPaper = "C. Jiang, H. Zhou, X. Zhang, S. Chakraborty: FedAR: Addressing Client Unavailability in " +
	"Federated Learning with Local Update Approximation and Rectification, ECML PKDD 2024"

// fedar2Printed are p-values of FedAR's Table 2, whose t-test pairs the test accuracies round by round. The paper
// prints the zeros as zeros.
var fedar2Printed = slices.Concat(fedar2On("cifar10", "p-min=0.5", `
	fedvarp  0
	mifa     0
	scaffold 1.38e-246
	fedavg-s 3.46e-316
`), fedar2On("svhn", "", "fedvarp 0.00029"))

// fedar2On returns the numbers of one data set and setting.
func fedar2On(data string, set results.Params, lines string) []results.Printed {
	return printedTable{
		"fedar-2", "uniform", 1, []results.Printed{{Data: data, Params: set}}, []metrics.Metric{metrics.PRounds},
	}.numbers(lines)
}

// fedar3Printed is FedAR's Table 3: mean, standard deviation and variance over the clients, then mean and standard
// deviation of the worst tenth, and then of the best tenth.
var fedar3Printed = slices.Concat(fedar3With("", `
	fedar         40.9 18.1 325    20.8 4.5  67.7  8.7
	mifa          34.0 13.6 182.5  19.7 4.2  53.8  8.8
	fedvarp       41.3 20.7 432.5  19.4 2.6  73.9 11.6
`), fedar3With("p-min=1", `
	fedavg-active 41.0 18.0 321.6  21.2 4.3  69.5 12.6
`))

// fedar3With returns the numbers of one setting.
func fedar3With(set results.Params, lines string) []results.Printed {
	columns := []results.Printed{{Data: "cifar10", Params: set}}
	return printedTable{"fedar-3", "uniform", 1, columns, metrics.OfClients}.numbers(lines)
}
