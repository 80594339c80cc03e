package papers

import (
	"math"
	"strconv"

	"rollcall/results"
)

// Figures of CA-Fed's papers. Those of ToN are of the paper's preset where none is asked for: with momentum 0.9 at clients and server, as
// the released code has it, the rates the paper prints diverge.
var (
	kappas = []string{"0.01", "0.1", "1", "10", "100"} // κ̄² of ToN's figures 2 and 3

	cafedFigures = []Figure{
		{ID: "cafed-i1", Title: "CA-Fed, INFOCOM, Figure 1: activity of the clients and who is left out", Shows: Activity, Runs: runs(infocom("binary"), "ca-fed"), Seeds: infocomSeeds[:1], Rounds: infocomRounds},
		{ID: "cafed-i2", Title: "CA-Fed, INFOCOM, Figure 2: importance of the clients", Shows: ImportanceShare, Runs: runs(infocom("binary"), infocomMethods...), Seeds: infocomSeeds[:1], Rounds: infocomRounds},
		{ID: "cafed-i3", Title: "CA-Fed, INFOCOM, Figure 3: test accuracy averaged over the rounds so far", Shows: RunningMean, Runs: append(runs(infocom("binary"), infocomMethods...), runs(infocom("mnist"), infocomMethods...)...), Seeds: infocomSeeds, Rounds: infocomRounds},

		{ID: "cafed-f1a", Title: "CA-Fed, ToN, Figure 1a: test accuracy, Synthetic", Shows: Curves, Runs: runs(ton("leaf"), cafedMethods...), Preset: "paper", Seeds: tonSeeds, Rounds: tonRounds},
		{ID: "cafed-f1b", Title: "CA-Fed, ToN, Figure 1b: test accuracy, MNIST", Shows: Curves, Runs: runs(ton("mnist"), cafedMethods...), Preset: "paper", Seeds: tonSeeds, Rounds: tonRounds},
		{ID: "cafed-f1c", Title: "CA-Fed, ToN, Figure 1c: test accuracy, CIFAR-10", Shows: Curves, Runs: runs(ton("cifar10", "eval-every=5"), cafedMethods...), Preset: "paper", Seeds: tonSeeds, Rounds: tonRounds},
		{ID: "cafed-f1d", Title: "CA-Fed, ToN, Figure 1d: cumulative importance of three groups of clients, Synthetic", Shows: CumulativeImportance, Runs: runs(ton("leaf"), cafedMethods...), Preset: "paper", Seeds: tonSeeds, Rounds: tonRounds},
		{ID: "cafed-f2a", Title: "CA-Fed, ToN, Figure 2a: convergence speed against bias, Synthetic", Shows: Curves, Runs: overKappa(ton("leaf")), Preset: "paper", Seeds: tonSeeds, Rounds: 500},
		{ID: "cafed-f2b", Title: "CA-Fed, ToN, Figure 2b: best κ̄² for each length of training, Synthetic", Shows: BestKappa, Runs: overKappa(ton("leaf")), Preset: "paper", Seeds: tonSeeds, Rounds: 500},
		{ID: "cafed-f3", Title: "CA-Fed, ToN, Figure 3: heterogeneity γ = δ of the clients, Synthetic", Shows: FinalAccuracy, Axis: "γ = δ", Runs: overHeterogeneity(), Preset: "paper", Seeds: tonSeeds, Rounds: tonRounds},
		{ID: "cafed-f4a", Title: "CA-Fed, ToN, Figure 4a: error of the estimators against the observed history", Shows: EstimatorError, Axis: "t'", Runs: overPrior("ca-fed"), Preset: "paper", Seeds: tonSeeds, Rounds: 50},
		{ID: "cafed-f4b", Title: "CA-Fed, ToN, Figure 4b: test accuracy with estimated availability, MNIST", Shows: FinalAccuracy, Axis: "t'", Runs: overPrior(cafedMethods...), Preset: "paper", Seeds: tonSeeds, Rounds: 50},
		{ID: "cafed-f5a", Title: "CA-Fed, ToN, Figure 5a: clusters, alike inside and among each other, MNIST", Shows: Activity, Runs: runs(inClusters("even"), "ca-fed"), Preset: "paper", Seeds: tonSeeds[:1], Rounds: 100},
		{ID: "cafed-f5b", Title: "CA-Fed, ToN, Figure 5b: clusters, alike inside, different among each other, MNIST", Shows: Activity, Runs: runs(inClusters("clusters"), "ca-fed"), Preset: "paper", Seeds: tonSeeds[:1], Rounds: 100},
		{ID: "cafed-f5c", Title: "CA-Fed, ToN, Figure 5c: clusters, all clients different, MNIST", Shows: Activity, Runs: runs(inClusters("classes"), "ca-fed"), Preset: "paper", Seeds: tonSeeds[:1], Rounds: 100},
		{ID: "cafed-f5d", Title: "CA-Fed, ToN, Figure 5d: test accuracy with spatial correlation, MNIST", Shows: Curves, Runs: runs(inClusters("classes"), cafedMethods...), Preset: "paper", Seeds: tonSeeds, Rounds: 100},
	}
)

// runs are the methods in one column.
func runs(c Column, methods ...string) (list []Run) {
	for _, m := range methods {
		list = append(list, Run{Method: m, Column: c, Series: m})
	}
	return list
}

// overKappa is figure 2's: CA-Fed for every κ̄², and what it is like at the ends. κ̄² is the paper's hyper-parameter; the code's bias_const
// takes its place elsewhere.
func overKappa(c Column) []Run {
	list := runs(c, "more-available", "unbiased")
	for _, k := range kappas {
		of := c
		of.ByMethod = map[string]results.Params{"ca-fed": c.ByMethod["ca-fed"].And("bias-const=none", results.Params("kappa="+k))}
		list = append(list, Run{Method: "ca-fed", Column: of, Series: kappa(k)})
	}
	return list
}

// overHeterogeneity is figure 3's.
func overHeterogeneity() (list []Run) {
	for _, v := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		x, _ := strconv.ParseFloat(v, 64) // one of the above
		for _, r := range overKappa(ton("leaf", results.NewParams("leaf-gamma="+v, "leaf-delta="+v))) {
			r.X = x
			list = append(list, r)
		}
	}
	return list
}

// overPrior is figure 4's: t' = 10, 10^1.5, … 10^4, in whole rounds.
func overPrior(methods ...string) (list []Run) {
	for half := 2; half <= 8; half++ {
		rounds := int(math.Round(math.Pow(10, float64(half)/2)))
		for _, r := range runs(ton("mnist", results.Params("prior="+strconv.Itoa(rounds))), methods...) {
			r.X = float64(rounds)
			list = append(list, r)
		}
	}
	return list
}

// inClusters is figure 5's: ten clusters of ten clients that share a chain, MNIST cut as split says.
func inClusters(split string) Column {
	c := ton("mnist", "clusters=10", results.Params("split="+split))
	c.Availability = "clusters"
	return c
}
