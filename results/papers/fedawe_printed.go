package papers

import (
	"rollcall/results"
	"rollcall/results/files"
)

const (
	fedawe9ID     = "fedawe-9"
	fedawe9Source = "Table 9 of " + fedawePaper + "; SVHN, sine, mean ± std over 3 seeds"

	fedawe10ID     = "fedawe-10"
	fedawe10Source = "Table 10 of " + fedawePaper + "; SVHN, sine, mean ± std over 3 seeds"
)

// fedaweStudy is a line of Table 9 or 10: the three columns as printed, each train mean and std, test mean and std, in
// percent.
type fedaweStudy struct {
	method  string
	percent [3][4]float64
}

// fedawe9Percent is the study of the sine's γ. Its first column is Table 2's, γ = 0.3. FedVARP is not in it.
var fedawe9Percent = []fedaweStudy{
	{"fedawe", [3][4]float64{{85.7, 0.9, 85.6, 0.9}, {85.7, 0.5, 85.7, 0.5}, {85.8, 0.6, 85.7, 0.7}}},
	{"fedavg-active", [3][4]float64{{82.1, 1.1, 82.0, 1.3}, {82.0, 1.2, 81.9, 1.2}, {82.3, 0.9, 82.2, 1.0}}},
	{"fedavg-all", [3][4]float64{{71.3, 2.5, 71.3, 2.8}, {73.2, 2.5, 73.2, 2.8}, {74.0, 2.1, 74.9, 2.4}}},
	{"fedau", [3][4]float64{{82.5, 1.4, 82.5, 1.3}, {83.5, 0.3, 83.4, 0.4}, {83.7, 0.3, 83.6, 0.3}}},
	{"f3ast", [3][4]float64{{82.3, 1.0, 82.3, 1.0}, {82.3, 0.9, 82.6, 0.8}, {82.9, 0.7, 82.9, 0.6}}},
	{"fedavg-known", [3][4]float64{{86.3, 1.0, 86.0, 1.0}, {86.2, 1.2, 86.0, 1.4}, {86.4, 0.9, 86.0, 0.8}}},
	{"mifa", [3][4]float64{{84.2, 0.4, 84.1, 0.4}, {84.6, 0.1, 84.5, 0.1}, {84.6, 0.1, 84.4, 0.1}}},
}

// fedawe10Percent is the study of the split's α. Its second column is Table 2's, α = 0.1. FedVARP is not in it.
var fedawe10Percent = []fedaweStudy{
	{"fedawe", [3][4]float64{{82.5, 2.1, 82.5, 2.4}, {85.7, 0.9, 85.6, 0.9}, {90.6, 0.2, 89.7, 0.3}}},
	{"fedavg-active", [3][4]float64{{78.9, 1.6, 78.5, 1.8}, {82.1, 1.1, 82.0, 1.3}, {88.3, 0.1, 87.5, 0.1}}},
	{"fedavg-all", [3][4]float64{{58.5, 3.0, 58.5, 3.8}, {71.3, 2.5, 71.3, 2.8}, {82.0, 0.7, 81.9, 0.6}}},
	{"fedau", [3][4]float64{{79.5, 1.6, 79.5, 1.7}, {82.5, 1.4, 82.5, 1.3}, {88.4, 0.1, 87.6, 0.2}}},
	{"f3ast", [3][4]float64{{78.9, 1.3, 78.9, 1.3}, {82.3, 1.0, 82.3, 1.0}, {87.6, 0.1, 87.0, 0.1}}},
	{"fedavg-known", [3][4]float64{{84.2, 1.0, 83.5, 1.0}, {86.3, 1.0, 86.0, 1.0}, {91.5, 0.3, 90.5, 0.1}}},
	{"mifa", [3][4]float64{{82.6, 0.1, 82.6, 0.0}, {84.2, 0.4, 84.1, 0.4}, {88.4, 0.1, 87.5, 0.1}}},
}

// fedawe9Printed returns Table 9 of the FedAWE paper, columns γ = 0.3, 0.2 and 0.1. The preset's 0.3 has no params.
func fedawe9Printed() []results.Printed {
	return fedaweStudies(fedawe9ID, fedawe9Percent, [3]results.Printed{
		{Alpha: files.Some(fedaweAlpha)},
		{Alpha: files.Some(fedaweAlpha), Params: "gamma=0.2"},
		{Alpha: files.Some(fedaweAlpha), Params: "gamma=0.1"},
	})
}

