package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rollcall/bench/run"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/nets/cpu/kernels"
	"rollcall/nets/gpu"
	"rollcall/nets/gpu/selftest"
	"rollcall/nets/models"
)

// devicesCommand is `rollcall devices`: the values that --device takes on this machine, and why a card cannot be used.
func (a *app) devicesCommand() *cobra.Command {
	var check bool
	c := cardCheck{}
	cmd := &cobra.Command{
		Use: "devices", Short: "List the processors that can train, or check a card",
		Long: `devices lists the processor and the NVIDIA cards of this machine, and says why a card cannot be used.

--check tests whether card, driver and rollcall compute correctly together. It loads every CUDA kernel, trains small
rounds of several nets on each usable card in fp32, tf32 and bf16, and compares them with the CPU's. It needs no data
set and writes no file. The first start on a machine compiles the kernels, which may take a minute; later starts take
seconds. Each check prints a line that has, for example, "1 step 3.1e-07 ≤ 1.0e-05": after one step the weights are off
by 3.1e-07 of the update, and 1.0e-05 is the most that rounding explains. The last line of a card says right or WRONG.
The exit status is 0 if all is right, and 1 if anything is wrong or there is no usable card.`,
		Example: `  rollcall devices
  rollcall devices --check
  rollcall devices --check --device cuda:1 --nets cnn-cifar10,resnet18`,
		Args: noArgs,
	}
	fs := cmd.Flags()
	fs.BoolVar(&check, "check", false, "train on the cards and compare with the CPU")
	deviceFlag(fs, &c.device, "the card that --check checks: cuda[:i], or auto for every usable one; gpu is cuda")
	fs.StringSliceVar(&c.nets, "nets", selftest.Nets(), "the nets that --check trains: "+
		strings.Join(models.Names(), ", ")+", or the layers of your own, as texts or files with ; between them")
	completeWords(cmd, "device", []string{"auto", "cuda"})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if check {
			return a.checkCards(cmd.Context(), c)
		}
		for _, name := range []string{"device", "nets"} {
			if fs.Changed(name) {
				return settings.Usagef("devices: --%s: want it with --check", name)
			}
		}
		return a.listDevices()
	}
	return cmd
}

// kernelsOf says which variant of the kernels multiplies in each precision of the CPU engine, and which other kernels
// there are: "kernels avx512 (of generic, avx2, avx512); bf16 and bf16x3: amx". $ROLLCALL_CPU may force a variant. One
// that has no kernels for fp32 is no error while another precision has some.
func kernelsOf(choose func(kernels.Precision) (kernels.Choice, error)) (string, error) {
	names := []string{}
	for _, k := range kernels.Variants() {
		names = append(names, k.Name())
	}
	of, used := strings.Join(names, ", "), map[kernels.Precision]string{}
	var last error
	found := false
	for _, p := range []kernels.Precision{kernels.FP32, kernels.BF16, kernels.BF16x3} {
		c, err := choose(p)
		switch {
		case err != nil:
			last, used[p] = err, fmt.Sprintf("none (%v)", err)
			continue
		case c.Lost != "":
			used[p] = fmt.Sprintf("%s (%s)", c.Name(), c.Lost)
		default:
			used[p] = c.Name()
		}
		found = true
	}
	if !found {
		return "", last
	}
	text := fmt.Sprintf("kernels %s (of %s); ", used[kernels.FP32], of)
	if used[kernels.BF16] == used[kernels.BF16x3] {
		return text + "bf16 and bf16x3: " + used[kernels.BF16], nil
	}
	return text + fmt.Sprintf("bf16: %s; bf16x3: %s", used[kernels.BF16], used[kernels.BF16x3]), nil
}

func (a *app) listDevices() error {
	used, err := kernelsOf(kernels.Select)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "cpu      %s, %s, %s\n", kernels.Model(), files.Count(runtime.GOMAXPROCS(0), "thread"), used)
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
}

// cardCheck is what `rollcall devices --check` is asked for.
type cardCheck struct {
	device string   // cuda[:i], or auto
	nets   []string // names of nets
}

// checkCards checks the cards that were asked for, one after the other. It fails if any is wrong.
func (a *app) checkCards(ctx context.Context, c cardCheck) error {
	if len(c.nets) == 0 {
		return settings.Usagef("devices: --nets: want at least one net")
	}
	for _, name := range c.nets {
		if err := settings.OneOf("nets", name, models.Names()); err != nil {
			return err
		}
	}
	cards, err := c.cards()
	if err != nil {
		return err
	}
	if _, err := kernels.Select(kernels.FP32); err != nil { // ROLLCALL_CPU asks for what this processor lacks
		return err
	}
	usable, wrong := 0, 0
	for _, card := range cards {
		name := fmt.Sprintf("cuda:%d (%s, %s)", card.Index, card.Name, card.Arch())
		verdict := "unusable: " + card.Unusable
		if card.Unusable == "" {
			usable++
			verdict = "right"
			if err := a.checkCard(ctx, card, c.nets); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				wrong++
				verdict = "WRONG: " + settings.ErrorLine(err)
			}
		}
		if _, err := fmt.Fprintf(a.stdout, "%s: %s\n", name, verdict); err != nil {
			return err
		}
	}
	switch {
	case usable == 0:
		return fmt.Errorf("devices: no card to check: %s", cards[0].Unusable)
	case wrong > 0:
		return fmt.Errorf("devices: %s WRONG, see above", files.Count(wrong, "card"))
	}
	return nil
}

// cards returns the cards that were asked for: one that can be used, or all there are.
func (c *cardCheck) cards() ([]gpu.Card, error) {
	cuda := run.Machine{Device: c.device}
	if run.SeveralCards(c.device) {
		return nil, settings.Usagef("devices: --device %s: want one card, cuda[:i], or auto for all", c.device)
	}
	if err := cuda.ValidateDevice(); err != nil || c.device == "cpu" {
		return nil, settings.Usagef("devices: --device %q: want auto or cuda[:i]", c.device)
	}
	cards, err := gpu.Cards()
	if err != nil {
		return nil, fmt.Errorf("devices: no card to check: %w", err)
	}
	if c.device == "auto" {
		return cards, nil
	}
	chosen, err := cuda.Choose()
	if err != nil {
		return nil, err
	}
	return []gpu.Card{cards[chosen.Card]}, nil
}

// compilePatience is how long the first lines of a check may take before the user is told why.
const compilePatience = 3 * time.Second

// checkCard checks a card and prints each check as it ends. It returns what is wrong.
func (a *app) checkCard(ctx context.Context, card gpu.Card, netNames []string) error {
	slow := time.AfterFunc(compilePatience, func() {
		run.Logf(a.stderr, "cuda:%d: compiling kernels; the driver keeps them for the next start\n", card.Index)
	})
	defer slow.Stop()
	var printing error
	err := selftest.Run(ctx, card, netNames, func(c selftest.Check) {
		if c.Name == "copies" { // the check behind the kernels
			slow.Stop()
		}
		verdict := "right"
		if c.Wrong {
			verdict = "WRONG"
		}
		if printing == nil {
			_, printing = fmt.Fprintf(a.stdout, "cuda:%d  %-21s  %s  %6.2f s  %s\n", card.Index, c.Name, verdict,
				c.Took.Seconds(), files.OneLine(c.Found))
		}
	})
	if printing != nil {
		return printing
	}
	return err
}
