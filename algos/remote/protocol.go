package remote

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Protocol is the version of the protocol. docs/protocol.md describes it.
const Protocol = 1

// Number is a float64 in JSON, with "NaN", "Infinity" and "-Infinity" for what JSON has no number for.
type Number float64

// MarshalJSON implements [json.Marshaler].
func (x Number) MarshalJSON() ([]byte, error) {
	f := float64(x)
	switch {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	case f == 0 && math.Signbit(f):
		return []byte("-0.0"), nil // "-0" is the whole number 0 in Python
	}
	return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (x *Number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"NaN"`:
		*x = Number(math.NaN())
		return nil
	case `"Infinity"`:
		*x = Number(math.Inf(1))
		return nil
	case `"-Infinity"`:
		*x = Number(math.Inf(-1))
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("%s, want a number, \"NaN\", \"Infinity\" or \"-Infinity\"", short(string(text)))
	}
	*x = Number(f)
	return nil
}

// numbers returns float64s for a message, and floats the float64s of a message. Neither is null in JSON.
func numbers(x []float64) []Number {
	y := make([]Number, len(x))
	for i := range x {
		y[i] = Number(x[i])
	}
	return y
}

func floats(x []Number) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = float64(x[i])
	}
	return y
}

// ints returns whole numbers that are not null in JSON.
func ints(x []int) []int { return append([]int{}, x...) }

// toParent is a line of the child: a request, or its answer to a message of the parent. Op says which fields count.
type toParent struct {
	Op string `json:"op"`
	ID int    `json:"id"` // of the message that this is the answer to

	// method, which the child sends first
	Protocol int               `json:"protocol"`
	Name     string            `json:"name"`
	Help     string            `json:"help"`
	Sum      string            `json:"sha256"`
	Params   []param           `json:"params"`
	Rates    map[string]Number `json:"rates"`
	Runtime  map[string]string `json:"runtime"` // versions by name: python, numpy, rollcall_fl
	Says     says              `json:"says"`

	// new, combine, load, store, dot, norm
	N       int      `json:"n"`
	Model   bool     `json:"model"`
	Dst     *int     `json:"dst"`
	C       []Number `json:"c"`
	Src     []int    `json:"src"`
	Include *[]int   `json:"include"`
	Row     *int     `json:"row"`
	A       *int     `json:"a"`
	B       *int     `json:"b"`
	Data    string   `json:"data"`

	// train, evaluate
	Clients *[]int  `json:"clients"`
	Start   oneEach `json:"start"`
	Drift   oneEach `json:"drift"`
	LR      *Number `json:"lr"`
	Decay   Number  `json:"decay"`
	Steps   []int   `json:"steps"`
	Rows    []int   `json:"rows"`

	// started, saved, done
	Arrays    json.RawMessage `json:"arrays"`
	Decisions *decisions      `json:"decisions"`

	// error
	Error     string `json:"error"`
	Where     string `json:"where"`
	Traceback string `json:"traceback"`
}

// says is what a method says of itself, for `rollcall method check`.
type says struct {
	MovesWhenEmpty bool `json:"moves_when_empty"` // a round without clients moves its model
	UsesServerRate bool `json:"uses_server_lr"`
}

// decisions are [algos.Decisions] in a message.
type decisions struct {
	Q        []Number `json:"q"`
	Included []bool   `json:"included"`
	Pi       []Number `json:"pi"`
	Lambda   []Number `json:"lambda"`
}

// declared is an array that a method declares when it starts, in a message.
type declared struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // ints or floats
	N    int    `json:"n"`
}

// oneEach is a row for all clients, or one for each.
type oneEach struct {
	rows []int
	each bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *oneEach) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		o.each = true
		return json.Unmarshal(text, &o.rows)
	}
	if string(text) == "null" {
		return nil
	}
	o.rows = make([]int, 1)
	return json.Unmarshal(text, &o.rows[0])
}

// The messages of the parent, and its answers.
type (
	// message is a message without further content: model, save or end.
	message struct {
		Op string `json:"op"`
		ID int    `json:"id"`
	}
	startMessage struct {
		message
		N          int               `json:"N"`
		P          int               `json:"P"`       // parameters
		Weights    int               `json:"weights"` // parameters that are no running statistics
		Params     map[string]string `json:"params"`
		Importance []Number          `json:"importance"` // [N]
		Pi         []Number          `json:"pi"`         // [N]
		Lambda     []Number          `json:"lambda"`     // [N]
		Steps      []int             `json:"steps"`      // [N] E
		Seed       uint32            `json:"seed"`
	}
	roundMessage struct {
		message
		T        int    `json:"t"`
		Active   []int  `json:"active"`
		LR       Number `json:"lr"`
		ServerLR Number `json:"server_lr"`
	}
	restoreMessage struct {
		message
		Arrays map[string]any `json:"arrays"`
	}

	trainAnswer struct {
		Ends []int    `json:"ends"`
		Loss []Number `json:"loss"`
	}
	evaluateAnswer struct {
		Loss     [][]Number `json:"loss"`     // [rows][clients]
		Accuracy [][]Number `json:"accuracy"` // likewise
		N        []int      `json:"n"`        // [clients]
	}
	// oneAnswer is an answer of one part: rows, value, p, data or error.
	oneAnswer map[string]any
)

// encode returns float32s as base64 of their little-endian bytes.
func encode(x []float32) string {
	raw := make([]byte, 4*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// decode is the inverse of encode. n is how many numbers there must be.
func decode(text string, n int) ([]float32, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if len(raw) != 4*n {
		return nil, fmt.Errorf("%d bytes, want %d: %d float32", len(raw), 4*n, n)
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return x, nil
}

// short returns the beginning of a text, for messages.
func short(text string) string {
	const most = 160
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