// fedawe10Printed returns Table 10 of the FedAWE paper, columns α = 0.05, 0.1 and 1.
func fedawe10Printed() []results.Printed {
	return fedaweStudies(fedawe10ID, fedawe10Percent, [3]results.Printed{{Alpha: files.Some(0.05)}, {Alpha: files.Some(fedaweAlpha)}, {Alpha: files.Some(1)}})
}

func fedaweStudies(id string, lines []fedaweStudy, columns [3]results.Printed) []results.Printed {
	rows := make([]results.Printed, 0, len(columns)*2*len(lines))
	for _, line := range lines {
		for j, row := range columns {
			row.Table, row.Method, row.Data, row.Availability, row.N = id, line.method, "svhn", "sine", fedaweN
			for i, m := range []results.Metric{results.TrainAcc, results.TestAcc} {
				row.Metric = m
				row.Mean, row.Std = files.Some(tenths(line.percent[j][2*i])), files.Some(tenths(line.percent[j][2*i+1]))
				rows = append(rows, row)
			}
		}
	}
	return rows
}

const (
	fedaweN     = 3   // seeds
	fedaweAlpha = 0.1 // of the split, but for Table 10
	fedawePaper = "M. Xiang, S. Ioannidis, E. Yeh, C. Joe-Wong, L. Su: Efficient Federated Learning against " +
		"Heterogeneous and Non-stationary Client Unavailability, NeurIPS 2024 (FedAWE)"

	fedawe2ID     = "fedawe-2"
	fedawe2Source = "Table 2 of " + fedawePaper + "; mean ± std over 3 seeds"
)

