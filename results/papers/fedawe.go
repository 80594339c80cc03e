package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rollcall/internal/files"
	"rollcall/results"
	"rollcall/results/metrics"
)

// FedAWE's experiments (section 7 and appendix J). The paper runs three seeds but does not name them; 3, 4 and 6 are
// ours. Its tables share their runs.
var (
	fedaweAppendix = []string{"fedawe", "fedavg-active", "fedavg-all", "fedau", "f3ast", "fedavg-known", "mifa"}
	fedaweMethods  = append(slices.Clone(fedaweAppendix), "fedvarp") // the methods of Table 2
	fedaweData     = []string{"svhn", "cifar10", "cinic10"}
	fedaweModels   = []string{"stationary", "staircase", "sine", "interleaved-sine"}

	fedaweSeeds = []uint32{3, 4, 6}

	fedaweFigures = []Figure{fedaweF2, fedaweF3, fedaweF4, fedaweF5, fedaweF6, fedaweF7}
	fedaweTables  = []Table{fedawe2, fedawe8, fedawe9, fedawe10}

	fedawe2 = Table{
		ID: "fedawe-2", Title: "FedAWE, Table 2: accuracy under four kinds of availability",
		Methods: fedaweMethods, Columns: columnsUnder(fedaweModels...), Seeds: fedaweSeeds, Rounds: fedaweRounds,
		Entries: accuracies(), About: aboutAccuracies, Printed: fedawe2Printed,
		Source: "Table 2 of " + fedawePaper + "; mean ± std over 3 seeds",
		Says:   aheadOfMemoryless("7"),
	}
	fedawe8 = Table{
		ID: "fedawe-8", Title: "FedAWE, Table 8: first round to reach quarters of a target accuracy, sine",
		Methods: fedaweAppendix, Columns: columnsUnder("sine"), Seeds: fedaweSeeds, Rounds: fedaweRounds,
		Entries: firstRounds(fedawe8Every, fedawe8Targets), About: aboutFirstRounds, Printed: fedawe8Printed,
		Source: "Table 8 of " + fedawePaper + "; first round of the mean over 3 seeds, sine",
		Says: []Sentence[[]results.SummaryRow]{
			{
				"FedAWE is not before FedAvg over active clients in the first three quarters", "J",
				before("fedavg-active", "fedawe", fedaweData,
					metrics.RoundsTo25, metrics.RoundsTo50, metrics.RoundsTo75),
			},
			{
				"FedAWE reaches the target no later than FedAvg over active clients on SVHN and CINIC-10", "J",
				before("fedawe", "fedavg-active", []string{"svhn", "cinic10"}, metrics.RoundsTo100),
			},
		},
	}
	fedawe9 = Table{
		ID: "fedawe-9", Title: "FedAWE, Table 9: degree of non-stationarity γ, SVHN, sine",
		Methods: fedaweAppendix, Columns: study("gamma", "0.3", "0.2", "0.1"), Seeds: fedaweSeeds, Rounds: fedaweRounds,
		Entries: accuracies(), About: aboutAccuracies, Printed: fedawe9Printed,
		Source: "Table 9 of " + fedawePaper + "; SVHN, sine, mean ± std over 3 seeds",
		Says:   aheadOfMemoryless("J"),
	}
	fedawe10 = Table{
		ID: "fedawe-10", Title: "FedAWE, Table 10: heterogeneity α of the data, SVHN, sine",
		Methods: fedaweAppendix, Columns: study("alpha", "0.05", "0.1", "1"), Seeds: fedaweSeeds, Rounds: fedaweRounds,
		Entries: accuracies(), About: aboutAccuracies, Printed: fedawe10Printed,
		Source: "Table 10 of " + fedawePaper + "; SVHN, sine, mean ± std over 3 seeds",
		Says:   aheadOfMemoryless("J"),
	}
)

// aheadOfMemoryless returns what FedAWE's paper says about its tables of accuracies, in one of its sections.
func aheadOfMemoryless(section string) []Sentence[[]results.SummaryRow] {
	return []Sentence[[]results.SummaryRow]{{
		"FedAWE is ahead of all methods without memory or known probabilities", section,
		above("fedawe", metrics.TestAcc, "fedavg-active", "fedavg-all", "fedau", "f3ast"),
	}}
}

