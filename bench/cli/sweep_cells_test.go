package cli

import (
	"strings"
	"testing"

	"rollcall/bench/many"
	"rollcall/bench/settings"
	"rollcall/internal/must"
)

// What cells train with: --like's work for all methods, their own rates unless said otherwise, and every flag where it
// is of use.
func TestSweepSettings(t *testing.T) {
	for _, c := range []struct {
		line string
		want string // of every cell in order, method: flag=value …
	}{
		{
			"--methods fedar,ca-fed,fedawe",
			"fedar: batch=128 local-steps=10 split=clients lr=0.1 weight-decay=0 clip=none|" +
				"ca-fed: batch=128 local-epochs=none split=clients lr=0.03 momentum=0|fedawe: lr=0.1 fedawe-clip=0.5",
		},
		{
			"--methods mifa,more-available --like fedar",
			"mifa: batch=64 local-steps=5 split=two-class lr=0.05 weight-decay=0.001 augment=none|" +
				"more-available: batch=64 split=two-class lr=0.03 server-lr=3",
		},
		{
			"--methods mifa,fedar --rates mifa=0.2/2 --lr 0.3 --fedar-rho 0.5",
			"mifa: lr=0.2 server-lr=2 fedar-rho=0.1|fedar: lr=0.3 server-lr=1 fedar-rho=0.5",
		},
		{"--methods fedar --local-steps 3 --like ca-fed", "fedar: local-steps=3 local-epochs=none batch=32"},
		{
			"--methods fedar --nets lenet5,cnn-cafed --availability sine,uniform",
			"fedar: net=lenet5 availability=sine|fedar: net=lenet5 availability=uniform|" +
				"fedar: net=cnn-cafed availability=sine|fedar: net=cnn-cafed",
		},
	} {
		cells := cellsOfSweep(t, c.line)
		want := strings.Split(c.want, "|")
		if len(cells) != len(want) {
			t.Errorf("%s: %d cells, want %d", c.line, len(cells), len(want))
			continue
		}
		for i, text := range want {
			method, settings, _ := strings.Cut(text, ": ")
			values := cells[i].Settings.Values()
			if values["method"] != method {
				t.Errorf("%s: cell %d is of %s, want %s", c.line, i, values["method"], method)
			}
			for setting := range strings.FieldsSeq(settings) {
				if flag, value, _ := strings.Cut(setting, "="); values[flag] != value {
					t.Errorf("%s: %s has --%s %s, want %s", c.line, method, flag, values[flag], value)
				}
			}
		}
	}
}

func cellsOfSweep(t *testing.T, line string) (cells []many.Cell) {
	t.Helper()
	a := &app{stdout: &strings.Builder{}, stderr: &strings.Builder{}}
	cmd := a.sweepCommand()
	must.OK(t, cmd.ParseFlags(strings.Fields(line)))
	fs := cmd.Flags()
	list := func(name string) []string {
		values := must.Get(fs.GetStringSlice(name))(t)
		return values
	}
	w := many.Sweep{
		Methods: list("methods"), Data: list("data"), Nets: list("nets"), Availability: list("availability"),
		Rates: list("rates"), Seeds: []uint32{3}, Name: "sweep", Like: fs.Lookup("like").Value.String(),
	}
	w.Given, w.Lists = settings.ListsBy(fs)
	_, cells, err := w.Cells()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return cells
}
