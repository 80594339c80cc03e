package compare

import (
	"strings"

	"rollcall/results"
	"rollcall/results/files"
)

// labels returns what tells each row of a table from others of its cell, in brackets, and whether it is mixed or
// unverified; as a rule nothing. Only rows that would otherwise read alike say how they differ.
func labels(rows []results.SummaryRow) []string {
	type number struct { // not [results.SummaryRow.Key], which may well tell such rows apart
		results.Cell
		params results.Params
		metric string
	}
	place := func(r *results.SummaryRow) number { return number{r.Cell, r.Params, string(r.Metric)} }
	whole := func(r *results.SummaryRow) bool {
		return r.N > 0 && r.Status != results.CellMixed && r.Status != results.CellUnverified
	}
	first, differ := map[number]int{}, map[number][len(likeness)]bool{}
	for i := range rows {
		if !whole(&rows[i]) {
			continue // which says so already, or has no number
		}
		of := place(&rows[i])
		at, twice := first[of]
		if !twice {
			first[of] = i
			continue
		}
		d := differ[of]
		for k, l := range likeness {
			d[k] = d[k] || l.of(&rows[i]) != l.of(&rows[at])
		}
		differ[of] = d
	}
	out := make([]string, len(rows))
	for i := range rows {
		r := &rows[i]
		var words []string
		switch d := differ[place(r)]; {
		case r.Status == results.CellUnverified:
			words = []string{string(r.Status)}
		case r.Status == results.CellMixed:
			what := strings.TrimPrefix(files.OneLine(r.Error), "mixed: ")
			words = []string{strings.TrimSuffix("mixed: "+what, ": ")}
		case whole(r):
			for k, l := range likeness {
				if d[k] {
					words = append(words, l.words(l.of(r)))
				}
			}
		}
		if len(words) > 0 {
			out[i] = "[" + strings.Join(words, ", ") + "]"
		}
	}
	return out
}

// likeness is what runs of one mean have in common, and its few words.
var likeness = [...]struct {
	of    func(*results.SummaryRow) string
	words func(string) string
}{
	{func(r *results.SummaryRow) string { return r.Numerics }, func(numerics string) string {
		if numerics == "" {
			return "numerics unknown"
		}
		return numerics
	}},
	{func(r *results.SummaryRow) string { return r.Revisions }, func(revisions string) string {
		if revisions == "" {
			return "revisions unknown"
		}
		return "revisions " + revisions
	}},
	{func(r *results.SummaryRow) string { return r.Checksum }, func(checksum string) string {
		const digits = 6 // enough to tell some sums apart
		_, sum, _ := strings.Cut(checksum, ":")
		if sum == "" {
			sum = checksum
		}
		switch {
		case sum == "":
			return "data unknown"
		case len(sum) > digits:
			sum = sum[:digits] + "…"
		}
		return "data " + sum
	}},
}
