package papers

import (
	"rollcall/results"
	"rollcall/results/metrics"
)

// cafedINFOCOM is the paper of Table I. The other paper, ToN, has the same authors and title: IEEE/ACM Transactions on
// Networking 2023.
const cafedINFOCOM = "A. Rodio, F. Faticanti, O. Marfoq, G. Neglia, E. Leonardi: " +
	"Federated Learning under Heterogeneous and Correlated Client Availability, IEEE INFOCOM 2023 (CA-Fed)"

// cafed1Printed is Table I of CA-Fed's INFOCOM paper: maximum, time average and standard deviation of the test
// accuracy in percent, first on the binary set and then on MNIST.
var cafed1Printed = printedTable{
	"cafed-1", "markov", 3,
	[]results.Printed{{Data: "binary"}, {Data: "mnist"}},
	[]metrics.Metric{metrics.TestAccMax, metrics.TestAccMean, metrics.TestAccStd},
}.numbers(`
	unbiased 78.94 75.32 0.48  64.87 61.39 1.09
	f3ast    78.97 75.33 0.40  64.91 61.52 0.94
	adafed   78.69 74.81 0.59  63.77 60.48 1.37
	ca-fed   79.03 76.22 0.28  64.94 62.76 0.61
`)
