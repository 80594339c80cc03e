package files

import (
	"encoding/json"
	"io"
)

// WriteJSON writes a value as JSON, indented by two blanks. The characters <, > and & stay, as paths and commands have
// them.
func WriteJSON(w io.Writer, value any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(value)
}
