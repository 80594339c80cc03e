package papers

import (
	"slices"

	"rollcall/results"
)

// FedAWE's experiments (section 7 and appendix J). The paper runs three seeds and does not name them: 3, 4 and 6 are the
// suite's. Its tables share their runs.
var (
	fedaweMethods = []string{"fedawe", "fedavg-active", "fedavg-all", "fedau", "f3ast", "fedavg-known", "mifa", "fedvarp"}
	fedaweData    = []string{"svhn", "cifar10", "cinic10"}

	fedawe2  = fedawe("fedawe-2", "FedAWE, Table 2: accuracy under four kinds of availability", fedaweMethods, accuracyColumns(), Accuracy)
	fedawe8  = fedawe("fedawe-8", "FedAWE, Table 8: first round to reach quarters of a target accuracy, sine", withoutFedVARP(), sineColumns(), RoundsToGet)
	fedawe9  = fedawe("fedawe-9", "FedAWE, Table 9: degree of non-stationarity γ, SVHN, sine", withoutFedVARP(), study("gamma", "0.3", "0.2", "0.1"), Accuracy)
	fedawe10 = fedawe("fedawe-10", "FedAWE, Table 10: heterogeneity α of the data, SVHN, sine", withoutFedVARP(), study("alpha", "0.05", "0.1", "1"), Accuracy)
)

func fedawe(id, title string, methods []string, columns []Column, entry Entry) Table {
	return Table{ID: id, Title: title, Methods: methods, Columns: columns, Entry: entry, Seeds: []uint32{3, 4, 6}, Rounds: 2000}
}

func accuracyColumns() (columns []Column) {
	for _, availability := range []string{"stationary", "staircase", "sine", "interleaved-sine"} {
		for _, data := range fedaweData {
			columns = append(columns, Column{Data: data, Availability: availability})
		}
	}
	return columns
}

func sineColumns() (columns []Column) {
	for _, data := range fedaweData {
		columns = append(columns, Column{Data: data, Availability: "sine"})
	}
	return columns
}

func study(flag string, values ...string) (columns []Column) {
	for _, v := range values {
		columns = append(columns, Column{Data: "svhn", Availability: "sine", Set: results.NewParams(flag + "=" + v)})
	}
	return columns
}

// withoutFedVARP are the methods of the tables in the appendix.
func withoutFedVARP() []string {
	return slices.DeleteFunc(slices.Clone(fedaweMethods), func(m string) bool { return m == "fedvarp" })
}
