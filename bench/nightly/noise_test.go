package nightly

import (
	"encoding/csv"
	"errors"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/bench/run"
	"rollcall/internal/must"
)

var (
	noiseFile = flag.String("noise", "", "file that TestRecordNoise appends a night to; empty: the test is skipped")
	noiseLoad = flag.String("load", "quiet", "name of what else runs meanwhile")
)

// TestRecordNoise records a night on this machine, for the rates that package track computes from many:
//
//	go test ./bench/nightly -run TestRecordNoise -count 1 -noise FILE
//
// Every night is a process of its own, as it is with `rollcall track run`. It takes half a minute, with a metric of
// every kind: fewer clients in a round, and one net. A row is a night's samples of one metric.
func TestRecordNoise(t *testing.T) {
	if *noiseFile == "" {
		t.Skip("-noise: no file")
	}
	s := StandardSuite()
	s.Data, s.Clients = []string{"cifar10"}, 8
	b := &Bench{Suite: s, Machine: run.Machine{Device: "cpu", Threads: 2, Out: t.TempDir()}, Stderr: t.Output()}
	night := strconv.FormatInt(time.Now().Unix(), 10)
	values := must.Get(b.Measure(t.Context()))(t)
	f := must.Get(os.OpenFile(*noiseFile, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644))(t)
	out := csv.NewWriter(f)
	if must.Get(f.Stat())(t).Size() == 0 {
		_ = out.Write([]string{"night", "load", "metric", "unit", "wall", "processor", "reference"})
	}
	list := func(x []float64) string {
		words := make([]string, len(x))
		for i := range x {
			words[i] = strconv.FormatFloat(x[i], 'g', 5, 64)
		}
		return strings.Join(words, " ")
	}
	for _, v := range values {
		_ = out.Write([]string{night, *noiseLoad, v.Metric, v.Unit, list(v.Wall), list(v.Processor), list(v.Reference)})
	}
	out.Flush()
	must.OK(t, errors.Join(out.Error(), f.Close()))
}
