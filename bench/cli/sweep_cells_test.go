package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/bench/many"
	"rollcall/bench/settings"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/nets/models"
	"rollcall/results/safetensors"
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
		cells := cellsOfSweep(t, strings.Fields(c.line))
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

// Every setting may be a list: its cells differ in that setting alone, and in what it implies; in a file as by flags.
func TestEverySettingIsAList(t *testing.T) {
	t.Chdir(t.TempDir())
	settingstest.WriteFiles(t, ".")
	model := must.Get(models.New("lenet5"))(t)
	must.OK(t, files.WriteFile("W", func(w io.Writer) error {
		return safetensors.Write(w, nil, settings.Tensors(model, model.Init(models.Torch, 77)))
	}))
	keys := map[string]string{"method": "methods", "net": "nets"}
	for _, r := range settings.Rows() {
		if r.Apart || r.Name == "preset" || r.Name == "data" {
			continue // Apart may have one value alone; the two others set the defaults of many settings
		}
		t.Run(r.Name, func(t *testing.T) {
			base := settingstest.Context(&r)
			if r.Name == "trace-sample" {
				base["availability"], base["trace"] = "trace", "A"
			}
			first := must.Get(settings.Resolve(settingstest.Small(base, "")))(t)
			values := []string{first.Get(r.Name)}
			for _, value := range settingstest.SecondValues(&r, base) {
				if value != values[0] {
					values = append(values, value)
					break
				}
			}
			delete(base, r.Name)
			var flags []string
			var text strings.Builder
			for name, value := range settingstest.Small(base, "").All() {
				if name == r.Name {
					continue
				}
				flags = append(flags, "--"+cmp.Or(keys[name], name)+"="+value)
				fmt.Fprintf(&text, "%s: %q\n", cmp.Or(keys[name], name), value)
			}
			flag := "--" + cmp.Or(keys[r.Name], r.Name) + "="
			if r.Words == nil && r.Kind == algos.Word { // any text
				flags = append(flags, flag+values[0], flag+values[1])
			} else {
				flags = append(flags, flag+strings.Join(values, ","))
			}
			fmt.Fprintf(&text, "%s: [%q, %q]\n", cmp.Or(keys[r.Name], r.Name), values[0], values[1])
			must.OK(t, os.WriteFile("x.yaml", []byte(text.String()), 0o666))
			line, _, err := expandExperiment(Root(), []string{"sweep", "x.yaml"})
			must.OK(t, err)
			for _, args := range [][]string{flags, line[1:]} {
				cells := cellsOfSweep(t, args)
				if len(cells) != 2 {
					t.Fatalf("%q: %d cells, want 2", args, len(cells))
				}
				implied := []string{r.Name}
				for _, set := range r.Overrides {
					implied = append(implied, set.Name)
				}
				a, b := cells[0].Settings.Values(), cells[1].Settings.Values()
				for name := range a {
					_, reads := cells[1].Settings.Uses(name)
					if reads && a[name] != b[name] && !slices.Contains(implied, name) {
						t.Errorf("%q: --%s is %s and %s, want --%s alone to differ",
							args, name, a[name], b[name], r.Name)
					}
				}
				if a[r.Name] != values[0] || b[r.Name] != values[1] {
					t.Errorf("%q: --%s is %s and %s, want %q", args, r.Name, a[r.Name], b[r.Name], values)
				}
			}
		})
	}
}

func cellsOfSweep(t *testing.T, line []string) (cells []many.Cell) {
	t.Helper()
	a := &app{stdout: &strings.Builder{}, stderr: &strings.Builder{}}
	cmd := a.sweepCommand()
	must.OK(t, cmd.ParseFlags(line))
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
		t.Fatalf("%q: %v", line, err)
	}
	return cells
}
