package nightly

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rollcall/bench/run"
	"rollcall/internal/must"
)

var (
	noiseFile    = flag.String("noise", "", "file that TestRecordNoise appends to; empty: the test is skipped")
	noiseMinutes = flag.Float64("minutes", 25, "how long it records")
	noiseSeed    = flag.Uint64("noise-seed", 1, "of the other load")
	noiseLoad    = flag.Bool("load", true, "make another load; without it the machine's own is recorded")
)

// noiseSuite is a night of half a minute with a metric of every kind: fewer clients in a round, and one net.
func noiseSuite() Suite {
	s := StandardSuite()
	s.Data, s.Clients = []string{"cifar10"}, 8
	return s
}

// The other load of a recorded night.
const (
	quiet     = "quiet"     // none
	switching = "switching" // on and off, every few seconds another one
)

// burners are the kinds of other load that are on: programs that run as long as they are let.
var burners = map[string][]string{"cpu": {"cpu"}, "cpus": {"cpu", "cpu"}, "memory": {"memory"}}

// TestRecordNoise records nights on this machine while another load goes on and off, for the rates that package track
// computes from them:
//
//	go test ./bench/nightly -run TestRecordNoise -timeout 1h -v -noise FILE
//
// Every night is a process of its own, as it is with `rollcall track run`. A row is a night's samples of one metric.
func TestRecordNoise(t *testing.T) {
	if *noiseFile == "" {
		t.Skip("-noise: no file")
	}
	path := must.Get(filepath.Abs(*noiseFile))(t)
	random := rand.New(rand.NewPCG(*noiseSeed, 0))
	kinds := []string{"cpu", "cpus", "memory"}
	end := time.Now().Add(time.Duration(*noiseMinutes * float64(time.Minute)))
	for night := 0; time.Now().Before(end); night++ {
		regime := []string{quiet, switching, quiet, kinds[random.IntN(len(kinds))], quiet, quiet}[night%6]
		if !*noiseLoad {
			regime = quiet
		}
		measure := again(t, "TestMeasureNoise", "ROLLCALL_TEST_NOISE="+path,
			fmt.Sprintf("ROLLCALL_TEST_NIGHT=%d-%d %s", *noiseSeed, night, regime))
		done := make(chan error, 1)
		begun := time.Now()
		must.OK(t, measure.Start())
		go func() { done <- measure.Wait() }()
		var measured error
		for over := false; !over; {
			on := regime
			if on == switching { // off for two fifths of the time
				on = append(kinds, quiet, quiet)[random.IntN(5)]
			}
			var load []*exec.Cmd
			for _, kind := range burners[on] {
				b := again(t, "TestBurn", "ROLLCALL_TEST_BURN="+kind)
				must.OK(t, b.Start())
				load = append(load, b)
			}
			select {
			case measured = <-done:
				over = true
			case <-time.After(time.Duration(4+random.IntN(8)) * time.Second):
			}
			for _, b := range load {
				_ = b.Process.Kill()
				_ = b.Wait()
			}
		}
		if measured != nil {
			t.Fatalf("night %d: %v", night, measured)
		}
		t.Logf("%s night %d, %s, %.0f s", begun.Format(time.TimeOnly), night, regime, time.Since(begun).Seconds())
	}
}

// again returns a command that runs one test of this binary with variables in its environment.
func again(t *testing.T, test string, variables ...string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$")
	c.Env = append(os.Environ(), variables...)
	c.Stderr = os.Stderr
	return c
}

// TestMeasureNoise is the process of one recorded night. It appends the night's rows.
func TestMeasureNoise(t *testing.T) {
	path := os.Getenv("ROLLCALL_TEST_NOISE")
	night, regime, ok := strings.Cut(os.Getenv("ROLLCALL_TEST_NIGHT"), " ")
	if path == "" || !ok {
		t.Skip("part of TestRecordNoise")
	}
	b := &Bench{
		Suite: noiseSuite(), Machine: run.Machine{Device: "cpu", Threads: 2, Out: t.TempDir()}, Stderr: t.Output(),
	}
	values := must.Get(b.Measure(t.Context()))(t)
	f := must.Get(os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644))(t)
	out := csv.NewWriter(f)
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
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
		_ = out.Write([]string{night, regime, v.Metric, v.Unit, list(v.Wall), list(v.Processor), list(v.Reference)})
	}
	out.Flush()
	must.OK(t, errors.Join(out.Error(), f.Close()))
}

// TestBurn is another load, until it is killed: one of arithmetic, or one of memory that no cache holds.
func TestBurn(t *testing.T) {
	from, to := make([]byte, 64<<20), make([]byte, 64<<20)
	switch os.Getenv("ROLLCALL_TEST_BURN") {
	case "cpu":
		x := 1.0
		for t.Context().Err() == nil {
			for range 1 << 20 {
				x = x*0.999 + 0.1
			}
		}
		t.Log(x)
	case "memory":
		for t.Context().Err() == nil {
			copy(to, from)
		}
		t.Log(slices.Max(to))
	default:
		t.Skip("part of TestRecordNoise")
	}
}
