package report

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/metrics"
	"rollcall/results/papers"
	"rollcall/results/resultstest"
)

// synthetic says how large an output folder [synthesise] makes.
type synthetic struct {
	availabilities, data, methods []string // of fedawe-2; none: all of it
	rounds, every                 int
}

var seeds = []uint32{3, 4, 6}

// synthesise writes an output folder like one of `rollcall table fedawe-2`, with curves that end near the printed
// numbers.
func synthesise(t testing.TB, dir string, s synthetic) {
	t.Helper()
	table2 := must.Get(papers.TableByID("fedawe-2"))(t)
	has := func(list []string, name string) bool {
		return len(list) == 0 || slices.Contains(list, name)
	}
	for _, p := range table2.Printed {
		if p.Metric != metrics.TestAcc || !has(s.availabilities, p.Availability) || !has(s.data, p.Data) ||
			!has(s.methods, p.Method) {
			continue
		}
		cell := results.Setup{
			Table: "fedawe-2", Method: p.Method, Preset: "code", Data: p.Data, Net: "cnn-" + p.Data,
			Availability: p.Availability, Clients: 100, Alpha: files.Some(0.1),
		}
		for _, seed := range seeds {
			resultstest.WriteCurve(t, dir, synthCurve(cell, seed, s, p.Mean.Value, p.Std.Value), s.rounds,
				results.RunInfo{
					Status: results.RunComplete, DataChecksum: results.OfFiles("00"), Device: "AMD EPYC",
					Numerics: "cpu-fp32",
					Started:  time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
					Finished: time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC),
				})
		}
	}
}

// synthCurve rises to about the printed accuracy.
func synthCurve(cell results.Setup, seed uint32, s synthetic, mean, std float64) (rows []results.CurveRow) {
	name := uint64(len(cell.Method)*1000 + len(cell.Availability)*10 + len(cell.Data))
	r := rand.New(rand.NewPCG(uint64(seed), name))
	end := mean + 1.2*std*r.NormFloat64()
	for round := 0; round <= s.rounds; round += s.every {
		x := float64(round) / float64(s.rounds)
		acc := 0.1 + (end-0.1)*(1-math.Exp(-6*x))/(1-math.Exp(-6)) + 0.012*r.NormFloat64()*math.Exp(-x)
		acc = min(max(acc, 0.05), 1)
		row := results.CurveRow{
			Setup: cell, Seed: seed, Round: round, TestAcc: files.Some(acc), TrainAcc: files.Some(min(acc+0.01, 1)),
			TestLoss: files.Some(2.3 - 2.2*acc), TrainLoss: files.Some(2.25 - 2.2*acc),
			ElapsedSec: 1.8 * float64(round), Engine: "cpu-avx512", Precision: "fp32", Version: "v1",
		}
		if round > 0 {
			row.Active, row.LR = 37, 0.05/math.Sqrt(1+float64(round)/10)
		}
		rows = append(rows, row)
	}
	return rows
}

// synthDecisions adds what a method of CA-Fed made of its clients to every run of a method below dir.
func synthDecisions(t testing.TB, dir string, clients, rounds int) {
	t.Helper()
	runs, bad, err := results.FindRuns(t.Context(), dir)
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	for _, run := range runs {
		r := rand.New(rand.NewPCG(uint64(run.Seed), 7))
		var rows []results.DecisionRow
		on := make([]int, clients)
		for round := 1; round <= rounds; round++ {
			for i := range clients {
				pi, lambda := 0.9-0.7*float64(i)/float64(clients), 0.05
				if i%3 == 0 {
					lambda = 0.9
				}
				if r.Float64() > lambda { // else it stays as it was
					on[i] = 0
					if r.Float64() < pi {
						on[i] = 1
					}
				}
				d := results.DecisionRow{
					Round: round, Client: i, Active: on[i], Included: 1, Pi: pi,
					Lambda: lambda, Target: 1 / float64(clients),
				}
				if run.Method == "fedawe" && i%3 == 0 && i > clients/2 {
					d.Included = 0
				}
				if d.Active*d.Included == 1 {
					d.Weight = 1 / float64(clients)
				}
				rows = append(rows, d)
			}
		}
		must.OK(t, files.WriteCSVFile(filepath.Join(run.Dir, results.DecisionsFile), rows))
		var text bytes.Buffer
		text.WriteString("round,client,pi,n,accuracy,loss\n")
		for i := range clients {
			fmt.Fprintf(&text, "%d,%d,0.5,20,%.4f,1\n", rounds, i, min(max(0.6+0.15*r.NormFloat64(), 0), 1))
		}
		must.OK(t, os.WriteFile(filepath.Join(run.Dir, "clients.csv"), text.Bytes(), 0o666))
		resultstest.Sign(t, run.Dir, *run.Info)
	}
}

// input reads an output folder as the command does, and puts availability and speed beside it.
func input(t testing.TB, dir string) Input {
	t.Helper()
	in := Input{Folders: []string{"out"}, Version: "v1", Made: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	var err error
	if in.Runs, in.Bad, err = results.FindRuns(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	tables, of := results.ByTable(in.Runs)
	for _, table := range tables {
		in.Numbers = append(in.Numbers, papers.Summaries(table, of[table], false)...)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var base []float64
	for range 100 {
		base = append(base, r.Float64())
	}
	if in.Base, err = papers.FedAWEF5Rows(base); err != nil {
		t.Fatal(err)
	}
	for _, process := range []string{"stationary", "sine"} {
		for _, p := range []float64{0.1, 0.5, 0.9} {
			for round := range 80 {
				row := papers.FedAWEF6Row{Availability: process, P: p, Round: round, Probability: p}
				if process == "sine" {
					row.Probability = p * (0.3*math.Sin(0.1*math.Pi*float64(round)) + 0.7)
				}
				if r.Float64() < row.Probability {
					row.Active = 1
				}
				in.Paths = append(in.Paths, row)
			}
		}
	}
	for day := range 30 {
		in.Bench = append(in.Bench, results.BenchRow{
			Time: in.Made.AddDate(0, 0, day), Version: "v1", Data: "cifar10", Net: "cnn-cifar10", Engine: "cpu-avx512",
			Precision: "fp32", Device: "AMD EPYC", Threads: 2,
			ClientStepsPerSec: 100 * math.Exp(0.02*r.NormFloat64()),
		})
	}
	return in
}
