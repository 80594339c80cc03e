// Package safetensors reads and writes the safetensors format, in which PyTorch and others store tensors by name.
// Models and checkpoints are in this format, so that Python reads them without our code.
//
// A file consists of the length of the header (8 bytes, little endian), the header, and the bytes of the tensors. The
// header is JSON: {name: {dtype, shape, data_offsets}}, with texts by name under __metadata__.
// https://github.com/huggingface/safetensors
package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

// DType is the type of a tensor's elements, as the header of a file names it.
type DType string

// The types whose values this package reads and writes. A file may contain tensors of all other types of the format.
const (
	F32 DType = "F32" // float32
	F64 DType = "F64" // float64
	I64 DType = "I64" // int64
	U8  DType = "U8"  // byte

	// Read only, as float32.
	F16  DType = "F16"  // binary16 of IEEE 754
	BF16 DType = "BF16" // the upper half of a float32
)

// MaxHeader is the largest size of a header in bytes, with the spaces at its end: enough for some ten thousand tensors.
const MaxHeader = 1 << 20

// metadataKey is the only name in a header that is not the name of a tensor.
const metadataKey = "__metadata__"

// elementBits has the size in bits of an element, for every type of the format.
var elementBits = map[DType]uint64{
	"BOOL": 8, U8: 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
	"I16": 16, "U16": 16, F16: 16, BF16: 16,
	"I32": 32, "U32": 32, F32: 32,
	I64: 64, "U64": 64, F64: 64, "C64": 64,
}

// sizeOf returns the size of a tensor in bytes: the product of its shape times the size of an element.
func sizeOf(d DType, shape []int) (int64, error) {
	n, known := elementBits[d]
	if !known {
		return 0, fmt.Errorf("dtype %q, want one of the format: F32, F64, I64, U8 …", string(d))
	}
	for _, dim := range shape {
		if dim < 0 {
			return 0, fmt.Errorf("shape %s, want dimensions ≥ 0", shapeText(shape))
		}
		high, low := bits.Mul64(n, uint64(dim))
		if high > 0 || low > math.MaxInt64 {
			return 0, fmt.Errorf("shape %s of %s, want fewer than 2^63 bits", shapeText(shape), d)
		}
		n = low
	}
	if n%8 > 0 {
		return 0, fmt.Errorf("shape %s of %s is %d bits, want whole bytes", shapeText(shape), d, n)
	}
	return int64(n / 8), nil
}

// shapeText returns a shape for an error, shortened if it has more dimensions than the tensors of any net.
func shapeText(shape []int) string {
	const most = 8
	if len(shape) > most {
		return fmt.Sprintf("%v… (%d dimensions)", shape[:most], len(shape))
	}
	return fmt.Sprint(shape)
}

// parseHeader parses the JSON of a header. The tensors are in its order; their positions and sizes are not checked yet.
func parseHeader(text []byte) (metadata map[string]string, tensors []Info, err error) {
	if !bytes.HasPrefix(text, []byte("{")) {
		return nil, nil, errors.New("does not start with {")
	}
	if !utf8.Valid(text) {
		return nil, nil, errors.New("is not UTF-8")
	}
	text = bytes.TrimRight(text, " ")
	if !bytes.HasSuffix(text, []byte("}")) {
		return nil, nil, errors.New("does not end with }, and blanks behind it")
	}
	// The syntax is checked as a whole first, so that the parser below only has to check the structure.
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return nil, nil, fmt.Errorf("is not JSON: %w", err)
	}
	p := parser{json.NewDecoder(bytes.NewReader(text))}
	p.UseNumber()
	metadata = map[string]string{}
	err = p.object(func(name string) error {
		if name == metadataKey {
			return p.object(func(key string) (err error) {
				metadata[key], err = p.text()
				return err
			})
		}
		if name == "" {
			return errors.New("want another name")
		}
		info := Info{Name: name}
		if err := p.tensor(&info); err != nil {
			return err
		}
		tensors = append(tensors, info)
		return nil
	})
	return metadata, tensors, err
}

// parser reads JSON of valid syntax, token by token: encoding/json would accept a name that occurs twice.
type parser struct{ *json.Decoder }

// object reads an object and calls value to read the value of each key. Errors name the key.
func (p parser) object(value func(key string) error) error {
	if err := p.open('{', "an object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.More() {
		key, err := p.text()
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("%q twice, want every key once", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
	}
	_, err := p.Token() // }
	return err
}

// tensor reads the entry of a tensor: {"dtype": …, "shape": […], "data_offsets": [from, to]}.
func (p parser) tensor(info *Info) error {
	keys := []string{"dtype", "shape", "data_offsets"}
	missing := slices.Clone(keys)
	err := p.object(func(key string) error {
		missing = slices.DeleteFunc(missing, func(k string) bool { return k == key })
		switch key {
		case "dtype":
			name, err := p.text()
			info.DType = DType(name)
			return err
		case "shape":
			shape, err := p.wholes()
			for _, n := range shape {
				info.Shape = append(info.Shape, int(n))
				if int64(info.Shape[len(info.Shape)-1]) != n {
					return fmt.Errorf("%d is too large for this machine", n)
				}
			}
			return err
		case "data_offsets":
			at, err := p.wholes()
			if err == nil && len(at) != 2 {
				err = fmt.Errorf("%d numbers, want 2", len(at))
			}
			if err == nil {
				info.from, info.to = at[0], at[1]
			}
			return err
		}
		return fmt.Errorf("unknown, want %q", keys)
	})
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("no %q, want %q", missing, keys)
	}
	return err
}

func (p parser) text() (string, error) {
	token, err := p.Token()
	if err != nil {
		return "", err
	}
	text, is := token.(string)
	if !is {
		return "", fmt.Errorf("%v, want a text", token)
	}
	return text, nil
}

// wholes reads a list of whole numbers from 0 to 2^63-1.
func (p parser) wholes() (list []int64, err error) {
	if err := p.open('[', "a list of whole numbers"); err != nil {
		return nil, err
	}
	list = []int64{}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return nil, err
		}
		number, _ := token.(json.Number)
		n, err := strconv.ParseUint(number.String(), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("%v, want a whole number from 0 to 2^63-1", token)
		}
		list = append(list, int64(n))
	}
	_, err = p.Token() // ]
	return list, err
}

// open reads the brace or bracket with which an object or a list begins.
func (p parser) open(brace json.Delim, want string) error {
	token, err := p.Token()
	if err == nil && token != brace {
		err = fmt.Errorf("%v, want %s", token, want)
	}
	return err
}
