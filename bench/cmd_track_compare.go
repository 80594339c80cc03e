package main

import (
	"github.com/spf13/cobra"

	"rollcall/results/track"
)

// trackCompareCommand is `rollcall track compare`: the shifts of speed in histories that are there already.
func (a *app) trackCompareCommand() *cobra.Command {
	var t trackFlags
	var fingerprint string
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Say which shifts the histories show",
		Long: `compare goes through every history night by night and reports the shifts, each with the first run
that shows it. A machine is compared only with itself. Status 1: one of the last --nights nights confirmed a
regression.`,
		Example: `  rollcall track compare
  rollcall track compare --fingerprint 3fa9 --nights 7 --format json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := t.validateVerdict(); err != nil {
				return err
			}
			histories, err := a.histories(t.history, fingerprint)
			if err != nil {
				return err
			}
			var verdicts []track.Verdict
			for _, h := range histories {
				verdicts = append(verdicts, track.Judge(h, t.rule.Trends(h), t.nights))
			}
			return a.say(verdicts, t.format)
		},
	}
	t.registerVerdict(cmd)
	cmd.Flags().StringVar(&fingerprint, "fingerprint", "", "the machine whose fingerprint begins so (default: all)")
	return cmd
}
