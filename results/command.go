package results

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"rollcall/internal/files"
)

// Command returns a line for a POSIX shell that trains the runs of a cell again, below another output folder, to the
// same numbers if this program and machine compute such: `rollcall run --id …`, for several seeds in a loop. The id has
// the hash of all settings, so that a line that misses one is refused. It is empty if a run.json is missing, which has
// what the runs read. A method or data in a file have the name that they were given, and another file its path at that
// time.
func (c *Cell) Command() string {
	if len(c.Runs) == 0 || slices.ContainsFunc(c.Runs, func(r Run) bool { return r.Info == nil }) {
		return ""
	}
	first := &c.Runs[0]
	settings := first.Settings()
	method := c.Method
	if _, own := settings["method-sha256"]; own {
		method += ".py"
	}
	words := []string{"rollcall", "run"}
	flag := func(name, value string) { words = append(words, "--"+name, files.ShellQuoted(value)) }
	id := filepath.ToSlash(filepath.Join(first.Table, filepath.Base(filepath.Dir(first.Dir)))) + "/seed-"
	seed := fmt.Sprint(first.Seed)
	if len(c.Runs) > 1 {
		seed = "$seed"
	}
	words = append(words, "--id", files.ShellQuoted(id)+seed)
	data := c.Data
	if _, own := settings["data-sha256"]; own {
		data = "npz:" + data + ".npz"
	}
	flag("method", method)
	flag("data", data)
	flag("availability", c.Availability)
	net := c.Net
	if layers, own := settings[NetLayers].(string); own {
		net += ": " + layers
	}
	flag("net", net)
	flag("preset", c.Preset)
	flag("clients", fmt.Sprint(c.Clients))
	if c.Alpha.Valid {
		flag("alpha", c.Alpha.String())
	}
	for name, value := range c.Params.All() {
		read := FileSettings[name] != "" // run.json has its checksum
		if !read {
			_, read = settings[name]
		}
		switch {
		case !read: // a sweep gives its settings to all methods
			continue
		case value == "true" || value == "false":
			words = append(words, "--"+name+"="+value)
			continue
		}
		flag(name, value)
	}
	device, otherwise := "cpu", "fp32"
	if strings.HasPrefix(first.Info.Engine, "cuda") {
		device, otherwise = "cuda", "tf32"
	}
	flag("device", device)
	if first.Info.Precision != otherwise {
		flag("precision", first.Info.Precision)
	}
	line := strings.Join(words, " ") + " --out again"
	if len(c.Runs) == 1 {
		return line
	}
	var seeds []string
	for i := range c.Runs {
		seeds = append(seeds, fmt.Sprint(c.Runs[i].Seed))
	}
	return "for seed in " + strings.Join(seeds, " ") + "; do " + line + "; done"
}
