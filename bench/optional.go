package main

import (
	"fmt"
	"strconv"
)

// optional is a flag that is a number or "none".
type optional struct{ value *float64 }

func (o optional) or(other float64) float64 {
	if o.value == nil {
		return other
	}
	return *o.value
}

// String implements [pflag.Value].
func (o *optional) String() string {
	if o == nil || o.value == nil {
		return "none"
	}
	return strconv.FormatFloat(*o.value, 'g', -1, 64)
}

// Set implements [pflag.Value].
func (o *optional) Set(text string) error {
	if text == "none" {
		o.value = nil
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%q is neither a number nor none", text)
	}
	o.value = &v
	return nil
}

// Type implements [pflag.Value].
func (o *optional) Type() string { return "number|none" }

// MarshalText writes what Set reads.
func (o optional) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
