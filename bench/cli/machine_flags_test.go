package cli

import (
	"testing"

	"github.com/spf13/pflag"

	"rollcall/bench/run"
)

// The word gpu is cuda wherever a device is named, and everything else is left to [run.Machine.Validate].
func TestDeviceFlag(t *testing.T) {
	for text, want := range map[string]string{
		"gpu": "cuda", "gpu:1": "cuda:1", "gpu:all": "cuda:all", "gpu:0,2": "cuda:0,2", "cuda:1": "cuda:1",
		"cpu": "cpu", "auto": "auto", "gpus": "gpus", "gpu:": "cuda:", "": "",
	} {
		fs, m := pflag.NewFlagSet("", pflag.ContinueOnError), run.Machine{}
		registerMachine(fs, &m)
		if m.Device != "auto" || fs.Lookup("device").DefValue != "auto" {
			t.Errorf("default %q, want auto", m.Device)
		}
		if err := fs.Parse([]string{"--device=" + text}); err != nil || m.Device != want {
			t.Errorf("--device=%s: %q, %v, want %q", text, m.Device, err, want)
		}
	}
}

// A command takes a flag by the name that another command has for it, unless it has both.
func TestTwins(t *testing.T) {
	for _, c := range []struct{ command, given, flag string }{
		{"run", "methods", "method"},
		{"run", "nets", "net"},
		{"run", "seeds", "seed"},
		{"run", "lrs", "lr"},
		{"sweep", "method", "methods"},
		{"sweep", "seed", "seeds"},
		{"sweep", "lr", "lr"},
		{"tune", "lr", "lrs"},
		{"tune", "server-lr", "server-lrs"},
		{"table", "method", "methods"},
		{"figure", "seed", "seeds"},
		{"availability", "kind", "availability"},
		{"run", "kind", "availability"},
		{"bench", "nets", "net"},
	} {
		cmd, _, err := Root().Find([]string{c.command})
		if err != nil {
			t.Fatal(err)
		}
		if f := cmd.Flags().Lookup(c.given); f == nil || f.Name != c.flag {
			t.Errorf("%s --%s: %+v, want --%s", c.command, c.given, f, c.flag)
		}
	}
}