// fedawe2Percent holds the table as printed, in percent: train mean and std, test mean and std, of each data set.
// The paper calls the methods FedAWE, FedAvg over active, FedAvg over all, FedAU, F3AST, FedAvg with known p's,
// MIFA and FedVARP.
var fedawe2Percent = []struct {
	availability, method   string
	svhn, cifar10, cinic10 [4]float64
}{
	{"stationary", "fedawe", [4]float64{86.5, 0.7, 86.1, 0.7}, [4]float64{68.1, 1.4, 66.3, 1.1}, [4]float64{47.9, 2.1, 47.3, 2.0}},
	{"stationary", "fedavg-active", [4]float64{82.6, 1.0, 82.4, 1.1}, [4]float64{64.1, 1.9, 62.9, 1.4}, [4]float64{43.6, 2.4, 43.1, 2.4}},
	{"stationary", "fedavg-all", [4]float64{76.1, 2.1, 76.1, 2.4}, [4]float64{55.8, 2.1, 55.4, 1.8}, [4]float64{38.4, 2.1, 38.0, 2.1}},
	{"stationary", "fedau", [4]float64{83.4, 1.0, 83.2, 1.0}, [4]float64{65.4, 1.4, 64.1, 1.0}, [4]float64{45.6, 1.5, 45.2, 1.5}},
	{"stationary", "f3ast", [4]float64{83.2, 0.7, 83.2, 0.7}, [4]float64{64.4, 1.1, 63.5, 0.9}, [4]float64{45.3, 1.2, 44.8, 1.2}},
	{"stationary", "fedavg-known", [4]float64{86.1, 0.5, 85.6, 0.5}, [4]float64{65.4, 1.0, 63.1, 0.9}, [4]float64{45.0, 1.2, 44.6, 1.1}},
	{"stationary", "mifa", [4]float64{84.2, 0.5, 84.1, 0.6}, [4]float64{66.6, 0.8, 65.3, 0.6}, [4]float64{47.5, 0.5, 46.9, 0.5}},
	{"stationary", "fedvarp", [4]float64{84.6, 0.2, 84.3, 0.1}, [4]float64{67.5, 0.2, 66.3, 0.3}, [4]float64{47.8, 0.2, 47.2, 0.2}},

	{"staircase", "fedawe", [4]float64{85.9, 0.8, 85.6, 1.0}, [4]float64{67.7, 1.3, 66.0, 1.2}, [4]float64{47.5, 2.0, 46.9, 2.0}},
	{"staircase", "fedavg-active", [4]float64{82.5, 1.0, 82.4, 0.9}, [4]float64{64.2, 1.8, 63.0, 1.4}, [4]float64{43.7, 2.0, 42.3, 2.2}},
	{"staircase", "fedavg-all", [4]float64{75.9, 2.1, 75.9, 2.3}, [4]float64{55.7, 2.1, 55.4, 1.8}, [4]float64{38.4, 2.0, 37.9, 2.0}},
	{"staircase", "fedau", [4]float64{83.6, 0.8, 83.4, 0.8}, [4]float64{65.2, 1.7, 63.9, 1.5}, [4]float64{45.7, 1.5, 45.1, 1.5}},
	{"staircase", "f3ast", [4]float64{83.1, 0.6, 83.1, 0.6}, [4]float64{64.3, 1.1, 63.3, 0.9}, [4]float64{45.2, 1.2, 44.8, 1.2}},
	{"staircase", "fedavg-known", [4]float64{85.8, 0.8, 85.2, 0.9}, [4]float64{68.0, 1.6, 66.1, 1.8}, [4]float64{45.0, 1.1, 44.7, 1.0}},
	{"staircase", "mifa", [4]float64{84.2, 0.5, 84.0, 0.5}, [4]float64{66.7, 0.7, 65.3, 0.5}, [4]float64{47.5, 0.5, 46.9, 0.5}},
	{"staircase", "fedvarp", [4]float64{84.6, 0.2, 84.3, 0.3}, [4]float64{67.3, 0.3, 66.1, 0.3}, [4]float64{47.7, 0.2, 47.2, 0.1}},

	{"sine", "fedawe", [4]float64{85.7, 0.9, 85.6, 0.9}, [4]float64{64.9, 1.9, 63.5, 2.0}, [4]float64{46.4, 2.4, 45.8, 2.4}},
	{"sine", "fedavg-active", [4]float64{82.1, 1.1, 82.0, 1.3}, [4]float64{63.3, 1.9, 62.1, 1.8}, [4]float64{43.1, 2.5, 42.6, 2.5}},
	{"sine", "fedavg-all", [4]float64{71.3, 2.5, 71.3, 2.8}, [4]float64{52.2, 2.4, 52.1, 2.2}, [4]float64{36.4, 2.0, 36.0, 1.9}},
	{"sine", "fedau", [4]float64{82.5, 1.4, 82.5, 1.3}, [4]float64{64.2, 2.3, 63.0, 1.9}, [4]float64{44.4, 2.1, 43.9, 2.1}},
	{"sine", "f3ast", [4]float64{82.3, 1.0, 82.3, 1.0}, [4]float64{63.1, 1.7, 62.3, 1.5}, [4]float64{44.1, 1.6, 43.7, 1.6}},
	{"sine", "fedavg-known", [4]float64{86.3, 1.0, 86.0, 1.0}, [4]float64{69.1, 1.2, 67.3, 1.3}, [4]float64{47.9, 1.5, 47.4, 1.1}},
	{"sine", "mifa", [4]float64{84.2, 0.4, 84.1, 0.4}, [4]float64{66.6, 0.8, 65.5, 0.6}, [4]float64{47.4, 0.5, 46.9, 0.4}},
	{"sine", "fedvarp", [4]float64{84.5, 0.2, 84.3, 0.1}, [4]float64{67.4, 0.2, 66.0, 0.3}, [4]float64{47.7, 0.1, 47.1, 0.2}},

	{"interleaved-sine", "fedawe", [4]float64{85.2, 1.6, 84.6, 1.6}, [4]float64{64.8, 3.1, 63.3, 2.7}, [4]float64{47.1, 2.7, 46.6, 2.7}},
	{"interleaved-sine", "fedavg-active", [4]float64{80.9, 1.7, 80.7, 1.7}, [4]float64{61.9, 2.4, 60.7, 2.0}, [4]float64{41.9, 2.7, 41.5, 2.7}},
	{"interleaved-sine", "fedavg-all", [4]float64{69.5, 3.4, 69.5, 4.1}, [4]float64{51.3, 2.7, 51.3, 2.7}, [4]float64{35.9, 2.0, 35.6, 2.0}},
	{"interleaved-sine", "fedau", [4]float64{82.6, 1.3, 82.4, 1.1}, [4]float64{63.9, 2.2, 62.8, 1.8}, [4]float64{44.2, 2.2, 43.8, 2.1}},
	{"interleaved-sine", "f3ast", [4]float64{81.3, 1.2, 81.3, 1.2}, [4]float64{62.2, 2.1, 61.3, 1.7}, [4]float64{43.1, 2.2, 42.7, 2.2}},
	{"interleaved-sine", "fedavg-known", [4]float64{85.8, 1.2, 85.2, 1.3}, [4]float64{68.7, 2.1, 66.5, 2.4}, [4]float64{47.2, 2.3, 46.8, 2.2}},
	{"interleaved-sine", "mifa", [4]float64{83.8, 0.9, 83.7, 0.8}, [4]float64{65.8, 1.9, 64.6, 1.6}, [4]float64{46.5, 1.8, 45.9, 1.7}},
	{"interleaved-sine", "fedvarp", [4]float64{84.5, 0.3, 84.1, 0.5}, [4]float64{67.3, 0.3, 65.7, 0.2}, [4]float64{47.7, 0.5, 47.2, 0.3}},
}

