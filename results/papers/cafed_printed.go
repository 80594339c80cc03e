package papers

import (
	"rollcall/results"
	"rollcall/results/files"
)

const (
	cafedINFOCOM = "A. Rodio, F. Faticanti, O. Marfoq, G. Neglia, E. Leonardi: Federated Learning under Heterogeneous and " +
		"Correlated Client Availability, IEEE INFOCOM 2023 (CA-Fed)"
	cafedToN = "the same authors and title, IEEE/ACM Transactions on Networking 2023"

	cafed1ID     = "cafed-1"
	cafed1Source = "Table I of " + cafedINFOCOM + "; averages over 3 runs; it has no More-available"
	cafed1Seeds  = 3
)

// cafed1Percent holds the table as printed, in percent: maximum, time average and standard deviation of the test accuracy.
var cafed1Percent = []struct {
	method        string
	binary, mnist [3]float64
}{
	{"unbiased", [3]float64{78.94, 75.32, 0.48}, [3]float64{64.87, 61.39, 1.09}},
	{"f3ast", [3]float64{78.97, 75.33, 0.40}, [3]float64{64.91, 61.52, 0.94}},
	{"adafed", [3]float64{78.69, 74.81, 0.59}, [3]float64{63.77, 60.48, 1.37}},
	{"ca-fed", [3]float64{79.03, 76.22, 0.28}, [3]float64{64.94, 62.76, 0.61}},
}

// cafed1Printed returns Table I of CA-Fed's INFOCOM paper.
func cafed1Printed() []results.Printed {
	var rows []results.Printed
	for _, r := range cafed1Percent {
		for _, d := range []struct {
			data    string
			percent [3]float64
		}{{"binary", r.binary}, {"mnist", r.mnist}} {
			for i, m := range []results.Metric{results.TestAccMax, results.TestAccMean, results.TestAccStd} {
				rows = append(rows, results.Printed{
					Table: cafed1ID, Method: r.method, Data: d.data, Availability: "markov", Metric: m, Mean: files.Some(hundredths(d.percent[i])), N: cafed1Seeds,
				})
			}
		}
	}
	return rows
}
