// Command check assembles the committed PTX with NVIDIA's assemblers, for three architectures, and compares registers,
// spills, local memory and the instructions of the named loops with the limits in nets/gpu/sass/limits.csv. Then it
// compares what package ptx computes with what the assembler computes of constants. Run it in the root of the
// repository; `make check-ptx` does.
//
// With -update it writes the limits anew, and compares nothing. The exit status is 1 if a kernel does not assemble or
// is over its limits, if a result differs, or if no assembler can be had; with -optional the latter is no failure, and
// said.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"

	"rollcall/internal/files"
	"rollcall/nets/gpu/kernels"
	"rollcall/nets/gpu/sass"
)

const limits = "nets/gpu/sass/limits.csv"

func main() {
	update := flag.Bool("update", false, "write the limits anew")
	optional := flag.Bool("optional", false, "do nothing, and say so, where no assembler can be had")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *update)
	stop()
	switch {
	case err == nil:
	case *optional && errors.Is(err, sass.ErrUnavailable):
		fmt.Println("check: left out:", err)
	default:
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, update bool) error {
	for _, h := range sass.Headers {
		if _, err := sass.Fetch(ctx, h); err != nil {
			return err
		}
	}
	assemblers, err := sass.Assemblers(ctx)
	if err != nil {
		return err
	}
	found, err := assembleAll(ctx, assemblers)
	if err != nil {
		return err
	}
	fmt.Println(summary(found))
	var text bytes.Buffer
	if err := found.Write(&text); err != nil {
		return err
	}
	if update {
		return os.WriteFile(limits, text.Bytes(), 0o644)
	}
	old, err := os.ReadFile(limits)
	if err != nil {
		return err
	}
	table, err := sass.ReadTable(old)
	if err != nil {
		return err
	}
	if over := found.Exceeds(table); len(over) > 0 {
		return fmt.Errorf("%d over the limits of %s:\n%s", len(over), limits, strings.Join(over, "\n"))
	}
	if !bytes.Equal(old, text.Bytes()) {
		fmt.Printf("some are below the limits of %s: `make limits` writes these\n", limits)
	}
	said, err := compareFolded(ctx, assemblers[len(assemblers)-1])
	if said != "" {
		fmt.Println(said)
	}
	return err
}

// assembleAll assembles every module for every target, on all processors, and returns what it found.
func assembleAll(ctx context.Context, assemblers []*sass.Assembler) (sass.Table, error) {
	type job struct {
		assembler *sass.Assembler
		target    string
		module    kernels.Module
	}
	var jobs []job
	for _, a := range assemblers {
		for _, target := range a.Targets {
			for _, m := range kernels.Modules() {
				jobs = append(jobs, job{a, target, m})
			}
		}
	}
	table := sass.Table{}
	var faults []error
	var lock sync.Mutex
	err := files.Parallel(ctx, len(jobs), func(i int) {
		j := jobs[i]
		code, err := j.assembler.Assemble(ctx, j.target, j.module.Name, j.module.PTX)
		lock.Lock()
		defer lock.Unlock()
		faults = append(faults, err)
		for _, k := range code {
			if err := table.Add(j.target, k); err != nil {
				faults = append(faults, fmt.Errorf("%w (CUDA %s)", err, j.assembler.Release))
			}
		}
	})
	return table, cmp.Or(err, errors.Join(faults...))
}

// summary says what was assembled.
func summary(t sass.Table) string {
	names, loops, targets := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for k := range t {
		names[k.Kernel], targets[k.Target] = true, true
		if k.Loop != "" {
			loops[k.Kernel+" "+k.Loop] = true
		}
	}
	return fmt.Sprintf("check: %d kernels of %d files, %d named loops, %d architectures: no spills, no local memory",
		len(names), len(kernels.Modules()), len(loops), len(targets))
}
