package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/datasets/plan"
	"rollcall/internal/files"
	"rollcall/internal/memory"
	"rollcall/nets"
	"rollcall/nets/cpu"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu"
	"rollcall/nets/models"
)

// Machine is where a run computes and where its files go. It does not change the settings of a run.
type Machine struct {
	Device    string         // auto, cpu, or cuda[:i]; with AtOnce also cuda:all and lists, cuda:0,2
	Precision string         // tf32, fp32, bf16 or bf16x3; empty: the device's default
	Threads   int            // threads of the CPU engine, in all sessions together
	DataDir   string         // folder of the data sets; empty: the default of package datasets
	Altered   bool           // accept data files that are not the official ones
	Out       string         // folder of everything that is written
	Events    bool           // write TensorBoard event files
	Memory    memory.Ceiling // the most memory that runs may hold
	Rows      string         // where the rows of a CPU engine are: memory or file, in a file below Out; empty: memory
	AtOnce    int            // runs at a time, on each card; 0: the command trains a single run
	auto      bool           // --device was auto, which has chosen the card in Device

	Methods algos.Process // how methods in files run; Output and Rehearsal are the run's own

	CheckpointEvery time.Duration // the least time between two checkpoints of a run; 0: none
	KeepCheckpoints bool          // keep checkpoints of complete runs
	Grace           time.Duration // time that an interrupted run has to end
	Plan            bool          // print what the command would do, and do nothing
}

// The values of Rows.
const (
	RowsInMemory = "memory"
	rowsInFile   = "file"
)

// RowsInFile reports whether the rows of an engine are in a file.
func (m *Machine) RowsInFile() bool { return m.Rows == rowsInFile }

