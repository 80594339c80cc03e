package papers

import "slices"

// Document is one of the papers, with everything that it numbers.
type Document struct {
	Name  string // as in the titles of its tables and figures
	Items []Item // its tables and figures, tables first, in the order of their numbers
}

// Item is one table or figure of a document.
type Item struct {
	Label string // as the document has it: Table 2, Figure 1a
	ID    string // of our table or figure; empty: there is none
	// what it shows; empty if it has an ID, whose title says it
	Shows string
	// why there is nothing to run; empty if it has an ID, or if it could be run and the suite cannot yet
	Nothing string
}

// Why there is nothing to run.
const (
	cartoon  = "a drawing that explains"
	text     = "text"
	settings = "settings, which the suite has"
)

var documents = []Document{
	{"FedAWE", []Item{
		{Label: "Table 1", Shows: "assumptions of other works", Nothing: text},
		{Label: "Table 2", ID: "fedawe-2"},
		{
			Label: "Tables 3 to 5", Shows: "not in our text of the paper, which quotes no number of theirs",
			Nothing: text,
		},
		{Label: "Table 6", Shows: "nets and training", Nothing: settings},
		{Label: "Table 7", Shows: "learning rates", Nothing: settings},
		{Label: "Table 8", ID: "fedawe-8"},
		{Label: "Table 9", ID: "fedawe-9"},
		{Label: "Table 10", ID: "fedawe-10"},
		{Label: "Figure 1", Shows: "clients that come and go", Nothing: cartoon},
		{Label: "Figure 2", ID: "fedawe-f2"},
		{Label: "Figure 3", ID: "fedawe-f3"},
		{Label: "Figure 4", ID: "fedawe-f4"},
		{Label: "Figure 5", ID: "fedawe-f5"},
		{Label: "Figure 6", ID: "fedawe-f6"},
		{Label: "Figure 7", ID: "fedawe-f7"},
	}},
	{"CA-Fed, INFOCOM", []Item{
		{Label: "Table I", ID: "cafed-1"},
		{Label: "Figure 1", ID: "cafed-i1"},
		{Label: "Figure 2", ID: "cafed-i2"},
		{Label: "Figure 3", ID: "cafed-i3"},
	}},
	{"CA-Fed, ToN", []Item{
		{Label: "Table I", Shows: "minutes on the authors' machines", Nothing: text},
		{Label: "Table II", Shows: "learning rates", Nothing: settings},
		{Label: "Figure 1a", ID: "cafed-f1a"},
		{Label: "Figure 1b", ID: "cafed-f1b"},
		{Label: "Figure 1c", ID: "cafed-f1c"},
		{Label: "Figure 1d", ID: "cafed-f1d"},
		{Label: "Figure 2a", ID: "cafed-f2a"},
		{Label: "Figure 2b", ID: "cafed-f2b"},
		{Label: "Figure 3", ID: "cafed-f3"},
		{Label: "Figure 4a", ID: "cafed-f4a"},
		{Label: "Figure 4b", ID: "cafed-f4b"},
		{Label: "Figure 5a", ID: "cafed-f5a"},
		{Label: "Figure 5b", ID: "cafed-f5b"},
		{Label: "Figure 5c", ID: "cafed-f5c"},
		{Label: "Figure 5d", ID: "cafed-f5d"},
	}},
	{"CA-Fed, slides", []Item{ // without numbers of its own
		{Label: "Federated learning", Shows: "rounds, aggregation, clients that come and go", Nothing: cartoon},
		{Label: "Quadratic example", ID: "cafed-s1"},
		{Label: "Bias and optimization error", Shows: "guidelines and the algorithm", Nothing: cartoon},
		{Label: "Results (a)", ID: "cafed-f1a"},
		{Label: "Results (b)", ID: "cafed-f1b"},
		{Label: "Results (c)", ID: "cafed-f1c"},
	}},
	{"FedAR", []Item{
		{Label: "Table 1", Shows: "differences to MIFA and FedVARP", Nothing: text},
		{Label: "Table 2", ID: "fedar-2"},
		{Label: "Table 3", ID: "fedar-3"},
		{Label: "Figure 1", ID: "fedar-f1"},
		{Label: "Figure 2", ID: "fedar-f2"},
		{Label: "Figure 3", ID: "fedar-f3"},
		{Label: "Figure 4", ID: "fedar-f4"},
		{Label: "Figure 5", ID: "fedar-f5"},
		{Label: "section 6", ID: "fedar-mnist"},
		{Label: "Appendix", Shows: "more of MNIST and SVHN; our text of the paper lacks it", Nothing: text},
	}},
}

// Documents returns the five documents: FedAWE, CA-Fed's two papers and its slides, and FedAR.
func Documents() []Document { return slices.Clone(documents) }
