package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/nets/cpu"
	"rollcall/nets/gpu"
)

// devicesCommand is `rollcall devices`: the values that --device takes on this machine, and why a card cannot be used.
func (a *app) devicesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "devices", Short: "List the processors that can train", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			best, err := cpu.Select()
			if err != nil {
				return err
			}
			// best is what runs use, and may be forced by $ROLLCALL_CPU; names is what the processor could run.
			var names []string
			for _, k := range cpu.Variants() {
				names = append(names, k.Name())
			}
			var b strings.Builder
			fmt.Fprintf(&b, "cpu      %s, %d threads, kernels %s (of %s)\n", cpu.Model(), runtime.GOMAXPROCS(0),
				best.Name(), strings.Join(names, ", "))
			cards, err := gpu.Cards()
			if err != nil { // no failure of the command: the CPU can train
				fmt.Fprintf(&b, "cuda     none: %v\n", err)
			}
			for _, c := range cards {
				state := "usable"
				if c.Unusable != "" {
					state = "unusable: " + c.Unusable
				}
				fmt.Fprintf(&b, "cuda:%-3d %s, %.1f GiB, %d multiprocessors, "+
					"compute capability %s, driver for CUDA %s: %s\n",
					c.Index, c.Name, float64(c.Memory)/(1<<30), c.Multiprocessors, c.Capability, c.Driver, state)
			}
			_, err = io.WriteString(a.stdout, b.String())
			return err
		},
	}
}