// before returns a question: does the first method reach each of these targets in no later a round than the second, on
// these data sets? The rounds are of one mean curve each and have no spread, so that they are shown, and not judged. A
// target that was never reached is later than any round.
func before(
	first, second string, data []string, targets ...metrics.Metric,
) func(rows []results.SummaryRow) Answer {
	return func(rows []results.SummaryRow) Answer {
		in, of := 0, 0
		var words []string
		for _, set := range data {
			for _, target := range targets {
				var rounds []float64
				for _, method := range []string{first, second} {
					for _, r := range rows {
						if r.Method == method && r.Data == set && r.Metric == target && r.N > 0 {
							rounds = append(rounds, r.Mean.Or(math.Inf(1)))
							words = append(words, fmt.Sprintf("%s %s %s: %s",
								set, target, method, target.Words(r.Mean, files.Optional{}, r.N)))
						}
					}
				}
				if len(rounds) == 2 && !math.IsInf(rounds[1], 1) {
					of++
					if rounds[0] <= rounds[1] {
						in++
					}
				}
			}
		}
		answer := Answer{Shown: "rounds of one mean curve have no spread, and are shown"}
		if of > 0 {
			answer.Ours = fmt.Sprintf("%d of %d; %s", in, of, strings.Join(words, ", "))
		}
		return answer
	}
}

// fedaweRounds is T of all tables and of figure 7.
const fedaweRounds = 2000

// fedaweLocal are the settings of the local steps in which the presets differ. The paper clips local gradients and
// augments every sample (appendix J). The released code clips nothing, and draws one crop and one flip for each batch.
// The preset noMomentum has those of the code, for methods that train like one of CA-Fed's.
var fedaweLocal = map[string]results.Params{
	"code": "clip=none;augment=batch", noMomentum: "clip=none;augment=batch", "paper": "clip=0.5;augment=sample",
}

// fedaweRates are η_0 and η_g by method. FedAWE's authors chose them after 500 rounds, the same for all data sets
// (appendix J). The rates of the three FedAvg variants are assigned by the order of the printed header [inferred].
var fedaweRates = rates(
	"fedavg-active 0.05 1", "fedavg-all 0.05 1", "fedavg-known 0.1 1", "fedau 0.05 1", "f3ast 0.05 1", "fedawe 0.1 1",
	"mifa 0.05 1", "fedvarp 0.05 1",
)

// columnsUnder returns the columns of all data sets, for one availability process after the other.
func columnsUnder(processes ...string) (columns []Column) {
	for _, availability := range processes {
		for _, data := range fedaweData {
			columns = append(columns, Column{Data: data, Availability: availability})
		}
	}
	return columns
}

// study returns a column of SVHN under sine availability for each value of a flag.
func study(flag string, values ...string) (columns []Column) {
	for _, v := range values {
		columns = append(columns, Column{Data: "svhn", Availability: "sine", Set: results.NewParams(flag + "=" + v)})
	}
	return columns
}

const (
	fedaweN     = 3   // seeds
	fedaweAlpha = 0.1 // of the split, except in Table 10
	fedawePaper = "M. Xiang, S. Ioannidis, E. Yeh, C. Joe-Wong, L. Su: Efficient Federated Learning against " +
		"Heterogeneous and Non-stationary Client Unavailability, NeurIPS 2024 (FedAWE)"
)

// The metrics in each column of the paper's tables.
var (
	fedaweTrainTest = []metrics.Metric{metrics.TrainAcc, metrics.TestAcc}
	fedaweQuarters  = []metrics.Metric{metrics.RoundsTo25, metrics.RoundsTo50, metrics.RoundsTo75, metrics.RoundsTo100}
)

func fedaweDataColumns() (columns []results.Printed) {
	for _, data := range fedaweData {
		columns = append(columns, results.Printed{Data: data, Alpha: files.Some(fedaweAlpha)})
	}
	return columns
}

