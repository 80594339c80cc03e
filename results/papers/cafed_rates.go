package papers

import (
	"strings"

	"rollcall/results"
)

// infocomRates are η and η_g. The paper chose them on the grid η 10^−3 … 10^−1, η_g 10^−2 … 1 in half powers of ten,
// and does not print what it chose. In the code's preset, binary has those of the released scripts (which have none for
// More-available: ours); they have none either for MNIST but CA-Fed's 0.001 and 0.1, worse than ours. Ours have the
// best time average of a search of a part of the grid, on seeds that the table does not use [inferred]:
//
//	code   binary  seeds 11, 12, 150 rounds: all of the grid for Unbiased, η 10^−1.5 and 10^−1 with four η_g for others
//	       mnist   seed 11, 60 rounds: η 10^−1.5 and 10^−1 with three η_g
//	paper  binary  seeds 11, 12, 150 rounds: η 10^−1 with η_g 10^−0.5 and 1, η 10^−1.5 with η_g 1, Unbiased, CA-Fed alone
//	       mnist   seed 11, 60 rounds: η 10^−1.5 and 10^−1, η_g 10^−0.5 and 1, Unbiased and CA-Fed alone
//
// On binary the search of the code's preset chose 0.1 and 10^−1.5 for all four. Without momentum an update is up to 100
// times smaller, so the paper's preset has rates of its own.
var infocomRates = map[string]map[string]map[string]results.Params{
	"binary": {
		"code": rates("unbiased 0.03 0.03", "more-available 0.1 0.1", "adafed 0.001 1", "f3ast 0.03 0.03",
			"ca-fed 0.01 0.3"),
		"paper": sameRates("0.1 1"),
	},
	"mnist": {
		"code": rates("unbiased 0.1 0.1", "more-available 0.1 0.316", "adafed 0.0316 0.316", "f3ast 0.0316 0.316",
			"ca-fed 0.1 0.1"),
		"paper": sameRates("0.0316 1"),
	},
}

// tonRates are η and η_g of ToN's table II. ca-fed's are those of κ̄² = 1.
var tonRates = map[string]map[string]results.Params{
	"leaf":    rates("unbiased 2 2", "more-available 1 7", "ca-fed 2 3", "adafed 1 1", "f3ast 2 2"),
	"mnist":   rates("unbiased 0.03 1", "more-available 0.1 4", "ca-fed 0.1 1", "adafed 0.03 1", "f3ast 0.1 0.3"),
	"cifar10": rates("unbiased 0.03 1", "more-available 0.03 3", "ca-fed 0.03 1", "adafed 0.03 1", "f3ast 0.03 0.3"),
}

// rates takes "METHOD η η_g".
func rates(rows ...string) map[string]results.Params {
	of := map[string]results.Params{}
	for _, row := range rows {
		x := strings.Fields(row)
		of[x[0]] = results.NewParams("lr="+x[1], "server-lr="+x[2])
	}
	return of
}

// sameRates takes "η η_g", for all methods.
func sameRates(pair string) map[string]results.Params {
	rows := make([]string, len(cafedMethods))
	for k, method := range cafedMethods {
		rows[k] = method + " " + pair
	}
	return rates(rows...)
}
