package ptx

import "strings"

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
