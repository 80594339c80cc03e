package models

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rollcall/internal/files"
)

// layer is one layer of a net's text. Layers that make equal nets are equal.
type layer struct {
	kind   string // conv, block, average, dropout or linear
	n      int    // channels of conv and block, outputs of linear
	r, s   int    // window of conv, R×S
	stride int    // of conv and block
	pad    int    // of conv
	pool   bool   // conv: bias, ReLU and 2×2 max pooling
	norm   bool   // conv: no bias, batch normalisation; a conv with neither has bias and ReLU
	relu   bool   // conv with norm: ReLU
	rate   float64
}

// layers is what the text of a net says: the layers before the last one, which has an output for every class.
type layers []layer

// none is the text of a net that has the last layer alone.
const none = "none"

// grammar are the layers, as users write them.
var grammar = []struct{ kind, form string }{
	{"conv", "conv N RxS [stride S] [pad P] [pool | norm [relu]]"},
	{"block", "block N [stride 2]"},
	{"average", "average"},
	{"dropout", "dropout RATE"},
	{"linear", "linear N"},
}

// formOf returns how a layer is written; "" for an unknown one.
func formOf(kind string) string {
	for _, g := range grammar {
		if g.kind == kind {
			return g.form
		}
	}
	return ""
}

// Bounds against slips of the finger, far above what anybody trains.
const (
	maxText   = 64 << 10 // bytes
	maxLayers = 200
	maxN      = 1 << 16 // channels or outputs
	maxWindow = 63
	maxStride = 63
	maxParams = 1<<31 - 1 // of a net, its running statistics among them
)

// named matches a text with a name in front, and IsName what a net may be called.
var (
	named   = regexp.MustCompile(`^\s*([^\s,:]*)\s*:`)
	netName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
)

// IsName reports whether a net may have this name, known or not: a letter, then letters, digits, _ and -. It is in
// folders, flags and CSV files.
func IsName(name string) bool { return netName.MatchString(name) }

