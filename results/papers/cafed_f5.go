package papers

import (
	"fmt"
	"slices"
	"strings"

	"rollcall/results"
	"rollcall/results/files"
	"rollcall/results/stats"
)

// ToN's figure 5 has clusters of clients that are active together. Parts a to c differ in how MNIST is split.
var (
	cafedF5a = inClustersActivity("cafed-f5a", "Figure 5a: clusters, alike inside and among each other, MNIST", "even",
		"all clients of clusters 9, 8, 7, 6 are left out", 6, 7, 8, 9)
	cafedF5b = inClustersActivity("cafed-f5b", "Figure 5b: clusters, alike inside, different among each other, MNIST",
		"clusters", "all clients of clusters 9, 7, 6 are left out, those of 8 are kept", 6, 7, 9)
	cafedF5c = inClustersActivity("cafed-f5c", "Figure 5c: clusters, all clients different, MNIST", "classes",
		"clients of the correlated clusters are left out in part")
	cafedF5d = aheadOfAdaFed("cafed-f5d", "Figure 5d: test accuracy with spatial correlation, MNIST",
		inClusters("classes"), 100, 0.6)
)

// inClustersActivity returns figure 5a, b or c: which clients are excluded if split cuts MNIST. It shows one run, the
// first; with several seeds it also says what all of them have left out. out are the clusters that the paper leaves out
// as a whole; nil: it says of none.
func inClustersActivity(id, title, split, words string, out ...int) Figure {
	return Figure{
		ID: id, Title: "CA-Fed, ToN, " + title,
		Measure: Curves{Decisions: true}, Runs: runs(inClusters(split), "ca-fed"), Preset: "paper", Seeds: tonSeeds[:1],
		Rounds: 100,
		Draw: func(m Measured) (Drawing, error) {
			d, err := stating(words, nil, drawActivity)(m)
			if err == nil {
				rows := leftOutRows(m.Figure.ID, m.Lines[0], out)
				d.Claims = csvRows[leftOutRow](rows)
				d.Words += leftOutWords(rows)
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

// leftOutRow says how often the clients of one cluster were excluded, beside the paper (ToN, figures 5a–c).
type leftOutRow struct {
	Figure  string         `csv:"figure"`
	Cluster int            `csv:"cluster"`
	Pi      float64        `csv:"pi"`
	Lambda  float64        `csv:"lambda"`
	N       int            `csv:"n"`        // seeds
	LeftOut float64        `csv:"left_out"` // share of rounds and clients, mean over the seeds
	Std     files.Optional `csv:"std"`      // sample standard deviation over the seeds
	// 1: the paper leaves the whole cluster out; 0: it does not; missing: it says of no cluster that it is left out
	Paper files.Optional `csv:"paper"`
}

// leftOutRows returns a row for each cluster of a line, over its seeds. out are the clusters that the paper leaves out.
func leftOutRows(figure string, line Line, out []int) []leftOutRow {
	clusters := int(numberOf(line, "clusters"))
	shares := make([][]float64, clusters) // by cluster, one of each seed
	for _, decisions := range line.Decisions {
		for c, share := range leftOut(CAFedActivityRows(decisions), clusters) {
			shares[c] = append(shares[c], share)
		}
	}
	first := line.Decisions[0]
	rows := make([]leftOutRow, clusters)
	for c := range rows {
		client := first[c*results.ClientsOf(first)/clusters]
		rows[c] = leftOutRow{
			Figure: figure, Cluster: c, Pi: client.Pi, Lambda: client.Lambda, N: len(shares[c]),
			LeftOut: stats.Mean(shares[c]).Value, Std: stats.SampleStd(shares[c]),
		}
		switch {
		case slices.Contains(out, c):
			rows[c].Paper = files.Some(1)
		case out != nil:
			rows[c].Paper = files.Some(0)
		}
	}
	return rows
}

// leftOutWords says in one line how often the clients of each cluster were excluded.
func leftOutWords(rows []leftOutRow) string {
	words, of := make([]string, len(rows)), ""
	for i, r := range rows {
		words[i] = fmt.Sprintf("%d: %.0f", r.Cluster, 100*r.LeftOut)
		if r.Std.Valid {
			words[i] += fmt.Sprintf(" ± %.0f", 100*r.Std.Value)
			of = fmt.Sprintf(" of %d seeds", r.N)
		}
		words[i] += " %"
	}
	return fmt.Sprintf("ours: share of the rounds%s in which the clients of a cluster were left out, %s\n",
		of, strings.Join(words, ", "))
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
