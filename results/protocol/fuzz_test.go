package protocol

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
)

// FuzzDecisions: importance comes of whatever is read.
func FuzzDecisions(f *testing.F) {
	path := filepath.Join(f.TempDir(), results.DecisionsFile)
	fuzzRows(f, path, []results.DecisionRow{
		{Round: 1, Weight: 0.5},
		{Round: 1, Client: 1},
		{Round: 2},
		{Round: 2, Client: 1, Weight: 2},
	}, func(t *testing.T) {
		rows, err := results.ReadDecisions(path)
		if err != nil {
			return
		}
		if q, p := Importance(rows); len(q) != results.ClientsOf(rows) || len(p) != len(q) {
			t.Errorf("%d and %d clients, want %d", len(q), len(p), results.ClientsOf(rows))
		}
	})
}

// FuzzClients: every statistic comes of whatever is read.
func FuzzClients(f *testing.F) {
	path := filepath.Join(f.TempDir(), results.ClientsFile)
	fuzzRows(f, path, []results.ClientRow{{Pi: 0.5, N: 3, Accuracy: 0.5}, {Client: 1, Accuracy: 1}},
		func(t *testing.T) {
			rows, err := results.ReadClients(path)
			for _, m := range metrics.OfClients {
				if _, statisticErr := clientStatistic(rows, m); err == nil && (statisticErr == nil) != (len(rows) > 0) {
					t.Errorf("%s of %d clients: %v", m, len(rows), statisticErr)
				}
			}
		})
}

// fuzzRows puts texts under a path for read to read.
func fuzzRows[T any](f *testing.F, path string, rows []T, read func(t *testing.T)) {
	var good bytes.Buffer
	must.OK(f, files.WriteCSV(&good, rows))
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()/2])
	f.Add(good.Bytes()[:bytes.IndexByte(good.Bytes(), '\n')+1])
	f.Fuzz(func(t *testing.T, text []byte) {
		must.OK(t, os.WriteFile(path, text, 0o666))
		read(t)
	})
}
