package nightly

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"rollcall/bench/run"
	"rollcall/internal/files"
	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/cpu/kernels/reference"
	"rollcall/nets/gpu"
	"rollcall/results/stats"
	"rollcall/results/track"
)

// machineOf returns the description of the machine that an engine runs on. The caller adds the suite.
func machineOf(info nets.Info, c run.Choice, threads int) (track.Machine, error) {
	m := track.Machine{
		OS: runtime.GOOS + "/" + runtime.GOARCH, CPU: kernels.Model(), CPUs: runtime.NumCPU(), Threads: threads,
		Engine: info.Engine, Device: info.Device, Precision: info.Precision,
	}
	if !c.CUDA {
		m.Clocks = cpuClocks("/sys/devices/system/cpu")
		return m, nil
	}
	cards, err := gpu.Cards()
	if err != nil {
		return m, err
	}
	m.Driver = "CUDA " + cards[c.Card].Driver
	if module := driverModule("/proc/driver/nvidia/version"); module != "" {
		m.Driver = module + ", " + m.Driver
	}
	m.Clocks, err = cardClocks(cards[c.Card].Name)
	return m, err
}

// loops sets the reference loops, in the instructions of the engine: on all its threads, and on one for the kernels.
func (b *Bench) loops() error {
	c, err := b.Machine.CPUChoice()
	if err != nil {
		return err
	}
	b.all, b.one = reference.New(c.Name(), b.Machine.Threads), reference.New(c.Name(), 1)
	return nil
}

// cpuClocks returns the limits of the first processor's clock, its governor, and whether it may boost; empty where the
// system does not say, as in most virtual machines. The present clock is left out, because it is no property of a
// machine.
func cpuClocks(dir string) string {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	var parts []string
	low, lowErr := strconv.Atoi(read("cpu0/cpufreq/cpuinfo_min_freq"))
	high, highErr := strconv.Atoi(read("cpu0/cpufreq/cpuinfo_max_freq"))
	if lowErr == nil && highErr == nil {
		parts = append(parts, fmt.Sprintf("%d-%d MHz", low/1000, high/1000)) // the files have kHz
	}
	if governor := read("cpu0/cpufreq/scaling_governor"); governor != "" {
		parts = append(parts, governor)
	}
	// Which of the two files there is depends on the driver of the clocks, and they say the opposite.
	boost, noTurbo := read("cpufreq/boost"), read("intel_pstate/no_turbo")
	switch {
	case boost == "1" || noTurbo == "0":
		parts = append(parts, "boost")
	case boost == "0" || noTurbo == "1":
		parts = append(parts, "no boost")
	}
	return strings.Join(parts, " ")
}

// cpuMHz returns the present mean clock of the processors by /proc/cpuinfo; 0 where the system does not say.
func cpuMHz(path string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	var clocks []float64
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) != "cpu MHz" {
			continue
		}
		if mhz, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && mhz > 0 {
			clocks = append(clocks, mhz)
		}
	}
	return math.Round(stats.Mean(clocks).Value)
}

// driverModule returns the version of NVIDIA's kernel module, such as 580.65.06; empty if it is not loaded.
func driverModule(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:29:21 UTC 2025"
	first, _, _ := strings.Cut(string(text), "\n")
	for word := range strings.FieldsSeq(first) {
		if strings.Contains(word, ".") && strings.Trim(word, "0123456789.") == "" {
			return word
		}
	}
	return ""
}

// cardClocks returns the limits of clocks and power of the cards of a name, as nvidia-smi prints them; empty if there
// is no nvidia-smi. An nvidia-smi that fails is an error: these limits are a part of the machine's fingerprint, and
// without them the night would go to the history of another machine.
func cardClocks(name string) (string, error) {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--query-gpu=name,clocks.max.sm,clocks.max.mem,power.limit",
		"--format=csv,noheader").Output()
	if err != nil {
		return "", fmt.Errorf("track: nvidia-smi: %w, want the limits of the card's clocks", err)
	}
	return limitsOf(string(out), name), nil
}

// limitsOf returns the limits in nvidia-smi's output of the cards of a name, each once and sorted: neither the number
// nor the order of the cards is to change the fingerprint.
func limitsOf(lines, name string) string {
	var limits []string
	for line := range strings.Lines(lines) {
		card, rest, _ := strings.Cut(line, ",")
		if strings.TrimSpace(card) == name {
			limits = append(limits, strings.Join(strings.Fields(strings.ReplaceAll(rest, ",", " ")), " "))
		}
	}
	return strings.Join(files.SortedSet(limits), " or ")
}
