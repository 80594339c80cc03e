package ptx

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// Parse reads a module. Its errors name the line and the text of the statement; an instruction of a form that this
// package does not know is one.
func Parse(text string) (*Module, error) {
	p := &parser{module: &Module{}, shared: map[string]variable{}}
	for _, s := range scan(text) {
		if err := p.statement(s); err != nil {
			return nil, fmt.Errorf("ptx: line %d: %s: %w", s.line, s.text, err)
		}
		if b := p.body; b != nil && b.closed {
			p.body = nil
			if err := b.finish(); err != nil {
				return nil, fmt.Errorf("ptx: %s: %w", b.kernel.Name, err)
			}
			p.module.Kernels = append(p.module.Kernels, b.kernel)
		}
	}
	if p.body != nil {
		return nil, fmt.Errorf("ptx: %s: the text ends before the kernel does", p.body.kernel.Name)
	}
	return p.module, nil
}

type parser struct {
	module *Module
	shared map[string]variable // of the module
	body   *body               // the kernel being read; nil between kernels
}

var (
	head     = regexp.MustCompile(`^\.visible \.entry (\w+)\( \.param \.align \d+ \.b8 (\w+)\[(\d{1,6})\] \)$`)
	external = regexp.MustCompile(`^\.extern \.shared \.align ([1-9]\d{0,5}) \.b8 (\w+)\[\]$`)
	array    = regexp.MustCompile(`^\.shared \.align ([1-9]\d{0,5}) \.b8 (\w+)\[(\d{1,6})\]$`)
	threads  = regexp.MustCompile(`^\.maxntid (\d{1,6}), 1, 1$`)
	resident = regexp.MustCompile(`^\.minnctapersm (\d{1,6})$`)
)

// ignored are directives that say nothing about what a kernel computes.
var ignored = regexp.MustCompile(
	`^(\.version 7\.8|\.target sm_80|\.address_size 64|\.pragma "nounroll"|` +
		`\.visible \.const \.align 1 \.u8 \w+)$`)

func (p *parser) statement(s statement) error {
	text := strings.Join(strings.Fields(s.text), " ")
	switch {
	case text == "":
		return errors.New("empty statement")
	case text[0] == '.':
		return p.directive(text)
	case p.body == nil:
		return errors.New("unknown outside of a kernel")
	case text == "{":
		p.body.scopes = append(p.body.scopes, map[string]int32{})
		return nil
	case len(p.body.scopes) == 0:
		return errors.New("unknown before a kernel's {")
	case text == "}":
		p.body.scopes = p.body.scopes[:len(p.body.scopes)-1]
		p.body.closed = len(p.body.scopes) == 0
		return nil
	case strings.HasSuffix(text, ":"):
		return p.body.label(strings.TrimSuffix(text, ":"))
	}
	return p.body.instruction(statement{s.line, text})
}

// directive reads a statement that begins with a dot.
func (p *parser) directive(text string) error {
	switch {
	case ignored.MatchString(text):
		return nil
	case head.MatchString(text):
		return p.head(head.FindStringSubmatch(text))
	case external.MatchString(text), array.MatchString(text):
		p.variable(text)
		return nil
	case p.body != nil && threads.MatchString(text):
		p.body.kernel.Threads = number(threads.FindStringSubmatch(text)[1])
		return nil
	case p.body != nil && resident.MatchString(text):
		p.body.kernel.Resident = number(resident.FindStringSubmatch(text)[1])
		return nil
	case p.body != nil && len(p.body.scopes) > 0:
		return p.body.declare(text)
	}
	return errors.New("unknown directive")
}

func (p *parser) head(m []string) error {
	if p.body != nil {
		return fmt.Errorf("a kernel inside of kernel %s", p.body.kernel.Name)
	}
	p.body = newBody(&Kernel{Name: m[1], Params: number(m[3]), Resident: 1}, m[2])
	maps.Copy(p.body.shared, p.shared)
	return nil
}

// variable declares an array in shared memory, of the kernel where there is one, else of the module.
func (p *parser) variable(text string) {
	into := p.shared
	if p.body != nil {
		into = p.body.shared
	}
	if m := external.FindStringSubmatch(text); m != nil {
		into[m[2]] = variable{align: number(m[1]), dynamic: true}
		return
	}
	m := array.FindStringSubmatch(text)
	into[m[2]] = variable{align: number(m[1]), bytes: number(m[3])}
}

// number reads digits that a regular expression found.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err) // the expressions match at most six digits
	}
	return n
}

// statement is a piece of PTX text: an instruction or a directive without its semicolon, a label with its colon, the
// head of a kernel, "{" or "}".
type statement struct {
	line int // where it starts, from 1
	text string
}

// lineDirectives end where their line ends.
var lineDirectives = []string{".version", ".target", ".address_size", ".maxntid", ".minnctapersm"}

// scan cuts a text into statements and leaves out comments, which go from // to the end of the line.
func scan(text string) []statement {
	var all []statement
	var open statement
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
			if open.text == "" {
				open.line = i + 1
			}
			n, whole := piece(open.text, line)
			open.text = strings.TrimSpace(open.text + " " + strings.TrimSpace(line[:n]))
			line = line[n:]
			if whole {
				open.text = strings.TrimSpace(strings.TrimSuffix(open.text, ";"))
				all = append(all, open)
				open.text = ""
			}
		}
	}
	if open.text != "" {
		all = append(all, open)
	}
	return all
}

// piece returns how many bytes of a line belong to the statement of which `before` is known, and whether it ends there.
func piece(before, line string) (n int, whole bool) {
	start := before
	if before == "" {
		if line[0] == '{' || line[0] == '}' {
			return 1, true
		}
		if first := strings.Fields(line)[0]; strings.HasSuffix(first, ":") {
			return len(first), true
		}
		for _, d := range lineDirectives {
			if strings.HasPrefix(line, d+" ") {
				return len(line), true
			}
		}
		start = line
	}
	end := byte(';')
	if strings.HasPrefix(start, ".visible .entry ") {
		end = ')'
	}
	if at := strings.IndexByte(line, end); at >= 0 {
		return at + 1, true
	}
	return len(line), false
}
