package e2e

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/cli"
	"rollcall/bench/run"
	"rollcall/datasets"
	"rollcall/results/papers"
)

// Every command explains itself, on stdout.
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		args := append(strings.Fields(strings.TrimPrefix(c.CommandPath(), "rollcall")), "--help")
		o := pass(t, args...)
		for _, want := range []string{"Usage:\n  rollcall", "--help"} {
			if !strings.Contains(o.stdout, want) || o.stderr != "" {
				t.Errorf("%s: stdout %q, stderr %q, want %q on stdout",
					strings.Join(args, " "), o.stdout, o.stderr, want)
			}
		}
		if strings.Contains(o.stdout, "(default )") {
			t.Errorf("%s: stdout %q, want no default that says nothing", strings.Join(args, " "), o.stdout)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") && c.Parent() != nil && c.Parent().Name() == "rollcall" {
			t.Errorf("%s: short text %q", c.CommandPath(), c.Short)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(cli.Root())
	if bare := pass(t); !strings.Contains(bare.stdout, "Available Commands:") {
		t.Errorf("without arguments: %q, want the commands", bare.stdout)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		script := pass(t, "completion", shell).stdout
		if !strings.Contains(script, "rollcall") || len(script) < 1000 {
			t.Errorf("%s: %d bytes, want a script for rollcall", shell, len(script))
		}
		if bash, err := exec.LookPath("bash"); err == nil && shell == "bash" {
			check := exec.Command(bash, "-n")
			check.Stdin = strings.NewReader(script)
			if text, err := check.CombinedOutput(); err != nil {
				t.Errorf("bash -n: %v: %s", err, text)
			}
		}
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"run", "--method", ""}, algos.Names()},
		{[]string{"run", "--preset", ""}, algos.Presets()},
		{[]string{"run", "--availability", ""}, availability.Names()},
		{[]string{"bench", "--format", ""}, []string{"text", "csv", "gobench"}},
		{[]string{"run", "--precision", ""}, []string{"tf32", "fp32", "bf16", "bf16x3"}},
		{[]string{"track", "run", "--precision", ""}, []string{"tf32", "fp32", "bf16", "bf16x3"}},
		{[]string{"track", "run", "--format", ""}, []string{"text", "json"}},
		{[]string{"track", "compare", "--format", ""}, []string{"text", "json"}},
		{[]string{"results", "compare", "--format", ""}, []string{"text", "csv", "markdown"}},
		{[]string{"results", "list", "--format", ""}, []string{"text", "csv"}},
		{[]string{"availability", "--kind", ""}, availability.Names()},
		{[]string{"table", ""}, papers.TableNames()},
		{[]string{"table", "fedawe-2", "--methods", ""}, algos.Names()},
		{[]string{"data", "verify", ""}, datasets.Names()},
	} {
		// The names, one per line, and cobra's directive: 4 is "no file names".
		got, want := pass(t, append([]string{"__complete"}, c.args...)...).stdout, strings.Join(c.want, "\n")+"\n:4\n"
		if got != want {
			t.Errorf("%q: %q, want %q", c.args, got, want)
		}
	}
}

func TestVersionAndDevices(t *testing.T) {
	if got, want := pass(t, "version").stdout, "rollcall "+run.Version()+" "+runtime.Version()+" "+runtime.GOOS+"/"+
		runtime.GOARCH+"\n"; got != want {
		t.Errorf("version: %q, want %q", got, want)
	}
	if got := pass(t, "devices").stdout; !strings.HasPrefix(got, "cpu ") || !strings.Contains(got, "generic") ||
		!strings.Contains(got, "\ncuda ") {
		t.Errorf("devices: %q, want a line for cpu and one for cuda", got)
	}
}
