package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/bench/nightly"
	"rollcall/bench/run"
	"rollcall/results/track"
)

// trackRunCommand is `rollcall track run`: one night of measurements, usually started by cron.
func (a *app) trackRunCommand() *cobra.Command {
	var t trackFlags
	var m run.Machine
	s := nightly.StandardSuite()
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure the standard workloads and append them to the machine's history",
		Long: `run measures rounds, client-steps and evaluations with the nets and the shapes of cifar10, svhn and
cinic10 on generated data (nothing is downloaded), the server's arithmetic, and the kernels of a
client-step; it appends the night to the history of the machine's fingerprint and says whether something became slower.
An interrupted night is not appended. If $` + nightly.WebhookVariable + ` is set, the verdict is posted there as JSON.`,
		Example: `  rollcall track run
  rollcall track run --device cuda:0 --precision tf32 --history /srv/rollcall/history`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.validateVerdict(); err != nil {
				return err
			}
			if err := s.Validate(); err != nil {
				return err
			}
			m.Out = t.history // Validate wants an output folder, and the history is the only one
			if err := m.Validate(); err != nil {
				return failed(err)
			}
			return a.trackRun(cmd.Context(), t, &nightly.Bench{Suite: s, Machine: m, Stderr: a.stderr})
		},
	}
	fs := cmd.Flags()
	t.registerVerdict(cmd)
	machine := pflag.NewFlagSet("", pflag.ContinueOnError) // a night reads no data set and writes to the history alone
	registerMachine(machine, &m)
	for _, name := range []string{"device", "precision", "threads"} {
		fs.AddFlag(machine.Lookup(name))
	}
	fs.IntVar(&s.Samples, "samples", s.Samples, "of every metric")
	fs.IntVar(&s.Passes, "passes", s.Passes, "in which the samples are taken, each with its own engine")
	fs.IntVar(&s.Clients, "clients", s.Clients, "clients that train in a round; another number is another history")
	return cmd
}

// nightBench measures a night. It is an interface so that tests need not measure for minutes. Identify says which
// machine this is, so that a history that cannot take the night is found before it is measured.
type nightBench interface {
	Identify() (track.Machine, error)
	Measure(ctx context.Context) ([]track.Measurement, error)
	Conditions() track.Conditions // after Measure
}

// trackRun measures a night, appends it to the history, and prints and posts the verdict. If posting fails it logs that
// and keeps its exit status: what a machine measured does not depend on a web server.
func (a *app) trackRun(ctx context.Context, t trackFlags, bench nightBench) error {
	hook := os.Getenv(nightly.WebhookVariable)
	if err := nightly.CheckWebhook(hook); err != nil {
		return failed(err)
	}
	v, err := a.night(ctx, t, bench)
	if err != nil {
		return failed(err)
	}
	slower := a.say([]track.Verdict{v}, t.format)
	if hook != "" {
		if err := nightly.PostVerdict(ctx, hook, v); err != nil {
			logErrors(a.stderr, err)
		}
	}
	return slower
}

// night measures one night, appends it to the machine's history, and judges the history.
func (a *app) night(ctx context.Context, t trackFlags, bench nightBench) (v track.Verdict, err error) {
	// The writer locks the folder for the whole night: two nights at once would slow each other down.
	w, err := track.NewWriter(t.history)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	machine, err := bench.Identify()
	if err != nil {
		return v, err
	}
	if err := w.Check(machine); err != nil {
		return v, err
	}
	begun := time.Now().Truncate(time.Second) // the run's name has whole seconds
	run.Logf(a.stderr, "track: %s\n", machine)
	values, err := bench.Measure(ctx)
	if err != nil {
		return v, err
	}
	n := track.Night{
		Run: track.RunName(begun), Time: begun, Version: run.Version(), Go: runtime.Version(),
		Conditions: bench.Conditions(), Values: values,
	}
	for _, line := range nightly.Warnings(machine, n) {
		run.Logf(a.stderr, "track: %s\n", line)
	}
	if err := w.Append(machine, n); err != nil {
		return v, err
	}
	// Judge what is on disk, so that the verdict is the one that compare would give.
	h, bad := track.Read(w.Path(machine))
	logErrors(a.stderr, bad...)
	if h == nil || h.Machine != machine {
		return v, fmt.Errorf("track: %s: its first row is of another machine, want %s",
			w.Path(machine), machine.Fingerprint())
	}
	run.Logf(a.stderr, "track: run %s, %d metrics, %.0f s, %s\n",
		n.Run, len(values), time.Since(begun).Seconds(), h.Path)
	return track.Judge(h, t.rule.Trends(h), t.nights), nil
}
