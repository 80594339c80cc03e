package papers

import (
	"fmt"
	"strings"

	"rollcall/results"
)

// ToN's figure 5 has clusters of clients that are active together. Parts a to c differ in how MNIST is split.
var (
	cafedF5a = inClustersActivity("cafed-f5a", "Figure 5a: clusters, alike inside and among each other, MNIST", "even",
		"all clients of clusters 9, 8, 7, 6 are left out")
	cafedF5b = inClustersActivity("cafed-f5b", "Figure 5b: clusters, alike inside, different among each other, MNIST",
		"clusters", "all clients of clusters 9, 7, 6 are left out, those of 8 are kept")
	cafedF5c = inClustersActivity("cafed-f5c", "Figure 5c: clusters, all clients different, MNIST", "classes",
		"clients of the correlated clusters are left out in part")
	cafedF5d = aheadOfAdaFed("cafed-f5d", "Figure 5d: test accuracy with spatial correlation, MNIST",
		inClusters("classes"), 100, 0.6)
)

// inClustersActivity returns figure 5a, b or c: which clients are excluded if split cuts MNIST.
func inClustersActivity(id, title, split, words string) Figure {
	return Figure{
		ID: id, Title: "CA-Fed, ToN, " + title,
		Measure: Curves{Decisions: true}, Runs: runs(inClusters(split), "ca-fed"), Preset: "paper", Seeds: tonSeeds[:1],
		Rounds: 100, OneSeed: true,
		Draw: func(m Measured) (Drawing, error) {
			d, err := stating(words, nil, drawActivity)(m)
			if err == nil {
				d.Words += leftOutWords(m.Lines[0])
			}
			return d, err
		},
	}
}

// inClusters returns the column of figure 5: MNIST cut by split, and ten clusters of ten clients each that share one
// Markov chain.
func inClusters(split string) Column {
	c := ton("mnist", "clusters=10", results.Params("split="+split))
	c.Availability = "clusters"
	return c
}

// leftOutWords says how often the clients of each cluster were excluded in a run.
func leftOutWords(line Line) string {
	var words []string
	for c, share := range leftOut(CAFedActivityRows(line.Decisions[0]), int(numberOf(line, "clusters"))) {
		words = append(words, fmt.Sprintf("%d: %.0f %%", c, 100*share))
	}
	return fmt.Sprintf("ours: share of the rounds in which the clients of a cluster were left out, %s\n",
		strings.Join(words, ", "))
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
