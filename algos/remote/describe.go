package remote

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"rollcall/algos"
)

// Revision is raised by whoever changes the numbers that the methods of other programs produce.
const Revision = 1

// Script is what the file of a method says of itself.
type Script struct {
	Name, Help   string
	Path         string // of the file, absolute
	Sum          string // SHA-256 of the file and of what it imports, see docs/protocol.md
	Params       []*algos.Param
	LR, ServerLR float64           // its default rates; 0: it has none
	Runtime      map[string]string // versions

	MovesWhenEmpty, UsesServerRate bool // what it says of itself, for `rollcall method check`

	names []string // of its parameters in its own file, in the order of Params
}

// param is a parameter in the child's first message. Values are text, as on a command line.
type param struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"` // number, whole, switch or word
	Default string   `json:"default"`
	Words   []string `json:"words"`
	Help    string   `json:"help"`
	Low     *Number  `json:"low"`
	Above   *Number  `json:"above"`
	High    *Number  `json:"high"`
	Below   *Number  `json:"below"`
}

// Describe starts the file of a method and asks what it is. What the file prints goes to output. timeout is how long
// the file may take to be read; 0: there is no limit.
func (h *Host) Describe(
	ctx context.Context, file string, output io.Writer, timeout time.Duration,
) (*Script, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	c, m, err := h.open(ctx, path, algos.Process{Output: output, Timeout: timeout}, 0)
	if err != nil {
		return nil, err
	}
	c.close()
	return m.script(path)
}

// open starts the process of a file and reads its first message.
func (h *Host) open(ctx context.Context, path string, p algos.Process, params int) (*child, *toParent, error) {
	c, err := h.begin(path, p, params)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrSilent, err)
	}
	text, err := c.next(ctx, c.deadline())
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrSilent, err)
	}
	var m *toParent
	if err == nil {
		m, err = parse(text)
	}
	switch {
	case err != nil:
	case m.Op != "method":
		err = fmt.Errorf("first message %q, want method", short(m.Op))
	case m.Protocol != Protocol:
		err = fmt.Errorf("protocol %d, want %d", m.Protocol, Protocol)
	default:
		return c, m, nil
	}
	c.close()
	return nil, nil, err
}

// CheckName returns an error if the method of a file cannot have this name.
func CheckName(name, path string) error {
	if !algos.IsName(name) {
		return fmt.Errorf("name %q, want a letter, then letters, digits, _ and -", short(name))
	}
	for _, other := range algos.Names() { // a file that was registered before has its own name
		if strings.EqualFold(other, name) && (path == "" || algos.Of(other).Program != path) {
			return fmt.Errorf("name %q is taken by another method, want one of your own", name)
		}
	}
	return nil
}

func (m *toParent) script(path string) (*Script, error) {
	if err := CheckName(m.Name, path); err != nil {
		return nil, fmt.Errorf("%w: give the class a name = \"…\"", err)
	}
	s := &Script{
		Name: m.Name, Help: m.Help, Path: path, Sum: m.Sum, Runtime: m.Runtime,
		LR: float64(m.Rates["lr"]), ServerLR: float64(m.Rates["server_lr"]),
		MovesWhenEmpty: m.Says.MovesWhenEmpty, UsesServerRate: m.Says.UsesServerRate,
	}
	for _, p := range m.Params {
		of, err := p.param(m.Name)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		s.Params, s.names = append(s.Params, of), append(s.names, p.Name)
	}
	for _, rate := range []float64{s.LR, s.ServerLR} {
		if !algos.AtLeast(0).Contains(rate) {
			return nil, fmt.Errorf("rates: %g, want a finite number above 0", rate)
		}
	}
	return s, nil
}

// flagOf returns the name of the flag of a parameter: --fedaum-beta for beta of fedaum.
func flagOf(method, name string) string { return strings.ReplaceAll(method+"-"+name, "_", "-") }

func (p *param) param(method string) (*algos.Param, error) {
	kinds := map[string]algos.Kind{
		"number": algos.Number, "whole": algos.Whole, "switch": algos.Switch, "word": algos.Word,
	}
	kind, known := kinds[p.Kind]
	if !known {
		return nil, fmt.Errorf("kind %q, want number, whole, switch or word", p.Kind)
	}
	end := func(closed, open *Number) (*float64, bool) {
		if open != nil {
			return (*float64)(open), true
		}
		return (*float64)(closed), false
	}
	low, lowOpen := end(p.Low, p.Above)
	high, highOpen := end(p.High, p.Below)
	of := &algos.Param{
		Name: flagOf(method, p.Name), Kind: kind, Default: p.Default, Words: p.Words, Help: method + ": " + p.Help,
		Range: algos.Interval(low, lowOpen, high, highOpen),
	}
	if kind == algos.Number || kind == algos.Whole {
		if x, err := strconv.ParseFloat(p.Default, 64); err == nil && kind == algos.Number {
			of.Default = strconv.FormatFloat(x, 'g', -1, 64) // as a command line's value is written: 1 for Python's 1.0
		}
		if err := of.CheckFor(p.Default, 1); err != nil {
			return nil, fmt.Errorf("default %s: %w", p.Default, err)
		}
	}
	return of, nil
}

// Definition returns the script as a method, which [algos.Register] takes.
func (h *Host) Definition(s *Script) algos.Definition {
	return algos.Definition{
		Name: s.Name, Revision: Revision, Params: s.Params, LR: s.LR, ServerLR: s.ServerLR,
		Program: s.Path, Sum: s.Sum, Is: algos.UsesPi | algos.UsesImportance,
		New: func(f algos.Federation, w0 []float32, o algos.Options) (algos.Method, error) {
			return h.start(s, f, w0, o)
		},
	}
}
