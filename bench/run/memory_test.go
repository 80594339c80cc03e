package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/nets"
)

// rowsOf is an engine that counts the rows it is asked for.
type rowsOf struct {
	nets.Engine
	rows int
}

func (e *rowsOf) NewBank(rows int) (nets.Bank, error) {
	e.rows += rows
	return e.Engine.NewBank(rows)
}

// tiny returns the settings of a run of linear models that takes no time.
func tiny(t *testing.T, method string) settings.Settings {
	t.Helper()
	s := must.Get(settings.Defaults(method, "code", "binary"))(t)
	s.Clients, s.Rounds, s.LocalSteps, s.Batch, s.EvalEvery = 12, 30, 2, 4, 30
	for _, rate := range ratesOf(t, method) {
		name, value, _ := strings.Cut(rate, "=")
		must.OK(t, s.Set(name, value))
	}
	return s
}

// onCPU returns a session on the CPU whose runs may hold so much.
func onCPU(t *testing.T, limit string) *Session {
	t.Helper()
	t.Setenv("GOMEMLIMIT", "off") // the limits are not for the other tests
	ses := &Session{Machine: Machine{Device: "cpu", Threads: 2}, Stderr: io.Discard}
	must.OK(t, ses.Machine.Memory.Set(limit))
	t.Cleanup(func() {
		if err := ses.Close(); err != nil {
			t.Error(err)
		}
	})
	return ses
}

// A dry run asks for as many rows as the run itself, whatever the method, and for fewer at the start, where it is one
// that goes on to take more; only ca-fed, which leaves clients out by their losses, may come to hold fewer.
func TestDryRunCountsRows(t *testing.T) {
	grown := 0
	for _, method := range algos.Names() {
		for _, momentum := range []float64{0, 0.5} {
			t.Run(fmt.Sprintf("%s/momentum=%g", method, momentum), func(t *testing.T) {
				s := tiny(t, method)
				s.Momentum = momentum
				ses := onCPU(t, "off")
				must.OK(t, ses.Open(t.Context(), &s, 3))
				clients := must.Get(Populate(ses.Data, &s, 3))(t)
				dry := &rowCounter{samples: [2]int{ses.Data.Train.Len(), ses.Data.Test.Len()}}
				must.OK(t, dry.dryRun(t.Context(), &s, 3, clients))
				engine := &rowsOf{Engine: ses.Engine}
				f := must.Get(ses.Federate(t.Context(), s, 3, engine))(t)
				defer f.Method.Close()
				start := engine.rows
				for round := range s.Rounds {
					if _, _, err := f.round(t.Context(), round); err != nil {
						t.Fatal(err)
					}
				}
				must.Get(f.Method.Model())(t)
				if engine.rows > start {
					grown++
				}
				if dry.rows < engine.rows || dry.rows > engine.rows && method != "ca-fed" {
					t.Errorf("%d rows, want %d as the run has them", dry.rows, engine.rows)
				}
				if dry.load.Clients < 1 || dry.load.Jobs < 1 || dry.load.Samples < ses.Data.Test.Len() {
					t.Errorf("at most %+v at a time, want clients and the whole test set", dry.load)
				}
			})
		}
	}
	if grown < len(algos.Names()) {
		t.Errorf("%d runs took rows after their start, want at least %d", grown, len(algos.Names()))
	}
}

// A run that does not fit is refused by its method's first rows before its data are opened, or by all it comes to hold.
func TestMemoryRefused(t *testing.T) {
	for _, c := range []struct {
		method, limit string
		opened        bool
		want          []string
	}{
		{"mifa", "100MB", false, []string{
			"memory: mifa with 40 clients holds at least 43 rows of 551786 parameters 95 MB, activations ",
			", data 1 MB: ", "want at most 100 MB (--memory-limit)", "fewer --clients", "--memory-limit SIZE|off",
		}},
		{
			"fedavg-active", "100MB", true,
			[]string{
				"fedavg-active with 40 clients holds 41 rows of 551786 parameters 90 MB, ", "--batch, --rows file, ",
			},
		},
	} {
		t.Run(c.method, func(t *testing.T) {
			s, err := settings.Defaults(c.method, "code", "synthetic")
			if err != nil {
				t.Fatal(err)
			}
			s.Clients, s.Rounds, s.TrainSize, s.TestSize, s.Batch = 40, 5, 400, 50, 32
			s.P = files.Some(1)
			ses := onCPU(t, c.limit)
			err = ses.Open(t.Context(), &s, 3)
			e, ok := errors.AsType[*memoryError](err)
			if !ok || ses.Engine != nil || (ses.Data != nil) != c.opened {
				t.Fatalf("%v, engine %v, data %v, want an error of memory without an engine", err, ses.Engine, ses.Data)
			}
			for _, want := range c.want {
				if !strings.Contains(e.Error(), want) {
					t.Errorf("%q, want %q in it", e, want)
				}
			}
			if FitsAlone(err) {
				t.Error("it would fit without other runs, which there are not")
			}
			if !c.opened { // it is the rows that do not fit
				ses.Machine.Rows = rowsInFile
				must.OK(t, ses.Fits(&s))
				ses.Machine.Rows = RowsInMemory
			}
			must.OK(t, ses.Machine.Memory.Set("off"))
			if err := ses.Open(t.Context(), &s, 3); err != nil {
				t.Errorf("without a limit: %v", err)
			}
		})
	}
}

// What a run will hold is said once, if it is at least a hundredth of what there is.
func TestMemorySaid(t *testing.T) {
	s := tiny(t, "fedar")
	s.Net, s.Data, s.TrainSize, s.TestSize = "cnn-cifar10", "synthetic", 400, 50
	said := regexp.MustCompile(`^memory: fedar: 13 rows of 551786 parameters 29 MB, ` +
		`activations \d+ MB, data 1 MB; 1.0 GB available\n$`)
	for limit, want := range map[string]bool{"1GB": true, "100GB": false, "off": false} {
		ses := onCPU(t, limit)
		var log bytes.Buffer
		ses.Stderr = &log
		for range 2 {
			must.OK(t, ses.Open(t.Context(), &s, 3))
		}
		var lines strings.Builder
		for line := range strings.Lines(log.String()) {
			if strings.HasPrefix(line, "memory:") {
				lines.WriteString(line)
			}
		}
		if got := lines.String(); said.MatchString(got) != want || !want && got != "" {
			t.Errorf("limit %s: %q, want it said: %t", limit, got, want)
		}
	}
}
