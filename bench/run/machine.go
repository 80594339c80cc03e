package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"rollcall/bench/run/memory"
	"rollcall/bench/settings"
	"rollcall/datasets/plan"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/gpu"
	"rollcall/results/files"
)

// Machine say where a run computes and where its files go; they do not change what it computes.
type Machine struct {
	Device    string
	Precision string
	Threads   int
	DataDir   string
	Altered   bool
	Out       string
	Events    bool
	Memory    memory.Ceiling // on what runs hold
	AtOnce    int            // runs at a time; 0 where a command makes one alone

	CheckpointEvery time.Duration // the least time between two checkpoints of a run; 0: none
	KeepCheckpoints bool          // of complete runs too
	Grace           time.Duration // for runs that are to end
	Plan            bool          // a command says what it would do, and does not do it
}

// Validate reports the first impossible flag, and what cannot train here, before a data set is read or downloaded.
func (m *Machine) Validate() error {
	if most := maxThreads(); m.Threads < 1 || m.Threads > most {
		return settings.Usagef("--threads %d: want 1 … %d", m.Threads, most)
	}
	if m.CheckpointEvery < 0 {
		return settings.Usagef("--checkpoint-every %s: want 0 or more, 0 for none", m.CheckpointEvery)
	}
	if m.Grace < 0 {
		return settings.Usagef("--grace %s: want 0 or more", m.Grace)
	}
	if m.Out == "" {
		return settings.Usagef("--out: empty, want a folder")
	}
	kind, index, isCUDA := strings.Cut(m.Device, ":")
	if isCUDA && (kind != "cuda" || index == "" || strings.Trim(index, "0123456789") != "") {
		return settings.Usagef("--device %q: want auto, cpu or cuda[:i]", m.Device)
	}
	if err := settings.OneOf("device", kind, []string{"auto", "cpu", "cuda"}); err != nil {
		return err
	}
	if _, err := gpu.ParsePrecision(m.Precision); err != nil {
		return settings.Usagef("--precision %q: want tf32, fp32 or bf16", m.Precision)
	}
	// What cannot train is told before a data set is read or downloaded.
	c, err := m.Choose()
	if err != nil {
		return err
	}
	if c.CUDA {
		return nil
	}
	if m.Precision != "" && m.Precision != string(gpu.FP32) {
		return settings.Usagef("--precision %s: the CPU engine, which runs here%s, has fp32 alone", m.Precision, c.why)
	}
	_, err = cpu.Select()
	return err
}

// maxThreads is far above what helps: every thread has the activations of a client in memory.
func maxThreads() int { return max(64, 4*runtime.NumCPU()) }

// Choice is the processor that trains.
type Choice struct {
	CUDA   bool
	Card   int
	engine string // cuda-sm90 and the like
	why    string // " (auto: …)", or nothing where the user said it
}

// Choose finds the processor that --device asks for: with auto the first usable card, or else the CPU.
func (m *Machine) Choose() (Choice, error) {
	kind, index, _ := strings.Cut(m.Device, ":")
	if kind == "cpu" {
		return Choice{}, nil
	}
	cards, err := gpu.Cards()
	if kind == "auto" {
		if err != nil {
			return Choice{why: fmt.Sprintf(" (auto: %v)", err)}, nil
		}
		for _, c := range cards {
			if c.Unusable == "" {
				return Choice{CUDA: true, Card: c.Index, engine: c.Engine(), why: " (auto: the first usable card)"}, nil
			}
		}
		return Choice{why: fmt.Sprintf(" (auto: card 0, %s: %s)", cards[0].Name, cards[0].Unusable)}, nil
	}
	card, _ := strconv.Atoi(index) // no index: the first card
	switch {
	case err != nil:
		return Choice{}, fmt.Errorf("device %s: %w", m.Device, err)
	case card >= len(cards):
		return Choice{}, fmt.Errorf("device %s: gpu: no such card, there are %d (rollcall devices lists them)",
			m.Device, len(cards))
	case cards[card].Unusable != "":
		return Choice{}, fmt.Errorf("device %s: %s: %s", m.Device, cards[card].Name, cards[card].Unusable)
	}
	return Choice{CUDA: true, Card: card, engine: cards[card].Engine()}, nil
}

// Numerics returns the class of the numbers that the engine of this machine computes, and the engine's revision.
func (m *Machine) Numerics() (class string, revision int, err error) {
	c, err := m.Choose()
	if err != nil {
		return "", 0, err
	}
	if c.CUDA {
		return nets.Numerics(c.engine, string(cmp.Or(gpu.Precision(m.Precision), gpu.TF32))), gpu.Revision, nil
	}
	kernels, err := cpu.Select()
	if err != nil {
		return "", 0, err
	}
	return nets.Numerics("cpu-"+kernels.Name(), string(gpu.FP32)), nets.CPURevision, nil
}

// Demand is what an engine is opened for: batches of so many samples, and, if they are known, rounds of so many clients
// and steps.
type Demand struct{ Batch, clients, steps int }

// OpenEngine opens the engine a command asks for, and says in a line which one it is and why.
func (m *Machine) OpenEngine(
	model *nets.Model, train, test *plan.Samples, w Demand, notice func(key, line string),
) (nets.Engine, string, error) {
	c, err := m.Choose()
	if err != nil {
		return nil, "", err
	}
	var e nets.Engine
	how := string(cmp.Or(gpu.Precision(m.Precision), gpu.TF32))
	if c.CUDA {
		e, err = gpu.Open(model, train, test, gpu.Options{
			Device: c.Card, Precision: gpu.Precision(m.Precision), Batch: w.Batch, Clients: w.clients, Steps: w.steps,
			Notice: notice,
		})
	} else {
		e, err = nets.NewCPU(model, train, test, nets.CPUOptions{Threads: m.Threads, Batch: w.Batch})
		how = fmt.Sprintf("%d threads", m.Threads)
	}
	if err != nil {
		return nil, "", err
	}
	info := e.Info()
	return e, fmt.Sprintf("device: %s, %s, %s%s", info.Engine, info.Device, how, c.why), nil
}

// Writable creates a folder and checks that files can be made in it, before hours are spent. What is called at the end,
// leave, removes the folders that were created and stayed empty.
func Writable(dir string) (leave func(), err error) {
	made := missing(dir)
	leave = func() {
		for _, folder := range made {
			if os.Remove(folder) != nil {
				return // something is in it, and so in those above
			}
		}
	}
	if err = os.MkdirAll(dir, 0o777); err == nil {
		var f *os.File
		if f, err = files.CreateTemp(dir); err == nil {
			err = errors.Join(os.Remove(f.Name()), f.Close())
		}
	}
	if err != nil {
		leave()
		return nil, fmt.Errorf("output folder %s: %w, want a folder that can be written to", dir, cause(err))
	}
	return leave, nil
}

// cause drops operation and path from an error of the os package, where the text around it says both.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
