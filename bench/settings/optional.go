package settings

import (
	"fmt"
	"strconv"
)

// Optional is a flag that is a number or "none".
type Optional struct{ Value *float64 }

// Some returns the flag with a number.
func Some(v float64) Optional { return Optional{&v} }

func (o Optional) Or(other float64) float64 {
	if o.Value == nil {
		return other
	}
	return *o.Value
}

// String implements [pflag.Value].
func (o *Optional) String() string {
	if o == nil || o.Value == nil {
		return "none"
	}
	return strconv.FormatFloat(*o.Value, 'g', -1, 64)
}

// Set implements [pflag.Value].
func (o *Optional) Set(text string) error {
	if text == "none" {
		o.Value = nil
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%q is neither a number nor none", text)
	}
	o.Value = &v
	return nil
}

// Type implements [pflag.Value].
func (o *Optional) Type() string { return "number|none" }

// MarshalText writes what Set reads.
func (o Optional) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
