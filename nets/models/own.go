package models

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"rollcall/datasets/plan"
)

// own are the nets that users described, in the order in which they came.
var own struct {
	sync.RWMutex
	nets []*Model
}

// Register adds a net that a text describes, and returns its name: the one in front of the text, "NAME: layers", or
// else the given one, or else net- and the first eight digits of the SHA-256 of its layers. A net that is registered
// already is no error; another net under the name of one is.
//
// Like methods, nets are registered before a command line is read: all lists of nets, settings and help then have them.
func Register(text, name string) (registered string, err error) {
	named, l, err := parse(text)
	if named != "" {
		name = named
	}
	of := ""
	if name != "" {
		of = name + ": "
	}
	if err != nil {
		return "", fmt.Errorf("nets: %s%w", of, err)
	}
	one := l.String()
	switch {
	case name == "":
		name = autoName(l)
	case !IsName(name):
		return "", fmt.Errorf("nets: name %.40q: want a letter, then letters, digits, _ and -; "+
			"a text may name its net: NAME: layers", name)
	}
	own.Lock()
	defer own.Unlock()
	for _, m := range catalogue {
		if m.Name == name {
			return "", fmt.Errorf("nets: %s: the name of a net of rollcall, want another", name)
		}
	}
	for _, m := range own.nets {
		switch {
		case m.Name != name:
		case m.layers.String() == one:
			return name, nil
		default:
			return "", fmt.Errorf("nets: two nets are called %s: %.200q and %.200q", name, m.layers.String(), one)
		}
	}
	own.nets = append(own.nets, fromLayers(name, photos, l)) // no paper gives it a shape
	return name, nil
}

// Registered returns how many nets were added by [Register]: whoever keeps a list made from all nets makes a new one
// when this number has grown.
func Registered() int {
	own.RLock()
	defer own.RUnlock()
	return len(own.nets)
}

// all returns the nets of the catalogue, and those that were registered.
func all() []*Model {
	own.RLock()
	defer own.RUnlock()
	return slices.Concat(catalogue, own.nets)
}

// find returns the net of a name, which nobody may change; nil if there is none.
func find(name string) *Model {
	for _, m := range all() {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Own reports whether a net was registered by a text, and is none of the catalogue.
func Own(name string) bool {
	m := find(name)
	return m != nil && !slices.Contains(catalogue, m)
}

// Layers returns the one text of the layers of a net; "" for a net that is a function, and for an unknown name.
func Layers(name string) string {
	if m := find(name); m != nil && m.layers != nil {
		return m.layers.String()
	}
	return ""
}

// Text returns what a command line of another process may have for a net: "NAME: layers" for one that was registered,
// and the name itself for any other.
func Text(name string) string {
	if Own(name) {
		return name + ": " + Layers(name)
	}
	return name
}

// Describe returns the net of a text for samples of a shape, without registering it.
func Describe(text string, shape plan.Shape) (*Model, error) {
	name, l, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("nets: %w", err)
	}
	m := fromLayers(cmp.Or(name, autoName(l)), shape, l)
	return m, m.Describe()
}

// autoName returns the name of a net that has none.
func autoName(l layers) string { return fmt.Sprintf("net-%.4x", sha256.Sum256([]byte(l.String()))) }

// LayersOf returns what [Layers] does, of a net that need not be registered.
func LayersOf(m *Model) string { return m.layers.String() }