// fedawe2Printed returns Table 2 of the FedAWE paper, train and test accuracy.
func fedawe2Printed() []results.Printed {
	rows := make([]results.Printed, 0, 2*3*len(fedawe2Percent))
	for _, r := range fedawe2Percent {
		for _, d := range []struct {
			data    string
			percent [4]float64
		}{{"svhn", r.svhn}, {"cifar10", r.cifar10}, {"cinic10", r.cinic10}} {
			for i, m := range []results.Metric{results.TrainAcc, results.TestAcc} {
				rows = append(rows, results.Printed{
					Table: fedawe2ID, Method: r.method, Data: d.data, Availability: r.availability, Alpha: files.Some(fedaweAlpha), Metric: m,
					Mean: files.Some(tenths(d.percent[2*i])), Std: files.Some(tenths(d.percent[2*i+1])), N: fedaweN,
				})
			}
		}
	}
	return rows
}

const (
	fedawe8ID     = "fedawe-8"
	fedawe8Source = "Table 8 of " + fedawePaper + "; first round of the mean over 3 seeds, sine"
)

// fedawe8Every is how often Table 8 looks at the mean curve, in rounds. The paper's caption says every 20, but it prints
// entries of 10 [inferred].
const fedawe8Every = 10

// never is how a dash of the table is typed: the target was not reached in 2000 rounds.
const never = -1

// fedawe8Rounds holds the table as printed: the rounds to a quarter, half, three quarters and all of the target.
// FedVARP is not in it.
var fedawe8Rounds = []struct {
	method                 string
	svhn, cifar10, cinic10 [4]int
}{
	{"fedawe", [4]int{40, 120, 200, 820}, [4]int{20, 60, 200, 1360}, [4]int{0, 20, 120, 540}},
	{"fedavg-active", [4]int{20, 80, 160, 900}, [4]int{10, 20, 120, 1060}, [4]int{0, 20, 40, 800}},
	{"fedavg-all", [4]int{100, 420, 960, never}, [4]int{20, 60, 520, never}, [4]int{0, 20, 200, never}},
	{"fedau", [4]int{60, 100, 160, 840}, [4]int{10, 20, 100, 960}, [4]int{0, 20, 80, 460}},
	{"f3ast", [4]int{40, 120, 200, 1080}, [4]int{20, 40, 160, 1300}, [4]int{0, 20, 60, 540}},
	{"fedavg-known", [4]int{20, 40, 100, 320}, [4]int{10, 20, 140, 620}, [4]int{0, 20, 40, 400}},
	{"mifa", [4]int{20, 80, 140, 600}, [4]int{10, 20, 80, 700}, [4]int{0, 20, 40, 240}},
}

// fedawe8Target returns the test accuracy, a fraction, that Table 8 wants on a data set: the best of Table 2 under sine,
// rounded down to 10 %. Missing for data sets of which the paper has none.
func fedawe8Target(data string) files.Optional {
	switch data {
	case "svhn":
		return files.Some(0.8)
	case "cifar10":
		return files.Some(0.6)
	case "cinic10":
		return files.Some(0.4)
	}
	return files.Optional{}
}

// fedawe8Printed returns Table 8 of the FedAWE paper.
func fedawe8Printed() []results.Printed {
	rows := make([]results.Printed, 0, 3*4*len(fedawe8Rounds))
	for _, r := range fedawe8Rounds {
		for _, d := range []struct {
			data   string
			rounds [4]int
		}{{"svhn", r.svhn}, {"cifar10", r.cifar10}, {"cinic10", r.cinic10}} {
			for i, m := range []results.Metric{results.RoundsTo25, results.RoundsTo50, results.RoundsTo75, results.RoundsTo100} {
				row := results.Printed{
					Table: fedawe8ID, Method: r.method, Data: d.data, Availability: "sine", Alpha: files.Some(fedaweAlpha), Metric: m, N: fedaweN,
				}
				if round := d.rounds[i]; round != never {
					row.Mean = files.Some(float64(round))
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}