// IsText reports whether a value is meant as the text of a net, right or wrong, and not as a name or a file.
func IsText(value string) bool {
	if named.MatchString(value) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(",\r\n", r) }),
		func(layer string) bool {
			words := strings.Fields(strings.ToLower(layer))
			if len(words) == 0 || strings.ContainsAny(layer, `/\`) {
				return false
			}
			return len(words) > 1 || words[0] == none || formOf(words[0]) != ""
		})
}

// parse reads "NAME: layer, layer, …". NAME is empty if the text has none. A line break ends a layer as a comma does,
// # starts a comment that the line break ends, and neither case nor the amount of white space means anything.
func parse(text string) (name string, l layers, err error) {
	if len(text) > maxText {
		return "", nil, fmt.Errorf("a text of %d bytes, want at most %d", len(text), maxText)
	}
	if !utf8.ValidString(text) {
		return "", nil, errors.New("want UTF-8")
	}
	lines := strings.FieldsFunc(strings.TrimPrefix(text, "\ufeff"), func(r rune) bool { return r == '\n' || r == '\r' })
	var list []string
	for _, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		if m := named.FindStringSubmatch(line); m != nil && name == "" && list == nil {
			if name = m[1]; !IsName(name) {
				return "", nil, fmt.Errorf("name %.40q: want a letter, then letters, digits, _ and -", name)
			}
			line = line[len(m[0]):]
		}
		line = strings.TrimSpace(line)
		if line = strings.TrimSuffix(line, ","); line != "" { // a comma at the end of a line is one with its end
			list = append(list, strings.Split(line, ",")...)
		}
	}
	if len(list) == 0 {
		return name, nil, errors.New("no layers, want some, or " + none + " for the last layer alone")
	}
	if len(list) > maxLayers {
		return name, nil, fmt.Errorf("%d layers, want at most %d", len(list), maxLayers)
	}
	if len(list) == 1 && strings.EqualFold(strings.TrimSpace(list[0]), none) {
		return name, layers{}, nil
	}
	for i, text := range list {
		one, err := parseLayer(strings.Fields(strings.ToLower(strings.ReplaceAll(text, "×", "x"))))
		if err == nil {
			err = one.follows(l)
		}
		if err != nil {
			return name, nil, layerError(i, text, err)
		}
		l = append(l, one)
	}
	if end := len(l) - 1; l[end].kind == "block" {
		return name, nil, layerError(end, list[end], errors.New("the end, want average behind it, or a conv"))
	}
	return name, l, nil
}

// layerError says which layer of a text an error is about.
func layerError(i int, text string, err error) error {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 60 {
		text = string(r[:60]) + "…"
	}
	return fmt.Errorf("layer %d %q: %w", i+1, text, err)
}

// parseLayer reads the words of one layer.
func parseLayer(words []string) (l layer, err error) {
	if len(words) == 0 {
		return l, errors.New("empty")
	}
	kind, words := words[0], words[1:]
	var kinds []string
	for _, g := range grammar {
		kinds = append(kinds, g.kind)
	}
	form := formOf(kind)
	switch {
	case kind == none:
		return l, errors.New(none + " is for a net without other layers")
	case form == "":
		return l, fmt.Errorf("%.40q: unknown%s, want one of %s", kind, files.DidYouMean(kind, kinds),
			strings.Join(kinds, ", "))
	}
	l.kind = kind
	next := func() (word string, err error) {
		if len(words) == 0 {
			return "", errors.New("want " + form)
		}
		word, words = words[0], words[1:]
		return word, nil
	}
	number := func(what string, least, most int) (n int, err error) {
		word, err := next()
		if err != nil {
			return 0, err
		}
		return whole(word, what, least, most)
	}
	switch kind {
	case "dropout":
		word, err := next()
		if err != nil {
			return l, err
		}
		if l.rate, err = files.ParseNumber(word, 64); err != nil || !(l.rate > 0 && l.rate < 1) {
			return l, fmt.Errorf("rate %.40q: want a number above 0 and below 1", word)
		}
	case "linear":
		if l.n, err = number("outputs", 1, maxN); err != nil {
			return l, err
		}
	case "conv", "block":
		if l.n, err = number("channels", 1, maxN); err != nil {
			return l, err
		}
		l.stride = 1
	}
	if kind == "conv" {
		word, err := next()
		if err != nil {
			return l, err
		}
		if l.r, l.s, err = window(word); err != nil {
			return l, err
		}
	}
	var options []string // that the layer may have
	switch kind {
	case "conv":
		options = []string{"stride", "pad", "pool", "norm", "relu"}
	case "block":
		options = []string{"stride"}
	}
	given := map[string]bool{}
	for len(words) > 0 {
		word, _ := next()
		switch {
		case !slices.Contains(options, word):
			return l, fmt.Errorf("%.40q: unknown%s, want %s", word, files.DidYouMean(word, options), form)
		case given[word]:
			return l, fmt.Errorf("%s twice", word)
		}
		switch given[word] = true; word {
		case "stride":
			most := maxStride
			if kind == "block" {
				most = 2
			}
			l.stride, err = number(word, 1, most)
		case "pad":
			l.pad, err = number(word, 0, maxWindow)
		case "pool":
			l.pool = true
		case "norm":
			l.norm = true
		case "relu":
			l.relu = true
		}
		if err != nil {
			return l, err
		}
	}
	return l, l.check()
}

// check refuses options of a layer that do not go together.
func (l *layer) check() error {
	switch {
	case l.kind != "conv":
		return nil
	case l.pad >= min(l.r, l.s):
		return fmt.Errorf("padding %d of a %d×%d window, want at most %d", l.pad, l.r, l.s, min(l.r, l.s)-1)
	case l.pool && l.norm:
		return errors.New("pool and norm: want one of the two")
	case l.relu && !l.norm:
		return errors.New("relu without norm: a convolution without norm always has a ReLU")
	}
	return nil
}

// whole reads a whole number.
func whole(word, what string, least, most int) (int, error) {
	n, err := strconv.ParseUint(word, 10, 31)
	if err != nil || int(n) < least || int(n) > most {
		return 0, fmt.Errorf("%s %.40q: want a whole number, %d … %d", what, word, least, most)
	}
	return int(n), nil
}

// window reads "5x3".
func window(word string) (r, s int, err error) {
	rows, columns, ok := strings.Cut(word, "x")
	if !ok {
		return 0, 0, fmt.Errorf("window %.40q: want one such as 3x3", word)
	}
	if r, err = whole(rows, "window", 1, maxWindow); err != nil {
		return 0, 0, err
	}
	s, err = whole(columns, "window", 1, maxWindow)
	return r, s, err
}

// follows refuses a layer that cannot stand behind others, whatever their sizes.
func (l *layer) follows(before layers) error {
	if len(before) == 0 {
		return nil
	}
	last := before[len(before)-1].kind
	maps := last == "conv" || last == "block"
	switch takesMaps := l.kind == "conv" || l.kind == "block" || l.kind == "average"; {
	case takesMaps && !maps:
		return fmt.Errorf("behind %s there are no maps, want %s before it", last, l.kind)
	case !takesMaps && last == "block":
		return errors.New("behind a block, want average before it, or a conv")
	}
	return nil
}

// String returns the one form of the layer.
func (l *layer) String() string {
	words := []string{l.kind}
	add := func(text ...string) { words = append(words, text...) }
	switch l.kind {
	case "average":
	case "dropout":
		add(strconv.FormatFloat(l.rate, 'g', -1, 64))
	default:
		add(strconv.Itoa(l.n))
	}
	if l.kind == "conv" {
		add(fmt.Sprintf("%dx%d", l.r, l.s))
	}
	if l.stride > 1 {
		add("stride", strconv.Itoa(l.stride))
	}
	if l.pad > 0 {
		add("pad", strconv.Itoa(l.pad))
	}
	for _, option := range []struct {
		name string
		on   bool
	}{{"pool", l.pool}, {"norm", l.norm}, {"relu", l.relu}} {
		if option.on {
			add(option.name)
		}
	}
	return strings.Join(words, " ")
}

// String returns the one text of the net: two texts of equal nets have the same.
func (l layers) String() string {
	if len(l) == 0 {
		return none
	}
	var texts []string
	for i := range l {
		texts = append(texts, l[i].String())
	}
	return strings.Join(texts, ", ")
}

// normalises reports whether the net has a batch normalisation.
func (l layers) normalises() bool {
	return slices.ContainsFunc(l, func(l layer) bool { return l.norm || l.kind == "block" })
}
