package papers

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/stats"
)

// ToN's figure 5 has clusters of clients that are active together. Parts a to c differ in how MNIST is split.
var (
	cafedF5a = inClustersActivity("cafed-f5a", "Figure 5a: clusters, alike inside and among each other, MNIST", "even",
		"all clients of clusters 9, 8, 7, 6 are left out", leavesOut(6, 7, 8, 9))
	cafedF5b = inClustersActivity("cafed-f5b", "Figure 5b: clusters, alike inside, different among each other, MNIST",
		"clusters", "all clients of clusters 9, 7, 6 are left out, those of 8 are kept", leavesOut(6, 7, 9))
	cafedF5c = inClustersActivity("cafed-f5c", "Figure 5c: clusters, all clients different, MNIST", "classes",
		"clients of the more correlated clusters are left out in part", leavesOutPart)
	cafedF5d = aheadOfAdaFed("cafed-f5d", "Figure 5d: test accuracy with spatial correlation, MNIST",
		inClusters("classes"), 100, 0.6, tonClusters)
)

// tonClusters is where ToN speaks of figure 5.
const tonClusters = "V-B e"

// inClustersActivity returns figure 5a, b or c: which clients are excluded if split cuts MNIST. says is what ToN says
// about it, and ask whether it holds.
func inClustersActivity(id, title, split, says string, ask func(m Measured) (Answer, string)) Figure {
	return Figure{
		ID: id, Title: "CA-Fed, ToN, " + title,
		Measure: Curves{Decisions: true}, Runs: runs(inClusters(split), "ca-fed"), Preset: "paper", Seeds: tonSeeds[:1],
		Rounds: 100,
		Draw:   drawActivity,
		Says:   []Sentence[Measured]{{says, tonClusters, ask}},
	}
}

// inClusters returns the column of figure 5: MNIST cut by split, and ten clusters of ten clients each that share one
// Markov chain.
func inClusters(split string) Column {
	c := ton("mnist", "clusters=10", results.Params("split="+split))
	c.Availability = "clusters"
	return c
}

// leavesOut returns a question: are the clusters whose clients are left out in more than half of the rounds exactly
// these? The paper shows one run; of several seeds the mean counts.
func leavesOut(clusters ...int) func(m Measured) (Answer, string) {
	return func(m Measured) (Answer, string) {
		shares := seedsLeftOut(m)
		if shares == nil {
			return Untold, ""
		}
		answer := Holds
		for c, share := range shares {
			if (share.Mean > 0.5) != slices.Contains(clusters, c) {
				answer = Fails
			}
		}
		return answer, leftOutWords(shares)
	}
}

// leavesOutPart asks whether the more correlated clusters, taken as 6 to 9 as in figure 5a, are neither all left out in
// more than half of the rounds nor all kept.
func leavesOutPart(m Measured) (Answer, string) {
	shares := seedsLeftOut(m)
	if len(shares) < 10 {
		return Untold, leftOutWords(shares)
	}
	least, most := 1.0, 0.0
	for _, share := range shares[6:10] {
		least, most = min(least, share.Mean), max(most, share.Mean)
	}
	if most == 0 || least > 0.5 {
		return Fails, leftOutWords(shares)
	}
	return Holds, leftOutWords(shares)
}

// leavesOutTheWorse asks whether clients outside the group of the more available are excluded in a larger share of the
// rounds, in the run that is shown (INFOCOM, figure 1).
func leavesOutTheWorse(m Measured) (Answer, string) {
	if len(m.Lines) == 0 || len(m.Lines[0].Decisions) == 0 {
		return Untold, ""
	}
	var out, all [2]float64
	for _, d := range m.Lines[0].Decisions[0] {
		worse := 0
		if clientGroup(d.Pi, d.Lambda) != moreAvailable {
			worse = 1
		}
		out[worse], all[worse] = out[worse]+float64(1-d.Included), all[worse]+1
	}
	if all[0] == 0 || all[1] == 0 {
		return Untold, "one group alone"
	}
	others, better := out[1]/all[1], out[0]/all[0]
	return isPositive(others - better), fmt.Sprintf("left out in %.0f %% of the rounds, the more available in %.0f %%",
		100*others, 100*better)
}

// seedsLeftOut returns for each cluster of the first line the mean of [leftOut] over the seeds, with its standard
// deviation; nil without decisions.
func seedsLeftOut(m Measured) (shares []stats.Estimate) {
	if len(m.Lines) == 0 || len(m.Lines[0].Decisions) == 0 {
		return nil
	}
	seeds := make([][]float64, int(numberOf(m.Lines[0], "clusters"))) // by cluster, one of each seed
	for _, decisions := range m.Lines[0].Decisions {
		for c, share := range leftOut(CAFedActivityRows(decisions), len(seeds)) {
			seeds[c] = append(seeds[c], share)
		}
	}
	for _, of := range seeds {
		shares = append(shares, stats.EstimateOf(of))
	}
	return shares
}

// leftOutWords says how often the clients of each cluster were excluded.
func leftOutWords(shares []stats.Estimate) string {
	words, of := make([]string, len(shares)), ""
	for c, share := range shares {
		words[c] = fmt.Sprintf("%d: %.0f", c, 100*share.Mean)
		if share.Std.Valid {
			words[c] += fmt.Sprintf(" ± %.0f", 100*share.Std.Value)
			of = fmt.Sprintf(" of %d seeds", share.N)
		}
		words[c] += " %"
	}
	return fmt.Sprintf("rounds%s in which the clients of a cluster were left out, %s", of, strings.Join(words, ", "))
}

// leftOut returns for each cluster the share of rounds in which its clients were excluded, whether they were available
// or not (ToN, figures 5a–c). Clusters consist of consecutive clients and have the same size.
func leftOut(rows []CAFedActivityRow, clusters int) []float64 {
	clients, rounds := 0, 0
	for _, r := range rows {
		clients, rounds = max(clients, r.Client+1), max(rounds, r.Round)
	}
	share := make([]float64, clusters)
	for _, r := range rows {
		share[r.Client*clusters/clients] += float64(1-r.Included) * float64(clusters) / float64(clients*rounds)
	}
	return share
}