// Validate reports the first impossible flag, or that the processor cannot train, before a data set is opened.
func (m *Machine) Validate() error {
	// A bound against slips of the finger: every thread holds the activations of a client.
	if most := max(64, 4*runtime.NumCPU()); m.Threads < 1 || m.Threads > most {
		return settings.Usagef("--threads %d: want 1 … %d", m.Threads, most)
	}
	if err := settings.OneOf("rows", cmp.Or(m.Rows, RowsInMemory), []string{RowsInMemory, rowsInFile}); err != nil {
		return err
	}
	if m.RowsInFile() && !cpu.MapsRows {
		return settings.Usagef("--rows file: on Linux alone, want --rows memory")
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
	if err := m.ValidateDevice(); err != nil {
		return err
	}
	if err := m.validatePrecision(); err != nil {
		return err
	}
	c, err := m.Choose()
	if err != nil {
		return err
	}
	if err := m.offers(c); err != nil || c.CUDA {
		return err
	}
	_, err = m.CPUChoice() // ROLLCALL_CPU may ask for instructions that this processor lacks
	return err
}

// validatePrecision reports a --precision that no engine has, or that the engine of --device lacks. It looks for no
// card, whose absence would be a worse reason than a word that cannot be meant.
func (m *Machine) validatePrecision() error {
	_, onCUDA := gpu.ParsePrecision(m.Precision)
	_, onCPU := kernels.ParsePrecision(m.Precision)
	if onCUDA != nil && onCPU != nil {
		return settings.Usagef("--precision %q: want tf32, fp32, bf16 or bf16x3", m.Precision)
	}
	if m.Device == "auto" {
		return nil
	}
	return m.offers(Choice{CUDA: m.Device != "cpu"})
}

// offers reports a --precision or --rows that the chosen engine lacks.
func (m *Machine) offers(c Choice) error {
	if m.RowsInFile() && c.CUDA {
		return settings.Usagef("--rows file: the CUDA engine, which runs here%s, has them on the card, "+
			"want --device cpu", c.why)
	}
	engine, has := "CPU", "fp32, bf16 and bf16x3"
	_, err := kernels.ParsePrecision(m.Precision)
	if c.CUDA {
		engine, has = "CUDA", "tf32, fp32 and bf16"
		_, err = gpu.ParsePrecision(m.Precision)
	}
	if err != nil {
		return settings.Usagef("--precision %s: the %s engine, which runs here%s, has %s",
			m.Precision, engine, c.why, has)
	}
	return nil
}

// ValidateDevice reports a --device that is no name of a processor, or that names several for a single run.
func (m *Machine) ValidateDevice() error {
	if SeveralCards(m.Device) {
		if m.AtOnce == 0 {
			return settings.Usagef("--device %s: want one card, cuda[:i]: only table, figure, sweep and tune, which "+
				"make many runs, train on several", m.Device)
		}
		_, _, err := parseCards(m.Device)
		return err
	}
	kind, index, isCUDA := strings.Cut(m.Device, ":")
	// Only digits are an index: strconv.Atoi would take a sign too.
	if isCUDA && (kind != "cuda" || index == "" || strings.Trim(index, "0123456789") != "") {
		return settings.Usagef("--device %q: want auto, cpu or cuda[:i]", m.Device)
	}
	return settings.OneOf("device", kind, []string{"auto", "cpu", "cuda"})
}

// Choice is the processor that trains.
type Choice struct {
	CUDA   bool
	Card   int    // index of the card, as `rollcall devices` counts
	engine string // such as cuda-sm90
	why    string // " (auto: …)"; empty if the user chose
}

// whyFirst is [Choice].why of a card that auto has chosen.
const whyFirst = " (auto: the first usable card)"

// Choose finds the processor that --device asks for. auto is the first usable card, or else the CPU. Of several cards,
// which are alike, it is the first.
func (m *Machine) Choose() (Choice, error) {
	if SeveralCards(m.Device) {
		several, err := m.cards()
		if err != nil {
			return Choice{}, err
		}
		first := several.Cards[0]
		return Choice{CUDA: true, Card: first.Index, engine: first.Engine()}, nil
	}
	kind, index, _ := strings.Cut(m.Device, ":")
	if kind == "cpu" {
		return Choice{}, nil
	}
	there, err := gpu.Cards()
	if kind == "auto" {
		if gpu.NoCard(err) {
			return Choice{why: " (no NVIDIA GPU; using the CPU)"}, nil
		}
		if err != nil {
			return Choice{why: fmt.Sprintf(" (auto: %v)", err)}, nil
		}
		for _, c := range there {
			if c.Unusable == "" {
				return Choice{CUDA: true, Card: c.Index, engine: c.Engine(), why: whyFirst}, nil
			}
		}
		return Choice{why: fmt.Sprintf(" (auto: card 0, %s: %s)", there[0].Name, there[0].Unusable)}, nil
	}
	card, _ := strconv.Atoi(index) // no index: the first card; too large for an int: the largest int, which no card has
	switch {
	case err != nil:
		return Choice{}, &CardError{fmt.Errorf("device %s: %w", m.Device, err)}
	case card >= len(there):
		return Choice{}, &CardError{fmt.Errorf("device %s: gpu: no such card, there are %d (rollcall devices lists "+
			"them)", m.Device, len(there))}
	case there[card].Unusable != "":
		return Choice{}, &CardError{fmt.Errorf("device %s: %s: %s", m.Device, there[card].Name, there[card].Unusable)}
	}
	c := Choice{CUDA: true, Card: card, engine: there[card].Engine()}
	if m.auto {
		c.why = whyFirst
	}
	return c, nil
}

// OnCard reports whether the machine has the card that --device asks for, or any with auto.
func (m *Machine) OnCard() bool {
	c, err := m.Choose()
	return err == nil && c.CUDA
}

// Numerics returns the class of the numbers that the engine of this machine computes, such as cpu-fp32, and the
// revision of the engine. Runs with other ones have other last digits.
func (m *Machine) Numerics() (class string, revision int, err error) {
	c, err := m.Choose()
	if err != nil {
		return "", 0, err
	}
	if c.CUDA {
		return nets.Numerics(c.engine, string(m.cardPrecision())), gpu.Revision, nil
	}
	choice, err := m.CPUChoice()
	if err != nil {
		return "", 0, err
	}
	return nets.Numerics("cpu-"+choice.Name(), string(m.cpuPrecision())), cpu.Revision, nil
}

// CPUChoice returns the variants of kernels that the CPU engine uses with --precision.
func (m *Machine) CPUChoice() (kernels.Choice, error) { return kernels.Select(m.cpuPrecision()) }

// cpuPrecision returns the precision of the CPU engine. Validate has checked it.
func (m *Machine) cpuPrecision() kernels.Precision {
	return cmp.Or(kernels.Precision(m.Precision), kernels.FP32)
}

// Demand is the work that an engine is opened for: the size of a batch and, if they are known, the clients and local
// steps of a round, for which the engine of a card says how much memory they will take. 0 clients: not known.
type Demand struct{ Batch, clients, steps int }

// OpenEngine opens the engine that a command asks for. It also returns a line that says which engine it is and why. The
// caller writes lines from notice, once for each key.
func (m *Machine) OpenEngine(
	model *models.Model, train, test *plan.Samples, w Demand, notice func(key, line string),
) (nets.Engine, string, error) {
	c, err := m.Choose()
	if err != nil {
		return nil, "", err
	}
	var e nets.Engine
	more := ""
	if c.CUDA {
		e, err = gpu.Open(model, train, test, gpu.Options{
			Device: c.Card, Precision: gpu.Precision(m.Precision), Batch: w.Batch, Clients: w.clients, Steps: w.steps,
			Notice: notice,
		})
	} else {
		var on *cpu.Engine
		options := cpu.Options{Threads: m.Threads, Batch: w.Batch, Precision: m.cpuPrecision()}
		if m.RowsInFile() {
			options.RowsDir = m.Out
		}
		on, err = cpu.Open(model, train, test, options)
		if err == nil {
			e, more = on, ", "+files.Count(m.Threads, "thread")
			if lost := on.Lost(); lost != "" { // why a faster variant of the kernels cannot be used
				more += " (" + lost + ")"
			}
		}
	}
	if err != nil {
		return nil, "", err
	}
	info := e.Info()
	return e, fmt.Sprintf("device: %s, %s, %s%s%s", info.Engine, info.Device, info.Precision, more, c.why), nil
}

// Writable creates a folder and checks that files can be written there, before hours are spent on a run. leave removes
// the folders that Writable created, if they are still empty.
func Writable(dir string) (leave func(), err error) {
	made, err := files.MakeFolders(dir)
	leave = func() { files.RemoveEmpty(made) }
	if err == nil {
		err = os.MkdirAll(dir, 0o777) // reports what is in the place of a folder
	}
	if err == nil {
		var f *os.File // permissions alone do not show that a file system is read-only
		if f, err = files.CreateTemp(dir); err == nil {
			err = errors.Join(os.Remove(f.Name()), f.Close())
		}
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) { // a link whose target is not there is on the way
		for above := dir; above != filepath.Dir(above); above = filepath.Dir(above) {
			if to, no := os.Readlink(above); no == nil {
				err = fmt.Errorf("%s is a link to %s, which is not there", above, to)
				break
			}
		}
	}
	if err != nil {
		leave()
		return nil, fmt.Errorf("output folder %s: %w, want a folder that can be written to", dir, files.Cause(err))
	}
	return leave, nil
}