// fedawe2Printed is Table 2: train and test accuracy in percent on SVHN, CIFAR-10 and CINIC-10. The paper calls the
// methods FedAWE, FedAvg over active, FedAvg over all, FedAU, F3AST, FedAvg with known p's, MIFA and FedVARP.
var fedawe2Printed = slices.Concat(
	fedawe2Under("stationary", `
	fedawe        86.5±0.7 86.1±0.7  68.1±1.4 66.3±1.1  47.9±2.1 47.3±2.0
	fedavg-active 82.6±1.0 82.4±1.1  64.1±1.9 62.9±1.4  43.6±2.4 43.1±2.4
	fedavg-all    76.1±2.1 76.1±2.4  55.8±2.1 55.4±1.8  38.4±2.1 38.0±2.1
	fedau         83.4±1.0 83.2±1.0  65.4±1.4 64.1±1.0  45.6±1.5 45.2±1.5
	f3ast         83.2±0.7 83.2±0.7  64.4±1.1 63.5±0.9  45.3±1.2 44.8±1.2
	fedavg-known  86.1±0.5 85.6±0.5  65.4±1.0 63.1±0.9  45.0±1.2 44.6±1.1
	mifa          84.2±0.5 84.1±0.6  66.6±0.8 65.3±0.6  47.5±0.5 46.9±0.5
	fedvarp       84.6±0.2 84.3±0.1  67.5±0.2 66.3±0.3  47.8±0.2 47.2±0.2
`),
	fedawe2Under("staircase", `
	fedawe        85.9±0.8 85.6±1.0  67.7±1.3 66.0±1.2  47.5±2.0 46.9±2.0
	fedavg-active 82.5±1.0 82.4±0.9  64.2±1.8 63.0±1.4  43.7±2.0 42.3±2.2
	fedavg-all    75.9±2.1 75.9±2.3  55.7±2.1 55.4±1.8  38.4±2.0 37.9±2.0
	fedau         83.6±0.8 83.4±0.8  65.2±1.7 63.9±1.5  45.7±1.5 45.1±1.5
	f3ast         83.1±0.6 83.1±0.6  64.3±1.1 63.3±0.9  45.2±1.2 44.8±1.2
	fedavg-known  85.8±0.8 85.2±0.9  68.0±1.6 66.1±1.8  45.0±1.1 44.7±1.0
	mifa          84.2±0.5 84.0±0.5  66.7±0.7 65.3±0.5  47.5±0.5 46.9±0.5
	fedvarp       84.6±0.2 84.3±0.3  67.3±0.3 66.1±0.3  47.7±0.2 47.2±0.1
`),
	fedawe2Under("sine", `
	fedawe        85.7±0.9 85.6±0.9  64.9±1.9 63.5±2.0  46.4±2.4 45.8±2.4
	fedavg-active 82.1±1.1 82.0±1.3  63.3±1.9 62.1±1.8  43.1±2.5 42.6±2.5
	fedavg-all    71.3±2.5 71.3±2.8  52.2±2.4 52.1±2.2  36.4±2.0 36.0±1.9
	fedau         82.5±1.4 82.5±1.3  64.2±2.3 63.0±1.9  44.4±2.1 43.9±2.1
	f3ast         82.3±1.0 82.3±1.0  63.1±1.7 62.3±1.5  44.1±1.6 43.7±1.6
	fedavg-known  86.3±1.0 86.0±1.0  69.1±1.2 67.3±1.3  47.9±1.5 47.4±1.1
	mifa          84.2±0.4 84.1±0.4  66.6±0.8 65.5±0.6  47.4±0.5 46.9±0.4
	fedvarp       84.5±0.2 84.3±0.1  67.4±0.2 66.0±0.3  47.7±0.1 47.1±0.2
`),
	fedawe2Under("interleaved-sine", `
	fedawe        85.2±1.6 84.6±1.6  64.8±3.1 63.3±2.7  47.1±2.7 46.6±2.7
	fedavg-active 80.9±1.7 80.7±1.7  61.9±2.4 60.7±2.0  41.9±2.7 41.5±2.7
	fedavg-all    69.5±3.4 69.5±4.1  51.3±2.7 51.3±2.7  35.9±2.0 35.6±2.0
	fedau         82.6±1.3 82.4±1.1  63.9±2.2 62.8±1.8  44.2±2.2 43.8±2.1
	f3ast         81.3±1.2 81.3±1.2  62.2±2.1 61.3±1.7  43.1±2.2 42.7±2.2
	fedavg-known  85.8±1.2 85.2±1.3  68.7±2.1 66.5±2.4  47.2±2.3 46.8±2.2
	mifa          83.8±0.9 83.7±0.8  65.8±1.9 64.6±1.6  46.5±1.8 45.9±1.7
	fedvarp       84.5±0.3 84.1±0.5  67.3±0.3 65.7±0.2  47.7±0.5 47.2±0.3
`),
)

// fedawe2Under returns the part of Table 2 for one availability process.
func fedawe2Under(availability, lines string) []results.Printed {
	return printedTable{"fedawe-2", availability, fedaweN, fedaweDataColumns(), fedaweTrainTest}.numbers(lines)
}

