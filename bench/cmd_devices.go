package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"rollcall/nets/cpu"
	"rollcall/nets/gpu"
)

func (a *app) devicesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "devices", Short: "List the processors that can train", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			best, err := cpu.Select()
			if err != nil {
				return err
			}
			var names []string
			for _, k := range cpu.Variants() {
				names = append(names, k.Name())
			}
			if _, err := fmt.Fprintf(a.stdout, "cpu      %s, %d threads, kernels %s (of %s)\n", cpu.Model(), runtime.GOMAXPROCS(0), best.Name(), strings.Join(names, ", ")); err != nil {
				return err
			}
			cards, err := gpu.Cards()
			if err != nil {
				_, err = fmt.Fprintf(a.stdout, "cuda     none: %v\n", err)
				return err
			}
			for _, c := range cards {
				state := "usable"
				if c.Unusable != "" {
					state = "unusable: " + c.Unusable
				}
				_, err := fmt.Fprintf(a.stdout, "cuda:%-3d %s, %.1f GiB, %d multiprocessors, compute capability %s, driver for CUDA %s: %s\n",
					c.Index, c.Name, float64(c.Memory)/(1<<30), c.Multiprocessors, c.Capability, c.Driver, state)
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}
