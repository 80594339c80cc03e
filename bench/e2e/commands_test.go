package e2e

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"rollcall/bench/cli"
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
