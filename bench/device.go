package main

import (
	"cmp"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/gpu"
)

// machineFlags say where a run computes and where its files go; they do not change what it computes.
type machineFlags struct {
	Device    string
	Precision string
	Threads   int
	DataDir   string
	Altered   bool
	Out       string
	Events    bool
	Pack      int // runs at a time; 0 where a command makes one alone
}

func (m *machineFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&m.Device, "device", "auto", "auto, cpu, or cuda[:i]")
	fs.StringVar(&m.Precision, "precision", "", "of matrix products: tf32, fp32 or bf16 on CUDA (default tf32); the CPU engine has fp32")
	fs.IntVar(&m.Threads, "threads", runtime.GOMAXPROCS(0), "threads of the CPU engine; results do not depend on them")
	fs.StringVar(&m.DataDir, "data-dir", "", "folder of the data sets (default: $ROLLCALL_DATA, then the user's cache folder)")
	fs.BoolVar(&m.Altered, "allow-altered", false, "accept well-formed data files that are not the official ones; run.json records their checksum")
	fs.StringVar(&m.Out, "out", "out", "folder of everything that is written")
}

func (m *machineFlags) validate() error {
	if most := maxThreads(); m.Threads < 1 || m.Threads > most {
		return usagef("--threads %d: want 1 … %d", m.Threads, most)
	}
	if m.Out == "" {
		return usagef("--out: empty, want a folder")
	}
	kind, index, isCUDA := strings.Cut(m.Device, ":")
	if isCUDA && (kind != "cuda" || index == "" || strings.Trim(index, "0123456789") != "") {
		return usagef("--device %q: want auto, cpu or cuda[:i]", m.Device)
	}
	if err := oneOf("device", kind, []string{"auto", "cpu", "cuda"}); err != nil {
		return err
	}
	if _, err := gpu.ParsePrecision(m.Precision); err != nil {
		return usagef("--precision %q: want tf32, fp32 or bf16", m.Precision)
	}
	// What cannot train is told before a data set is read or downloaded.
	c, err := m.choose()
	if err != nil {
		return err
	}
	if c.cuda {
		return nil
	}
	if m.Precision != "" && m.Precision != string(gpu.FP32) {
		return usagef("--precision %s: the CPU engine, which runs here%s, has fp32 alone", m.Precision, c.why)
	}
	_, err = cpu.Select()
	return err
}

// maxThreads is far above what helps: every thread has the activations of a client in memory.
func maxThreads() int { return max(64, 4*runtime.NumCPU()) }

// choice is the processor that trains.
type choice struct {
	cuda bool
	card int
	why  string // " (auto: …)", or nothing where the user said it
}

// choose finds the processor that --device asks for: with auto the first usable card, or else the CPU.
func (m *machineFlags) choose() (choice, error) {
	kind, index, _ := strings.Cut(m.Device, ":")
	if kind == "cpu" {
		return choice{}, nil
	}
	cards, err := gpu.Cards()
	if kind == "auto" {
		if err != nil {
			return choice{why: fmt.Sprintf(" (auto: %v)", err)}, nil
		}
		for _, c := range cards {
			if c.Unusable == "" {
				return choice{cuda: true, card: c.Index, why: " (auto: the first usable card)"}, nil
			}
		}
		return choice{why: fmt.Sprintf(" (auto: card 0, %s: %s)", cards[0].Name, cards[0].Unusable)}, nil
	}
	card, _ := strconv.Atoi(index) // no index: the first card
	switch {
	case err != nil:
		return choice{}, fmt.Errorf("device %s: %w", m.Device, err)
	case card >= len(cards):
		return choice{}, fmt.Errorf("device %s: gpu: no such card, there are %d (rollcall devices lists them)", m.Device, len(cards))
	case cards[card].Unusable != "":
		return choice{}, fmt.Errorf("device %s: %s: %s", m.Device, cards[card].Name, cards[card].Unusable)
	}
	return choice{cuda: true, card: card}, nil
}

// demand is what an engine is opened for: batches of so many samples, and, if they are known, rounds of so many clients and steps.
type demand struct{ batch, clients, steps int }

// openEngine opens the engine a command asks for, and says in a line which one it is and why.
func (m *machineFlags) openEngine(model *nets.Model, train, test *plan.Samples, w demand, notice func(string)) (nets.Engine, string, error) {
	c, err := m.choose()
	if err != nil {
		return nil, "", err
	}
	var e nets.Engine
	how := string(cmp.Or(gpu.Precision(m.Precision), gpu.TF32))
	if c.cuda {
		e, err = gpu.Open(model, train, test, gpu.Options{Device: c.card, Precision: gpu.Precision(m.Precision), Batch: w.batch, Clients: w.clients, Steps: w.steps, Notice: notice})
	} else {
		e, err = nets.NewCPU(model, train, test, nets.CPUOptions{Threads: m.Threads, Batch: w.batch})
		how = fmt.Sprintf("%d threads", m.Threads)
	}
	if err != nil {
		return nil, "", err
	}
	info := e.Info()
	return e, fmt.Sprintf("device: %s, %s, %s%s", info.Engine, info.Device, how, c.why), nil
}

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
				names = append(names, k.Name)
			}
			if _, err := fmt.Fprintf(a.stdout, "cpu      %s, %d threads, kernels %s (of %s)\n", cpu.Model(), runtime.GOMAXPROCS(0), best.Name, strings.Join(names, ", ")); err != nil {
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
