package plan

import (
	"strings"
	"testing"
	"time"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/memory"
	"rollcall/internal/must"
	"rollcall/results"
)

func cell(method string, runs, kept int, sec float64) Group {
	return Group{
		Settings: settings.Settings{Method: method, Data: "cifar10", Availability: "sine", Rounds: 2000},
		Runs:     runs, Kept: kept, Sec: sec,
	}
}

func TestWrite(t *testing.T) {
	row := results.BenchRow{
		Engine: "cpu-avx512", Precision: "bf16", Threads: 2, ClientStepMS: 9.3, Net: "cnn-cifar10", Data: "cifar10",
		Rounds: 3,
	}
	measured := Rate{row, true}
	row.Time, row.Rounds = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), 10
	for _, c := range []struct {
		name string
		plan Plan
		want []string
	}{
		{"nothing is trained", Plan{Title: "A figure"}, []string{"A figure: nothing is trained\n"}},
		{"all is kept", Plan{Title: "A", Groups: []Group{cell("mifa", 3, 3, 0)}}, []string{
			"A: 1 cell, 3 runs: 3 kept, 0 to resume, 0 to train\n",
			"mifa    cifar10  sine          3     3     2000    nothing\n",
			"in all nothing is left to do\n",
		}},
		{
			"cells of a row are added",
			Plan{
				Title: "A", Groups: []Group{
					cell("mifa", 3, 1, 3600), cell("mifa", 3, 0, 1800), cell("fedau", 3, 0, 42600),
				},
				AtOnce: 1, Rates: []Rate{measured}, LargestOf: "mifa", Largest: run.Needs{Bytes: 4e8, Memory: "rows"},
			},
			[]string{
				"A: 3 cells, 9 runs: 1 kept, 0 to resume, 8 to train\n",
				"mifa    cifar10  sine          6     1     2000    1 h 30 min\n",
				"memory: 400 MB for the largest run (mifa: rows)\n",
				"in all 13 h 20 min on cpu-avx512, bf16, 2 threads (measured now: " +
					"9.3 ms per client-step of cnn-cifar10 on cifar10, n = 3 rounds)\n",
			},
		},
		{
			"two at a time, too large, of a file",
			Plan{
				Title: "A", Groups: []Group{cell("mifa", 1, 0, 60)}, AtOnce: 2, Rates: []Rate{{row, false}},
				LargestOf: "mifa", Largest: run.Needs{Bytes: 4e9, Memory: "rows", Least: true},
				Limit: memory.Limit{Bytes: 7e9, From: "the cgroup"}, LimitIsKnown: true,
			},
			[]string{
				"memory: at least 4.0 GB for the largest run (mifa: rows), 8.0 GB for 2 at a time; " +
					"7.0 GB available (the cgroup), which is too little\n",
				"in all 1 min on cpu-avx512, bf16, 2 threads (bench.csv, 2026-03-04: 9.3 ms per client-step of " +
					"cnn-cifar10 on cifar10, n = 10 rounds); 2 runs at a time are assumed to gain nothing\n",
			},
		},
		{
			"on three cards, two runs at a time on each",
			Plan{
				Title: "A", Groups: []Group{cell("mifa", 5, 0, 60*(10+20+30+40+50))}, AtOnce: 6, Cards: 3,
				Each: []float64{60 * 10, 60 * 20, 60 * 30, 60 * 40, 60 * 50}, Rates: []Rate{measured},
				LargestOf: "mifa", Largest: run.Needs{Bytes: 1e9, Memory: "rows"},
			},
			[]string{
				"(mifa: rows), 6.0 GB for 6 at a time\n",
				"in all 2 h 30 min on cpu-avx512, bf16, 2 threads (measured now: ",
				", n = 3 rounds); 50 min on 3 cards; 2 runs at a time on a card are assumed to gain nothing\n",
			},
		},
		{
			"fewer runs than cards",
			Plan{
				Title: "A", Groups: []Group{cell("mifa", 2, 0, 60*30)}, AtOnce: 4, Cards: 4,
				Each: []float64{60 * 10, 60 * 20}, Rates: []Rate{measured},
			},
			[]string{"in all 30 min on ", "n = 3 rounds); 20 min on 4 cards\n"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			must.OK(t, c.plan.Write(&b))
			for _, want := range c.want {
				if !strings.Contains(b.String(), want) {
					t.Errorf("got:\n%s\nwant in it:\n%s", b.String(), want)
				}
			}
		})
	}
}