// fedawe8Every is the number of rounds between the points of the mean curve that Table 8 uses. The paper's caption says
// 20, but the table has entries of 10 [inferred].
const fedawe8Every = 10

// fedawe8Printed is Table 8: the rounds to a quarter, half, three quarters and all of the target. A dash says that the
// target was not reached in 2000 rounds. The table does not have FedVARP.
var fedawe8Printed = printedTable{"fedawe-8", "sine", fedaweN, fedaweDataColumns(), fedaweQuarters}.numbers(`
	fedawe         40 120 200  820    20  60 200 1360     0  20 120  540
	fedavg-active  20  80 160  900    10  20 120 1060     0  20  40  800
	fedavg-all    100 420 960    –    20  60 520    –     0  20 200    –
	fedau          60 100 160  840    10  20 100  960     0  20  80  460
	f3ast          40 120 200 1080    20  40 160 1300     0  20  60  540
	fedavg-known   20  40 100  320    10  20 140  620     0  20  40  400
	mifa           20  80 140  600    10  20  80  700     0  20  40  240
`)

// fedawe8Targets are the target test accuracies of Table 8, as fractions: the best ones of Table 2 under sine, rounded
// down to a multiple of 10 %.
var fedawe8Targets = map[string]float64{"svhn": 0.8, "cifar10": 0.6, "cinic10": 0.4}

// fedawe9Printed is Table 9: train and test accuracy for γ = 0.3, 0.2 and 0.1 of the sine. The column of 0.3 has no
// params, since 0.3 is the preset's value; it is the experiment of Table 2. The table does not have FedVARP.
var fedawe9Printed = printedTable{"fedawe-9", "sine", fedaweN, []results.Printed{
	{Data: "svhn", Alpha: files.Some(fedaweAlpha)},
	{Data: "svhn", Alpha: files.Some(fedaweAlpha), Params: "gamma=0.2"},
	{Data: "svhn", Alpha: files.Some(fedaweAlpha), Params: "gamma=0.1"},
}, fedaweTrainTest}.numbers(`
	fedawe        85.7±0.9 85.6±0.9  85.7±0.5 85.7±0.5  85.8±0.6 85.7±0.7
	fedavg-active 82.1±1.1 82.0±1.3  82.0±1.2 81.9±1.2  82.3±0.9 82.2±1.0
	fedavg-all    71.3±2.5 71.3±2.8  73.2±2.5 73.2±2.8  74.0±2.1 74.9±2.4
	fedau         82.5±1.4 82.5±1.3  83.5±0.3 83.4±0.4  83.7±0.3 83.6±0.3
	f3ast         82.3±1.0 82.3±1.0  82.3±0.9 82.6±0.8  82.9±0.7 82.9±0.6
	fedavg-known  86.3±1.0 86.0±1.0  86.2±1.2 86.0±1.4  86.4±0.9 86.0±0.8
	mifa          84.2±0.4 84.1±0.4  84.6±0.1 84.5±0.1  84.6±0.1 84.4±0.1
`)

// fedawe10Printed is Table 10: train and test accuracy for α = 0.05, 0.1 and 1 of the split. The column of 0.1 is the
// experiment of Table 2. The table does not have FedVARP.
var fedawe10Printed = printedTable{"fedawe-10", "sine", fedaweN, []results.Printed{
	{Data: "svhn", Alpha: files.Some(0.05)},
	{Data: "svhn", Alpha: files.Some(fedaweAlpha)},
	{Data: "svhn", Alpha: files.Some(1)},
}, fedaweTrainTest}.numbers(`
	fedawe        82.5±2.1 82.5±2.4  85.7±0.9 85.6±0.9  90.6±0.2 89.7±0.3
	fedavg-active 78.9±1.6 78.5±1.8  82.1±1.1 82.0±1.3  88.3±0.1 87.5±0.1
	fedavg-all    58.5±3.0 58.5±3.8  71.3±2.5 71.3±2.8  82.0±0.7 81.9±0.6
	fedau         79.5±1.6 79.5±1.7  82.5±1.4 82.5±1.3  88.4±0.1 87.6±0.2
	f3ast         78.9±1.3 78.9±1.3  82.3±1.0 82.3±1.0  87.6±0.1 87.0±0.1
	fedavg-known  84.2±1.0 83.5±1.0  86.3±1.0 86.0±1.0  91.5±0.3 90.5±0.1
	mifa          82.6±0.1 82.6±0.0  84.2±0.4 84.1±0.4  88.4±0.1 87.5±0.1
`)
